"""Declares a kernel with fixed numbers where no formula explains its tensors: launches show how far it reaches.

The numbers come from the host's code, or are small values with which the kernel accesses all of its tensors.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from parity.errors import UsageError
from parity.inference.conditions import LDS_BYTES, MAX_THREADS, constant_shared
from parity.inference.experiment import Experiment
from parity.inference.host_launches import HostLaunch
from parity.inference.index_roles import find_roles
from parity.inference.launch_hints import LaunchHint
from parity.inference.probe_launches import Accessed, InputFill, LaunchConfig, Observation, ProbeLimit, combined
from parity.inference.spec import IndexRole, InferredSpec, Numbers, Triple, evaluate, grid_for, trimmed, triple

_UNITY = re.compile(r"(?i)\w*(?:stride|dilat|group|inc|step)\w*")
"""Matches names of numbers that are usually 1."""
_SIZES = (16, 32, 64, 8, 4, 128, 2)
_SMALL_SIZES = (4, 2, 16, 32, 64, 8, 128)
"""Usual sizes (1 would leave most threads idle), and small ones: for a kernel whose threads have private arrays, and
for numbers whose product should be no more than the threads of a launch."""
_RATIOS = (2, 3, 4)
"""Relative values of numbers that differ: equal numbers hide which one a kernel uses."""
_MOST_TOTAL = 512
"""The largest value of a number that counts the elements of all other numbers together."""
_PITCH = 16
"""Distance of rows in bytes, relative to the largest number: elements have up to 16 bytes, and rows do not overlap."""
_MIXED = (1, 2, 3, 4, 5, 7, 8, 16, 32, 64)
_TRIES = 24
_MOST_GIVEN, _MOST_BLOCKS = 1024, 64
"""The largest number, and the largest number of blocks, that is taken from the host's code."""
_INTEGERS = (0, 1, 2, 3)
"""Values of the elements of integer tensors. With values that are not positions, the kernel must access the same."""
_LEAST_RANGE = 2
"""The least value of elements that may be too large: with 0 and 1, the kernel must work."""
_MARGIN = 8
"""The least value of positions around which a kernel accesses elements on all sides."""
_CHARACTERS = ((97, 25), (65, 25), (48, 9))
"""The first letter or digit, and how many follow, for a kernel that computes positions from characters."""
_SEEDS = (1, 2)
"""Seeds of random elements."""
_WILD = 100_003
_BOUND, _MOST_SEARCHES = 16, 6
"""The bound of integer tensors that the kernel does not get as a number, and launches to search such tensors for."""
_SHARED = 16 << 10
"""Bytes of dynamic shared memory of a kernel, unless the host's code tells them."""
_MOST_RACED = 1 << 20
"""The most elements of a tensor, while other launches have races: those with smaller numbers may not."""
_RACED, _LARGE, _SOUND = range(3)
"""Ranks of launches."""
_MOST_HINTED, _MANY, _FEW = 256, 4, 2
"""The largest number of blocks that formulas of the host's code may lead to, the number of numbers from which on small
ones are tried first, and the value of a number that is the number of blocks."""


def measured_spec(
    experiment: Experiment, blocks: Sequence[Triple], launches: Sequence[HostLaunch], usual: Mapping[str, int],
    hints: Sequence[LaunchHint] = (),
) -> InferredSpec | None:  # fmt: skip
    """Return the specification of one launch that reaches the most tensors, or None if none writes to memory.

    None as well if it does not reach half of them: the kernel's cases would show too little.

    Launches that follow the formulas of ``hints`` come first, then those with ``usual`` numbers. Launches whose blocks
    write to one place are the last resort, unless positions in memory determine where the kernel writes. A kernel that
    accesses dynamic shared memory out of bounds is tried with as much as AMD GPUs have. After a data race in shared
    memory, no smaller numbers are tried, and no other blocks if the host's code tells the block: they would hide the
    race.
    """
    enough = _shared(experiment, launches)
    best = _best_launch(experiment, blocks, launches, usual, hints, enough)
    if not best and experiment.launches.needs_shared and 0 < enough < (most := experiment.launches.most_shared):
        best = _best_launch(experiment, blocks, launches, usual, hints, most)
    return best[1] if best and 2 * best[0][1] >= len(experiment.used) else None


