"""Candidate formulas for the number of blocks along an axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from parity.inference.spec import AXES, Numbers, Triple, evaluate


def counted_grids(
    axis: str, names: Sequence[str], choices: Sequence[Numbers], block: Triple, counts: Sequence[int | None]
) -> Iterator[str]:
    """Yield formulas that have the value ``counts`` for each choice of numbers."""
    if set(counts) == {1}:
        yield "1"
    along, threads = block[AXES.index(axis)], math.prod(block)
    per_block = dict.fromkeys((along, threads, threads // 32, *(along * i for i in (2, 4, 8)), 8, 16, 32))
    for size in range(1, 6):
        for chosen in itertools.combinations(names, size):
            product = "*".join(chosen)
            for text in (product, *(f"ceil({product}/{each})" for each in per_block if each > 1)):
                if all(evaluate(text, each, block) == count for each, count in zip(choices, counts, strict=True)):
                    yield text


def extent_grids(axis: str, names: Sequence[str], block: Triple, *, products: bool, is_only: bool) -> Iterator[str]:
    """Yield formulas for an axis without a bounds check, along which no number of blocks is enough.

    ``products`` adds formulas of several numbers, ``is_only`` adds formulas for kernels with a single such axis.
    """
    along = block[AXES.index(axis)]
    for size in (3, 2) if products else ():
        for chosen in itertools.combinations(names, size):
            yield f"ceil({'*'.join(chosen)}/{along})"
    for name in names:
        if along > 1:
            yield f"ceil({name}/{along})"
        if along == 1 or is_only:
            yield name
        if is_only and (threads := math.prod(block)) != along:
            yield f"ceil({name}/{threads})"
        if is_only:
            yield f"ceil({name}/{2 * along})"
