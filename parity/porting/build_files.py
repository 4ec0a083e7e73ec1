"""The settings in a project's own build files: macros that they define, folders with headers, headers that they make of
templates, the standard of C++.

They are read as text, not executed, and asked only where sources leave something open: a name that nothing declares, a
header that several folders have or none, what does not compile as C++17.
"""

from __future__ import annotations

import functools
import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from parity.compilers.lexing import code
from parity.platform.files import is_file, is_folder

__all__ = [
    "Made",
    "Switch",
    "beside",
    "folders_of",
    "is_against_cuda",
    "is_for_cuda",
    "made_header",
    "named_folder",
    "standard_of",
    "standard_used",
    "switches_of",
]

_OF_MAKE = ("Makefile*", "makefile", "GNUmakefile", "*.mk", "Make.*")
_BUILD_FILES = (
    *("setup.py", "CMakeLists.txt", "*.cmake", *_OF_MAKE),
    *("meson.build", "BUILD", "BUILD.bazel", "*.bzl", "SConstruct", "SConscript", "configure.ac"),
    "*.sh",
    "*.py",  # extensions that torch builds when they are first used, and CuPy's raw modules
    "README*",  # which says how a program is compiled that has no build file
)
"""The names of build files, the likeliest first."""

_BYTES = 1 << 20
"""Larger files are none that a person wrote."""

_COMMENT = re.compile(r"(?:(?<=\s)|^)#[^\n]*", re.MULTILINE)
_CMAKE = re.compile(r"\b(?:add_compile_definitions|target_compile_definitions|add_definitions)\s*\(([^()]*)\)", re.I)
_LISTED = re.compile(r"\b(?:local_)?defines\s*\+?=\s*\[([^\]]*)\]")
_VALUE = r"(?:=\\?(?P<value>[\w.+-]*|\$[({]\w+[)}]|\{\w+\}))?"
_END = r"""(?=["'\s,;:)\]>\\]|$)"""
_VARIABLE = re.compile(r"[${(]+(\w+)[)}]+")
_INCLUDES = re.compile(
    r"""-I\s*["']?([^\s"',]+) | include_directories\s*\(([^()]*)\) | \binclude_dirs\s*\+?=\s*\[([^\]]*)\]""",
    re.VERBOSE | re.IGNORECASE,
)
_STANDARD = re.compile(r"-std=(?:c|gnu)\+\+(\w+)|(?:CUDA_STANDARD|CXX_STANDARD|cuda_std_|cxx_std_)[ _]?(\d\d)\b")
_NEWER = re.compile(
    r"\bconcept\s+\w+\s*=|\brequires(?:\s+\w|\s*[({])|\b(?:consteval|constinit)\s|#\s*include\s*<(?:concepts|numbers|ranges)>"
    r"|\b\w+\s*\((?:[^(){};]*,)?\s*(?:const\s+)?auto\s*[&*]*\s*\w+\s*[,)]"
)
"""Matches code that C++20 has and C++17 has not."""
_DRAFTS = {"0x": "11", "1y": "14", "1z": "17", "2a": "20", "2b": "23", "2c": "26"}
_HERE = re.compile(r"^(?:\$[({]\w+[)}]|\.)/")
_JOINED = re.compile(r"""\bpath\.join\(\s*[\w.]+(?:\([\w.()]*\))?\s*,([^()]*)\)""")
_TEXT = r"""["']([^"']+)["']"""
_MADE = re.compile(r"""\bconfigure_file\s*\(\s*"?([^\s")]+)"?\s+"?([^\s")]+)"?""", re.IGNORECASE)
_SET = r"""(?i:\bset)\s*\(\s*{}\s+"?([^\s")]+)"""
"""Of CMake's, for a variable."""
_GUESS = 64
"""For a macro that is a size of something, as those are that programs set when they run."""
_SUFFIXES = (".in", ".cmake")
"""Of templates of headers: CMake's and autoconf's, which are ``name.h.in`` as a rule."""
_DEFINED = re.compile(r"^[ \t]*#[ \t]*cmakedefine(?P<number>01)?[ \t]+(?P<name>\w+)(?P<rest>[^\n]*)$", re.MULTILINE)
_INSERTED = re.compile(r"@(\w+)@|\$\{(\w+)\}")
_LINES = re.compile(r"^[ \t]*@(\w+)@[ \t]*$", re.MULTILINE)
"""Matches what stands for whole lines."""
_FOR_CUDA = re.compile(r"(?:.*_)?(?:CUDA|GPU)(?:_ENABLED|_FOUND|_MODULE|_SUPPORT)?")
_NOT_FOR_CUDA = re.compile(r"(?:.*_)?(?:NO|WITHOUT|DISABLE)_.*")
_SCOPES = frozenset(("PUBLIC", "PRIVATE", "INTERFACE"))
_ON = frozenset(("ON", "TRUE", "YES", "1"))
_FOR_CMAKE = frozenset(("ON", "OFF", "TRUE", "FALSE", "YES", "NO"))
"""Values of ``-D`` by which ``cmake`` is configured: no option of a compiler."""


