"""Bit patterns of values: distances in units in the last place, and formatting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parity.model.dtypes import Array, array_dtype

SHOWN = 8
"""Values to show for each field of a block."""


def bit_patterns(x: Array) -> Array:
    """View the elements as unsigned integers of the same size; blocks become bytes that only compare for equality."""
    return x.view(array_dtype(x).bits)


def ulp_distance(x: np.generic, y: np.generic) -> float:
    """Return the number of representable values from ``x`` to ``y``; 0 for equal values, including -0 and +0.

    An infinity is the neighbour of the largest finite value. NaN has an infinite distance. For integers the distance is
    the difference, for blocks the number of differing bytes.
    """
    if array_dtype(x).is_block:
        return float(differing_bytes(np.asarray(x), np.asarray(y)))
    if not array_dtype(x).is_float:
        return float(abs(int(x) - int(y)))
    return float(ulp_distances(np.asarray(x), np.asarray(y)))


def differing_bytes(x: Array, y: Array) -> Array:
    """Count the differing bytes of each element; int64 in the shape of both arrays."""
    rows = (np.ascontiguousarray(each).reshape(-1).view(np.uint8).reshape(*each.shape, -1) for each in (x, y))
    return np.asarray(np.count_nonzero(np.not_equal(*rows), axis=-1))


@np.errstate(all="ignore")
def ulp_distances(x: Array, y: Array) -> Array:
    """Return ``ulp_distance`` for each element of two float arrays, as float64."""
    dtype = array_dtype(x)
    sign = np.uint64(1 << (8 * dtype.itemsize - 1))
    a, b = (bit_patterns(each).astype(np.uint64) for each in (x, y))
    low, high = np.minimum(a & ~sign, b & ~sign), np.maximum(a & ~sign, b & ~sign)
    distances = np.where((a & sign) == (b & sign), high - low, high + low).astype(np.float64)
    return np.where(np.isnan(x) | np.isnan(y), math.inf, distances)


def format_value(x: np.generic) -> str:
    """Return the shortest decimal text that rounds back to ``x``; 8-bit floats are exact, so 448 is not shown as 450.

    For a block, return its fields: scales as numbers, and the first values of other fields (unsigned bytes in hex).
    """
    dtype = array_dtype(x)
    if dtype.is_block:
        return _show_block(x)
    if not dtype.is_float:
        return str(int(x))
    if dtype.numpy.kind == "f":  # NumPy's own types; ml_dtypes prints more digits than needed
        return str(x)
    value = float(x)
    if dtype.itemsize == 1:
        return str(value)
    for digits in range(1, 5):
        text = f"{value:.{digits}g}"
        if dtype.numpy.type(float(text)) == x:
            break
    return str(float(text)) if math.isfinite(value) else str(value)


def format_pair(expected: np.generic, got: np.generic) -> tuple[str, str]:
    """Format both values, with bit patterns if the texts agree. For blocks, show the differing fields only."""
    if array_dtype(expected).is_block:
        return _show_blocks(expected, got)
    texts = format_value(expected), format_value(got)
    if texts[0] != texts[1]:
        return texts
    width = 2 * expected.itemsize
    hexes = (f"{int(x.view(array_dtype(x).bits)):0{width}x}" for x in (expected, got))
    first, second = (f"{text} (0x{bits})" for text, bits in zip(texts, hexes, strict=True))
    return first, second


def _show_block(block: Any) -> str:
    return " ".join(_show_field(name, block[name]) for name in block.dtype.names)


def _show_blocks(expected: Any, got: Any) -> tuple[str, str]:
    pairs: list[tuple[str, ...]] = []
    for name in expected.dtype.names:
        x, y = expected[name], got[name]
        if x.tobytes() == y.tobytes():
            continue
        if x.ndim:
            at = int(np.flatnonzero(x != y)[0])
            pairs.append((_show_field(name, x, at), _show_field(name, y, at)))
        elif x.dtype.kind == "f":
            pairs.append(tuple(f"{name}={text}" for text in format_pair(x, y)))
        else:
            pairs.append((_show_field(name, x), _show_field(name, y)))
    first, second = (
        (" ".join(texts) for texts in zip(*pairs, strict=True))
        if pairs
        else (format_value(expected), format_value(got))
    )
    return first, second


def _show_field(name: str, value: Any, start: int = 0) -> str:
    """Format a field of a block, beginning at one index of an array."""
    if not value.ndim:
        return f"{name}={_show_part(value)}"
    text = " ".join(map(_show_part, value[start : start + SHOWN])) + " ..." * (start + SHOWN < len(value))
    return f"{name}[{start}:]={text}" if start else f"{name}={text}"


def _show_part(value: Any) -> str:
    return f"{int(value):0{2 * value.itemsize}x}" if value.dtype.kind == "u" else str(value)
