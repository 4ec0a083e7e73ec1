"""Reads ``#include`` lines, and finds the files that they name: in given folders, or anywhere in the project."""

from __future__ import annotations

import functools
import glob
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from parity.platform.files import is_file
from parity.porting.build_files import folders_of
from parity.porting.python_sources import cuda_code

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
"""Matches an ``#include`` line; the groups are the bracket and the header."""

_HEADER_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+\w+(?:\(\))?[ \t]+"
    r'(?:(<)([\w./-]+)>|(")([\w./-]+\.(?:h|hpp|cu|cuh|inl|inc|def))")[ \t]*$',
    re.MULTILINE,
)
"""Matches a macro that stands for a header in ``#include MACRO``."""
_NOTEBOOK = re.compile(r"\A(?:\s*%%[^\n]*)+")
"""Matches the commands of a notebook before its code (``%%cuda``)."""
_HEAD = 4096
"""Characters at the beginning of a file, among which a notebook has its commands."""
_BACKSLASHES = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"][^>"\n]*\\[^>"\n]*[>"]', re.MULTILINE)


_MARKERS = (
    *("CMakeLists.txt", "Cargo.toml", "LICENSE*", "[Mm]akefile", "README*", "meson.build", "pyproject.toml"),
    *("setup.py", ".gitignore", "*.sln"),
)
"""Files that mark the top folder of a project that is not a checkout."""
_LEVELS_UP, _LEVELS_DOWN = 8, 2
"""Limits of the search for a header: levels above the kernels' folder, and levels below each of these folders."""


def read_source(path: Path) -> str:
    """Return the text of a source, without a byte order mark, and with ``/`` in the paths of its includes.

    Bytes that are not UTF-8, as in old comments, pass through unchanged. The text of a Python file is the CUDA code
    that it embeds. Commands of a notebook become empty lines.
    """
    text = path.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("\ufeff")
    if path.suffix == ".py":
        return cuda_code(text)
    text = _NOTEBOOK.sub(lambda commands: "\n" * commands[0].count("\n"), text)
    return _BACKSLASHES.sub(lambda include: include[0].replace("\\", "/"), text)


def is_plain(path: Path) -> bool:
    """Return True if the file of a source is code for a compiler, and not a Python file or a cell of a notebook."""
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        return path.suffix != ".py" and not _NOTEBOOK.match(file.read(_HEAD))


def included(text: str) -> list[tuple[str, str]]:
    """Return the bracket and name of each header that a source includes, in any branch of its conditionals.

    Macros that stand for a header follow at the end, because another file may include them.
    """
    macros = ((a or b, c or d) for a, c, b, d in _HEADER_MACRO.findall(text))
    return [*INCLUDE.findall(text), *macros]


def searched(bracket: str, beside: Path, folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders to search for a header. For a quoted header, the including file's folder is the first."""
    return (beside, *folders) if bracket == '"' else tuple(folders)


def found_in(header: str, folders: Iterable[Path]) -> Path | None:
    """Return the file of a header in the first folder that has it."""
    candidates = (Path(os.path.normpath(folder / header)) for folder in folders)
    return next((path for path in candidates if is_file(path)), None)


@functools.cache
def project_of(folder: Path, kernels: Path | None = None) -> tuple[Path, ...]:
    """Return ``folder`` and the folders above it that belong to the same project, upwards.

    The folder ``kernels`` that a suite names belongs to it as well. A project does not include a home folder or a
    shared folder such as /tmp, whose sticky bit is set.
    """
    upwards = [folder, *folder.parents][: _LEVELS_UP + 1]
    for count, each in enumerate(upwards, 1):
        if each in (Path.home(), Path(each.anchor)) or (each.is_dir() and each.stat().st_mode & stat.S_ISVTX):
            upwards = upwards[: max(count - 1, 1)]
            break
        if (each / ".git").exists():
            return tuple(upwards[:count])
    tops = [
        count
        for count, each in enumerate(upwards, 1)
        if each == kernels or any(next(each.glob(name), None) for name in _MARKERS)
    ]
    return tuple(upwards[: max(tops, default=1)])


def header_folders(header: str, project: Sequence[Path]) -> tuple[Path, ...]:
    """Return the include folders nearest to the first folder of a project that have a header, or else any folders."""
    for above in project:
        for levels in range(_LEVELS_DOWN + 1):
            hits = sorted(filter(is_file, above.glob("/".join([*"*" * levels, glob.escape(header)]))))
            places = [hit.parents[len(Path(header).parts) - 1] for hit in hits]
            if places := [each for each in places if not any(p[0] == "." for p in each.relative_to(above).parts)]:
                return tuple(places)
    return header_folders_anywhere(header, project)


def header_folders_anywhere(header: str, project: Sequence[Path]) -> tuple[Path, ...]:
    """Return the include folders anywhere in the project that have a header."""
    parts = Path(header).parts
    paths = _headers_below(project[-1]).get(parts[-1], ())
    return tuple(sorted(path.parents[len(parts) - 1] for path in paths if path.parts[-len(parts) :] == parts))


def found_on_windows(header: str, folders: Iterable[Path], project: Sequence[Path]) -> Path | None:
    """Return the only file that Windows finds, which ignores case: in the folders, or else anywhere in the project."""
    parts = header.split("/")
    for folder in folders:
        found = [folder]
        for part in parts:
            found = [each for path in found for each in _alike(path, part)]
        if len(files := list(filter(is_file, found))) == 1:
            return Path(os.path.normpath(files[0]))
    ending = tuple(part.lower() for part in parts if part != "..")
    below = (path for paths in _headers_below(project[-1]).values() for path in paths)
    named = [path for path in below if tuple(map(str.lower, path.parts[-len(ending) :])) == ending]
    return named[0] if len(named) == 1 else None


def _alike(folder: Path, name: str) -> list[Path]:
    """Return the entries of a folder whose names differ from a name at most in case."""
    if name in ("", ".", "..") or (folder / name).exists():
        return [folder / name]
    try:
        return [each for each in folder.iterdir() if each.name.lower() == name.lower()]
    except OSError:
        return []


def forget_folders() -> None:
    """Clear this process's caches of project files."""
    for each in (_headers_below, project_of, folders_of):
        each.cache_clear()


@functools.cache
def _headers_below(top: Path) -> Mapping[str, tuple[Path, ...]]:
    """Return the headers of a project by name, without those in hidden folders."""
    found: dict[str, tuple[Path, ...]] = {}
    for folder, inner, names in os.walk(top):
        inner[:] = [name for name in inner if name[0] != "."]
        for name in names:
            if Path(name).suffix[1:2] in ("h", "c", "i"):  # .h, .hpp, .cuh, .inl, ...
                found[name] = (*found.get(name, ()), Path(folder, name))
    return found