@dataclass(frozen=True)
class Switch:
    """An option of the compiler, such as ``-DNAME=VALUE``, and the build file and line that has it, or asks for it.

    An ``#include`` of another source is one, too. ``setting`` is how a project says the same, if not among its flags;
    ``others`` is what the file has as well, for other builds; ``why`` is said where no file of the project has it.
    """

    flag: str
    file: Path
    line: int
    setting: str = ""
    others: tuple[str, ...] = ()
    why: str = ""

    @property
    def says(self) -> str:
        """The setting of the project that means the same."""
        if self.flag.startswith("#"):
            return f"{self.flag} in the source"
        flags = f'flags = ["{self.flag}"]'
        return f"{self.setting or flags} in [tool.parity]"


@dataclass(frozen=True)
class Made:
    """A header that a build makes of a template: what it contains, and the switches of the template that are on."""

    template: Path
    text: str
    on: tuple[str, ...]


def switches_of(names: Iterable[str], source: Path, folders: Iterable[Path]) -> Iterator[Switch]:
    """The definition of each macro in the first build file that has one, of those in ``folders``, the nearest first.

    A file up to two folders below one of them counts if it names the source. Of several definitions in it the first is
    taken, and knows the others. If none of these defines a macro, the files of ``make`` there count that define it in
    the same way: their rules name no sources. A value that is known when a program runs is guessed, and said to be.
    """
    folders = tuple(folders)
    files = list(_files(folders, source))
    of_make = functools.cache(lambda: list(_files(folders)))
    every = "\n".join(text for _, text in files)
    for name in names:
        found = next(filter(None, (_switches(name, [each], every) for each in files)), {})
        if not found and len(agreed := _switches(name, of_make(), "")) == 1:
            found = agreed
        if found:
            first, *others = found.values()
            yield replace(first, others=tuple(each.flag for each in others))
        elif guess := next(filter(None, (_guessed(name, *each) for each in files)), None):
            yield guess


def beside(switch: Switch) -> Iterator[Switch]:
    """The other macros that the statement of CMake's defines in which a switch was found."""
    text = _without_comments(switch.file.read_text(encoding="utf-8", errors="replace"))
    for each in _CMAKE.finditer(text):
        if _line(text, each.start()) <= switch.line <= _line(text, each.end()):
            for word in each[1].split()[1:]:
                name, _, value = word.removeprefix("-D").partition("=")
                known = _known(value, text) if value else ""
                if known is not None and name not in _SCOPES and name.isidentifier() and word != switch.flag[2:]:
                    yield Switch(f"-D{name}{f'={known}' if known else ''}", switch.file, switch.line)


def _guessed(name: str, path: Path, text: str) -> Switch | None:
    """A definition whose value a program knows when it runs, with a value that parity chooses."""
    match = re.search(rf"(?<![\w-])-D\s?{name}=\{{(\w+)\}}", text)
    if match is None:
        return None
    line = _line(text, match.start())
    why = f"a guess: {path.name}:{line} sets it to its {match[1]} when it runs"
    return Switch(f"-D{name}={_GUESS}", path, line, why=why)


def _switches(name: str, files: Iterable[tuple[Path, str]], every: str) -> dict[str, Switch]:
    """The ways in which these files define a macro, each with its first place.

    A variable that a file does not set may be set in ``every``, the text of all.
    """
    found: dict[str, Switch] = {}
    for path, text in files:
        if name in text:
            for flag, line in sorted(_flags(name, text, every), key=lambda pair: pair[1]):
                found.setdefault(flag, Switch(flag, path, line))
    return found


def standard_of(source: Path, folders: Iterable[Path]) -> Switch | None:
    """The option for a standard newer than C++17, if the first build file that names a standard names such a one.

    ``source`` and ``folders`` are those of ``switches_of``.
    """
    for path, text in _files(folders, source):
        if found := [(each[1] or each[2], each.start()) for each in _STANDARD.finditer(text)]:
            newest, at = max((_DRAFTS.get(name, name), -at) for name, at in found)
            # Names of standards are years: 98 is before 11.
            return Switch(f"-std=c++{newest}", path, _line(text, -at)) if "17" < newest < "98" else None
    return None


