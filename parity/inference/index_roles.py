"""Tensors whose elements are bounds: sizes in memory, where rows of a sparse matrix begin, masks, orders."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set

from parity.inference.facts import Supposed

__all__ = ["suppositions"]

_MOST = 4
"""Such tensors of a kernel, at most."""
_NUMBER_OF = re.compile(
    r"(?i)nnz|non_?zeros|(?:n_?|num_?|no_?of_?)?(?:nnz|edges?)|(?:nnz|edges?)_?(?:n|num|count|size)?"
)
"""Names of numbers that say how many entries a sparse matrix has, or how many edges a graph."""
_ENTRIES = "nnz"

Reach = Callable[[Mapping[str, Supposed], Sequence[str]], Mapping[str, int]]
"""How many elements some launches reach behind each pointer with these tensors supposed, and these numbers."""


def suppositions(
    whole: Sequence[str], used: Set[str], numbers: Sequence[str], reach: Reach
) -> tuple[dict[str, Supposed], list[str]]:
    """The tensors whose elements are bounds, with which a kernel reaches more, and the names of its numbers then.

    What they bound is a number of the kernel's if one is called so, else one more. ``whole`` are the tensors of whole
    numbers, ``used`` all that the kernel may access.
    """
    found, names = dict[str, Supposed](), [*numbers]
    reached = reach(found, names) if whole else {}
    single = {name for name in whole if reached.get(name, 0) == 1}
    while len(found) < _MOST:
        for name, each in _likely([name for name in whole if name not in found], single, names):
            # A size is one only if more is reached with it than with the 1 that all hold at times.
            if each.use != "size" and used <= {name for name, end in reached.items() if end}:
                continue
            tried = {**found, name: each}, list(dict.fromkeys((*names, *filter(None, [each.bound]))))
            more = reach(*tried)
            if (
                any(more[other] > end + 1 for other, end in reached.items())
                if each.use == "size"
                else any(more[other] and not end for other, end in reached.items())
            ):
                (found, names), reached = tried, more
                break
        else:
            break
    return found, names


def _likely(whole: Sequence[str], single: Collection[str], numbers: Sequence[str]) -> Iterator[tuple[str, Supposed]]:
    """The uses that tensors of whole numbers may have, the likeliest first; ``single`` have one element."""
    for name in filter(single.__contains__, whole):
        yield name, Supposed("size", f"{name}_most")
    entries = next(filter(_NUMBER_OF.fullmatch, numbers), _ENTRIES)
    for name in (name for name in whole if name not in single):
        yield name, Supposed("offsets", entries)
    for name in (name for name in whole if name not in single):
        yield name, Supposed("order")
    for name, number in itertools.product(whole, ("", *numbers)):
        yield name, Supposed("mask", number)
