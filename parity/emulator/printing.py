"""Format the text that kernels print, from the words of ROCm's host calls.

ROCm's device libraries (ockl: services.cl) and the code that clang generates for ``printf`` define the words. A message
is a word of flags, the format and its arguments: 8 bytes each; strings are padded to a multiple of 8 bytes.
"""

from __future__ import annotations

import re
import struct
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
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?(?P<size>hh|h|ll|l|j|z|t|L|)(?P<kind>[a-zA-Z%])"
)
_BITS = {"hh": 8, "h": 16, "": 32}
_INFINITE = re.compile(r"inf|nan")


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


def formatted(words: Sequence[int]) -> str:
    """Return the text that C's ``printf`` writes for a format and its arguments."""
    rest = iter(words)

    def number() -> int:
        return next(rest, 0)

    def string() -> str:
        text = bytearray()
        for word in rest:
            text += word.to_bytes(8, "little")
            if 0 in text[-8:]:
                break
        return bytes(text.partition(b"\0")[0]).decode(errors="replace")

    def one(match: re.Match[str]) -> str:
        kind = match["kind"]
        if kind == "%":
            return "%"
        width, precision = (_signed(number(), 32) if match[n] == "*" else match[n] for n in ("width", "precision"))
        flags = match["flags"] + ("-" if isinstance(width, int) and width < 0 else "")
        width = str(abs(width)) if isinstance(width, int) else width
        dot = "" if precision is None or (isinstance(precision, int) and precision < 0) else f".{precision}"
        bits = _BITS.get(match["size"], 64)
        if kind == "s":
            return str(f"%{flags}{width}{dot}s" % string())
        word = number()
        if kind in "di":
            return str(f"%{flags}{width}{dot}d" % _signed(word, bits))
        if kind in "uoxX":
            unsigned = f"%{flags.replace('+', '').replace(' ', '')}{width}{dot}{'d' if kind == 'u' else kind}"
            return str(unsigned % (word % (1 << bits))).replace("0o", "0")
        if kind in "eEfFgGaA":
            (value,) = struct.unpack("<d", struct.pack("<Q", word))
            if kind in "aA":
                return str(f"%{flags}{width}s" % (value.hex().upper() if kind == "A" else value.hex()))
            text = f"%{flags.replace('0', '') if _INFINITE.search(repr(value)) else flags}{width}{dot}{kind}"
            return str(text % value)
        if kind == "c":
            return f"%{flags}{width}s" % chr(word & 0xFF)
        if kind == "p":
            return f"%{flags}{width}s" % f"{word:#x}"
        return match[0]

    return _SPECIFICATION.sub(one, string())


def _signed(word: int, bits: int) -> int:
    word %= 1 << bits
    return word - (1 << bits) if word >> (bits - 1) else word
