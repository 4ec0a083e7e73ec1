"""The least and the greatest value that are right for each element, in the type of the output."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from parity.compare.comparison import accepted_elements
from parity.compare.ulps import bit_patterns
from parity.model.dtypes import Array, DType, array_dtype
from parity.reference.expected import Expected, Vendor

__all__ = ["accepted_interval"]


@np.errstate(all="ignore")
def accepted_interval(expected: Expected, vendor: Vendor) -> tuple[Array, Array]:
    """The ends of the interval around each expected value that the budget of a vendor allows, both of them right.

    What makes single values right (another right value, NaN, the sign of a zero) is not looked at; where the expected
    value is NaN, both ends are that. They are found by bisection among all values of the type, of which those that are
    right have to be neighbours.
    """
    value, kind = expected.value, array_dtype(expected.value)
    alone = replace(expected, sign_of_zero=False, nan_allowed=False, divergences={}, alternatives=(), unspecified=False)
    start = _places(value, kind)
    nan = np.isnan(value) if kind.is_float else np.zeros(value.shape, np.bool_)

    def right(places: Array) -> Array:
        return nan | accepted_elements(alone, _at(places, kind), vendor)

    def furthest(end: Array) -> Array:
        """The last place that is right on the way from the expected values to ``end``."""
        near, far = np.where(right(end), end, start), np.where(right(end), end, end)
        while True:
            up = far > near
            gap = np.where(up, far - near, near - far)
            if not (gap > 1).any():
                return near
            half = gap // np.uint64(2)
            middle = np.where(up, near + half, near - half)
            good = right(middle)
            near, far = np.where(good, middle, near), np.where(good, far, middle)

    limits = (-np.inf, np.inf) if kind.is_float and not kind.saturates else (kind.min, kind.max)
    ends = (_places(np.full(value.shape, limit, kind.numpy), kind) for limit in limits)
    lower, upper = (_at(furthest(end), kind) for end in ends)
    return np.where(nan, value, lower), np.where(nan, value, upper)


def _places(values: Array, kind: DType) -> Array:
    """The places of values among all of their type (uint64), from the least to the greatest; -0 just before +0."""
    bits, sign = bit_patterns(values).astype(np.uint64), _sign(kind)
    if kind.kind == "uint":
        return bits
    return np.where(bits & sign, ~bits & (sign - np.uint64(1)), bits | sign) if kind.is_float else bits ^ sign


def _at(places: Array, kind: DType) -> Array:
    """The values at these places."""
    sign = _sign(kind)
    bits = places
    if kind.is_float:
        bits = np.where(places & sign, places ^ sign, ~places)
    elif kind.kind == "int":
        bits = places ^ sign
    return np.asarray(bits.astype(kind.bits).view(kind.numpy))


def _sign(kind: DType) -> np.uint64:
    return np.uint64(1 << (8 * kind.itemsize - 1))
