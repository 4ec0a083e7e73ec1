"""Shrinks a failing case."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from parity.compare.verdict import Status
from parity.data.sampling import find_minimal
from parity.engine.checked_case import CheckedCase, Implementation
from parity.engine.judging import run_and_judge
from parity.model.case import Case, Tensor
from parity.model.layout import contiguous
from parity.op import Op


@dataclass(frozen=True)
class ShrinkSettings:
    """Settings of the search for a simpler case.

    The search draws ``examples`` cases from ``seed`` with the ``launches`` of the run, after it tried the ``hints``. It
    ignores failures for which ``is_known`` returns True, and stops after ``seconds``.
    """

    seed: int
    examples: int
    launches: str = "any"
    hints: Iterable[Case] = ()
    is_known: Callable[[CheckedCase], bool] = lambda checked: False
    seconds: float = 20.0


def minimize(op: Op, failing: CheckedCase, implementation: Implementation, search: ShrinkSettings) -> CheckedCase:
    """Return the simplest case that fails in the same way.

    Uses Hypothesis to shrink the case, unless a hint already fails in the same way. Then tries single elements and
    simpler calls.
    """
    end, verdict = time.monotonic() + search.seconds, failing.verdict

    def late() -> bool:
        return time.monotonic() >= end

    def attempt(case: Case) -> CheckedCase | None:
        try:
            op.check(case)
            checked = run_and_judge(op, case, implementation)
        except Exception:  # the simpler case is not valid for this op or its reference
            return None
        same = (checked.verdict.status, checked.verdict.kind) == (verdict.status, verdict.kind)
        return checked if same and not search.is_known(checked) else None

    def fails(case: Case) -> bool:
        return attempt(case) is not None

    best = next(filter(None, map(attempt, search.hints)), None)
    # Each attempt at an infinite loop uses a whole instruction budget, which is too expensive for a search.
    if best is None and verdict.status is Status.FAIL:
        cases = op.cases(failing.case.dtypes, launches=search.launches)
        shrunk = find_minimal(cases, search.seed, search.examples, fails, late)
        best = attempt(shrunk) if shrunk else None
    best = best or attempt(failing.case)
    if best is None:  # the failure does not repeat
        return CheckedCase(
            failing.case, replace(verdict, detail=f"{verdict.detail} (did not fail again)".strip()), "", {}
        )
    while better := next(filter(None, map(attempt, itertools.takewhile(lambda _: not late(), _simpler(best)))), None):
        best = better
    if late():
        limit = f"{search.seconds:g} s, which is the limit"
        note = f"(shrinking stopped after {limit}: there may be simpler cases that fail in the same way)"
        best = replace(best, verdict=best.verdict.noted(note))
    return best


def _simpler(checked: CheckedCase) -> Iterator[Case]:
    """Yield cases that are simpler in one respect, the largest simplifications first."""
    case = checked.case
    tensors = dict(case.tensors)
    yield from _single_elements(checked)
    yield from smaller_cases(case)
    if case.launch or case.threads:
        yield replace(case, launch=None, threads=None)
    for flag in case.flags:
        if flag != "aliased" and not flag.startswith("no-"):
            yield replace(case, flags=tuple(f for f in case.flags if f != flag))
    for name, tensor in tensors.items():
        plain = contiguous(tensor.layout.shape)
        if "aliased" not in case.flags and tensor.layout != plain:
            yield case.with_tensors({**tensors, name: replace(tensor, layout=plain)})
    for name, value in case.params:
        if value not in (1.0, 0.0):
            yield replace(case, params=tuple((n, 1 if n == name else v) for n, v in case.params))


def smaller_cases(case: Case) -> Iterator[Case]:
    """Yield cases with fewer elements along some axes: the first or the last one, half of them, or all but one."""
    tensors = dict(case.tensors)
    for axes in _axes_of_one_extent(tensors):
        name, axis = axes[0]
        size = tensors[name].layout.shape[axis]
        for fewer, last in itertools.product(dict.fromkeys((1, size // 2, size - 1)), (False, True)):
            if 1 <= fewer < size:
                smaller = dict(tensors)
                for name, axis in axes:
                    smaller[name] = _cut(smaller[name], axis, fewer, last)
                yield case.with_tensors(smaller)


def _single_elements(checked: CheckedCase) -> Iterator[Case]:
    """If all tensors have one shape, yield the first wrong element alone."""
    case, first = checked.case, checked.verdict.first
    shapes = {layout.shape for layout in case.layouts.values()}
    shape = shapes.pop() if shapes else (0,)
    if shapes or 0 in shape:
        return
    coordinates = first.coordinates if first is not None and len(first.coordinates) == len(shape) else (0,) * len(shape)
    for small in dict.fromkeys(((1,), (1,) * len(shape))):
        if shape and shape not in ((1,), small):
            yield case.with_tensors({name: _pluck(tensor, coordinates, small) for name, tensor in case.tensors})


def _axes_of_one_extent(tensors: dict[str, Tensor]) -> Iterator[tuple[tuple[str, int], ...]]:
    """Yield sets of axes, as (tensor, axis), that may have to be cut together.

    Only the op knows which axes belong together. Candidates are the same axis of all tensors if all shapes agree, or
    else all axes of one extent, any two of them, and each alone.
    """
    shapes = {name: tensor.layout.shape for name, tensor in tensors.items()}
    if len(set(shapes.values())) == 1:
        for axis in range(len(next(iter(shapes.values())))):
            yield tuple((name, axis) for name in shapes)
        return
    axes = [(name, axis) for name, shape in shapes.items() for axis in range(len(shape))]
    for extent in sorted({n for shape in shapes.values() for n in shape if n > 1}, reverse=True):
        alike = [(name, axis) for name, axis in axes if shapes[name][axis] == extent]
        for count in dict.fromkeys((len(alike), 2, 1)):
            if 1 <= count <= len(alike):
                yield from itertools.combinations(alike, count)


def _cut(tensor: Tensor, axis: int, size: int, last: bool) -> Tensor:
    """Return the tensor with only the first or last ``size`` elements along an axis.

    A contiguous tensor stays contiguous; others keep their strides. A contiguous tensor keeps the values of its
    elements only if the axis is the outermost.
    """
    layout = tensor.layout
    shape = (*layout.shape[:axis], size, *layout.shape[axis + 1 :])
    skipped = (layout.shape[axis] - size) * layout.strides[axis] if last and tensor.data else 0
    return replace(
        tensor,
        layout=contiguous(shape, layout.offset) if layout.is_contiguous else replace(layout, shape=shape),
        start=tensor.start + skipped,
    )


def _pluck(tensor: Tensor, coordinates: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """Return the one-element tensor with the element at these coordinates."""
    offset = sum(i * s for i, s in zip(coordinates, tensor.layout.strides, strict=True))
    return replace(tensor, layout=contiguous(shape), start=tensor.start + offset if tensor.data else 0)
