"""The register of known CUDA/AMD divergences (``D1``, ``D25``, ...): both vendors are right, but their results differ.

``divergences.csv`` is the register. ``docs/divergences.md`` shows it, with the ops that each divergence affects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from parity.errors import UsageError
from parity.platform.files import read_table


@dataclass(frozen=True)
class Divergence:
    """A known divergence.

    Attributes:
        topic: the operation or input that it concerns.
        cuda: what CUDA does, as a predicate ("returns NaN").
        amd: what AMD does, as a predicate.
        source: where the vendors document it.
        ptx: a pattern for PTX that may show the divergence; empty if PTX does not reveal it.
    """

    id: str
    topic: str
    cuda: str
    amd: str
    source: str
    ptx: str = ""

    def __str__(self) -> str:
        return f"{self.id}: {self.topic}: CUDA {self.cuda}; AMD {self.amd}"


@cache
def divergences() -> Mapping[str, Divergence]:
    """Return the register by id, in the order of the numbers."""
    rows = read_table(Path(__file__).with_name("divergences.csv"))
    return MappingProxyType({row["id"]: Divergence(**row) for row in rows})


def divergence(name: str) -> Divergence:
    """Return the divergence with that id.

    Raises:
        UsageError: the register does not contain the id.
    """
    known = divergences()
    if not isinstance(name, str) or name not in known:
        raise UsageError(f"no known divergence has the id {name!r}; the register has {', '.join(known)}")
    return known[name]


def met_by(ptx: str) -> tuple[Divergence, ...]:
    """Return the divergences that PTX of a kernel may show."""
    return tuple(each for each in divergences().values() if each.ptx and re.search(each.ptx, ptx, re.DOTALL))


def sort_ids(names: Iterable[str]) -> tuple[str, ...]:
    """Return the ids without duplicates, with D2 before D10."""
    return tuple(sorted(set(names), key=lambda name: (int(name[1:]) if name[1:].isdigit() else 0, name)))
