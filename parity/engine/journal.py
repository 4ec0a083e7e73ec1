"""The journal of a recording: its cases so far, so that a recording that was killed continues where it ended.

It is a file beside the recording to be, and is only appended to. A line is the SHA-256 of a JSON value and the value:
first the plan, which is everything that decides the values, then one entry per task, with its number and its cases.
Every line is on the disk before the next task is waited for; a line that was cut off counts as not written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from parity.documents import json_text, plain, read_json
from parity.errors import ParityError, UsageError, unwritable
from parity.interrupts import held
from parity.runners.recording import RecordedCase

__all__ = ["Journal", "differing"]

FORMAT = "journal of a parity recording, version 1"
DIFFERENCES = 3
"""The number of differences that an error message shows."""
SHORT = 45
"""Values that have no more letters together are shown with a difference."""


@dataclass(frozen=True)
class _Entry:
    """The record of one finished task; the buffers of its cases are compressed."""

    task: int
    cases: tuple[RecordedCase, ...]


class Journal:
    """The journal at ``path``, open for this process alone. ``plan`` is a JSON object.

    A journal of the same plan is continued; that of another plan is begun anew, and ``other`` says in what it differed.

    Raises:
        UsageError: the file cannot be written, is no journal, or another process is writing to it.
    """

    def __init__(self, path: Path, plan: Mapping[str, Any]) -> None:
        self.path = path
        self.other = ""
        self._cases: dict[int, tuple[RecordedCase, ...]] = {}
        wanted = plain({"format": FORMAT, **plan})
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("a+b")
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._lock()
            self._resume(wanted)
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        """Number of tasks it has."""
        return len(self._cases)

    def __contains__(self, task: int) -> bool:
        return task in self._cases

    def cases(self, task: int) -> tuple[RecordedCase, ...]:
        """The cases of a task."""
        return self._cases[task]

    def add(self, task: int, cases: Sequence[RecordedCase]) -> None:
        """Write the cases of a task to the disk, where they stay if this process or the machine fails afterwards.

        Raises:
            UsageError: it cannot be written.
        """
        packed = (_with_buffers(case, lambda data: zlib.compress(data, 1)) for case in cases)
        entry = _Entry(task, tuple(packed))
        with held():  # what is in the file is counted
            self._write(entry)
            self._cases[task] = tuple(cases)

    def remove(self) -> None:
        """Delete the file, because its recording is complete."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Journal:
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
                    f"another process is recording to {self.path}; wait for it, or choose another file with -o"
                ) from error

    def _resume(self, wanted: dict[str, Any]) -> None:
        self._file.seek(0)
        lines = _lines(self._file)
        first, end = next(lines, (b"{}", 0))
        found = read_json(first, dict[str, Any], f"{self.path}, line 1")
        if os.fstat(self._file.fileno()).st_size and found.get("format") != FORMAT:
            raise UsageError(
                f"{self.path} is not the journal of a recording, or its first line was damaged; remove it, or choose "
                "another file with -o"
            )
        if found == wanted:
            for number, (line, after) in enumerate(lines, 2):
                entry = read_json(line, _Entry, f"{self.path}, line {number}", "remove the file")
                self._cases[entry.task] = tuple(_with_buffers(case, zlib.decompress) for case in entry.cases)
                end = after
            self._file.truncate(end)
            return
        if found:
            self.other = differing(found, wanted)
        self._file.truncate(0)
        self._write(wanted)

    def _write(self, value: object) -> None:
        text = json_text(value)
        try:
            self._file.write(_checksum(text) + b" " + text + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> ParityError:
        return unwritable(self.path, error, "choose another file with -o")


def _lines(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """The JSON texts of the file, each with the place where its line ends, up to the first line that is not whole."""
    end = 0
    for line in file:
        checksum, _, text = line.partition(b" ")
        if not text.endswith(b"\n") or checksum != _checksum(text[:-1]):
            return
        end += len(line)
        yield text, end


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _with_buffers(case: RecordedCase, change: Callable[[bytes], bytes]) -> RecordedCase:
    return replace(case, buffers={name: change(data) for name, data in case.buffers.items()})


def differing(there: Mapping[str, Any], here: Mapping[str, Any], where: str = "there", now: str = "here") -> str:
    """The first differences between two JSON objects, by path, with the values where they are short.

    ``where`` and ``now`` say in words to what the two belong.
    """
    told = list(_differences(there, here, where, now))
    more = f" and {len(told) - DIFFERENCES} more" if len(told) > DIFFERENCES else ""
    return ", ".join(told[:DIFFERENCES]) + more


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
