"""Shards: parts of a run that execute independently on different machines.

The kernels of a run are cut, in order, into one piece per shard, so that most modules are built for one shard only.
Each machine cuts on its own, and all machines get the same pieces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parity.errors import UsageError, parse_natural
from parity.runners.recording_file import Part


@dataclass(frozen=True)
class Shard:
    """Shard number ``index`` (starting at 1) of ``count``. Its text is ``3/8``."""

    index: int
    count: int

    @classmethod
    def of(cls, text: str) -> Shard:
        """Parse a shard.

        Raises:
            UsageError: The text is not a shard.
        """
        if not (match := re.fullmatch("([0-9]+)/([0-9]+)", text)):
            raise UsageError(f"{text!r} is not a shard; write 3/8 for the third of eight shards")
        index, count = (parse_natural(number, "a shard's number") for number in match.groups())
        if not 1 <= index <= count:
            raise UsageError(f"there is no shard {text}: {count} shards have the numbers 1 to {count}")
        return cls(index, count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass(frozen=True)
class Share:
    """The kernels of a shard: ``mine`` of ``all``, as names of kernel entries in order."""

    shard: Shard
    all: tuple[str, ...]
    mine: tuple[str, ...]

    @classmethod
    def of(cls, shard: Shard, names: Sequence[str], costs: Mapping[str, float]) -> Share:
        """Return the kernels of one shard. ``costs`` as in ``cut``.

        Raises:
            UsageError: There are more shards than kernels.
        """
        if len(names) < shard.count:
            kernels = f"{len(names)} kernels" if len(names) > 1 else "one kernel"
            raise UsageError(f"the run has {kernels}, which cannot be divided among {shard.count} shards")
        numbers = cut([costs.get(name) for name in names], shard.count)
        mine = [name for name, number in zip(names, numbers, strict=True) if number == shard.index]
        return cls(shard, tuple(names), tuple(mine))

    @property
    def part(self) -> Part:
        """The share as stored in the head of records and recordings."""
        return {"shard": str(self.shard), "all": list(self.all), "mine": list(self.mine)}


def cut(costs: Sequence[float | None], count: int) -> list[int]:
    """Return the shard number, from 1 to ``count``, of each kernel.

    Lines up the costs of all kernels, and assigns a kernel to the shard in which the middle of its cost lies. A kernel
    of unknown cost (None) counts as an average kernel. No shard is empty if there are enough kernels.
    """
    known = [cost for cost in costs if cost is not None]
    if not sum(known):
        known, costs = [1.0], [None] * len(costs)
    each = [sum(known) / len(known) if cost is None else cost for cost in costs]
    whole, before, last = sum(each), 0.0, 0
    numbers = []
    for place, cost in enumerate(each):
        number = int((before + cost / 2) / whole * count) + 1
        left = len(each) - place  # includes this kernel
        last = max(min(number, last + 1, count), last, count - left + 1)
        numbers.append(last)
        before += cost
    return numbers
