"""Refines an experiment step by step: strides, roles of integer tensors, and conditions on numbers."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from parity.inference.conditions import MAX_THREADS, Condition, numbers_for
from parity.inference.experiment import Experiment
from parity.inference.index_roles import find_roles
from parity.inference.spec import IndexRole, Numbers, Triple
from parity.inference.strides import find_strides
from parity.model.launch import WARP

_ENOUGH_SHARED = 32 << 10
"""Bytes of dynamic shared memory that are enough for a block of usual size."""

_ROUNDED_DOWN = re.compile(r"\b([A-Za-z_]\w*)//(\d+)")
"""Matches the quotient of a number and a constant in a formula."""


def with_strides(experiment: Experiment, block: Triple) -> Experiment:
    """Find the tensors whose strides are arguments. These arguments no longer vary freely."""
    if experiment.strides:
        return experiment
    rules = find_strides(
        experiment.numbers, experiment.axes, lambda numbers, grid: experiment.observe(numbers, grid, block, 0)
    )
    known = {stride for rule in rules.values() for stride in rule.strides}
    return replace(
        experiment, strides=rules, numbers=tuple(name for name in experiment.numbers if name not in known)
    )  # fmt: skip


def with_roles(experiment: Experiment, block: Triple) -> Experiment:
    """Find the tensors whose elements are bounds or positions: with the right content, a kernel reaches more."""
    if experiment.roles is not None:
        return experiment
    shared = _ENOUGH_SHARED if experiment.flow.dynamic else 0
    usual = numbers_for(Condition(), experiment.numbers, block)[0]

    def reach(roles: Mapping[str, IndexRole], numbers: Sequence[str]) -> dict[str, int]:
        return replace(experiment, roles=roles, numbers=tuple(numbers)).observe_ends(block, shared)

    roles, numbers = find_roles(
        experiment, reach, lambda fill: experiment.observe(usual, (1, 1, 1), block, shared, fill) is None
    )
    return replace(experiment, roles=roles, numbers=tuple(numbers))


def candidate_conditions(
    experiment: Experiment,
    block: Triple,
    *,
    is_open: bool,
    hint: tuple[Triple, Condition] | None = None,
    grid: Sequence[str] = (),
    threads: str = "",
) -> Iterator[Condition]:
    """Yield conditions that may have to hold of the numbers, the most likely first.

    ``hint`` is the block and the condition of a similar kernel. ``is_open`` says that the host's code does not fix the
    number of threads. ``grid`` and ``threads`` are the host's formulas. A host that rounds a quotient down expects
    multiples, and so do warps whose threads use the values of all others.
    """
    if experiment.flow.crosses and threads in experiment.numbers:
        experiment.observe(numbers_for(Condition(), experiment.numbers, block)[0], (1, 1, 1), block, 0)
        if experiment.launches.undefined:
            yield Condition(WARP, one=threads)
    for name, unit in itertools.chain(*map(_ROUNDED_DOWN.findall, grid)):
        if name in experiment.numbers:
            yield Condition(int(unit), one=name)
    if hint and {hint[1].one, hint[1].other} <= {"", *experiment.numbers}:
        unit = block[0] if hint[1].unit == hint[0][0] else hint[1].unit
        if unit == block[0]:
            yield replace(hint[1], unit=unit)
    yield Condition()
    for limit in experiment.limits:
        yield from (Condition(limit=limit, one=name) for name in experiment.numbers)
        yield Condition(limit=limit)
    if not experiment.axes:
        yield Condition(limit=math.prod(block))
    for role in (experiment.roles or {}).values():
        if role.use == "offsets":
            yield Condition(limit=math.prod(block), one=role.bound)
    yield Condition(4)
    if 2 <= len(experiment.numbers) <= 4:
        pairs = [*itertools.permutations(experiment.numbers, 2)]
        for one, other in pairs:
            yield Condition(one=one, other=other, differ=True)
            yield Condition(one=one, other=other)
        yield from (Condition(2, one=one, other=other) for one, other in pairs)
    units = sorted({block[0], WARP} - {1})
    yield from _multiples(experiment, (unit for unit in units if unit <= WARP))
    if is_open and not experiment.flow.thread_axes - {"x"}:
        for unit, one in itertools.product((1, 4, 8), experiment.numbers):
            yield Condition(unit, MAX_THREADS * unit, one, counts=True)
    yield from _multiples(experiment, (unit for unit in units if unit > WARP))


def is_plausible(experiment: Experiment, block: Triple, condition: Condition) -> bool:
    """Return False if a single block faults under a condition, or does not access a tensor that the PTX accesses."""
    if experiment.flow.dynamic:
        return True
    experiment = replace(experiment, threads=condition.block or experiment.threads)
    return all(_accesses_all(experiment, each, block) for each in experiment.choices(condition, block))


def _multiples(experiment: Experiment, units: Iterable[int]) -> Iterator[Condition]:
    """Yield the conditions that one of the numbers, or all of them, are multiples of a unit."""
    for unit in units:
        if len(experiment.numbers) > 1:
            yield from (Condition(unit, one=name) for name in experiment.numbers)
        yield Condition(unit)


def _accesses_all(experiment: Experiment, numbers: Numbers, block: Triple) -> bool:
    left = set(experiment.used)
    for fill in experiment.probing_fills:
        if (observed := experiment.observe(numbers, (1, 1, 1), block, 0, fill)) is None:
            return False
        left -= {name for name, each in observed.items() if each.end}
        if not left:
            return True
    experiment.log.unreached = left
    return False
