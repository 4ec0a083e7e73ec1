"""Finds the compatibility headers that a source needs for names that CUDA has and AMD's headers lack.

Each row of ``compat.csv`` is a name. ``header`` supplies it and may be empty. ``beside`` lists names; one of them must
also be in the source (HIP lacks ``atomicAdd`` for halves only). ``until`` is the HIP version that has the name.
The headers are in ``include/compat``. A source may include them itself (``<parity/compat/simd.h>``), and a function of
the source takes precedence over a function of theirs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.lexing import WORD, Lines, code
from parity.model.finding import Finding
from parity.platform.files import read_rows
from parity.porting.cuda_names import defined_macros
from parity.porting.includes import INCLUDE

TABLE = Path(__file__).with_name("compat.csv")
FORCED = "parity/compat/"
"""Headers below this folder are included first; the source itself includes other headers."""
_OF_MACROS = (f"{FORCED}guards.h", f"{FORCED}macros.h")
"""Headers for names that the source itself defines, which causes the conflict."""

_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b(?:\\\r?\n|[^\n])*", re.MULTILINE)


@dataclass(frozen=True)
class CompatRule:
    """A row of the table. ``until`` is the HIP version that has the name, empty if unknown."""

    name: str
    header: str
    beside: frozenset[str]
    until: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class Compat:
    """The compatibility headers that a source needs.

    Attributes:
        headers: Headers to include first.
        needs: The names that the headers supply, each at its first place.
        refused: Names that nothing supplies, with the reason.
        defects: Uses of functions that are wrong in AMD's headers.
    """

    headers: tuple[str, ...] = ()
    needs: tuple[Finding, ...] = ()
    refused: tuple[Finding, ...] = ()
    defects: tuple[Finding, ...] = ()

    def left(self, unmapped: Sequence[Finding]) -> list[Finding]:
        """Return the names without a HIP counterpart that nothing supplies."""
        known = {finding.name for finding in (*self.needs, *self.refused)}
        return [*(finding for finding in unmapped if finding.name not in known), *self.refused]


@functools.cache
def rules() -> Mapping[str, tuple[CompatRule, ...]]:
    """Return the rows by name."""
    rows: dict[str, tuple[CompatRule, ...]] = {}
    for row in read_rows(TABLE, CompatRule):
        rows[row.name] = (*rows.get(row.name, ()), row)
    return rows


def supplied(files: Mapping[str, str], version: tuple[int, ...]) -> Compat:
    """Return what the HIP sources ``files`` (text by name) need in addition to AMD's headers of a version."""
    met = {file: identifiers(text) for file, text in files.items()}
    everywhere = {name for names in met.values() for name in names}
    # The program's macro may be in a branch that is not compiled. Where it is compiled, it hides the header's name.
    own: set[str] = set().union(*(defined_macros(text) for text in files.values()))
    reported = set[str]()
    headers: set[str] = set()
    needs: list[Finding] = []
    refused: list[Finding] = []
    for file, names in met.items():
        for name in sorted(names.keys() & rules().keys() - reported):
            reported.add(name)
            for row in rules()[name]:
                if (row.beside and not row.beside & everywhere) or (row.until and version >= row.until):
                    continue
                if row.header.startswith(FORCED):
                    headers.add(row.header)
                if name not in own or row.header in _OF_MACROS:
                    reason = f"{row.header}: {row.reason}" if row.header else row.reason
                    (needs if row.header else refused).append(Finding(name, file, *names[name], reason))
    return Compat(tuple(sorted(headers)), tuple(needs), tuple(refused))


def confirmed(needs: Sequence[Finding], sources: Iterable[Path]) -> tuple[Finding, ...]:
    """Return the needs without uncertain ones, if no code came from their header; ``sources`` are the files with code.

    A name with a condition is uncertain: an ``atomicAdd`` in a source with halves need not be an addition of halves.
    """
    used = {path.as_posix() for path in sources}
    return tuple(each for each in needs if _is_certain(each) or any(path.endswith(_header(each)) for path in used))


def _header(need: Finding) -> str:
    return need.advice.partition(":")[0]


def _is_certain(need: Finding) -> bool:
    rows = rules().get(need.name)
    return rows is None or any(row.header == _header(need) and not row.beside for row in rows)


@functools.lru_cache(maxsize=512)
def identifiers(text: str) -> Mapping[str, tuple[int, int]]:
    """Return the identifiers of a source outside comments and literals, and the headers that it includes.

    Each has the line and column, from 1, of its first place.
    """
    lines = Lines(text)
    found: dict[str, tuple[int, int]] = {}
    for name, at in _words(text):
        if name not in found:
            found[name] = lines.place(at)
    return found


def _words(text: str) -> Iterator[tuple[str, int]]:
    # A name in a condition is not a use, because an undefined name is 0. But include guards occur only there.
    plain = code(text)
    for match in WORD.finditer(_CONDITION.sub(lambda each: re.sub(r"[^\n]", " ", each[0]), plain)):
        yield match[0], match.start()
    for condition in _CONDITION.finditer(plain):
        for match in WORD.finditer(plain, *condition.span()):
            if any(row.header in _OF_MACROS for row in rules().get(match[0], ())):
                yield match[0], match.start()
    for match in INCLUDE.finditer(text):
        yield match[2], match.start(2)
