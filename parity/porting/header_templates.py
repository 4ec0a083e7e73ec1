"""Generates headers from templates, as a project's CMake or autoconf build does."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from parity.platform.files import is_file
from parity.porting.build_files import build_files, is_for_cuda

_CONFIGURED = re.compile(r"""\bconfigure_file\s*\(\s*"?([^\s")]+)"?\s+"?([^\s")]+)"?""", re.IGNORECASE)
_SUFFIXES = (".in", ".cmake")
"""Suffixes of templates such as ``name.h.in``."""
_VARIABLE = re.compile(r"[${(]+(\w+)[)}]+")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*cmakedefine(?P<number>01)?[ \t]+(?P<name>\w+)(?P<rest>[^\n]*)$", re.MULTILINE)
_INSERTION = re.compile(r"@(\w+)@|\$\{(\w+)\}")
_LINES = re.compile(r"^[ \t]*@(\w+)@[ \t]*$", re.MULTILINE)
"""Matches a variable that stands for whole lines."""
_ON = frozenset(("ON", "TRUE", "YES", "1"))


@dataclass(frozen=True)
class GeneratedHeader:
    """A header that a build generates from a template, or that Windows finds under another name.

    ``advice`` names the switches of the template that are on, or says how to correct the name.
    """

    template: Path
    text: str
    advice: str = ""


def made_header(header: str, source: Path, folders: tuple[Path, ...]) -> GeneratedHeader | None:
    """Return a header that the project's build generates; the arguments are as in ``switches_of``.

    A switch of the template is on if its name enables CUDA (``USE_CUDA``), or if CMake's ``option`` turns it on.
    Variables have the value that CMake sets as a plain word. Otherwise a variable is 1 if its name enables CUDA, else
    0, and empty if it stands for whole lines.
    """
    path = _template(header, folders)
    if path is None:
        return None
    cmake = "\n".join(text for file, text in build_files(folders, source) if file.suffix in (".txt", ".cmake"))
    on: list[str] = []

    def define(match: re.Match[str]) -> str:
        name, value = match["name"], insert(match["rest"])
        is_set = value.strip() not in ("", "0") and value != match["rest"] and not _is_conditional(name, cmake)
        is_on = _is_on(name, cmake) or is_set
        on.extend([name] if is_on and not value.strip() else [])
        if match["number"]:
            return f"#define {name} {int(is_on)}"
        return f"#define {name}{value}" if is_on else f"/* #undef {name} */"

    def insert(text: str) -> str:
        return _INSERTION.sub(lambda match: value_of(match[1] or match[2]), text)

    def lines(match: re.Match[str]) -> str:
        return match[0] if _set_value(match[1], cmake) else ""

    def value_of(name: str) -> str:
        return _set_value(name, cmake) or str(int(is_for_cuda(name)))

    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    text = insert(_DEFINE.sub(define, _LINES.sub(lines, text)))
    return GeneratedHeader(path, text, f"with {' '.join(on)}" if on else "")


def _template(header: str, folders: Iterable[Path]) -> Path | None:
    """Return the template of a header: the file that ``configure_file`` names, or the only one with its name."""
    folders = tuple(folders)
    for path, text in build_files(folders, Path(header)):
        for template, made in _CONFIGURED.findall(text):
            if variable := _VARIABLE.fullmatch(made):
                output = re.search(rf"""(?i:\bset)\s*\(\s*{variable[1]}\s+"?([^\s")]+)""", text)
                made = output[1] if output else made
            if f"/{made}".endswith(f"/{header}"):
                word = re.sub(r"^(?:\$\{\w+\}/)+", "", template)
                for folder in (path.parent, *folders):
                    if is_file(folder / word):
                        return folder / word
    for folder in folders:
        for levels in ("", "*/", "*/*/"):
            for suffix in _SUFFIXES:
                found = sorted(folder.glob(f"{levels}{glob.escape(header)}{suffix}"))
                if len(found) == 1:
                    return found[0]
    return None


def _is_on(name: str, cmake: str) -> bool:
    if is_for_cuda(name):
        return True
    option = re.search(rf"""\boption\s*\(\s*{name}\s+"[^"]*"\s+(\w+)""", cmake, re.IGNORECASE)
    return option is not None and option[1].upper() in _ON


def _is_conditional(name: str, cmake: str) -> bool:
    """True if CMake turns a macro on, but only under a condition."""
    depth = 0
    on = False
    for match in re.finditer(rf"\b(?:(if|endif)|set\s*\(\s*{name}\s+(\w+))\s*[()]", cmake, re.IGNORECASE):
        if match[1]:
            depth = max(depth + (1 if match[1].lower() == "if" else -1), 0)
        elif match[2].upper() in _ON:
            if not depth:
                return False
            on = True
    return on


def _set_value(name: str, cmake: str) -> str | None:
    """Return the value of a CMake variable, if it is set to exactly one plain word."""
    values = set(re.findall(rf"""\bset\s*\(\s*{name}\s+"?([\w.+-]+)"?\s*[)\s]""", cmake, re.IGNORECASE))
    return values.pop() if len(values) == 1 else None
