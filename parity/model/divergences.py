"""The register of known CUDA/AMD divergences: rules by which both vendors are right, and their results differ.

``divergences.csv`` is the register, ``docs/divergences.md`` shows it with the ops that meet each. An id that is not in
it cannot be used.
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

__all__ = ["Divergence", "divergence", "divergences", "met_by", "sort_ids"]


@dataclass(frozen=True)
class Divergence:
    """A known divergence: its ``topic``, what CUDA and AMD do, as predicates, and where that is documented.

    ``ptx`` matches code of CUDA's side that may meet it; it is empty where the code does not show that.
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
    """The register, by id, in the order of the numbers."""
    rows = read_table(Path(__file__).with_name("divergences.csv"))
    return MappingProxyType({row["id"]: Divergence(**row) for row in rows})


def divergence(name: str) -> Divergence:
    """The divergence of that id.

    Raises:
        UsageError: the register has none.
    """
    known = divergences()
    if not isinstance(name, str) or name not in known:
        raise UsageError(f"no known divergence has the id {name!r}; the register has {', '.join(known)}")
    return known[name]


def met_by(ptx: str) -> tuple[Divergence, ...]:
    """The divergences that the code of a kernel on CUDA's side may meet, of those that it shows."""
    return tuple(each for each in divergences().values() if each.ptx and re.search(each.ptx, ptx, re.DOTALL))


def sort_ids(names: Iterable[str]) -> tuple[str, ...]:
    """Each id once, D2 before D10."""
    return tuple(sorted(set(names), key=lambda name: (int(name[1:]) if name[1:].isdigit() else 0, name)))
