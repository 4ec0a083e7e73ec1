"""Cases that differ from a given one in extents, layouts, data, parameters or launch; some numbers are tried first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from parity.cases.parser import MAX_RANK, parsed
from parity.data.layouts import LAUNCHES, LINES
from parity.dsl.expression import Scope
from parity.errors import UsageError
from parity.model.case import Case, Tensor
from parity.model.layout import Layout, contiguous
from parity.ops.case_view import case_view
from parity.ops.declaration import Declaration

__all__ = ["Constants", "variant"]

LARGEST = 1 << 17
"""Elements of the largest tensor, with its gaps: more than 65,536, and a fraction of a second on an emulator."""

THREADS = 1 << 18
"""Threads of the largest launch."""

FEW = (1, 2, 3)


@dataclass(frozen=True)
class Constants:
    """The numbers that a kernel compares with: whole ones and, of floating-point types, others."""

    whole: tuple[int, ...] = ()
    real: tuple[float, ...] = ()

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents and counts: the numbers themselves, and those on either side."""
        near = (n + d for n in self.whole for d in (0, 1, -1))
        return tuple(dict.fromkeys(n for n in near if 0 <= n <= LARGEST))


def variant(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    """A case that differs in one to three things; None if what was tried does not fit the op."""
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
        found = parsed(op, str(changed))
        outputs = case_view(op, found).shapes.values()
    except UsageError:
        return None
    return found if all(math.prod(shape) <= LARGEST for shape in outputs) else None


Change = Callable[[Declaration, Case, Constants, Random], Case | None]


def _number(constants: Constants, random: Random, usual: Sequence[int]) -> int:
    """One of the kernel's constants, or a usual number."""
    own = constants.extents
    return random.choice(own if own and random.random() < 0.6 else usual)


def _extents(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    """Another extent, or another rank, and shapes of all tensors that follow from it."""
    if op.stated.tensors:
        return _stated(op, case, constants, random)
    if not op.one_shape or not case.tensors:
        return None
    old = case.tensors[0][1].layout.shape
    new = _shape(old, constants, random)
    return _shaped(op, case, dict.fromkeys(case.layouts, new))


def _shape(old: tuple[int, ...], constants: Constants, random: Random) -> tuple[int, ...]:
    """A shape of one extent, of another rank, or with another extent in one place."""
    kind = random.choice(("line", "rank", "extent"))
    number = _number(constants, random, LINES)
    if kind == "line" or not old:
        return (number,)
    if kind == "extent":
        at = random.randrange(len(old))
        return (*old[:at], number, *old[at + 1 :])
    ranks = [n for n in constants.extents if 1 <= n <= MAX_RANK] or range(1, MAX_RANK + 1)
    return tuple(random.choice(FEW) for _ in range(random.choice(ranks)))


def _stated(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    names = dict(case_view(op, case).scope.names)
    free = [name for name in op.stated.free if name in names and name not in op.params]
    if not free:
        return None
    name = random.choice(free)
    old = names[name]
    kept = {each: value for each, value in names.items() if each not in op.stated.defined}
    new = _shape(old, constants, random) if isinstance(old, tuple) else _number(constants, random, LINES)
    scope = Scope({**kept, name: new})
    op.stated.define(scope)
    with op.naming("shapes"):
        return _shaped(op, case, {each: op.stated.shape(each, scope) for each in case.layouts})


def _shaped(op: Declaration, case: Case, shapes: Mapping[str, tuple[int, ...]]) -> Case:
    """The case with other shapes; a tensor whose shape stays keeps its layout, others are contiguous."""
    tensors = {
        name: tensor if tensor.layout.shape == shapes[name] else replace(tensor, layout=contiguous(shapes[name]))
        for name, tensor in case.tensors
    }
    return case.with_tensors(tensors)


def _layout(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    """Another order of dims, gaps, repeated elements or an offset: of one tensor, or the same of all."""
    together = random.random() < 0.3
    names = list(case.layouts) if together else [random.choice(list(case.layouts))]
    kind = random.choice(("contiguous", "transposed", "sliced", "repeated", "offset", "rows"))
    at = random.randrange(8)
    tensors = dict(case.tensors)
    for name in names:
        tensors[name] = replace(tensors[name], layout=_laid(tensors[name].layout, kind, at))
    return case.with_tensors(tensors)


def _laid(old: Layout, kind: str, number: int) -> Layout:
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
    """Other data: of another stream of the op, from another place on, or nothing but one of the kernel's constants."""
    types = op.bind(case.dtypes)
    filled = [name for name in op.filled if name in case.layouts]
    if not filled:
        return None
    name = random.choice(filled)
    tensor, kind = case.tensor(name), op.dtype_of(op.kinds[name], types)
    streams = list(op.data_of(name, types))
    if name not in op.indices and not kind.is_block:
        numbers = constants.real if kind.is_float else constants.whole
        streams += [each for each in map(_constantly, numbers) if each] * 2
    other = replace(
        tensor, data=random.choice(streams), start=random.choice((0, 0, tensor.start, random.randrange(96)))
    )
    if tensor.data == other.data == "sorted":
        return None
    return case.with_tensors({**dict(case.tensors), name: other})


def _constantly(number: float) -> str:
    """The stream that has this number and no other."""
    text = repr(number)
    return f"{text}..{text}".replace("e+", "e") if math.isfinite(number) else ""


def _param(op: Declaration, case: Case, constants: Constants, random: Random) -> Case | None:
    if not case.params:
        return None
    types = op.bind(case.dtypes)
    at = random.randrange(len(case.params))
    name, _ = case.params[at]
    kind = op.dtype_of(op.params[name], types)
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
    """A flag more or less; two operands that are aliased have one tensor."""
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
