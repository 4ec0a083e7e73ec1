"""Zip files that parity writes and reads back."""

from __future__ import annotations

import contextlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path

from parity.errors import UsageError
from parity.platform.files import naming_write_errors, require_file

_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, LZMAError, EOFError, struct.error, KeyError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError, MemoryError),
)
"""The exceptions that the zipfile module raises for unreadable files."""


def add_member(file: zipfile.ZipFile, name: str, data: bytes, compression: int, level: int | None = None) -> None:
    """Add a member without a time, so that equal content gives equal files."""
    file.writestr(zipfile.ZipInfo(name, _EPOCH), data, compression, level)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[zipfile.ZipFile]:
    """Create a zip file when the body ends. A body that is interrupted or fails leaves no file.

    Raises:
        UsageError, ResourceExhausted: the file cannot be written.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with naming_write_errors(path, "choose another file with -o"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(scratch, "w") as file:
                yield file
            with scratch.open("rb") as written:
                os.fsync(written.fileno())
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


@contextlib.contextmanager
def reading(path: Path, kind: str, advice: str) -> Iterator[zipfile.ZipFile]:
    """Open a zip file. Errors of the body, too, name the file, its ``kind`` and what to do.

    Raises:
        UsageError: the file cannot be read, or is not a valid zip file.
    """
    try:
        with zipfile.ZipFile(require_file(path)) as file:
            yield file
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except _UNREADABLE as error:
        raise UsageError(f"{path} is not {kind}, or it was truncated or altered ({error}); {advice}") from error
