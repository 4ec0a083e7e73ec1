"""Known defects of AMD's headers: functions that do something else than CUDA's documentation says.

The table ``header_defects.csv`` has a row for each: names of which one must be in the source as well, names that must
not (a function of that name for another type is right; ``unnamed-namespace`` is one beside HIP's header of halves), the
first and the last HIP version in which it was seen (the last is empty if it is in the newest that was looked at), what
happens, and the way round.
``tests/porting/test_header_defects.py`` shows each of them by executing it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.lexing import Lines, code
from parity.model.finding import Finding
from parity.platform.files import read_table
from parity.porting.compat import identifiers, of_version

__all__ = ["Defect", "defects", "table"]

TABLE = Path(__file__).with_name("header_defects.csv")
OPERATOR = "operator"
_UNNAMED, _HALVES = "unnamed-namespace", "hip/hip_fp16.h"
_NAMESPACE = re.compile(r"\bnamespace\s*\{")

# Between blanks, for they may be around template arguments as well.
_OPERATORS = {"<": r"(?<=\s)<(?=\s)", ">": r"(?<=\s)>(?=\s)"}
# Words that stand before a name, or before its type, and are none.
_NO_TYPE = (
    *(
        "return",
        "const",
        "else",
        "case",
        "typename",
        "class",
        "struct",
        "using",
        "operator",
        "template",
        "static",
        "inline",
    ),
    *("volatile", "extern", "constexpr", "register", "__shared__", "__device__", "__constant__", "__forceinline__"),
)
_DECLARED = re.compile(
    rf"\b(?!(?:{'|'.join(_NO_TYPE)})\b)(?P<type>[A-Za-z_]\w*)\b"
    r"(?P<marks>[\s*&]*(?:\bconst\b|\b__restrict(?:__)?\b)?[\s*&]+)(?!(?:operator|const|__restrict__|__restrict)\b)"
    r"(?P<name>[A-Za-z_]\w*)\b(?P<after>\s*(?:\[|\(|::))?"
)


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
        """True if headers of a version have it."""
        return self.first <= version and (not self.last or version[: len(self.last)] <= self.last)


@functools.cache
def table() -> tuple[Defect, ...]:
    """The rows."""
    return tuple(
        Defect(
            row["name"], frozenset(row["beside"].split()), frozenset(row["without"].split()),
            of_version(row["first"]), of_version(row["last"]), row["happens"], row["instead"],
        )
        for row in read_table(TABLE)
    )  # fmt: skip


def defects(files: Mapping[str, str], version: tuple[int, ...]) -> tuple[Finding, ...]:
    """The places where the HIP sources ``files`` (text by name) use defects of the headers of a version.

    A name is reported once per file. An operator is reported where an operand is visibly of the type.
    """
    everywhere = {name for text in files.values() for name in identifiers(text)}
    if _HALVES in everywhere and any(_NAMESPACE.search(code(text)) for text in files.values()):
        everywhere.add(_UNNAMED)
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


@functools.lru_cache(maxsize=1024)  # a source is built in several variants, and most of its headers are the same
def _places(row: Defect, text: str) -> tuple[tuple[int, int], ...]:
    names = identifiers(text)
    if not row.name.startswith(OPERATOR):
        return (names[row.name],) if row.name in names else ()
    if not row.beside & names.keys():
        return ()
    lines = Lines(text)
    return tuple((lines.number(at), lines.column(at)) for at in sorted(_compared(code(text), row)))


def _compared(plain: str, row: Defect) -> set[int]:
    """The places where values of the row's types, variables or arguments of a macro, are compared by its operators."""
    operators = "|".join(_OPERATORS.get(each, re.escape(each)) for each in row.name.removeprefix(OPERATOR).split())
    kind = "|".join(sorted(row.beside))
    # The macro has the comparison as one argument and the type as another.
    in_macro = rf"\w\s*\((?:[^()]*,)?\s*(?:{kind})\s*,[^()]*?(?P<operator>{operators})[^()]*\)"
    found = {match.start("operator") for match in re.finditer(in_macro, plain)}
    values, pointers = _variables(plain, kind)
    # An element of two is no value of the type that holds both.
    element = r"(?!\s*\.)" if all(name.endswith("2") for name in row.beside) else r"(?:\.[xy]\b)?"
    operands = [rf"\b(?:{'|'.join(values)})\b(?!\s*\[){element}"] if values else []
    if names := "|".join(pointers):
        operands.append(rf"(?:\*\s*(?:{names})\b|\b(?:{names})\s*\[[^\]\n]*\])" + element)
    for operand in operands:
        for pattern in (rf"{operand}\s*(?P<operator>{operators})(?!=)", rf"(?P<operator>{operators})\s*{operand}"):
            found |= {match.start("operator") for match in re.finditer(pattern, plain)}
    return found


def _variables(plain: str, kind: str) -> tuple[list[str], list[str]]:
    """Variables of a type, and pointers to and arrays of it; none of a name that is declared as something else, too."""
    declared: dict[str, set[str]] = {}
    for match in _DECLARED.finditer(plain):
        is_kind, after = re.fullmatch(kind, match["type"]), (match["after"] or "").strip()
        if is_kind and after in ("(", "::"):  # a function
            continue
        what = "other" if not is_kind else "pointer" if "*" in match["marks"] or after else "value"
        declared.setdefault(match["name"], set()).add(what)
    values, pointers = (
        sorted(name for name, kinds in declared.items() if kinds == {what}) for what in ("value", "pointer")
    )
    return values, pointers
