"""Files that users name: only regular ones are read, because reading a pipe may wait, and a device has no end.

And tables of parity's own.
"""

from __future__ import annotations

import contextlib
import csv
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from parity.errors import SYSTEM_ERRORS, ResourceExhausted, UsageError

__all__ = [
    "CUDA_SUFFIXES",
    "find_below",
    "is_file",
    "is_folder",
    "naming_write_errors",
    "read_content",
    "read_table",
    "read_text",
    "require_file",
]

CUDA_SUFFIXES = (".cu", ".cu.cc")
"""File name endings of a CUDA source: nvcc's, and that of TensorFlow's and JAX's builds."""

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def is_file(path: Path) -> bool:
    """True if there is such a file; what only looks like a name, and is none that the system takes, is no file's."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """As ``is_file``."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def require_file(path: Path) -> Path:
    """The path, if it is that of a file that can be read to its end.

    Raises:
        UsageError: it is something else, or cannot be looked at.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"cannot read {path}: it is {_KINDS.get(stat.S_IFMT(mode), 'something')} and not a file")
    return path


def read_content(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        UsageError: it cannot be read, or is no file.
    """
    try:
        return require_file(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def read_text(path: Path) -> str:
    """The text of a file in UTF-8.

    Raises:
        UsageError: it cannot be read, is no file, or is not UTF-8.
    """
    try:
        return read_content(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error}") from error


@contextlib.contextmanager
def naming_write_errors(path: Path, advice: str) -> Iterator[None]:
    """Say of what cannot be written in the block where that is, why, and what to do: the ``advice``.

    Raises:
        UsageError, SystemLacks: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        kind = ResourceExhausted if error.errno in SYSTEM_ERRORS else UsageError
        raise kind(f"cannot write {path}: {error.strerror}; {advice}") from error


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file of parity's own, each by the heads of its columns."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def find_below(folder: Path, *suffixes: str) -> Iterator[Path]:
    """The files below a folder whose names end so, folder by folder; what cannot be looked into is left out."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        yield from (path for name in sorted(files) if name.endswith(suffixes) and (path := Path(place, name)).is_file())
