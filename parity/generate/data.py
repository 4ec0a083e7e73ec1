"""Data streams: endless, random-access sequences of elements, equal on every machine.

Element i of a stream is a pure function of (stream, dtype, tensor name, i), made of integer operations and exactly
rounded arithmetic only: no library's random generator or ``exp`` can make two machines disagree.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from parity.dtypes import DType
from parity.errors import UsageError, nearest

__all__ = ["STREAMS", "elements", "special_values"]

Array = np.ndarray[Any, Any]
Stream = Callable[[DType, Array, Array, Array], Array]


def elements(
    stream: str, dtype: DType, start: int, count: int, name: str = "", points: tuple[float, ...] = ()
) -> Array:
    """Elements ``start`` to ``start + count - 1`` of a stream, shape (count,).

    ``name`` is the tensor's name: two tensors with the same window hold different data. ``points`` are the values that
    matter for the op; the streams ``points`` and ``near`` are made of them.

    Raises:
        UsageError: there is no such stream.
    """
    try:
        make = STREAMS[stream]
    except KeyError:
        raise UsageError(f"unknown data {stream!r}; known: {' '.join(STREAMS)}{nearest(stream, STREAMS)}") from None
    index = np.arange(start, start + count, dtype=np.uint64)
    return make(
        dtype, index, mix(index ^ np.uint64(zlib.crc32(f"{stream}/{name}".encode()) << 20)), _points(dtype, points)
    )


def mix(x: Array) -> Array:
    """Steele, Lea and Flood's SplitMix64 (OOPSLA 2014): a bijection of 64 bits with full avalanche."""
    x = (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def field(random: Array, low: int, bits: int) -> Array:
    return (random >> np.uint64(low)) & np.uint64((1 << bits) - 1)


def _normal(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Sum of four uniforms, scaled to standard deviation 3 for floats and about 50 for integers."""
    fields = np.sum([field(random, shift, 16).astype(np.int64) for shift in (0, 16, 32, 48)], axis=0) - 2 * 65535
    if dtype.is_float:
        return dtype.convert(fields.astype(np.float64) * (3.0 / 37837.0))
    small = fields // 757
    return dtype.convert(np.abs(small) if dtype.kind == "uint" else small)


def _unit(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Uniform in [-1, 1) for floats, 0 or 1 for integers (a mask)."""
    if dtype.is_float:
        return dtype.convert(field(random, 8, 53).astype(np.float64) * 2.0**-52 - 1.0)
    return dtype.convert(field(random, 20, 1))


def _small(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Whole numbers from -4 to 4, from 0 for unsigned types: sums of them are exact, so a dropped term shows."""
    low = 0 if dtype.kind == "uint" else -4
    return dtype.convert((field(random, 16, 32) % np.uint64(5 - low)).astype(np.int64) + low)


def _bits(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Uniform over bit patterns: every exponent, NaN payloads and infinities included."""
    return random.astype(dtype.bits).view(dtype.numpy)


def _patterns(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Every bit pattern in order, over and over: 256 elements of a type of 8 bits hold each once."""
    return index.astype(dtype.bits).view(dtype.numpy)


def _special(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    table = special_values(dtype)
    return table[(index % np.uint64(len(table))).astype(np.int64)]


def _exact_points(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """The op's points in order, over and over: a tensor of len(points) elements holds each once."""
    return points[(index % np.uint64(len(points))).astype(np.int64)]


def _near(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """A point of the op moved by up to two units in the last place."""
    base = points[(field(random, 0, 31) % np.uint64(len(points))).astype(np.int64)]
    if not dtype.is_float:
        with np.errstate(over="ignore"):
            moved: Array = base + (field(random, 33, 16) % np.uint64(5)).astype(dtype.numpy) - dtype.numpy.type(2)
            return moved
    shift = (field(random, 33, 16) % np.uint64(5)).astype(np.int64) - 2
    return (base.view(dtype.bits).astype(np.int64) + shift).astype(dtype.bits).view(dtype.numpy)


def _mixed(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Half normal; the rest special, near a point, or any bit pattern."""
    choice = field(random, 58, 3)
    again = mix(random)
    special = special_values(dtype)
    result = _normal(dtype, index, again, points)
    rare = special[(field(again, 3, 31) % np.uint64(len(special))).astype(np.int64)]
    for number, values in ((5, rare), (6, _near(dtype, index, again, points)), (7, _bits(dtype, index, again, points))):
        result = np.where(choice == number, values, result)
    return result


STREAMS: dict[str, Stream] = {
    "normal": _normal,
    "unit": _unit,
    "special": _special,
    "points": _exact_points,
    "near": _near,
    "mixed": _mixed,
    "bits": _bits,
    "patterns": _patterns,
    "small": _small,
}


@functools.cache
def special_values(dtype: DType) -> Array:
    """Values at which implementations go wrong: zeros, ties, limits, subnormals, infinities, NaN; powers of two."""
    if not dtype.is_float:
        low, high = int(dtype.min), int(dtype.max)
        steps = [0, 1, 2, 3, 5, 7, 10, 100, 127, 128, 129, 200, 255, 256, 257, 32767, 32768, 65535, 65536]
        steps += [2**k + d for k in (11, 24, 31, 32, 53, 62, 63) for d in (-1, 0, 1)]
        steps += [high, high - 1, low, low + 1, high // 2, high // 2 + 1]
        signed = [s for n in steps for s in ((n, -n) if dtype.kind == "int" else (n,))]
        return np.array(list(dict.fromkeys(n for n in signed if low <= n <= high)), dtype.numpy)
    p, tiny = dtype.precision, 2.0 ** (dtype.emin - dtype.precision + 1)
    ulp = 2.0 ** (1 - p)
    positive = [
        0.0,
        1.0,
        0.5,
        2.0,
        1.5,
        2.5,
        3.0,
        0.25,
        0.75,
        3.5,
        10.0,
        100.0,
        0.1,
        1 / 3,
        2 / 3,
        np.pi,
        np.e,
        255.0,
        255.5,
        256.0,
    ]
    positive += [1.0 + ulp, 1.0 - ulp / 2, 0.5 - ulp / 4, 2.0 ** (p - 1) + 0.5, 2.0 ** (p - 1), 2.0**p, 2.0**p + 2.0]
    positive += [tiny, 2 * tiny, 3 * tiny, 2.0 ** (dtype.emin - 1), 2.0**dtype.emin - tiny, 2.0**dtype.emin]
    positive += [float(dtype.max), float(dtype.max) / 2, np.inf, 1e-3, 1e-5, 20.0, 50.0, 300.0]
    return dtype.convert(np.array([s for v in positive for s in (v, -v)] + [np.nan], np.float64))


@functools.cache
def _points(dtype: DType, points: tuple[float, ...]) -> Array:
    if not points:
        return special_values(dtype)
    if dtype.is_float:
        return dtype.convert(np.array(points, np.float64))
    low, high = int(dtype.min), int(dtype.max)
    return np.array([min(max(int(p), low), high) for p in points if np.isfinite(p)] or [0], dtype.numpy)