def standard_used(files: Mapping[Path, str]) -> Switch | None:
    """The option for C++20 if one of these sources (text by path) uses what came with it."""
    for path, text in files.items():
        if match := _NEWER.search(code(text)):
            return Switch("-std=c++20", path, _line(text, match.start()))
    return None


def named_folder(places: Sequence[Path], source: Path, folders: Iterable[Path]) -> Path | None:
    """The one of ``places`` that a build file names as a folder with headers; None if none does, or the first several.

    ``source`` and ``folders`` are those of ``switches_of``.
    """
    for path, text in _files(folders, source):
        words = set(_included(text))
        if found := [place for place in places if os.path.relpath(place, path.parent) in words]:
            return found[0] if len(found) == 1 else None
    return None


@functools.cache
def folders_of(source: Path, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders with headers that build files name, as far as they are there; the arguments are ``switches_of``'s."""
    found: dict[Path, None] = {}
    for path, text in _files(folders, source):
        for word in _included(text):
            place = Path(os.path.normpath(path.parent / word))
            if word and is_folder(place) and place not in folders:
                found[place] = None
    return tuple(found)


def made_header(header: str, source: Path, folders: tuple[Path, ...]) -> Made | None:
    """The header that CMake or autoconf makes of a template in the project; the arguments are ``switches_of``'s.

    A switch of the template is on if its name is CUDA's (``USE_CUDA``), because a build without that has no use for
    a ``.cu`` file, or if CMake's ``option`` says that it is. What else would be inserted is taken where CMake sets
    it plainly, and elsewhere is 1 for a switch of CUDA's and 0 for all others, and nothing where it stands for lines.
    """
    path = _template(header, folders)
    if path is None:
        return None
    cmake = "\n".join(text for file, text in _files(folders, source) if file.suffix in (".txt", ".cmake"))
    on: list[str] = []

    def define(match: re.Match[str]) -> str:
        name, value = match["name"], insert(match["rest"])
        is_set = value.strip() not in ("", "0") and value != match["rest"] and not _may_be_off(name, cmake)
        is_on = _is_on(name, cmake) or is_set
        on.extend([name] if is_on and not value.strip() else [])
        if match["number"]:
            return f"#define {name} {int(is_on)}"
        return f"#define {name}{value}" if is_on else f"/* #undef {name} */"

    def insert(text: str) -> str:
        return _INSERTED.sub(lambda match: inserted(match[1] or match[2]), text)

    def lines(match: re.Match[str]) -> str:
        return match[0] if _set(match[1], cmake) else ""

    def inserted(name: str) -> str:
        return _set(name, cmake) or str(int(is_for_cuda(name)))

    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    return Made(path, insert(_DEFINED.sub(define, _LINES.sub(lines, text))), tuple(on))


def _template(header: str, folders: Iterable[Path]) -> Path | None:
    """The template of a header: the one that ``configure_file`` names, or a file called like it."""
    folders = tuple(folders)
    for path, text in _files(folders, Path(header)):
        for template, made in _MADE.findall(text):
            if (variable := _VARIABLE.fullmatch(made)) and (said := re.search(_SET.format(variable[1]), text)):
                made = said[1]  # where it is written
            if f"/{made}".endswith(f"/{header}"):
                word = re.sub(r"^(?:\$\{\w+\}/)+", "", template)
                for folder in (path.parent, *folders):
                    if is_file(folder / word):
                        return folder / word
    for folder in folders:
        for steps in ("", "*/", "*/*/"):
            for suffix in _SUFFIXES:
                found = sorted(folder.glob(f"{steps}{glob.escape(header)}{suffix}"))
                if len(found) == 1:
                    return found[0]
    return None


def is_for_cuda(name: str) -> bool:
    """True if a switch is CUDA's by its name (``USE_CUDA``): a build without that has no use for a ``.cu`` file."""
    return bool(_FOR_CUDA.fullmatch(name)) and not is_against_cuda(name)


def is_against_cuda(name: str) -> bool:
    """True if a switch leaves something out by its name (``NO_CUDA``)."""
    return bool(_NOT_FOR_CUDA.fullmatch(name))


def _is_on(name: str, cmake: str) -> bool:
    if is_for_cuda(name):
        return True
    option = re.search(rf"""\boption\s*\(\s*{name}\s+"[^"]*"\s+(\w+)""", cmake, re.IGNORECASE)
    return option is not None and option[1].upper() in _ON


def _may_be_off(name: str, cmake: str) -> bool:
    """True if CMake switches a macro on, and only under a condition."""
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


def _set(name: str, cmake: str) -> str | None:
    """The value that CMake gives a variable, if the files set it once and to a plain text."""
    values = set(re.findall(rf"""\bset\s*\(\s*{name}\s+"?([\w.+-]+)"?\s*[)\s]""", cmake, re.IGNORECASE))
    return values.pop() if len(values) == 1 else None


def _included(text: str) -> list[str]:
    """The folders with headers that a build file names."""
    text = _JOINED.sub(lambda match: f'"{"/".join(re.findall(_TEXT, match[1]))}"', text)
    listed = " ".join(part for match in _INCLUDES.finditer(text) for part in match.groups() if part)
    return [_HERE.sub("", word).rstrip("/") for word in re.split(r"""[\s"',;]+""", listed)]


def _files(folders: Iterable[Path], source: Path | None = None) -> Iterator[tuple[Path, str]]:
    """The build files in folders without their comments; after those of each, those below that name a source.

    Without a source, those below are all files of ``make``.
    """
    seen: set[Path] = set()
    for folder in folders:
        near = [folder, folder / "cmake"]
        below = [each for steps in ("*", "*/*") for each in sorted(folder.glob(steps))]
        for path in (*_build_files(near), *_build_files(below)):
            if path not in seen:
                seen.add(path)
                try:
                    text = path.read_text(encoding="utf-8", errors="replace")
                except OSError:  # it is gone by now, or not ours to read
                    continue
                named = source.name in text if source else any(fnmatchcase(path.name, each) for each in _OF_MAKE)
                if path.parent in near or named:
                    yield path, _without_comments(text)


def _build_files(folders: Iterable[Path]) -> Iterator[Path]:
    shown = (folder for folder in folders if folder.is_dir() and folder.name[:1] != ".")
    found = [path for folder in shown for path in _listed(folder)]
    ranks = {
        path: next((i for i, each in enumerate(_BUILD_FILES) if fnmatchcase(path.name, each)), -1) for path in found
    }
    yield from sorted((path for path in found if ranks[path] >= 0), key=lambda path: ranks[path])


def _listed(folder: Path) -> list[Path]:
    """The files in a folder that are not too large; none of one that cannot be looked into."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_file() and path.stat().st_size <= _BYTES)
    except OSError:
        return []


def _flags(name: str, text: str, every: str) -> Iterator[tuple[str, int]]:
    """The options by which a build file defines a macro, each with its line."""
    option = re.compile(rf"(?<![\w-])-D\s?{name}{_VALUE}{_END}", re.MULTILINE)
    macro = re.compile(rf"(?<![\w=-]){name}{_VALUE}{_END}", re.MULTILINE)
    pair = re.compile(rf"""\(\s*["']{name}["']\s*,\s*(?:None|["']?(?P<value>[\w.+-]*)["']?)\s*\)""")
    found = [*option.finditer(text), *pair.finditer(text)]
    for among in (_CMAKE, _LISTED):
        found += [match for each in among.finditer(text) for match in macro.finditer(text, each.start(1), each.end(1))]
    for match in found:
        value = (
            next(filter(None, (_known(match["value"], each) for each in (text, every))), None) if match["value"] else ""
        )
        if value is not None and value.upper() not in _FOR_CMAKE:
            yield f"-D{name}{f'={value}' if value else ''}", _line(text, match.start())


def _without_comments(text: str) -> str:
    """The text with its comments blank, so that all else stays where it is."""
    return _COMMENT.sub(lambda match: " " * len(match[0]), text)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _known(value: str, text: str) -> str | None:
    """A value, or what the variable is set to that it names; None if that is not said once and plainly."""
    variable = _VARIABLE.fullmatch(value)
    if variable is None:
        return None if "$<" in value else value  # an expression that CMake evaluates when it generates
    assigned = (
        rf"""^\s*(?:set\s*\(\s*{variable[1]}\s+|{variable[1]}\s*[:?]?=\s*)"""
        r"""(?P<value>[^\n]*?)(?:\s+CACHE\b[^\n]*)?\s*\)?\s*$"""
    )
    values = {match["value"].strip("\"'") for match in re.finditer(assigned, text, re.MULTILINE)}
    return values.pop() if len(values) == 1 and all(re.fullmatch(r"[\w.+-]+", each) for each in values) else None
