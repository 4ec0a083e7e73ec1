"""Shards: a run that is divided among machines which know nothing of each other.

The kernels of the run, in their order, are cut into as many pieces as there are shards, so that most modules are built
for one shard only. Each machine cuts by itself, and all of them cut alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parity.errors import UsageError, parse_natural
from parity.runners.recording_file import Part

__all__ = ["Shard", "Share", "cut"]


@dataclass(frozen=True)
class Shard:
    """The shard with number ``index`` (the first is 1) of ``count``. Its text is ``3/8``."""

    index: int
    count: int

    @classmethod
    def of(cls, text: str) -> Shard:
        """The shard with this text.

        Raises:
            UsageError: it is none.
        """
        if not (match := re.fullmatch("([0-9]+)/([0-9]+)", text)):
            raise UsageError(f"{text!r} is no shard; write 3/8 for the third of eight")
        index, count = (parse_natural(number, "a shard's number") for number in match.groups())
        if not 1 <= index <= count:
            raise UsageError(f"there is no shard {text}: {count} shards have the numbers 1 to {count}")
        return cls(index, count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass(frozen=True)
class Share:
    """The share of a run that a shard has: ``mine`` of ``all`` kernels, by the names of their entries, in order."""

    shard: Shard
    all: tuple[str, ...]
    mine: tuple[str, ...]

    @classmethod
    def of(cls, shard: Shard, names: Sequence[str], costs: Mapping[str, float]) -> Share:
        """The share of one shard; ``costs`` as in ``cut``.

        Raises:
            UsageError: there are fewer kernels than shards.
        """
        if len(names) < shard.count:
            kernels = f"{len(names)} kernels" if len(names) > 1 else "one kernel"
            raise UsageError(f"the run has {kernels}, which cannot be divided among {shard.count} shards")
        numbers = cut([costs.get(name) for name in names], shard.count)
        mine = [name for name, number in zip(names, numbers, strict=True) if number == shard.index]
        return cls(shard, tuple(names), tuple(mine))

    @property
    def part(self) -> Part:
        """The share as it is in the head of records and recordings."""
        return {"shard": str(self.shard), "all": list(self.all), "mine": list(self.mine)}


def cut(costs: Sequence[float | None], count: int) -> list[int]:
    """The number of the shard, from 1 to ``count``, of each of so many kernels, as many as there are ``costs``.

    A kernel is in the shard in which the middle of its cost lies, where the costs of all stand one behind the other; an
    unknown one costs as much as the known ones on average. No shard is empty if there are as many kernels.
    """
    known = [cost for cost in costs if cost is not None]
    if not sum(known):
        known, costs = [1.0], [None] * len(costs)
    each = [sum(known) / len(known) if cost is None else cost for cost in costs]
    whole, before, last = sum(each), 0.0, 0
    numbers = []
    for place, cost in enumerate(each):
        number = int((before + cost / 2) / whole * count) + 1
        left = len(each) - place  # with this one
        last = max(min(number, last + 1, count), last, count - left + 1)
        numbers.append(last)
        before += cost
    return numbers