def _best_launch(
    experiment: Experiment, blocks: Sequence[Triple], launches: Sequence[HostLaunch], usual: Mapping[str, int],
    hints: Sequence[LaunchHint], shared: int,
) -> tuple[tuple[int, int], InferredSpec] | None:  # fmt: skip
    """Return the specification of the launch with the best rank, and the rank, with so many bytes of shared memory."""
    best: tuple[tuple[int, int], InferredSpec] | None = None
    searches = _MOST_SEARCHES
    first: Numbers | None = None
    searched = list[tuple[Numbers, Triple]]()
    try:
        given = _given(experiment, launches)
        hinted = _hinted(experiment, hints, given, shared)
        for config in itertools.chain(hinted, _candidates(experiment, blocks, launches, {**usual, **given}, shared)):
            first = config.numbers if first is None else first
            if experiment.launches.race and (config.numbers != first or has_given_block(launches)):
                break
            if _is_idle(experiment, config):
                continue
            found = [_measured(experiment, config)]
            # With the right bounds, fewer launches do nothing than with random elements.
            if searches and (config.numbers, config.grid) not in searched:
                searches, searched = searches - 1, [*searched, (config.numbers, config.grid)]
                around = None if found[0] else _shifted(experiment, config)
                found.insert(0, around or _measured(_with_roles(experiment, config), config))
            for each in filter(None, found):
                best = each if best is None or each[0] > best[0] else best
            if best and best[0] == (_SOUND, len(experiment.used)):
                break
    except ProbeLimit:
        pass
    return best


def has_given_block(launches: Sequence[HostLaunch]) -> bool:
    """Return True if a launch in the host's code has a constant extent of its block."""
    return any(isinstance(size, int) for each in launches for size in each.block)


def _hinted(
    experiment: Experiment, hints: Sequence[LaunchHint], given: Mapping[str, int], enough: int
) -> Iterator[LaunchConfig]:
    """Yield launches in which computed numbers, the grid, the block and shared memory are as in the host's code.

    ``enough`` bytes are shared where the host's code does not tell the number.
    """
    sizes = _SMALL_SIZES if len(experiment.numbers) >= _MANY else _SIZES
    hints = [each for each in hints if each.made or each.threads or each.shared]
    for size, values, hint, known in itertools.product(sizes, _VALUES, hints, (given, {}) if given else ({},)):
        names = [name for name in experiment.numbers if name not in hint.made]
        few = {name: min(size, _FEW) for name in hint.grid if name in (*names, *hint.extents)}  # a block for each
        scope = {**values([*names, *hint.extents], size), **few, **known}
        free = {name: scope[name] for name in names}
        try:
            numbers = {**free, **{name: evaluate(text, scope, hint.block) for name, text in hint.made.items()}}
            scope |= numbers
            block = triple([evaluate(hint.threads, scope, hint.block)]) if hint.threads else hint.block
            shared = evaluate(hint.shared, scope, block) if hint.shared else enough
            grid = grid_for(hint.grid, scope)
        except UsageError:  # the host divides by zero
            continue
        fits = math.prod(block) <= MAX_THREADS and math.prod(grid) <= _MOST_HINTED and shared <= LDS_BYTES
        if fits and min(*numbers.values(), *block, *grid, shared + 1) > 0:
            experiment.launches.trust(block)
            yield LaunchConfig(numbers, grid, block, shared)


def _is_idle(experiment: Experiment, config: LaunchConfig) -> bool:
    """Return True if a launch accesses no memory. The content of tensors does not matter then."""
    at = config.numbers, config.grid, config.block, config.shared
    runs = (experiment.observe(*at, fill) for fill in experiment.fills)
    return all(run is not None and not any(each.end for each in run.values()) for run in runs)


def _with_roles(experiment: Experiment, config: LaunchConfig) -> Experiment:
    """Find the tensors whose elements are bounds or positions, for a launch with these numbers."""
    numbers, grid, block, shared = config.numbers, config.grid, config.block, config.shared

    def reach(roles: Mapping[str, IndexRole], names: Sequence[str]) -> dict[str, int]:
        known, tried = {**dict.fromkeys(names, _BOUND), **numbers}, replace(experiment, roles=roles)
        runs = [tried.observe(known, grid, block, shared, fill) or {} for fill in experiment.probing_fills]
        return {each.name: max((run[each.name].end for run in runs if run), default=0) for each in experiment.pointers}

    roles, _ = find_roles(
        experiment, reach, lambda fill: experiment.observe(numbers, grid, block, shared, fill) is None
    )
    return replace(experiment, roles=roles)


