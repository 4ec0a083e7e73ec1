"""Journals: append-only files from which an interrupted or killed command resumes.

A journal has one JSON object per line. The first field of each object is the SHA-256 of the rest of the object. The
first line is the plan, which contains everything that decides the results; each further line is an entry. Every line is
flushed to disk before the command continues. A truncated last line is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from parity.errors import UsageError, first_names
from parity.platform.files import lock, naming_write_errors
from parity.platform.serialization import json_text, plain, read_json
from parity.platform.signals import delay_interrupts

T = TypeVar("T")

DIFFERENCES = 3
"""Maximum number of differences in an error message."""
SHORT = 45
"""Maximum combined length of two values that are shown with a difference."""


class Journal(Generic[T]):
    """The journal at ``path``, locked for this process. ``entries`` holds the entries in the order of the file.

    ``plan`` is a JSON object. A journal with the same plan is continued. A journal with another plan is started over,
    and ``other`` describes the difference. ``what`` names the journalled activity ("a recording"), and ``advice``
    states what to do if the file is unusable.

    Raises:
        UsageError, ResourceExhausted: The file is not writable, is not such a journal, or is locked by another
            process.
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
            lock(self._file.fileno(), path, advice)
            self._resume(entry, wanted, what)
        except BaseException:
            self._file.close()
            raise

    def add(self, entry: T) -> None:
        """Append an entry, and flush it to disk.

        Raises:
            UsageError, ResourceExhausted: The file is not writable.
        """
        with delay_interrupts():  # an interrupt must not separate the file from ``entries``
            self._write(entry)
            self.entries.append(entry)

    def remove(self) -> None:
        """Delete the file, because the activity is complete."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Journal[T]:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # an earlier write failed, for example because the disk is full
            self._file.close()

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
            self._file.write(checksum(text) + text[1:] + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def _lines(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield each intact object without its checksum, and the offset of the end of its line."""
    end = 0
    for line in file:
        text = b"{" + line[CHECKED:-1]
        if not line.endswith(b"\n") or line[:CHECKED] != checksum(text):
            return
        end += len(line)
        yield text, end


def checksum(text: bytes, before: bytes = b"") -> bytes:
    """Return the start of an object's line. ``before`` is the start of the previous line, if no line may be missing."""
    return b'{"sha256":"%s",' % hashlib.sha256(before + text).hexdigest().encode()


CHECKED = len(checksum(b""))
"""The length of the start of a line."""


def describe_differences(
    there: Mapping[str, Any], here: Mapping[str, Any], where: str = "there", now: str = "here"
) -> str:
    """Describe the first differences between two JSON objects by path, with short values.

    ``where`` and ``now`` name the origins of the two objects.
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
