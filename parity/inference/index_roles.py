"""Finds integer tensors whose elements are bounds: sizes in memory, row offsets of sparse matrices, masks, orders."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set

from parity.inference.spec import IndexRole

_MOST_ROLES = 4
"""Such tensors of a kernel at most."""
_ENTRY_COUNT = re.compile(
    r"(?i)nnz|non_?zeros|(?:n_?|num_?|no_?of_?)?(?:nnz|edges?)|(?:nnz|edges?)_?(?:n|num|count|size)?"
)
"""Matches names for the number of entries of a sparse matrix, or of edges of a graph."""
_ENTRIES = "nnz"

Reach = Callable[[Mapping[str, IndexRole], Sequence[str]], Mapping[str, int]]
"""Returns how many elements of each tensor launches reach with these roles and these names of numbers."""


def find_roles(
    integers: Sequence[str], used: Set[str], numbers: Sequence[str], reach: Reach
) -> tuple[dict[str, IndexRole], list[str]]:
    """Return the roles that make a kernel reach more elements, and the names of its numbers including their bounds.

    A bound is one of the kernel's numbers if it has a suitable name, or else an additional number.

    Args:
        integers: The integer tensors.
        used: The tensors that the kernel may access.
        numbers: The kernel's numbers.
        reach: Launches the kernel.
    """
    found, names = dict[str, IndexRole](), [*numbers]
    reached = reach(found, names) if integers else {}
    single = {name for name in integers if reached.get(name, 0) == 1}
    while len(found) < _MOST_ROLES:
        for name, role in _likely([name for name in integers if name not in found], single, names):
            # All tensors hold 1 at times. A size has to reach more than that.
            if role.use != "size" and used <= {name for name, end in reached.items() if end}:
                continue
            tried = {**found, name: role}, list(dict.fromkeys((*names, *filter(None, [role.bound]))))
            more = reach(*tried)
            if role.use == "size":
                is_better = any(more[other] > end + 1 for other, end in reached.items())
            else:
                is_better = any(more[other] and not end for other, end in reached.items())
            if is_better:
                (found, names), reached = tried, more
                break
        else:
            break
    return found, names


def _likely(
    integers: Sequence[str], single: Collection[str], numbers: Sequence[str]
) -> Iterator[tuple[str, IndexRole]]:
    """Yield possible roles of tensors, the most likely first. ``single`` tensors have one element."""
    for name in filter(single.__contains__, integers):
        yield name, IndexRole("size", f"{name}_most")
    several = [name for name in integers if name not in single]
    entries = next(filter(_ENTRY_COUNT.fullmatch, numbers), _ENTRIES)
    for name in several:
        yield name, IndexRole("offsets", entries)
    for name in several:
        yield name, IndexRole("order")
    for name, number in itertools.product(integers, ("", *numbers)):
        yield name, IndexRole("mask", number)
