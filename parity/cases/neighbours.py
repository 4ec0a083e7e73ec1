"""Draws neighbours of a case: cases with other extents, layouts, data, parameters, flags or launch.

Numbers that the kernel compares with are preferred, because they lead to code that other cases do not reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from parity.cases.parser import MAX_RANK, parse_case
from parity.data.layouts import LAUNCHES, LINES
from parity.dsl.expression import Scope
from parity.errors import UsageError
from parity.model.case import Case, Tensor
from parity.model.dtypes import resolve_dtype
from parity.model.layout import Layout, contiguous
from parity.ops.case_view import view_case
from parity.ops.declaration import Declaration

LARGEST = 1 << 17
"""Limit for the elements of a tensor, including gaps: more than 65,536, and a fraction of a second on an emulator."""

THREADS = 1 << 18
"""Limit for the threads of a launch."""

FEW = (1, 2, 3)


@dataclass(frozen=True)
class Constants:
    """The numbers that a kernel compares with: integers and floating-point numbers."""

    whole: tuple[int, ...] = ()
    real: tuple[float, ...] = ()

    @property
    def extents(self) -> tuple[int, ...]:
        """The integers and their neighbours, as extents and counts."""
        near = (n + d for n in self.whole for d in (0, 1, -1))
        return tuple(dict.fromkeys(n for n in near if 0 <= n <= LARGEST))


def draw_neighbour(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    """Apply one to three random changes to a case. Return None if the result does not fit the op or its limits."""
    changed = case
    for _ in range(random.choice((1, 1, 2, 3))):
        change = random.choice(_CHANGES)
        try:
            changed = change(op, changed, constants, random) or changed
        except UsageError:
            return None
    if changed == case:
        return None
    if any(max(layout.span, layout.numel) > LARGEST for layout in changed.layouts.values()):
        return None
    if changed.launch and math.prod(changed.launch) > THREADS:
        return None
    try:
        found = parse_case(op, str(changed))
        outputs = view_case(op, found).shapes.values()
    except UsageError:
        return None
    return found if all(math.prod(shape) <= LARGEST for shape in outputs) else None


Change = Callable[[Declaration, Case, Constants, Random], Case | None]


def _number(constants: Constants, random: Random, usual: Sequence[int]) -> int:
    own = constants.extents
    return random.choice(own if own and random.random() < 0.6 else usual)


def _extents(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    """Change an extent or the rank, and the shapes of all tensors accordingly."""
    if op.parsed_shapes.tensors:
        return _named_extent(op, case, constants, random)
    if not op.one_shape or not case.tensors:
        return None
    old = case.tensors[0][1].layout.shape
    new = _shape(old, constants, random)
    return _with_shapes(op, case, dict.fromkeys(case.layouts, new))


def _shape(old: tuple[int, ...], constants: Constants, random: Random) -> tuple[int, ...]:
    """Draw a shape of rank 1, of another rank, or with one extent changed."""
    kind = random.choice(("line", "rank", "extent"))
    number = _number(constants, random, LINES)
    if kind == "line" or not old:
        return (number,)
    if kind == "extent":
        at = random.randrange(len(old))
        return (*old[:at], number, *old[at + 1 :])
    ranks = [n for n in constants.extents if 1 <= n <= MAX_RANK] or range(1, MAX_RANK + 1)
    return tuple(random.choice(FEW) for _ in range(random.choice(ranks)))


def _named_extent(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    """Change the value of one name of the declared shapes."""
    names = dict(view_case(op, case).scope.names)
    free = [name for name in op.parsed_shapes.free if name in names and name not in op.params]
    if not free:
        return None
    name = random.choice(free)
    old = names[name]
    kept = {each: value for each, value in names.items() if each not in op.parsed_shapes.defined}
    new = _shape(old, constants, random) if isinstance(old, tuple) else _number(constants, random, LINES)
    scope = Scope({**kept, name: new})
    op.parsed_shapes.define(scope)
    with op.origin.naming("shapes"):
        return _with_shapes(op, case, {each: op.parsed_shapes.shape(each, scope) for each in case.layouts})


def _with_shapes(op: Declaration, case: Case, shapes: Mapping[str, tuple[int, ...]]) -> Case:
    """Return the case with other shapes. Tensors whose shape changes become contiguous."""
    tensors = {
        name: tensor if tensor.layout.shape == shapes[name] else replace(tensor, layout=contiguous(shapes[name]))
        for name, tensor in case.tensors
    }
    return case.with_tensors(tensors)


def _layout(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    """Change order of dims, gaps, repeated elements or offset, of one tensor or of all tensors."""
    together = random.random() < 0.3
    names = list(case.layouts) if together else [random.choice(list(case.layouts))]
    kind = random.choice(("contiguous", "transposed", "sliced", "repeated", "offset", "rows"))
    at = random.randrange(8)
    tensors = dict(case.tensors)
    for name in names:
        tensors[name] = replace(tensors[name], layout=_rearrange(tensors[name].layout, kind, at))
    return case.with_tensors(tensors)


def _rearrange(old: Layout, kind: str, number: int) -> Layout:
    shape = old.shape
    if kind == "offset":
        return Layout(shape, old.strides, number)
    if kind == "contiguous" or not shape:
        return contiguous(shape)
    if kind == "transposed":
        inner = contiguous(shape[::-1]).strides[::-1]
        return Layout(shape, inner, 0)
    if kind == "sliced":
        return Layout(shape, tuple(stride * (2 + number % 2) for stride in contiguous(shape).strides), 0)
    if kind == "rows":
        return Layout(shape, contiguous((*shape[:-1], shape[-1] + 1 + number)).strides, 0)
    axis = number % len(shape)
    return Layout(shape, tuple(0 if i == axis else stride for i, stride in enumerate(old.strides)), old.offset)


def _data(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    """Change stream or start of a tensor's data, or fill the tensor with one of the kernel's constants."""
    types = op.bind(case.dtypes)
    filled = [name for name in op.filled if name in case.layouts]
    if not filled:
        return None
    name = random.choice(filled)
    tensor, kind = case.tensor(name), resolve_dtype(op.kinds[name], types)
    streams = list(op.available_streams(name, types))
    if name not in op.indices and not kind.is_block:
        numbers = constants.real if kind.is_float else constants.whole
        streams += [each for each in map(_constant_stream, numbers) if each] * 2
    other = replace(
        tensor, data=random.choice(streams), start=random.choice((0, 0, tensor.start, random.randrange(96)))
    )
    if tensor.data == other.data == "sorted":
        return None
    return case.with_tensors({**dict(case.tensors), name: other})


def _constant_stream(number: float) -> str:
    """Return the stream in which every element is this number; empty if the number is not finite."""
    text = repr(number)
    return f"{text}..{text}".replace("e+", "e") if math.isfinite(number) else ""


def _param(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    if not case.params:
        return None
    types = op.bind(case.dtypes)
    at = random.randrange(len(case.params))
    name, _ = case.params[at]
    kind = resolve_dtype(op.params[name], types)
    value: float | int
    if kind.is_float:
        value = float(random.choice((*constants.real, *constants.real, 0.0, 1.0, -1.0, 0.5)))
    else:
        value = int(_number(constants, random, (0, 1, 2, 3, 5, 8, 64)))
    return replace(case, params=(*case.params[:at], (name, value), *case.params[at + 1 :]))


def _launch(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    if op.grid_stride and not op.then:
        if random.random() < 0.3:
            return replace(case, launch=random.choice(LAUNCHES), threads=None)
        blocks = max(1, _number(constants, random, (1, 2, 3, 17, 64, 4096)))
        return replace(case, launch=(blocks, random.choice((1, 32, 64, 96, 128, 256, 512, 1024))), threads=None)
    if op.threads:
        return replace(case, threads=random.choice((None, *op.threads)), launch=None)
    return None


def _flags(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    """Add or remove a flag."""
    if not op.flags:
        return None
    flag = random.choice(op.flags)
    if flag.startswith("no-"):
        if flag in case.flags:
            return None
        kept = tuple((name, tensor) for name, tensor in case.tensors if name != flag.removeprefix("no-"))
        return replace(case, tensors=kept, flags=(*case.flags, flag))
    flags = tuple(each for each in case.flags if each != flag) if flag in case.flags else (*case.flags, flag)
    found = replace(case, flags=flags)
    if flag == "aliased" and flag in flags and op.aliased:
        tensors: dict[str, Tensor] = dict(case.tensors)
        tensors[op.aliased[1]] = tensors[op.aliased[0]]
        found = found.with_tensors(tensors)
    return found


_CHANGES: tuple[Change, ...] = (_extents, _extents, _extents, _layout, _layout, _data, _data, _param, _launch, _flags)
