"""Reads the integers that host code copies into ``__constant__`` variables, if the source lists them."""

from __future__ import annotations

import re

_COPY = re.compile(
    r"\b(?:cuda|hip)MemcpyToSymbol(?:Async)?\s*\(\s*&?(?P<variable>[\w:]+)\s*,\s*"
    r"(?:\([^()]*\)\s*)?&?(?P<host>\w+)(?:\s*\[\s*0\s*\])?\s*,"
)
"""Matches a copy of a variable or an array of the host, perhaps with a cast."""
_INTEGER = re.compile(r"(-?)\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_CHARACTER = re.compile(r"'(\w)'")
_LIMIT = 2**63


def copied_integers(text: str, variable: str) -> tuple[int, ...]:
    """Return the integers that a text without comments copies into a variable.

    Empty if the text has several copies, or if it does not list the integers.
    """
    name = variable.rpartition("::")[2]
    hosts = {match["host"] for match in _COPY.finditer(text) if match["variable"].rpartition("::")[2] == name}
    if len(hosts) != 1:
        return ()
    (host,) = hosts
    defined = list(re.finditer(rf"[\w>]\s+{host}\s*(?:\[[^\]]*\]\s*)*=\s*(?=[^=])", text))
    return _listed(text, defined[0].end()) if len(defined) == 1 else ()


def _listed(text: str, start: int) -> tuple[int, ...]:
    """Return the integers of an initializer, which has no more braces than rows."""
    depth, end = 0, start
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if not depth and text[end] in "};":
            break
    words = [word.strip() for word in re.sub(r"[{};]", ",", text[start : end + 1]).split(",")]
    numbers = [_integer(word) for word in words if word]
    # A larger number has 64 bits without a sign. A negative number has the same bits.
    known = [each - 2 * _LIMIT if each >= _LIMIT else each for each in numbers if each is not None]
    return tuple(known) if len(known) == len(numbers) else ()


def _integer(word: str) -> int | None:
    if character := _CHARACTER.fullmatch(word):
        return ord(character[1])
    if not (match := _INTEGER.fullmatch(word)):
        return None
    octal = re.fullmatch(r"0\d+", match[2])
    return int(f"{match[1]}{match[2]}", 8 if octal else 0)
