"""The standard of an op without a reference: the values that CUDA's side computed, and how far another's may be off.

docs/tolerance-model.md, section 10, has the rule and what it rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parity.compare.comparison import accepted_elements
from parity.model.dtypes import NUMBERS, Array, DType, array_dtype
from parity.model.launch import Arithmetic
from parity.reference.accuracy import furthest
from parity.reference.expected import Bounds, Expected
from parity.reference.rounding import half_ulp_of_max, ulp_safe

__all__ = ["RoundingRuns", "expected_from_cuda", "same_values"]


WIDE = 24
"""The precision from which a result is not rounded once more when it is stored."""


@dataclass(frozen=True)
class RoundingRuns:
    """An output of one side as its code computes it on an emulator: as it is, with operations that round up or down,
    of bf16 with products that are rounded to it, and where matrix cores take subnormal numbers for 0 with these kept
    (``parity.model.launch.Shadows``).
    """

    nearest: Array
    moved: Sequence[Array]
    narrowed: Sequence[Array] = ()
    unflushed: Sequence[Array] = ()

    @property
    def runs(self) -> Sequence[Array]:
        """All of them."""
        return (self.nearest, *self.moved, *self.narrowed, *self.unflushed)

    def field(self, name: str) -> RoundingRuns:
        """A field of blocks."""
        groups = (self.moved, self.narrowed, self.unflushed)
        return RoundingRuns(self.nearest[name], *([each[name] for each in some] for some in groups))


@np.errstate(all="ignore")
def same_values(standard: Array, got: Array) -> bool:
    """True if all elements have the same bits, or are both NaN."""
    return bool(_alike(standard, got).all())


def _alike(x: Array, y: Array) -> Array:
    """The elements that have the same bits, or are both NaN; blocks field by field."""
    if x.dtype.names:
        fields = (_alike(x[name], y[name]) for name in x.dtype.names)
        return np.asarray(np.logical_and.reduce([each.reshape(*x.shape, -1).all(-1) for each in fields]))
    alike = np.asarray(x.view(f"u{x.itemsize}") == y.view(f"u{y.itemsize}"))
    return np.asarray(alike | ((x != x) & (y != y)))


@np.errstate(all="ignore")
def expected_from_cuda(
    standard: Array, arithmetic: Arithmetic, sides: Sequence[RoundingRuns], flushed: float = 0.0
) -> Expected:
    """The expectation of an output, all arrays in its dtype and logical shape.

    ``standard`` is what CUDA's side computed. ``sides`` are those whose code can be executed with other roundings; the
    one under test comes first. Code that rounds nothing needs none: it has to give the same values, and, if it only
    moves them, zeros of the same sign. So has a launch that no rounding moves, but for numbers that underflow.
    ``flushed`` is how much further off f32 may be where one side takes subnormal numbers for 0 and another adds them.
    """
    kind = array_dtype(standard)
    if kind.is_block:
        return Expected(standard, accepts=lambda got: _right_blocks(standard, arithmetic, sides, got))
    if arithmetic < Arithmetic.ROUNDS or not sides:
        return Expected(standard, sign_of_zero=arithmetic is Arithmetic.MOVES)
    if not kind.is_float:
        return _integers(standard, sides)
    runs = [_wides(side.nearest, *side.moved) for side in sides]
    others = [_wides(side.nearest, *each) for side in sides for each in (side.narrowed, side.unflushed)]
    kept = [_wides(*side.unflushed) for side in sides if side.unflushed]
    mixed = np.logical_or.reduce([*map(_is_mixed, [*runs, *others])])
    spread, more = (np.add.reduce([*map(_spread, each)]) for each in (runs + kept, others))
    nominal, value = runs[0][0], _wide(standard)
    size = np.nan_to_num(np.abs(runs[0]), nan=0.0, posinf=0.0).max(0)
    if any(map(_moves, sides)):
        allowed = _allowed(_computed_in(kind, [value, *runs]), spread, size) + more
    else:  # exact, but that one function gives 0 where another gives the least numbers (D14)
        allowed = _allowed(kind, spread, np.zeros_like(size))
    allowed = allowed + flushed * (kind.name == "f32")
    overflows = np.abs(nominal) + allowed >= kind.max + half_ulp_of_max(kind)
    mixed |= np.isinf(value) & np.isfinite(nominal) & (np.signbit(value) == np.signbit(nominal)) & overflows
    # whether a sum meets the other infinity depends on its order, whether infinity meets 0 on a rounding to it
    mixed |= (np.isinf(value) & np.isnan(nominal)) | (np.isnan(value) & np.isinf(nominal))
    return Expected(standard, lambda _: Bounds(value, 0.0, allowed, allowed), unspecified=mixed)


def _moves(side: RoundingRuns) -> bool:
    """True if any rounding changes any element."""
    return any(not _alike(side.nearest, each).all() for each in side.runs)


def _wide(x: Array) -> Array:
    return x.astype(np.float64)


def _wides(*arrays: Array) -> Array:
    return np.array([_wide(each) for each in arrays])


def _allowed(kind: DType, spread: Array, size: Array) -> Array:
    """The distance that is allowed, by the spread of the shadows and the size of the largest, float64."""
    factor, unit = furthest(kind.name), ulp_safe(size, kind)
    if kind.precision < WIDE:  # the last rounding is one, and nothing makes it larger
        return np.asarray(factor * np.maximum(spread - unit, 0.0) + unit)
    return np.asarray(factor * np.maximum(spread, unit))


def _computed_in(kind: DType, results: Sequence[Array]) -> DType:
    """The type in which all results are numbers: that of the output, or a smaller one, from which both sides convert
    them to it.
    """
    fewer = (each for each in NUMBERS.values() if each.is_float and 1 < each.itemsize < kind.itemsize)
    holding = (each for each in fewer if all(_holds(each, some) for some in results))
    return min(holding, key=lambda each: each.precision, default=kind)


def _holds(kind: DType, x: Array) -> bool:
    """True if all elements are numbers of the type, or none."""
    return bool(((_wide(x.astype(kind.numpy)) == x) | ~np.isfinite(x)).all())


def _is_mixed(runs: Array) -> Array:
    """The elements of which some runs are numbers, infinities or NaN, and others are not."""
    alike = np.isfinite(runs).all(0) | np.isnan(runs).all(0)
    return np.asarray(~(alike | (np.isinf(runs) & (runs == runs[0])).all(0)))


def _spread(runs: Array) -> Array:
    """The distance from the least run to the greatest; 0 where one is no number."""
    return np.where(np.isfinite(runs).all(0), runs.max(0) - runs.min(0), 0.0)


def _integers(standard: Array, sides: Sequence[RoundingRuns]) -> Expected:
    """Numbers that are as near to the standard as the runs of each side are to each other."""
    return Expected(standard, accepts=lambda got: _right_integers(standard, sides, got))


def _right_integers(standard: Array, sides: Sequence[RoundingRuns], got: Array) -> Array:
    def apart(a: Array, b: Array) -> Array:
        return np.asarray(np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64))

    rooms = (apart(np.minimum.reduce(side.runs), np.maximum.reduce(side.runs)) for side in sides)
    return np.asarray(apart(standard, got) <= np.add.reduce([np.zeros(standard.shape, np.uint64), *rooms]))


def _right_blocks(standard: Array, arithmetic: Arithmetic, sides: Sequence[RoundingRuns], got: Array) -> Array:
    """The blocks of which every field is right: its integers as near as the runs are, its scales as other numbers."""
    right = np.ones(standard.shape, np.bool_)
    for name in standard.dtype.names or ():
        field = standard[name]
        moved = [side.field(name) for side in sides]
        if field.dtype.kind == "f":
            found = accepted_elements(expected_from_cuda(field, arithmetic, moved), got[name], "amd")
        else:
            found = _right_integers(field, moved, got[name])
        right &= found.reshape(*standard.shape, -1).all(-1)
    return right
