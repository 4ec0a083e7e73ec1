"""Infers the specification of a kernel from launches of a program: sizes of memory, numbers, grids and data.

A formula has to hold in all launches. The memory behind a pointer may be larger than what the kernel accesses, so
launches on the emulator are tried first, and have to agree with the program's launches.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from parity.dsl.expression import Scope, expression
from parity.inference.shape_formulas import fit_dims
from parity.inference.spec import AXES, GRID_EXTENTS, IndexRole, InferredSpec, KernelArgument, Triple, evaluate, trimmed
from parity.model.dtypes import Array

_MOST_ELEMENTS = 1 << 16
"""Elements of a launch at most, so that cases are drawn around it. A case of a larger launch takes too long."""
_MOST_VALUES = 4
_MOST_DIMS = 4
_USUAL = (1, 2, 7)
"""Values to draw besides the captured values."""


@dataclass(frozen=True)
class ObservedLaunch:
    """A launch of a program.

    Attributes:
        numbers: The values of the integer arguments, by name.
        sizes: The number of elements from each pointer to the end of its memory.
        contents: The elements of integer tensors before the launch.
    """

    grid: Triple
    block: Triple
    shared: int
    numbers: Mapping[str, int]
    sizes: Mapping[str, int]
    contents: Mapping[str, Array] = field(default_factory=dict)

    @property
    def scope(self) -> dict[str, int]:
        """The values of all names in a specification."""
        return {**dict(zip(GRID_EXTENTS.values(), self.grid, strict=True)), **self.numbers}

    @property
    def elements(self) -> int:
        """The number of elements of all tensors, or of threads if there are more."""
        return max(sum(self.sizes.values()), math.prod((*self.grid, *self.block)))


def observed_spec(
    args: Sequence[KernelArgument], launches: Sequence[ObservedLaunch], probe: Callable[[], InferredSpec | str]
) -> InferredSpec | str:
    """Return the specification that explains the launches: of ``probe`` if it does, or else of the launches alone."""
    block, _ = Counter(each.block for each in launches).most_common(1)[0]
    alike = [each for each in launches if each.block == block]
    probed = probe()
    found = probed if isinstance(probed, InferredSpec) and not probed.is_measured and agrees(probed, alike) else None
    found = found or _fitted(args, alike)
    return _with_choices(args, found, alike) if found else single_spec(args, launches)


def single_spec(args: Sequence[KernelArgument], launches: Sequence[ObservedLaunch]) -> InferredSpec:
    """Return the specification of the smallest launch, with constants for all numbers."""
    one = min(launches, key=lambda each: each.elements)
    spec = InferredSpec(
        {name: str(max(1, size)) for name, size in one.sizes.items()},
        trimmed(tuple(map(str, one.grid)), "1"),
        trimmed(one.block, 1),
        shared=str(one.shared) if one.shared else "",
        is_measured=True,
        made={each.name: str(one.numbers[each.name]) for each in args if each.is_whole},
    )
    return _with_choices(args, _with_data(args, spec, [one]), [one])


def agrees(spec: InferredSpec, launches: Sequence[ObservedLaunch]) -> bool:
    """Return True if a specification allows all launches of a program and needs no more memory than they have."""
    for each in launches:
        scope = each.scope
        if any(spec.names - {*scope, "threads"} & expression(text).names for text in spec.where):
            return False
        sizes = {
            name: math.prod(evaluate(dim, scope, each.block) for dim in dims.split())
            for name, dims in spec.shapes.items()
            if {*itertools.chain(*(expression(dim).names for dim in dims.split()))} <= {*scope}
        }
        if any(size > max(1, each.sizes.get(name, 0)) for name, size in sizes.items()):
            return False
        if not all(expression(text)(Scope({**scope, "threads": math.prod(each.block)})) for text in spec.where):
            return False
        blocks = tuple(evaluate(text, scope, each.block) for text in spec.grid)
        if not spec.strided and (*blocks, 1, 1)[:3] != each.grid:
            return False
        if not spec.threads and (*spec.block, 1, 1)[:3] != each.block:
            return False
        if any(evaluate(text, scope, each.block) != scope.get(name) for name, text in spec.made.items()):
            return False
    return True


def _fitted(args: Sequence[KernelArgument], launches: Sequence[ObservedLaunch]) -> InferredSpec | None:
    """Return formulas for shapes, grid and shared memory, or None if a tensor has none."""
    block = launches[0].block
    names = [each.name for each in args if each.is_whole]
    scopes = [each.scope for each in launches]
    grid = list[str]()
    for i in range(3):
        used = {name for text in grid for name in expression(text).names}
        grid.append(_axis(i, launches, sorted(names, key=lambda name: name in used)))
    extents = [text for text in grid if text in GRID_EXTENTS.values()]
    blocks = [text for text in grid if text.startswith("ceil")]
    shapes = {}
    for each in args:
        if each.is_pointer:
            ends = [launch.sizes.get(each.name, 0) for launch in launches]
            dims = _product(ends, scopes, [*names, *extents])
            fit = None if dims else fit_dims(ends, scopes, [*names, *extents], block, blocks, is_exact=True)
            if not dims and fit is None and any(ends):
                return None
            shapes[each.name] = " ".join(dims or (fit.dims if fit else ("1",)))
    shared = _shared(launches, names)
    if shared is None:
        return None
    spec = InferredSpec(shapes, trimmed(tuple(grid), "1"), trimmed(block, 1), shared=shared)
    return _with_data(args, spec, launches)


def _product(ends: Sequence[int], scopes: Sequence[Mapping[str, int]], names: Sequence[str]) -> tuple[str, ...]:
    """Return names whose product is the number of elements: more likely than a product with a constant."""
    for count in range(1, min(len(names), _MOST_DIMS) + 1):
        for chosen in itertools.combinations(names, count):
            if [math.prod(scope[name] for name in chosen) for scope in scopes] == [*ends]:
                return chosen
    return ()


def _axis(i: int, launches: Sequence[ObservedLaunch], names: Sequence[str]) -> str:
    """Return the formula for the number of blocks along an axis, or the name of an extent of the grid's own."""
    counts, block = [each.grid[i] for each in launches], launches[0].block
    scopes = [each.scope for each in launches]
    if set(counts) == {1}:
        return "1"
    for text in _grids(names, block, block[i]):
        if [evaluate(text, scope, block) for scope in scopes] == counts:
            return text
    return str(counts[0]) if len(launches) > 1 and len(set(counts)) == 1 else GRID_EXTENTS[AXES[i]]


