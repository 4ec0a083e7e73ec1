"""The smallest and the largest value that the comparison accepts for each element, in the type of the output."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from parity.compare.comparison import accepted_elements
from parity.compare.ulps import bit_patterns
from parity.model.dtypes import Array, DType, array_dtype
from parity.reference.expected import Expected, Vendor


@np.errstate(all="ignore")
def accepted_interval(expected: Expected, vendor: Vendor) -> tuple[Array, Array]:
    """Return the ends of the interval that a vendor's error bound allows around each expected value.

    Both ends are accepted values. Rules for single values (alternatives, NaN, the sign of zero) are ignored. Where the
    expected value is NaN, both ends are NaN. The search bisects the values of the type and requires that the accepted
    values are contiguous.
    """
    value, kind = expected.value, array_dtype(expected.value)
    alone = replace(expected, sign_of_zero=False, nan_allowed=False, divergences={}, alternatives=(), unspecified=False)
    start = _places(value, kind)
    nan = np.isnan(value) if kind.is_float else np.zeros(value.shape, np.bool_)

    def right(places: Array) -> Array:
        return nan | accepted_elements(alone, _at(places, kind), vendor)

    def furthest(end: Array) -> Array:
        """The last accepted place on the way from the expected values to ``end``."""
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
    """The ranks of values among all values of their type (uint64), in ascending order; -0 directly precedes +0."""
    bits, sign = bit_patterns(values).astype(np.uint64), _sign(kind)
    if kind.kind == "uint":
        return bits
    return np.where(bits & sign, ~bits & (sign - np.uint64(1)), bits | sign) if kind.is_float else bits ^ sign


def _at(places: Array, kind: DType) -> Array:
    """The values with these ranks."""
    sign = _sign(kind)
    bits = places
    if kind.is_float:
        bits = np.where(places & sign, places ^ sign, ~places)
    elif kind.kind == "int":
        bits = places ^ sign
    return np.asarray(bits.astype(kind.bits).view(kind.numpy))


def _sign(kind: DType) -> np.uint64:
    return np.uint64(1 << (8 * kind.itemsize - 1))
