"""The kinds of faults in source and in single instructions, from the table ``operators.csv``.

An operator on source matches a node of the syntax tree with a tree-sitter query. It replaces the capture ``@site``, or
else everything from the first to the last capture. An operator on instructions matches a regular expression in the text
of one instruction, once per match.

``replacement`` is a Python format string over the captures, or over the numbered groups of the expression. The format
after a colon changes a number: ``{site:+1}`` adds one. For a literal with a point or an exponent, it adds a thousandth
part instead, which changes a digit but not the magnitude.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from parity.platform.files import read_table


@dataclass(frozen=True)
class Operator:
    """One way to plant a fault. ``name`` is unique, ``kind`` is the class in which recall counts it."""

    name: str
    kind: str
    pattern: str
    replacement: str
    says: str


def _operators(level: str) -> tuple[Operator, ...]:
    rows = read_table(Path(__file__).with_suffix(".csv"))
    return tuple(Operator(**{k: v for k, v in row.items() if k != "level"}) for row in rows if row["level"] == level)


SOURCE = _operators("source")
"""Faults in source as compiled for AMD."""

INSTRUCTIONS = _operators("instruction")
"""Faults in single instructions of the listing."""

_NUMBER = re.compile(r"(?P<sign>-?)(?P<digits>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(?P<suffix>[uUlL]*)$")
_REAL = re.compile(r"(?P<digits>-?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?)(?P<suffix>\w*)$")
_NEXT = {"0.5": "1.0", "1.0": "2.0", "2.0": "4.0", "4.0": "2.0"}


class CapturedText(str):
    """A captured text that supports the formats ``+N``, ``-N`` and ``next`` for numbers.

    Raises:
        ValueError: The text is not a number, or the new number does not fit.
    """

    def __format__(self, how: str) -> str:
        if not how:
            return str(self)
        if how == "next":
            sign = "-" * self.startswith("-")
            return sign + _NEXT[self.removeprefix("-")]
        if number := _NUMBER.match(self):
            digits = number["digits"].lower()
            value = int(number["sign"] + digits, 0 if digits.startswith(("0x", "0b")) else 10)
            value += int(how)
            if value < 0 and "u" in number["suffix"].lower():
                raise ValueError(f"{value} has a sign")
            shown = f"{value:#x}" if "x" in digits else str(value)
            return shown + number["suffix"]
        if real := _REAL.match(self):
            known = float(real["digits"])
            changed = known * (1 + int(how) / 1024) if known else int(how) / 1024
            return f"{changed!r}{real['suffix']}"
        raise ValueError(f"{self!r} is not a number")


def fill_replacement(replacement: str, groups: dict[str, str]) -> str:
    """Fill the captured texts into a replacement.

    Raises:
        ValueError: A number cannot be changed in the requested way.
    """
    return re.sub(
        r"\{(\w+)(?::([^{}]*))?\}", lambda found: format(CapturedText(groups[found[1]]), found[2] or ""), replacement
    )
