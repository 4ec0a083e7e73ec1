"""Finds tensors whose elements are bounds or positions.

Integers may be sizes, row offsets, starts and lengths, masks or orders. Floating-point numbers may be positions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from parity.inference.experiment import Experiment
from parity.inference.probe_launches import InputFill
from parity.inference.spec import PLACES, IndexRole
from parity.triton_kernels.names import BOUNDS, LENGTHS

_MOST_ROLES = 4
"""Such tensors of a kernel at most."""
_ENTRY_COUNT = re.compile(
    r"(?i)e|nnz|non_?zeros|(?:n_?|num_?|no_?of_?)?(?:nnz|edges?)|(?:nnz|edges?)_?(?:n|num|count|size)?"
)
"""Matches names for the number of entries of a sparse matrix, or of edges of a graph."""
_ENTRIES = "nnz"

Reach = Callable[[Mapping[str, IndexRole], Sequence[str]], Mapping[str, int]]
"""Returns how many elements of each tensor launches reach with these roles and these names of numbers."""


def find_roles(
    experiment: Experiment, reach: Reach, fails: Callable[[InputFill], bool]
) -> tuple[dict[str, IndexRole], list[str]]:
    """Return the roles with which a kernel reaches more elements or does not fail, and the names of its numbers.

    A bound is one of the kernel's numbers if it has a suitable name, or else an additional number.

    Args:
        experiment: What is assumed of the kernel.
        reach: Launches the kernel.
        fails: Returns whether a launch with this content of tensors fails.
    """
    integers, used = experiment.integer_tensors, experiment.used
    found, names = _places(experiment.real_tensors, fails), [*experiment.numbers]
    reached = reach(found, names) if integers else {}
    single = {name for name in integers if reached.get(name, 0) == 1}
    while len(found) < _MOST_ROLES:
        several = [name for name in integers if name not in found and name not in single]
        stated = [*_stated(several, experiment.offsets, experiment.segments, names)]
        # Without an end, a launch follows a list forever.
        ends = [{name: IndexRole("ends")} for name in several] if not any(reached.values()) else []
        for roles in (*stated, *ends, *_likely(several, single - found.keys(), names)):
            is_size = all(role.use == "size" for role in roles.values())
            # All tensors hold 1 at times. A size has to reach more than that.
            if roles not in stated and not is_size and used <= {name for name, end in reached.items() if end}:
                continue
            bounds = [role.bound for role in roles.values() if role.bound]
            tried = {**found, **roles}, list(dict.fromkeys((*names, *bounds)))
            more = reach(*tried)
            if roles in ends:  # the kernel must follow the list
                is_better = all(map(more.get, used))
            elif roles in stated:
                is_better = more != reached and all(more[other] for other, end in reached.items() if end)
            elif is_size:
                is_better = any(more[other] > end + 1 for other, end in reached.items())
            else:
                is_better = any(more[other] and not end for other, end in reached.items())
            if is_better:
                (found, names), reached = tried, more
                break
        else:
            break
    return found, names


def _places(reals: Sequence[str], fails: Callable[[InputFill], bool]) -> dict[str, IndexRole]:
    """Return the floating-point tensors in which negative numbers make a launch fail, and small numbers do not."""
    below = -PLACES[-1]
    if not reals or not fails(InputFill(below)):
        return {}
    return {
        name: IndexRole("places")
        for name in reals
        if fails(InputFill(one=name, value=below))
        and not any(fails(InputFill(one=name, value=value)) for value in PLACES)
    }


def _stated(
    several: Sequence[str], offsets: Collection[str], segments: Collection[str], numbers: Sequence[str]
) -> Iterator[Mapping[str, IndexRole]]:
    """Yield roles that the kernel's code or the names of tensors state."""
    entries = _entries(numbers)
    yield from ({name: IndexRole("offsets", entries)} for name in several if name in offsets)
    yield from ({name: IndexRole("segments", entries)} for name in several if name in segments)
    starts, lengths = ([name for name in several if each.fullmatch(name)] for each in (BOUNDS, LENGTHS))
    for start, length in itertools.product(starts, lengths):
        if start != length:
            yield {start: IndexRole("starts", entries), length: IndexRole("lengths", entries)}


def _likely(
    several: Sequence[str], single: Collection[str], numbers: Sequence[str]
) -> Iterator[Mapping[str, IndexRole]]:
    """Yield possible roles of tensors, the most likely first. ``single`` tensors have one element."""
    ordered = sorted(single)
    yield from ({name: IndexRole("size", f"{name}_most")} for name in ordered)
    yield from ({name: IndexRole("offsets", _entries(numbers))} for name in several)
    yield from ({name: IndexRole("order")} for name in several)
    for name, number in itertools.product((*several, *ordered), ("", *numbers)):
        yield {name: IndexRole("mask", number)}
    # Behind a mark, equal positions would let threads write to one place.
    yield from (
        {mark: IndexRole("mask"), name: IndexRole("order")} for mark, name in itertools.permutations(several, 2)
    )


def _entries(numbers: Sequence[str]) -> str:
    """Return the number of entries of a sparse matrix among a kernel's numbers, or the name of an additional number."""
    return next(filter(_ENTRY_COUNT.fullmatch, numbers), _ENTRIES)
