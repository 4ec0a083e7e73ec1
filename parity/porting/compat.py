"""Names that CUDA has and AMD's headers lack: those of a source that parity's compatibility headers supply.

The table ``compat.csv`` has a row for each name: the header that supplies it, or none; ``beside``, names of which one
must be in the source as well (``atomicAdd`` is HIP's own unless there is a half); the HIP version from which it is not
needed; and the reason. The headers are in ``include/compat``, where a source may include them itself
(``<parity/compat/simd.h>``). Every function in them gives way to one of the source's own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.lexing import Lines, code
from parity.model.finding import Finding
from parity.platform.files import rows_of
from parity.porting.cuda_names import defined_macros
from parity.porting.sources import INCLUDE

__all__ = ["Compat", "Row", "confirmed", "identifiers", "of_version", "supplied", "table"]

TABLE = Path(__file__).with_name("compat.csv")
FORCED = "parity/compat/"
"""Headers below this are included first where a name is met; others have the name by which the source includes them."""
_OF_MACROS = (f"{FORCED}guards.h", f"{FORCED}macros.h")
"""Headers whose names a source may define itself: that it does is the matter."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b(?:\\\r?\n|[^\n])*", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """One row of the table. ``until`` is the HIP version that has it, empty if none is known."""

    name: str
    header: str
    beside: frozenset[str]
    until: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class Compat:
    """The compatibility headers that a source needs.

    ``headers`` are to be included first. ``needs`` are the names that they supply, each where it stands first;
    ``refused`` those that nothing supplies, with the reason; ``defects`` is what is wrong in AMD's headers.
    """

    headers: tuple[str, ...] = ()
    needs: tuple[Finding, ...] = ()
    refused: tuple[Finding, ...] = ()
    defects: tuple[Finding, ...] = ()

    def left(self, unmapped: Sequence[Finding]) -> list[Finding]:
        """Of the names that have no counterpart in HIP, those that are not supplied; and those that are refused."""
        known = {finding.name for finding in (*self.needs, *self.refused)}
        return [*(finding for finding in unmapped if finding.name not in known), *self.refused]


@functools.cache
def table() -> Mapping[str, tuple[Row, ...]]:
    """The rows by name."""
    rows: dict[str, tuple[Row, ...]] = {}
    for each in rows_of(TABLE):
        row = Row(
            each["name"], each["header"], frozenset(each["beside"].split()), of_version(each["until"]), each["reason"]
        )
        rows[row.name] = (*rows.get(row.name, ()), row)
    return rows


def of_version(text: str) -> tuple[int, ...]:
    """A version as numbers: ``6.2.41134`` is (6, 2, 41134)."""
    return tuple(int(part) for part in text.split(".")) if text else ()


def supplied(files: Mapping[str, str], version: tuple[int, ...]) -> Compat:
    """The compatibility headers that HIP sources ``files`` (text by name) need beside AMD's headers of a version."""
    met = {file: identifiers(text) for file, text in files.items()}
    everywhere = {name for names in met.values() for name in names}
    # A macro of the program's may be in a branch for HIP that is not taken. Where it is, it hides what a header has.
    own: set[str] = set().union(*(defined_macros(text) for text in files.values()))
    said = set[str]()
    headers: set[str] = set()
    needs: list[Finding] = []
    refused: list[Finding] = []
    for file, names in met.items():
        for name in sorted(names.keys() & table().keys() - said):
            said.add(name)  # once is enough
            for row in table()[name]:
                if (row.beside and not row.beside & everywhere) or (row.until and version >= row.until):
                    continue
                if row.header.startswith(FORCED):
                    headers.add(row.header)
                if name not in own or row.header in _OF_MACROS:
                    reason = f"{row.header}: {row.reason}" if row.header else row.reason
                    (needs if row.header else refused).append(Finding(name, file, *names[name], reason))
    return Compat(tuple(sorted(headers)), tuple(needs), tuple(refused))


def confirmed(needs: Sequence[Finding], sources: Iterable[Path]) -> tuple[Finding, ...]:
    """``needs`` without those that were only possible: whose header gave no code, by the files that code is from.

    That a name with a condition is met says little: an ``atomicAdd`` beside a half need not be one of halves.
    """
    used = {path.as_posix() for path in sources}
    return tuple(each for each in needs if _is_certain(each) or any(path.endswith(_header(each)) for path in used))


def _header(need: Finding) -> str:
    return need.advice.partition(":")[0]


def _is_certain(need: Finding) -> bool:
    return any(row.header == _header(need) and not row.beside for row in table()[need.name])


@functools.lru_cache(maxsize=512)
def identifiers(text: str) -> Mapping[str, tuple[int, int]]:
    """The identifiers of a source outside of comments and literals, and the headers it includes.

    Each with line and column, from 1, of where it stands first.
    """
    lines = Lines(text)
    found: dict[str, tuple[int, int]] = {}
    for name, at in _words(text):
        if name not in found:
            found[name] = (lines.number(at), lines.column(at))
    return found


def _words(text: str) -> Iterator[tuple[str, int]]:
    # What a condition asks is no use of it: a name that is not there is 0 in one. A guard is nowhere else.
    plain = code(text)
    for match in _NAME.finditer(_CONDITION.sub(lambda each: re.sub(r"[^\n]", " ", each[0]), plain)):
        yield match[0], match.start()
    for condition in _CONDITION.finditer(plain):
        for match in _NAME.finditer(plain, *condition.span()):
            if any(row.header in _OF_MACROS for row in table().get(match[0], ())):
                yield match[0], match.start()
    for match in INCLUDE.finditer(text):
        yield match[2], match.start(2)