def _grids(names: Sequence[str], block: Triple, own: int) -> Iterator[str]:
    units = dict.fromkeys((own, math.prod(block), *(own * more for more in (2, 4, 8)), 32, 1))
    texts = [*names, *(f"{one}*{other}" for one, other in itertools.combinations(names, 2))]
    for unit, text in itertools.product(units, texts):
        yield f"ceil({text}/{unit})" if unit > 1 else text


def _shared(launches: Sequence[ObservedLaunch], names: Sequence[str]) -> str | None:
    sizes = [each.shared for each in launches]
    if len(set(sizes)) == 1:
        return str(sizes[0]) if sizes[0] else ""
    for name, launch in itertools.product(names, launches[:1]):
        value = launch.numbers[name]
        factor = launch.shared // value if value else 0
        if factor and [factor * each.numbers[name] for each in launches] == sizes:
            return f"{factor}*{name}"
    return None


def _with_data(args: Sequence[KernelArgument], spec: InferredSpec, launches: Sequence[ObservedLaunch]) -> InferredSpec:
    """Add what the elements of integer tensors are: positions, row starts, or numbers in a range."""
    indices, roles, ranges, distinct = dict[str, str](), dict[str, IndexRole](), dict[str, str](), set[str]()
    for each in args:
        contents = [launch.contents[each.name] for launch in launches if each.name in launch.contents]
        contents = [content for content in contents if content.size]
        if not contents:
            continue
        least, most = min(int(content.min()) for content in contents), max(int(content.max()) for content in contents)
        bounds = [name for name in spec.names & {*launches[0].numbers} if _bounds(name, contents, launches)]
        ends = [name for name in bounds if _are_offsets(name, contents, launches)]
        if ends:
            roles[each.name] = IndexRole("offsets", ends[0])
        elif least >= 0 and bounds and most > 1:
            indices[each.name] = min(bounds, key=lambda name: sum(launch.numbers[name] for launch in launches))
            if all(len(np.unique(content)) == content.size > 1 for content in contents):
                distinct.add(each.name)
        else:
            ranges[each.name] = f"{least}..{max(most, least + 1)}"
    return replace(spec, indices=indices, roles=roles, ranges=ranges, distinct=frozenset(distinct))


def _bounds(name: str, contents: Sequence[Array], launches: Sequence[ObservedLaunch]) -> bool:
    """Return True if a number is a close upper bound of all elements: positions come near to it."""
    numbers = [launch.numbers[name] for launch in launches]
    return len(numbers) == len(contents) and all(
        int(content.max()) <= number <= 2 * int(content.max()) + 1
        for content, number in zip(contents, numbers, strict=True)
    )


def _are_offsets(name: str, contents: Sequence[Array], launches: Sequence[ObservedLaunch]) -> bool:
    return all(
        content[0] == 0 and content[-1] == launch.numbers[name] and (np.diff(content.astype(np.int64)) >= 0).all()
        for content, launch in zip(contents, launches, strict=True)
    )


def _with_choices(
    args: Sequence[KernelArgument], spec: InferredSpec, launches: Sequence[ObservedLaunch]
) -> InferredSpec:
    """Draw numbers around the values of the launches. Integers that nothing depends on keep these values."""
    small = [each for each in launches if each.elements <= _MOST_ELEMENTS]
    choices = dict(spec.choices)
    for each in args:
        values = list(dict.fromkeys(launch.numbers[each.name] for launch in launches if each.name in launch.numbers))
        if each.is_pointer or each.name in choices or each.name in {**spec.made, **spec.distances} or not values:
            continue
        if each.name not in spec.names:
            choices[each.name] = tuple(values[:_MOST_VALUES])
        elif small:
            values = list(dict.fromkeys(launch.numbers[each.name] for launch in small))[:_MOST_VALUES]
            near = (number for value in values for number in (value, value - 1, value + 1) if number > 0)
            choices[each.name] = tuple(dict.fromkeys((*near, *_USUAL)))
    return replace(spec, choices=choices)