def _candidates(
    experiment: Experiment, blocks: Sequence[Triple], launches: Sequence[HostLaunch], usual: Mapping[str, int],
    shared: int,
) -> Iterator[LaunchConfig]:  # fmt: skip
    """Yield launches, the most likely first. After a race, there are as many elements as threads.

    After a launch that takes too long, other numbers follow.
    """
    grids = [*_given_grids(launches), *(_grid(experiment.axes, count) for count in (2, 1))]
    given = {name: usual[name] for name in experiment.numbers if name in usual}
    geometries = [*itertools.product(blocks, dict.fromkeys(grids))]
    sized = [  # as many elements as threads
        LaunchConfig({**dict.fromkeys(experiment.numbers, size), **given}, grid, block, shared)
        for block, grid in geometries
        for size in dict.fromkeys((block[0] * grid[0], math.prod(block) * math.prod(grid), block[0]))
    ]
    bounds = {each.name: experiment.flow.bounds.get(each.key) for each in experiment.args}
    bounding = [name for name, bound in bounds.items() if bound and len(bound.pointers) == len(experiment.pointers)]
    total = bounding[0] if len(bounding) == 1 < len(experiment.numbers) else ""
    sizes = _SMALL_SIZES if experiment.flow.private or total else _SIZES
    for numbers in _choices(experiment.numbers, given, sizes, total):
        numbers |= {name: _PITCH * max(numbers.values()) for name in experiment.pitches if name not in given}
        before = len(experiment.launches.too_long)
        for block, grid in geometries:
            yield LaunchConfig(numbers, grid, block, shared)
            if len(experiment.launches.too_long) > before:
                break
        if experiment.launches.raced:
            yield from sized
            sized = []
    yield from sized


def _given(experiment: Experiment, launches: Sequence[HostLaunch]) -> dict[str, int]:
    """Return the numbers that the host's code passes as constants."""
    found: dict[str, int] = {}
    for each, launch in itertools.product(experiment.args, launches):
        value = launch.constants.get(each.key[0], -1) if each.is_whole and not each.key[1] else -1
        if 0 <= value <= _MOST_GIVEN:
            found.setdefault(each.name, value)
    return found


def _shared(experiment: Experiment, launches: Sequence[HostLaunch]) -> int:
    """Return the bytes of dynamic shared memory: the most that the host's code has for a constant, or enough."""
    given = max((size for size in constant_shared(launches) if size <= LDS_BYTES), default=0)
    return (given or _SHARED) if experiment.flow.dynamic else 0


def _given_grids(launches: Sequence[HostLaunch]) -> Iterator[Triple]:
    for launch in launches:
        sizes = [int(text) for text in launch.grid if text.isdecimal()]
        if sizes and len(sizes) == len(launch.grid):
            x, y, z = (*sizes, 1, 1)[:3]
            if 0 < x * y * z <= _MOST_BLOCKS:
                yield x, y, z


def _grid(axes: Sequence[str], count: int) -> Triple:
    x, y, z = (count if axis in axes else 1 for axis in "xyz")
    return x, y, z


def _equal(names: Sequence[str], size: int) -> dict[str, int]:
    return dict.fromkeys(names, size)


