"""Known defects of AMD's headers: functions that do something else than CUDA's documentation says.

The table ``header_defects.csv`` has a row for each: names of which one must be in the source as well, names that must
not (a function of that name for another type is right), the first and the last HIP version in which it was seen (the
last is empty if it is in the newest that was looked at), what happens, and the way round.
``tests/toolchain/test_header_defects.py`` shows each of them by executing it.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

from parity.toolchain.compat import identifiers, of_version
from parity.toolchain.hipify import Finding
from parity.toolchain.lexing import Lines, code

__all__ = ["Defect", "defects", "table"]

TABLE = "header_defects.csv"
OPERATOR = "operator"

_ELEMENT = r"(?:\[[^\]\n]*\]|\.[xy])?"


@dataclass(frozen=True)
class Defect:
    """One row of the table."""

    name: str
    beside: frozenset[str]
    without: frozenset[str]
    first: tuple[int, ...]
    last: tuple[int, ...]
    happens: str
    instead: str

    def is_in(self, version: tuple[int, ...]) -> bool:
        """Whether headers of a version have it."""
        return self.first <= version and (not self.last or version[: len(self.last)] <= self.last)


@functools.cache
def table() -> tuple[Defect, ...]:
    """The rows."""
    text = resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return tuple(
        Defect(
            row["name"], frozenset(row["beside"].split()), frozenset(row["without"].split()),
            of_version(row["first"]), of_version(row["last"]), row["happens"], row["instead"],
        )
        for row in csv.DictReader(text.splitlines())
    )  # fmt: skip


def defects(files: Mapping[str, str], version: tuple[int, ...]) -> tuple[Finding, ...]:
    """Where the HIP sources ``files`` (text by name) use what is wrong in headers of a version.

    A name is reported once per file. An operator is reported where an operand is visibly of the type.
    """
    everywhere = {name for text in files.values() for name in identifiers(text)}
    rows = [
        each
        for each in table()
        if each.is_in(version) and (not each.beside or each.beside & everywhere) and not each.without & everywhere
    ]
    return tuple(
        Finding(row.name, file, line, column, f"{row.happens}; {row.instead}")
        for file, text in files.items()
        for row in rows
        for line, column in _places(row, text)
    )


def _places(row: Defect, text: str) -> Iterator[tuple[int, int]]:
    if not row.name.startswith(OPERATOR):
        if place := identifiers(text).get(row.name):
            yield place
        return
    lines = Lines(text)
    for at in sorted(_compared(code(text), row)):
        yield lines.number(at), lines.column(at)


def _compared(plain: str, row: Defect) -> set[int]:
    """Where values of the row's types are compared by its operators: variables of them, or arguments of a macro."""
    operators = "|".join(re.escape(each) for each in row.name.removeprefix(OPERATOR).split())
    kind = "|".join(sorted(row.beside))
    found = {
        match.start("operator")
        for match in re.finditer(rf"\w\s*\([^()]*\b(?:{kind})\b[^()]*?(?P<operator>{operators})[^()]*\)", plain)
    }
    names = {
        match[1] for match in re.finditer(rf"\b(?:{kind})\b\s*(?:const\b)?[\s*&]*\b([A-Za-z_]\w*)\b(?!\s*\()", plain)
    }
    if names:
        operand = rf"\b(?:{'|'.join(map(re.escape, names))})\b{_ELEMENT}"
        pattern = rf"(?:{operand}\s*(?P<after>{operators})(?!=))|(?:(?P<before>{operators})\s*\*?{operand})"
        found |= {max(m.start("after"), m.start("before")) for m in re.finditer(pattern, plain)}
    return found
