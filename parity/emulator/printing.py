"""Format the text that kernels print, from the words of ROCm's host calls.

ROCm's device libraries (ockl: services.cl) and the code that clang generates for ``printf`` define the words. A message
is a word of flags, the format and its arguments: 8 bytes each; strings are padded to a multiple of 8 bytes.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.emulator.runtime_headers import constants

RECORD: int = constants("requests.h")["RECORD"]
"""Words of a record in the log: the block, the thread, and the payload of one lane."""

_END: int = constants("requests.h")["ENDS"]
_STANDARD_ERROR: int = constants("requests.h")["STANDARD_ERROR"]
_SPECIFICATION = re.compile(
    rb"%[-+ #0]*(?:\*|\d*)(?:\.(?:\*|\d*))?(?:hh|h|ll|l|j|z|t|L|)(?P<kind>[diuoxXeEfFgGaAcsp%])"
)
_snprintf = ctypes.CDLL(None).snprintf


ASSERTION = re.compile(
    r"(?P<file>.*):(?P<at>\d+): (?P<function>.*): Device-side assertion `(?P<expression>.*)' failed\.\n", re.DOTALL
)
"""The message of a failed assertion."""
SHOWN = 4096
"""Usual number of printed characters to return."""


@dataclass(frozen=True)
class Message:
    """The output of one thread in block ``group``; ``thread`` is the number of the thread in its block."""

    group: tuple[int, int, int]
    thread: int
    error: bool
    text: str


def messages(log: np.ndarray[Any, np.dtype[np.uint64]]) -> Iterator[Message]:
    """Yield the messages of a log, which has one row per record, in the order in which they ended."""
    open_: dict[int, list[int]] = {}
    for row in log:
        first, second, descriptor, *payload = map(int, row)
        number = descriptor >> 8
        words = open_.setdefault(number, [])
        words += payload[: descriptor >> 5 & 7]
        if descriptor & _END:
            del open_[number]
            group = (first & 0xFFFFFFFF, first >> 32, second & 0xFFFFFFFF)
            yield Message(group, second >> 32, bool(words[:1] and words[0] & _STANDARD_ERROR), formatted(words[1:]))


def printed(log: np.ndarray[Any, np.dtype[np.uint64]], lost: int, most: int) -> str:
    """Return the first ``most`` characters of the messages of a log without failed assertions, and what is missing.

    The messages are in the order of threads, which does not depend on the size of wavefronts. ``lost`` is the number of
    records that did not fit into the log.
    """
    found = [each for each in messages(log) if not ASSERTION.fullmatch(each.text)]
    found.sort(key=lambda each: (each.group[::-1], each.thread))
    whole = "".join(each.text for each in found)
    if not lost and len(whole) <= most:
        return whole
    more = f"{len(whole) - most:,} characters" if len(whole) > most else ""
    parts = f"what did not fit into the log, {lost:,} parts" if lost else ""
    return f"{whole[:most]}\n... and more: {' and '.join(filter(None, (more, parts)))}\n"


def formatted(words: Sequence[int]) -> str:
    """Return the text that C's ``printf`` writes for a format and its arguments."""
    rest = iter(words)

    def string() -> bytes:
        text = bytearray()
        for word in rest:
            text += word.to_bytes(8, "little")
            if 0 in text[-8:]:
                break
        return bytes(text.partition(b"\0")[0])

    def one(match: re.Match[bytes]) -> bytes:
        if match["kind"] == b"%":
            return b"%"
        values: list[Any] = [ctypes.c_int(next(rest, 0)) for _ in range(match[0].count(b"*"))]
        if match["kind"] == b"s":
            values.append(string())
        elif match["kind"] in b"eEfFgGaA":
            values.append(ctypes.c_double.from_buffer(ctypes.c_uint64(next(rest, 0))))
        else:
            values.append(ctypes.c_uint64(next(rest, 0)))
        form = match[0].replace(b"L", b"")  # kernels pass a long double as a double
        text = ctypes.create_string_buffer(_snprintf(None, 0, form, *values) + 1)
        _snprintf(text, len(text), form, *values)
        return text.raw[:-1]

    return _SPECIFICATION.sub(one, string()).decode(errors="replace")
