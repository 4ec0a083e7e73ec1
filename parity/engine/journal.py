"""Journals: what a long command has done so far, so that one that was killed goes on where it ended.

A journal is a file of JSON objects, a line each, and is only appended to. The first field of each is the SHA-256 of the
object without it. The first line is the plan, which is everything that decides the results; then an entry a line. Every
line is on the disk before the next result is waited for; a line that was cut off counts as not written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Generic, TypeVar

from parity.errors import UsageError, first_names
from parity.platform.files import naming_write_errors
from parity.platform.serialization import json_text, plain, read_json
from parity.platform.signals import delay_interrupts

__all__ = ["Journal", "describe_differences"]

T = TypeVar("T")

DIFFERENCES = 3
"""The number of differences that an error message shows."""
SHORT = 45
"""Values that have no more letters together are shown with a difference."""


class Journal(Generic[T]):
    """The journal at ``path``, open for this process alone: ``entries`` of one type, in the order in which they came.

    ``plan`` is a JSON object. A journal of the same plan is continued; that of another plan is begun anew, and
    ``other`` says in what it differed. ``what`` is journalled ("a recording"), and ``advice`` is what to do instead if
    the file cannot be used.

    Raises:
        UsageError, SystemLacks: the file cannot be written, is no such journal, or another process is writing to it.
    """

    def __init__(self, path: Path, entry: type[T], plan: Mapping[str, Any], what: str, advice: str) -> None:
        self.path = path
        self.entries: list[T] = []
        self.other = ""
        self._advice = advice
        wanted = plain({"format": f"parity journal of {what}, version 2", **plan})
        with naming_write_errors(path, advice):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("a+b")
        try:
            self._lock()
            self._resume(entry, wanted, what)
        except BaseException:
            self._file.close()
            raise

    def add(self, entry: T) -> None:
        """Write an entry to the disk, where it stays if this process or the machine fails afterwards.

        Raises:
            UsageError, SystemLacks: it cannot be written.
        """
        with delay_interrupts():  # what is in the file is counted
            self._write(entry)
            self.entries.append(entry)

    def remove(self) -> None:
        """Delete the file, because what it is about is complete."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Journal[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):  # of a write that failed before, on a full disk for one
            self._file.close()

    def _lock(self) -> None:
        """Lock the file against other processes; the system releases the lock when this process ends."""
        with contextlib.suppress(ImportError):
            import fcntl  # not on every platform

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError(
                    f"another process is writing to {self.path}; wait for it, or {self._advice}"
                ) from error

    def _resume(self, entry: type[T], wanted: dict[str, Any], what: str) -> None:
        self._file.seek(0)
        lines = _lines(self._file)
        first, end = next(lines, (b"{}", 0))
        found = read_json(first, dict[str, Any], f"{self.path}, line 1")
        if os.fstat(self._file.fileno()).st_size and found.get("format") != wanted["format"]:
            raise UsageError(
                f"{self.path} is not the journal of {what}, or its first line was damaged; remove it, or {self._advice}"
            )
        if found == wanted:
            for number, (line, after) in enumerate(lines, 2):
                self.entries.append(read_json(line, entry, f"{self.path}, line {number}", "remove the file"))
                end = after
            self._file.truncate(end)
            return
        if found:
            self.other = describe_differences(found, wanted)
        self._file.truncate(0)
        self._write(wanted)

    def _write(self, value: object) -> None:
        text = json_text(value)
        with naming_write_errors(self.path, self._advice):
            self._file.write(_checksum(text) + text[1:] + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def _lines(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """The objects without their checksum, each with the place where its line ends, while they are whole."""
    end, size = 0, len(_checksum(b""))
    for line in file:
        text = b"{" + line[size:-1]
        if not line.endswith(b"\n") or line[:size] != _checksum(text):
            return
        end += len(line)
        yield text, end


def _checksum(text: bytes) -> bytes:
    """The begin of the line of an object."""
    return b'{"sha256":"%s",' % hashlib.sha256(text).hexdigest().encode()


def describe_differences(
    there: Mapping[str, Any], here: Mapping[str, Any], where: str = "there", now: str = "here"
) -> str:
    """The first differences between two JSON objects, by path, with the values where they are short.

    ``where`` and ``now`` say in words to what the two belong.
    """
    return first_names(list(_differences(there, here, where, now)), DIFFERENCES, ", ")


def _differences(
    there: Mapping[str, Any], here: Mapping[str, Any], where: str, now: str, prefix: str = ""
) -> Iterator[str]:
    for key in {**here, **there}:
        old, new = there.get(key), here.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, where, now, f"{prefix}{key}: ")
        elif old != new:
            short = len(f"{old}{new}") < SHORT
            yield f"{prefix}{key}" + (f" ({old} {where}, {new} {now})" if short else "")
