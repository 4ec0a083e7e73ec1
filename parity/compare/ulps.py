"""Bit patterns: distances in units in the last place, and values as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parity.dtypes import of_array

__all__ = ["bit_patterns", "show", "show_pair", "ulp_distance", "ulp_distances"]

Array = np.ndarray[Any, Any]


def bit_patterns(x: Array) -> Array:
    """The elements as unsigned integers of the same size."""
    return x.view(of_array(x).bits)


def ulp_distance(x: np.generic, y: np.generic) -> float:
    """Number of representable values from ``x`` to ``y``: 0 for equal values, -0 and +0 included.

    An infinity counts as the neighbour of the largest finite value; infinite for NaN. Integers: the difference.
    """
    if not of_array(x).is_float:
        return float(abs(int(x) - int(y)))
    if math.isnan(float(x)) or math.isnan(float(y)):
        return math.inf
    return float(abs(_order(x) - _order(y)))


@np.errstate(all="ignore")
def ulp_distances(x: Array, y: Array) -> Array:
    """``ulp_distance`` of every element of two float arrays, as float64."""
    dtype = of_array(x)
    sign = np.uint64(1 << (8 * dtype.itemsize - 1))
    a, b = (bit_patterns(each).astype(np.uint64) for each in (x, y))
    low, high = np.minimum(a & ~sign, b & ~sign), np.maximum(a & ~sign, b & ~sign)
    distances = np.where((a & sign) == (b & sign), high - low, high + low).astype(np.float64)
    return np.where(np.isnan(x) | np.isnan(y), math.inf, distances)


def _order(x: np.generic) -> int:
    """Position of a float among all floats of its type, zeros at 0."""
    dtype = of_array(x)
    bits = int(x.view(dtype.bits))
    sign = 1 << (8 * dtype.itemsize - 1)
    return sign - bits if bits & sign else bits


def show(x: np.generic) -> str:
    """The shortest decimal text that rounds back to ``x``; exact in 8 bits, where 450 would stand for 448."""
    dtype = of_array(x)
    if not dtype.is_float:
        return str(int(x))
    if dtype.numpy.kind == "f":  # NumPy's own types; those of ml_dtypes print more digits than they hold
        return str(x)
    value = float(x)
    if dtype.itemsize == 1:
        return str(value)
    for digits in range(1, 5):
        text = f"{value:.{digits}g}"
        if dtype.numpy.type(float(text)) == x:
            break
    return str(float(text)) if math.isfinite(value) else str(value)


def show_pair(expected: np.generic, got: np.generic) -> tuple[str, str]:
    """Both as text; with their bit patterns where the texts agree."""
    texts = show(expected), show(got)
    if texts[0] != texts[1]:
        return texts
    width = 2 * expected.itemsize
    hexes = (f"{int(x.view(of_array(x).bits)):0{width}x}" for x in (expected, got))
    first, second = (f"{text} (0x{bits})" for text, bits in zip(texts, hexes, strict=True))
    return first, second
