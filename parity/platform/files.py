"""Reads files that users name, and parity's own tables.

Only regular files are read, because reading a pipe may block and a device may never end.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from parity.errors import SYSTEM_ERRORS, ResourceExhausted, UsageError

CUDA_SUFFIXES = (".cu", ".cu.cc")
"""Suffixes of CUDA sources. The builds of TensorFlow and JAX use ``.cu.cc``."""
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".tpp")

T = TypeVar("T")

_CELLS: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": lambda cell: int(cell or 0),
    "float": float,
    "int | None": lambda cell: int(cell) if cell else None,
    "bool": "yes".__eq__,
    "tuple[str, ...]": lambda cell: tuple(cell.split()),
    "frozenset[str]": lambda cell: frozenset(cell.split()),
    "tuple[int, ...]": lambda cell: tuple(int(part) for part in cell.split(".") if part),
    "re.Pattern[str]": re.compile,
    "Mapping[str, str]": lambda cell: dict(word.split("=") for word in cell.split()),
}
"""The value of a cell by the type of its field, such as words, the numbers of a version, or a regular expression."""

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def is_file(path: Path) -> bool:
    """Return whether the file exists; False if the system does not accept the name."""
    return _holds(path.is_file)


def is_folder(path: Path) -> bool:
    """Return whether the folder exists; False if the system does not accept the name."""
    return _holds(path.is_dir)


def _holds(test: Callable[[], bool]) -> bool:
    try:
        return test()
    except (OSError, ValueError):
        return False


def require_file(path: Path) -> Path:
    """Return the path of a regular file.

    Raises:
        UsageError: the path names something else, or the system refuses access.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"cannot read {path}: it is {_KINDS.get(stat.S_IFMT(mode), 'something')} and not a file")
    return path


def read_content(path: Path) -> bytes:
    """Read the bytes of a file.

    Raises:
        UsageError: it cannot be read, or is not a regular file.
    """
    try:
        return require_file(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def read_text(path: Path) -> str:
    """Read the text of a file in UTF-8.

    Raises:
        UsageError: it cannot be read, is not a regular file, or is not UTF-8.
    """
    try:
        return read_content(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error}") from error


@contextlib.contextmanager
def naming_write_errors(path: Path, advice: str) -> Iterator[None]:
    """Turn an ``OSError`` in the block into an error with path, cause and ``advice``.

    Raises:
        UsageError: the path cannot be written.
        ResourceExhausted: the system lacks space or other resources.
    """
    try:
        yield
    except OSError as error:
        kind = ResourceExhausted if error.errno in SYSTEM_ERRORS else UsageError
        raise kind(f"cannot write {path}: {error.strerror}; {advice}") from error


def lock(descriptor: int, path: Path, advice: str) -> None:
    """Lock an open file or folder against other processes until it is closed or this process ends.

    Raises:
        UsageError: another process has locked it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(f"another process is writing to {path}; wait for it, or {advice}") from error
    except OSError:
        pass  # some network file systems do not have locks


def read_table(path: Path) -> list[dict[str, str]]:
    """Read the rows of one of parity's CSV files, each as a mapping from column name to value."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_rows(path: Path, kind: type[T]) -> tuple[T, ...]:
    """Read one of parity's CSV files as instances of a dataclass; fields without a column keep their default."""
    rows, fields = read_table(path), dataclasses.fields(kind)  # type: ignore[arg-type]
    convert = {field.name: _CELLS[str(field.type)] for field in fields if field.name in rows[0]}
    return tuple(kind(**{name: of(row[name]) for name, of in convert.items()}) for row in rows)


def find_below(folder: Path, *suffixes: str) -> Iterator[Path]:
    """Yield the files below a folder with one of the suffixes (default: all), folder by folder.

    Skips unreadable folders.
    """
    for place, folders, files in os.walk(folder):
        folders.sort()
        named = (Path(place, name) for name in sorted(files) if name.endswith(suffixes or ""))
        yield from filter(Path.is_file, named)


def link_or_copy(file: Path, target: Path) -> None:
    """Make ``target`` a hard link of a file, or a copy on file systems without links."""
    try:
        target.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, target)