def _different(names: Sequence[str], size: int) -> dict[str, int]:
    """Return values around a size that differ from their neighbors."""
    values = itertools.cycle(max(1, size // max(_RATIOS)) * ratio for ratio in _RATIOS)
    return dict(zip(names, values, strict=False)) if len(names) > 1 else _equal(names, size)


_VALUES = (_different, _equal)


def _choices(
    names: Sequence[str], given: Mapping[str, int], sizes: Sequence[int], total: str
) -> Iterator[dict[str, int]]:
    """Yield values for numbers: different and equal values, with and without the constants of the host, then mixtures.

    ``total`` is a number that bounds the positions in all tensors, as the product of the other numbers does.
    """
    usual = {name: 1 for name in names if _UNITY.fullmatch(name)}
    for size, values, known in itertools.product(sizes, _VALUES, (given, {}) if given else ({},)):
        numbers = {**values(names, size), **usual, **known}
        if total and values is _different:
            others = [value for name, value in numbers.items() if name != total]
            product = math.prod(others) * (size if len(others) == 1 else 1)  # several rows
            numbers[total] = known.get(total, min(product, _MOST_TOTAL))
        yield numbers
    pick = random.Random(len(names))
    for _ in range(_TRIES if names else 0):
        yield {**{name: pick.choice(_MIXED) for name in names}, **usual}
    for _ in range(_TRIES if names else 0):
        yield {name: pick.choice(_MIXED) for name in names}


def _shifted(experiment: Experiment, config: LaunchConfig) -> tuple[tuple[int, int], InferredSpec] | None:
    """Return ``_measured`` for the first range of integers other than 0 to 3 with which the launch does not fault."""
    has_bytes = any(each.dtype.name in ("i8", "u8") for each in experiment.pointers)
    ranges = ((_MARGIN, _INTEGERS[-1]), *(_CHARACTERS if has_bytes else ()))
    return next(filter(None, (_measured(experiment, config, least, span) for least, span in ranges)), None)


def _measured(
    experiment: Experiment, config: LaunchConfig, least: int = 0, span: int = _INTEGERS[-1]
) -> tuple[tuple[int, int], InferredSpec] | None:
    """Return the rank of a launch and how many tensors it reaches, and its specification.

    Elements of integer tensors are from ``least`` to ``least + span``. Returns None if it faults or writes nothing.
    """
    numbers, grid, block, shared = config.numbers, config.grid, config.block, config.shared
    roles = experiment.roles or {}
    known = {**{role.bound: _BOUND for role in roles.values() if role.bound}, **numbers}

    def observe(fill: InputFill) -> Observation | None:
        return experiment.observe(known, grid, block, shared, fill)

    runs, most = list[Observation](), least + span
    values = (*_INTEGERS[1:-1], span)
    needed = (*experiment.fills, *(InputFill(whole=value) for value in values if experiment.integer_tensors))
    for fill in (replace(each, whole=each.whole + least) for each in needed):
        if (run := observe(fill)) is None:
            if fill.whole < least + _LEAST_RANGE:
                return None
            most = fill.whole - 1
            break
        runs.append(run)
    others = () if least else (*(InputFill(seed=seed) for seed in _SEEDS), *experiment.compared_fills)
    runs += filter(None, map(observe, others))
    reached: dict[str, Accessed] = {name: combined([run[name] for run in runs]) for name in runs[0]}
    if not any(run[name].written for run in runs for name in run):
        return None
    if numbers and math.prod(block) > 1 and max(each.end for each in reached.values()) <= math.prod(grid):
        return None  # a block uses a single element: this launch would hide what larger ones show
    small = set[str]()
    for name in (each for each in experiment.integer_tensors if each not in roles):
        for usual in (InputFill(whole=1), InputFill(seed=_SEEDS[0])):
            wild = (observe(replace(usual, one=name, value=value)) for value in (_WILD, -_WILD))
            if (run := observe(usual)) is not None and any(each != run for each in wild):
                small.add(name)
    whole = frozenset(
        each.name for each in experiment.pointers
        if all(run[each.name].written == run[each.name].end * each.dtype.itemsize > 0 for run in runs)
        and len({run[each.name].end for run in runs}) == 1
    )  # fmt: skip
    size = max(each.end for each in reached.values())  # for what other data may lead to
    is_limited = least or most < span
    limited = [each for each in experiment.integer_tensors if each not in roles and is_limited]
    spec = InferredSpec(
        {name: str(each.end or (size if name in experiment.used else 1)) for name, each in reached.items()},
        tuple(map(str, trimmed(grid, 1))),
        trimmed(block, 1),
        shared=str(shared) if shared else "",
        whole=whole,
        small=frozenset(small),
        roles={name: replace(role, bound=str(known.get(role.bound, ""))) for name, role in roles.items()},
        ranges=dict.fromkeys(limited, f"{least}..{most}"),
        is_measured=True,
        made={name: str(value) for name, value in {**numbers, **experiment.made_numbers(numbers)}.items()},
    )
    seeds = (InputFill(seed=seed) for seed in _SEEDS)
    raced = not experiment.scattered and any(experiment.has_race(known, grid, block, shared, fill) for fill in seeds)
    rank = _RACED if raced else _LARGE if size > _MOST_RACED and experiment.launches.raced else _SOUND
    return (rank, sum(bool(each.end) for each in reached.values())), spec
