"""Finds uses of functions in AMD's headers that differ from CUDA's documentation.

Each row of ``header_defects.csv`` is a defect: ``name`` is the function, or ``operator`` and its signs. The source must
also contain one of the names in ``beside``. It must not contain a name in ``without``, which makes the function
correct. The pseudo name ``unnamed-namespace`` means an unnamed namespace in a source that includes ``hip/hip_fp16.h``.
``first`` and ``last`` are the HIP versions with the defect; ``last`` is empty if the newest version has it. ``happens``
describes the behaviour, and ``instead`` the replacement. ``tests/porting/test_header_defects.py`` executes them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.lexing import Lines, code
from parity.model.finding import Finding
from parity.platform.files import read_rows
from parity.porting.compat import identifiers

TABLE = Path(__file__).with_name("header_defects.csv")
OPERATOR = "operator"
_UNNAMED, _HALVES = "unnamed-namespace", "hip/hip_fp16.h"
_NAMESPACE = re.compile(r"\bnamespace\s*\{")

# Between blanks, because these signs may also enclose template arguments.
_OPERATORS = {"<": r"(?<=\s)<(?=\s)", ">": r"(?<=\s)>(?=\s)"}
# Words before a name, or before its type, that are not a type.
_NO_TYPE = (
    r"(?:return|const|else|case|typename|class|struct|using|operator|template|static|inline|volatile|extern|constexpr"
    r"|register|__shared__|__device__|__constant__|__forceinline__)"
)
_DECLARED = re.compile(
    rf"\b(?!{_NO_TYPE}\b)(?P<type>[A-Za-z_]\w*)\b"
    r"(?P<marks>[\s*&]*(?:\bconst\b|\b__restrict(?:__)?\b)?[\s*&]+)(?!(?:operator|const|__restrict__|__restrict)\b)"
    r"(?P<name>[A-Za-z_]\w*)\b(?P<after>\s*(?:\[|\(|::))?"
)


@dataclass(frozen=True)
class Defect:
    """A row of the table."""

    name: str
    beside: frozenset[str]
    without: frozenset[str]
    first: tuple[int, ...]
    last: tuple[int, ...]
    happens: str
    instead: str

    def is_in(self, version: tuple[int, ...]) -> bool:
        """Return whether the headers of a version have the defect."""
        return self.first <= version and (not self.last or version[: len(self.last)] <= self.last)


@functools.cache
def known_defects() -> tuple[Defect, ...]:
    """Return the rows of the table."""
    return read_rows(TABLE, Defect)


def defects(files: Mapping[str, str], version: tuple[int, ...]) -> tuple[Finding, ...]:
    """Return the places where the HIP sources ``files`` (text by name) use defects of the headers of a version.

    A name is reported once per file, an operator wherever an operand visibly has the type.
    """
    everywhere = {name for text in files.values() for name in identifiers(text)}
    if _HALVES in everywhere and any(_NAMESPACE.search(code(text)) for text in files.values()):
        everywhere.add(_UNNAMED)
    rows = [
        each
        for each in known_defects()
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
    return tuple(map(lines.place, sorted(_compared(code(text), row))))


def _compared(plain: str, row: Defect) -> set[int]:
    """Return where the operators of a defect compare values of its types: variables, or arguments of a macro."""
    operators = "|".join(_OPERATORS.get(each, re.escape(each)) for each in row.name.removeprefix(OPERATOR).split())
    kind = "|".join(sorted(row.beside))
    # A macro that takes the type and the comparison as arguments.
    in_macro = rf"\w\s*\((?:[^()]*,)?\s*(?:{kind})\s*,[^()]*?(?P<operator>{operators})[^()]*\)"
    found = {match.start("operator") for match in re.finditer(in_macro, plain)}
    values, pointers = _variables(plain, kind)
    # One element of a pair does not have the type of the pair.
    element = r"(?!\s*\.)" if all(name.endswith("2") for name in row.beside) else r"(?:\.[xy]\b)?"
    operands = [rf"\b(?:{'|'.join(values)})\b(?!\s*\[){element}"] if values else []
    if names := "|".join(pointers):
        operands.append(rf"(?:\*\s*(?:{names})\b|\b(?:{names})\s*\[[^\]\n]*\])" + element)
    for operand in operands:
        for pattern in (rf"{operand}\s*(?P<operator>{operators})(?!=)", rf"(?P<operator>{operators})\s*{operand}"):
            found |= {match.start("operator") for match in re.finditer(pattern, plain)}
    return found


def _variables(plain: str, kind: str) -> tuple[list[str], list[str]]:
    """Return variables, pointers and arrays of a type. Names that have other declarations as well are omitted."""
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
