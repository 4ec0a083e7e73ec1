"""Reads settings from a project's own build files: macros, include folders, the C++ standard.

Build files are read as text and never executed. They are only read if the sources are incomplete: an undeclared
name, a header that is missing or in several folders, or code that is not valid C++17.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from parity.compilers.lexing import code
from parity.platform.files import is_folder

_MAKEFILES = ("Makefile*", "makefile", "GNUmakefile", "*.mk", "Make.*")
_BUILD_FILES = (
    *("setup.py", "CMakeLists.txt", "*.cmake", *_MAKEFILES),
    *("meson.build", "BUILD", "BUILD.bazel", "*.bzl", "SConstruct", "SConscript", "configure.ac"),
    "*.sh",
    "*.py",  # torch extensions that are built on first use, and CuPy's raw modules
    "README*",  # the command that compiles a program without a build file
)
"""Names of build files, the most likely first."""
_MAX_BYTES = 1 << 20
"""Larger files are generated."""

_COMMENT = re.compile(r"(?:(?<=\s)|^)#[^\n]*", re.MULTILINE)
_CMAKE_DEFINITIONS = re.compile(
    r"\b(?:add_compile_definitions|target_compile_definitions|add_definitions)\s*\(([^()]*)\)", re.IGNORECASE
)
_BAZEL_DEFINES = re.compile(r"\b(?:local_)?defines\s*\+?=\s*\[([^\]]*)\]")
_VALUE = r"(?:=\\?(?P<value>[\w.+-]*|\$[({]\w+[)}]|\{\w+\}))?"
_END = r"""(?=["'\s,;:)\]>\\]|$)"""
_COMPUTED = r"""(?:\{|%\w["']\s*%\s*\(?|["']\s*\+\s*(?:str\()?)(?P<variable>[A-Za-z_][\w.]*)"""
"""Matches a value that a program computes: ``{size}``, ``%d" % size``, ``" + str(size)``."""
_VARIABLE = re.compile(r"[${(]+(\w+)[)}]+")
_INCLUDES = re.compile(
    r"""-I\s*["']?([^\s"',]+) | include_directories\s*\(([^()]*)\) | \binclude_dirs\s*\+?=\s*\[([^\]]*)\]""",
    re.VERBOSE | re.IGNORECASE,
)
_NEWEST = "20"
_STANDARD = re.compile(r"-std=(?:c|gnu)\+\+(\w+)|(?:CUDA_STANDARD|CXX_STANDARD|cuda_std_|cxx_std_)[ _]?(\d\d)\b")
_CPP20 = re.compile(
    r"\bconcept\s+\w+\s*=|\brequires(?:\s+\w|\s*[({])|\b(?:consteval|constinit)\s"
    r"|#\s*include\s*<(?:concepts|numbers|ranges)>"
    r"|\b\w+\s*\((?:[^(){};]*,)?\s*(?:const\s+)?auto\s*[&*]*\s*\w+\s*[,)]"
)
"""Matches code that is valid in C++20 and not in C++17."""
_DRAFTS = {"0x": "11", "1y": "14", "1z": "17", "2a": "20", "2b": "23", "2c": "26"}
_HERE = re.compile(r"^(?:\$[({]\w+[)}]|\.)/")
_JOINED_PATH = re.compile(r"""\bpath\.join\(\s*[\w.]+(?:\([\w.()]*\))?\s*,([^()]*)\)""")
_STRING = r"""["']([^"']+)["']"""
_SIZE = 64
"""A guess for a macro that a program sets at run time; such macros are sizes."""
_FOR_CUDA = re.compile(r"(?:.*_)?(?:CUDA|GPU)(?:_ENABLED|_FOUND|_MODULE|_SUPPORT)?")
_AGAINST_CUDA = re.compile(r"(?:.*_)?(?:NO|WITHOUT|DISABLE)_.*")
_SCOPES = frozenset(("PUBLIC", "PRIVATE", "INTERFACE"))
_CMAKE_VALUES = frozenset(("ON", "OFF", "TRUE", "FALSE", "YES", "NO"))
"""Values of ``-D`` that configure CMake, and are not options of a compiler."""


@dataclass(frozen=True)
class Switch:
    """A compiler option such as ``-DNAME=VALUE``, or an ``#include`` of another source, with its origin.

    Attributes:
        flag: The option.
        file, line: The place in a build file, or the code that needs the option.
        setting: The equivalent setting of a project, if it is not ``flags``.
        others: Other values in the same file, for other builds.
        why: The reason, if no file of the project has the option.
    """

    flag: str
    file: Path
    line: int
    setting: str = ""
    others: tuple[str, ...] = ()
    why: str = ""

    @property
    def says(self) -> str:
        """The equivalent setting of the project."""
        if self.flag.startswith(("#", "__")):
            return f"{self.flag} in the source"
        flags = f'flags = ["{self.flag}"]'
        return f"{self.setting or flags} in [tool.parity]"


def switches_of(names: Iterable[str], source: Path, folders: Iterable[Path]) -> Iterator[Switch]:
    """Yield the definition of each macro from the first build file that has one.

    Build files in ``folders`` come first, nearest folder first. A file up to two levels below counts if it mentions
    the source, or, for macros that no such file defines, if all makefiles there agree. The first of several
    definitions in a file is used, and lists the rest. A value that is only known at run time is guessed.
    """
    folders = tuple(folders)
    files = list(build_files(folders, source))
    makefiles = functools.cache(lambda: list(build_files(folders)))
    every = "\n".join(text for _, text in files)
    for name in names:
        found = next(filter(None, (_definitions(name, [each], every) for each in files)), {})
        if not found and len(agreed := _definitions(name, makefiles(), "")) == 1:
            found = agreed
        if found:
            first, *others = found.values()
            yield replace(first, others=tuple(each.flag for each in others))
        elif guess := next(filter(None, (_guess(name, *each) for each in files)), None):
            yield guess


def same_statement(switch: Switch) -> Iterator[Switch]:
    """Yield the macros that the CMake statement of a switch defines besides the switch."""
    text = _without_comments(switch.file.read_text(encoding="utf-8", errors="replace"))
    for each in _CMAKE_DEFINITIONS.finditer(text):
        if _line(text, each.start()) <= switch.line <= _line(text, each.end()):
            for word in each[1].split()[1:]:
                name, _, value = word.removeprefix("-D").partition("=")
                known = _resolved(value, text) if value else ""
                if known is not None and name not in _SCOPES and name.isidentifier() and word != switch.flag[2:]:
                    yield Switch(f"-D{name}{f'={known}' if known else ''}", switch.file, switch.line)


def standard_of(source: Path, folders: Iterable[Path]) -> Switch | None:
    """Return the option for a C++ standard newer than C++17 if the first build file that names a standard names one.

    It is at most C++20, because nvcc refuses newer ones. The arguments are as in ``switches_of``.
    """
    for path, text in build_files(folders, source):
        if found := [(each[1] or each[2], each.start()) for each in _STANDARD.finditer(text)]:
            newest, at = max((_DRAFTS.get(name, name), -at) for name, at in found)
            # Names of standards are years: 98 is older than 11.
            known = min(newest, _NEWEST)
            return Switch(f"-std=c++{known}", path, _line(text, -at)) if "17" < newest < "98" else None
    return None


def standard_used(files: Mapping[Path, str]) -> Switch | None:
    """Return the option for C++20 if one of these sources needs it."""
    for path, text in files.items():
        if match := _CPP20.search(code(text)):
            return Switch("-std=c++20", path, _line(text, match.start()))
    return None


def named_folder(places: Sequence[Path], source: Path, folders: Iterable[Path]) -> Path | None:
    """Return the folder that the first build file with any of ``places`` includes, if it includes only one of them.

    The arguments are as in ``switches_of``.
    """
    for path, text in build_files(folders, source):
        words = set(_include_folders(text))
        if found := [place for place in places if os.path.relpath(place, path.parent) in words]:
            return found[0] if len(found) == 1 else None
    return None


@functools.cache
def folders_of(source: Path, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the existing include folders that build files name. The arguments are as in ``switches_of``."""
    found: dict[Path, None] = {}
    for path, text in build_files(folders, source):
        for word in _include_folders(text):
            place = Path(os.path.normpath(path.parent / word))
            if word and is_folder(place) and place not in folders:
                found[place] = None
    return tuple(found)


def is_for_cuda(name: str) -> bool:
    """True if a macro's name enables CUDA (``USE_CUDA``): every build that needs a ``.cu`` file defines it."""
    return bool(_FOR_CUDA.fullmatch(name)) and not is_against_cuda(name)


def is_against_cuda(name: str) -> bool:
    """True if a macro's name disables something (``NO_CUDA``)."""
    return bool(_AGAINST_CUDA.fullmatch(name))


def build_files(folders: Iterable[Path], source: Path | None = None) -> Iterator[tuple[Path, str]]:
    """Yield the build files of folders with their texts, comments blanked.

    The files of each folder are followed by those up to two levels below that mention the source. Without a source,
    all makefiles below follow.
    """
    seen: set[Path] = set()
    for folder in folders:
        near = [folder, folder / "cmake"]
        below = [each for levels in ("*", "*/*") for each in sorted(folder.glob(levels))]
        for path in (*_ranked(near), *_ranked(below)):
            if path not in seen:
                seen.add(path)
                try:
                    text = path.read_text(encoding="utf-8", errors="replace")
                except OSError:  # deleted in the meantime, or unreadable
                    continue
                is_wanted = source.name in text if source else any(fnmatchcase(path.name, each) for each in _MAKEFILES)
                if path.parent in near or is_wanted:
                    yield path, _without_comments(text)


def _ranked(folders: Iterable[Path]) -> list[Path]:
    """Return the build files in folders, the most likely first."""
    ranks: dict[Path, int] = {}
    for folder in folders:
        with contextlib.suppress(OSError):  # no folder, or unreadable
            small = [path for path in folder.iterdir() if path.is_file() and path.stat().st_size <= _MAX_BYTES]
            for path in sorted(small) if folder.name[:1] != "." else ():
                rank = next((i for i, each in enumerate(_BUILD_FILES) if fnmatchcase(path.name, each)), None)
                if rank is not None:
                    ranks[path] = rank
    return sorted(ranks, key=lambda path: ranks[path])


def _definitions(name: str, files: Iterable[tuple[Path, str]], every: str) -> dict[str, Switch]:
    """Return the distinct definitions of a macro in these files, by flag.

    A variable that a file does not set may be set in ``every``, the concatenated text of all files.
    """
    found: dict[str, Switch] = {}
    for path, text in files:
        if name in text:
            for flag, line in sorted(_flags(name, text, every), key=lambda pair: pair[1]):
                found.setdefault(flag, Switch(flag, path, line))
    return found


def _flags(name: str, text: str, every: str) -> Iterator[tuple[str, int]]:
    """Yield the options of a build file that define a macro, with their lines."""
    option = re.compile(rf"(?<![\w-])-D\s?{name}{_VALUE}{_END}(?![\"']\s*\+)", re.MULTILINE)
    macro = re.compile(rf"(?<![\w=-]){name}{_VALUE}{_END}", re.MULTILINE)
    pair = re.compile(rf"""\(\s*["']{name}["']\s*,\s*(?:None|["']?(?P<value>[\w.+-]*)["']?)\s*\)""")
    found = [*option.finditer(text), *pair.finditer(text)]
    for among in (_CMAKE_DEFINITIONS, _BAZEL_DEFINES):
        found += [match for each in among.finditer(text) for match in macro.finditer(text, each.start(1), each.end(1))]
    for match in found:
        resolved = (_resolved(match["value"], each) for each in (text, every))
        value = next(filter(None, resolved), None) if match["value"] else ""
        if value is not None and value.upper() not in _CMAKE_VALUES:
            yield f"-D{name}{f'={value}' if value else ''}", _line(text, match.start())


def _resolved(value: str, text: str) -> str | None:
    """Return a value, or the value of the variable that it names; None if that is not set exactly once, as a word."""
    variable = _VARIABLE.fullmatch(value)
    if variable is None:
        return None if "$<" in value else value  # a generator expression
    assigned = (
        rf"""^\s*(?:set\s*\(\s*{variable[1]}\s+|{variable[1]}\s*[:?]?=\s*)"""
        r"""(?P<value>[^\n]*?)(?:\s+CACHE\b[^\n]*)?\s*\)?\s*$"""
    )
    values = {match["value"].strip("\"'") for match in re.finditer(assigned, text, re.MULTILINE)}
    return values.pop() if len(values) == 1 and all(re.fullmatch(r"[\w.+-]+", each) for each in values) else None


def _guess(name: str, path: Path, text: str) -> Switch | None:
    """Return a definition with a guessed value if a program sets the macro at run time."""
    match = re.search(rf"(?<![\w-])-D\s?{name}={_COMPUTED}", text)
    if match is None:
        return None
    line, variable = _line(text, match.start()), match["variable"].rpartition(".")[2]
    why = f"a guess: {path.name}:{line} sets it to its {variable} when it runs"
    return Switch(f"-D{name}={_SIZE}", path, line, why=why)


def _include_folders(text: str) -> list[str]:
    """Return the include folders that a build file names."""
    text = _JOINED_PATH.sub(lambda match: f'"{"/".join(re.findall(_STRING, match[1]))}"', text)
    listed = " ".join(part for match in _INCLUDES.finditer(text) for part in match.groups() if part)
    return [_HERE.sub("", word).rstrip("/") for word in re.split(r"""[\s"',;]+""", listed)]


def _without_comments(text: str) -> str:
    """Blank the comments, so that positions do not change."""
    return _COMMENT.sub(lambda match: " " * len(match[0]), text)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
