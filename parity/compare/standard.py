"""What an op without a reference is judged by: the values that CUDA's side computed, and how far another's may be off.

docs/tolerance-model.md, section 11, has the rule and what it rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parity.compare.ulps import bit_patterns
from parity.dtypes import DType, of_array
from parity.launch import Arithmetic
from parity.reference.accuracy import furthest
from parity.reference.expected import Bounds, Expected
from parity.reference.rounding import half_ulp_of_max, ulp_safe

__all__ = ["expected_of", "same"]

Array = np.ndarray[Any, Any]

WIDE = 24
"""The precision from which a result is not rounded once more when it is stored."""


def same(standard: Array, got: Array) -> bool:
    """True if all elements have the same bits, or are both NaN."""
    alike = np.asarray(bit_patterns(standard) == bit_patterns(got))
    if of_array(got).is_float:
        alike |= np.isnan(standard) & np.isnan(got)
    return bool(alike.all())


@np.errstate(all="ignore")
def expected_of(standard: Array, arithmetic: Arithmetic, shadows: Sequence[Sequence[Array]]) -> Expected:
    """The expectation of an output, all arrays in its dtype and logical shape.

    ``standard`` is what CUDA's side computed. ``shadows`` are, for each side whose code can be executed with other
    roundings, what it then computes, first as it is; the side under test comes first. Code that rounds nothing needs
    none: it has to give the same values, and, if it only moves them, zeros of the same sign.
    """
    if arithmetic <= Arithmetic.COMPARES:
        return Expected(standard, sign_of_zero=arithmetic is Arithmetic.MOVES)
    kind = of_array(standard)
    if kind.is_block:
        apart = [bit_patterns(each) != bit_patterns(side[0]) for side in shadows for each in side]
        return Expected(standard, unspecified=np.asarray(np.logical_or.reduce(apart)))
    if not kind.is_float:
        return _integers(standard, shadows)
    sides = [np.array([each.astype(np.float64) for each in side]) for side in shadows]
    mixed = np.logical_or.reduce([*map(_is_mixed, sides)])
    spread = np.add.reduce([*map(_spread, sides)])
    nominal, value = sides[0][0], standard.astype(np.float64)
    size = np.nan_to_num(np.abs(sides[0]), nan=0.0, posinf=0.0).max(0)
    allowed = _allowed(kind, arithmetic, spread, size)
    overflows = np.abs(nominal) + allowed >= kind.max + half_ulp_of_max(kind)
    mixed |= np.isinf(value) & np.isfinite(nominal) & (np.signbit(value) == np.signbit(nominal)) & overflows
    return Expected(standard, lambda _: Bounds(value, 0.0, allowed, allowed), unspecified=mixed)


def _allowed(kind: DType, arithmetic: Arithmetic, spread: Array, size: Array) -> Array:
    """The distance that is allowed, by the spread of the shadows and the size of the largest, float64."""
    factor, unit = furthest(kind.name), ulp_safe(size, kind)
    if kind.precision < WIDE:  # the last rounding is one, and nothing makes it larger
        return np.asarray(factor * np.maximum(spread - unit, 0.0) + unit)
    least = unit if arithmetic is Arithmetic.APPROXIMATES else np.zeros_like(unit)
    return np.asarray(factor * np.maximum(spread, least))


def _is_mixed(shadows: Array) -> Array:
    """The elements of which some shadows are numbers, infinities or NaN, and others are not."""
    alike = np.isfinite(shadows).all(0) | np.isnan(shadows).all(0)
    return np.asarray(~(alike | (np.isinf(shadows) & (shadows == shadows[0])).all(0)))


def _spread(shadows: Array) -> Array:
    """The distance from the least shadow to the greatest; 0 where one is no number."""
    return np.where(np.isfinite(shadows).all(0), shadows.max(0) - shadows.min(0), 0.0)


def _integers(standard: Array, shadows: Sequence[Sequence[Array]]) -> Expected:
    """Numbers that are as near to the standard as the shadows of each side are to each other."""

    def apart(a: Array, b: Array) -> Array:
        return np.asarray(np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64))

    room = sum(apart(np.minimum.reduce(side), np.maximum.reduce(side)) for side in shadows)
    return Expected(standard, accepts=lambda got: apart(standard, got) <= room)
