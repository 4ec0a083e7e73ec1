"""Infers grids and dynamic shared memory: blocks are added along an axis until launches access nothing more."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from parity.dsl.expression import expression
from parity.inference.conditions import MAX_SHARED, MAX_THREADS, Condition
from parity.inference.experiment import GRID_DEFAULTS, Experiment
from parity.inference.launch_hints import LaunchHint, substituted
from parity.inference.shape_inference import Geometry, infer_shapes
from parity.inference.spec import AXES, GRID_EXTENTS, InferredSpec, Numbers, Triple, evaluate, grid_for, holds

_FEW_BLOCKS, _EXPENSIVE = 16, 300_000
"""Blocks along an axis, and instructions of a launch, from which on no more blocks are tried."""
_MOST_EACH = 37
"""The largest number that has a block for each."""
_MOST_BLOCKS = 512
"""More blocks along an axis than the smallest numbers need."""


def candidate_specs(experiment: Experiment, block: Triple, condition: Condition) -> Iterator[InferredSpec]:
    """Yield what launches with a block show under a condition, the most likely first, before indices are inferred."""
    experiment = replace(experiment, threads=condition.block)
    choices = experiment.choices(condition, block)
    shared = _infer_shared(experiment, choices, block)
    if shared is None:
        return
    grid: dict[str, str] = {}
    for axis in experiment.axes:
        counts = [_blocks_needed(experiment, axis, choices[0], block, shared, _MOST_BLOCKS)]
        if counts[0] is None:
            continue
        counts += [_blocks_needed(experiment, axis, each, block, shared, 16 * _MOST_BLOCKS) for each in choices[1:]]
        formula = next(_counted_grids(axis, experiment.numbers, choices, block, counts), None)
        if formula is None:
            return
        grid[axis] = formula
    free = [axis for axis in experiment.axes if axis not in grid]
    later = []
    for formulas in _formulas(experiment, free, choices, block, condition):
        own = {axis: text or GRID_EXTENTS[axis] for axis, text in zip(free, formulas, strict=True)}
        extents = [GRID_EXTENTS[axis] for axis, text in zip(free, formulas, strict=True) if not text]
        geometry = Geometry(block, {**grid, **own}, extents, shared, is_exact=bool(free))
        shapes = infer_shapes(experiment, choices, geometry)
        if shapes is None or (found := _under_condition(experiment, shapes, condition, block)) is None:
            continue
        # The total number of threads may only be what blocks without work access.
        dims = " ".join(shapes.shapes.values()).split()
        in_blocks = bool(free) and any(dim.startswith(f"{math.prod(block)}*") for dim in dims)
        if in_blocks and {*experiment.numbers} - shapes.names:
            later.append(found)
        else:
            yield found
    yield from later


def hinted_spec(experiment: Experiment, hint: LaunchHint, condition: Condition) -> InferredSpec | None:
    """Return what launches show with the grid of the host's code under a condition, or None if it does not fit."""
    grid = [substituted(text, experiment.made) for text in hint.grid]
    experiment = replace(experiment, threads=condition.block or hint.threads)
    given = substituted(hint.shared, experiment.made) if hint.shared else ""
    limits: tuple[str, ...] = (f"{given or 0} <= {MAX_SHARED}", f"{experiment.threads or 1} <= {MAX_THREADS}")
    limits = tuple(text for text in limits if expression(text).names)
    choices = [each for each in experiment.choices(condition, hint.block, grid) if holds(limits, each)]
    if condition == Condition():  # more blocks show nothing, and launches of many axes would take too long
        choices = [{**each, **{name: min(each[name], _MOST_EACH) for name in {*grid} & {*each}}} for each in choices]
    if len(choices) < 2:
        return None
    is_computed = bool(expression(given or "0").names)
    inferred = "" if is_computed else _infer_shared(experiment, choices, hint.block, grid)
    shared = inferred or given  # 4*threads says more
    if experiment.flow.dynamic and not shared:
        return None
    formulas = dict(zip(AXES, grid, strict=False))
    geometry = Geometry(hint.block, formulas, hint.extents, shared, is_exact=bool(hint.extents))
    shapes = infer_shapes(experiment, choices, geometry)
    if shapes is None or (found := _under_condition(experiment, shapes, condition, hint.block)) is None:
        return None
    positive = tuple(f"{text} > 0" for text in experiment.made.values() if "-" in text)
    return replace(found, where=(*found.where, *positive, *limits))


def _formulas(
    experiment: Experiment, free: Sequence[str], choices: Sequence[Numbers], block: Triple, condition: Condition
) -> Iterator[tuple[str, ...]]:
    """Yield formulas for axes along which no number of blocks is enough. Empty for an extent of the grid's own."""
    is_only = len(free) == 1
    products = is_only and condition.unit > 4
    options = [
        ["", *_extent_grids(axis, experiment.numbers, block, products=products, is_only=is_only)] for axis in free
    ]  # fmt: skip
    for formulas in sorted(itertools.product(*options), key=lambda each: sum(map(bool, each))):
        given = [text for text in formulas if text]
        if len({*given}) < len(given):
            continue
        # A grid that is one block for all choices shows nothing.
        if all(max(evaluate(text, each, block) for each in choices) >= 2 for text in given):
            yield formulas


def _under_condition(
    experiment: Experiment, found: InferredSpec, condition: Condition, block: Triple
) -> InferredSpec | None:
    """Add a condition to a spec. Return None if it says nothing about the names in the spec."""
    names = sorted(found.names)
    texts = condition.texts(names)
    if condition.unit > 1 and not texts:
        return None
    limited = {name: values for name, values in experiment.limited(condition, block).items() if name in names}
    choices = {**condition.choices(names), **limited}
    return replace(found, where=(*found.where, *texts), choices=choices, threads=experiment.threads)


def _infer_shared(
    experiment: Experiment, choices: Sequence[Numbers], block: Triple, grid: Sequence[str] = ()
) -> str | None:
    """Return a formula for the bytes of dynamic shared memory: of threads, of a number, or both. None if none works.

    Launches have one block, unless ``grid`` has the host's formulas.
    """
    if not experiment.flow.dynamic:
        return ""
    grids = [grid_for(grid or ("1",), {**GRID_DEFAULTS, **each}) for each in choices]
    units = ("threads", *(f"(threads+{name})" for name in experiment.numbers)) if not experiment.threads else ()
    for text in (f"{factor}*{unit}" for unit in (*units, *experiment.numbers) for factor in (4, 8, 16)):
        sizes = [evaluate(text, each, block) for each in choices]
        if max(sizes) <= MAX_SHARED and all(
            experiment.observe(each, blocks, block, size)
            for each, blocks, size in zip(choices, grids, sizes, strict=True)
        ):
            return text
    return None


def _blocks_needed(
    experiment: Experiment, axis: str, numbers: Numbers, block: Triple, shared: str, limit: int
) -> int | None:
    """Return the least number of blocks along an axis that access all there is. None if more always access more."""
    bytes_, endless = evaluate(shared or "0", numbers, block), experiment.log.endless

    def accessed(count: int) -> list[tuple[int, int]] | None:
        x, y, z = (count if each == axis else 1 for each in AXES)
        observed = experiment.observe(numbers, (x, y, z), block, bytes_)
        return [(each.read, each.written) for each in observed.values()] if observed else None

    count, before, stable = 1, accessed(1) if (axis, block) not in endless else None, 0
    while before is not None and stable < 2:
        count *= 2
        if count > limit or (count > _FEW_BLOCKS and not stable and experiment.launches.cost > _EXPENSIVE):
            endless.add((axis, block))
            return None
        now = accessed(count)
        before, stable = now, stable + 1 if now == before else 0
    if before is None:
        return None
    low, high = 1, count // 4
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if accessed(middle) == before else (middle + 1, high)
    return low


def _counted_grids(
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


def _extent_grids(axis: str, names: Sequence[str], block: Triple, *, products: bool, is_only: bool) -> Iterator[str]:
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
