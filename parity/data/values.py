"""Building blocks of data streams: random bits, and values at which implementations fail."""

from __future__ import annotations

import functools

import numpy as np

from parity.model.dtypes import Array, DType


def mix(x: Array) -> Array:
    """Steele, Lea and Flood's SplitMix64 (OOPSLA 2014): a bijection of 64 bits with full avalanche."""
    x = (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def field(random: Array, low: int, bits: int) -> Array:
    return (random >> np.uint64(low)) & np.uint64((1 << bits) - 1)


@np.errstate(over="ignore")
def stored(values: Array, dtype: DType) -> Array:
    """Convert numbers to a type. bf16 and f8 round through f32, so that streams match existing recordings."""
    by_f32 = dtype.is_float and dtype.numpy.kind != "f"
    return dtype.convert(values.astype(np.float32) if by_f32 else values)


@functools.cache
def special_values(dtype: DType) -> Array:
    """Return values at which implementations fail: zeros, ties, limits, subnormals, infinities, NaN, powers of two."""
    if not dtype.is_float:
        low, high = int(dtype.min), int(dtype.max)
        steps = [0, 1, 2, 3, 5, 7, 10, 100, 127, 128, 129, 200, 255, 256, 257, 32767, 32768, 65535, 65536]
        steps += [2**k + d for k in (11, 24, 31, 32, 53, 62, 63) for d in (-1, 0, 1)]
        steps += [high, high - 1, low, low + 1, high // 2, high // 2 + 1]
        signed = [s for n in steps for s in ((n, -n) if dtype.kind == "int" else (n,))]
        return np.array(list(dict.fromkeys(n for n in signed if low <= n <= high)), dtype.numpy)
    p, tiny = dtype.precision, 2.0 ** (dtype.emin - dtype.precision + 1)
    ulp = 2.0 ** (1 - p)
    positive = [0.0, 1.0, 0.5, 2.0, 1.5, 2.5, 3.0, 0.25, 0.75, 3.5, 10.0, 100.0, 0.1, 1 / 3, 2 / 3, np.pi, np.e]
    positive += [255.0, 255.5, 256.0]
    positive += [1.0 + ulp, 1.0 - ulp / 2, 0.5 - ulp / 4, 2.0 ** (p - 1) + 0.5, 2.0 ** (p - 1), 2.0**p, 2.0**p + 2.0]
    positive += [tiny, 2 * tiny, 3 * tiny, 2.0 ** (dtype.emin - 1), 2.0**dtype.emin - tiny, 2.0**dtype.emin]
    positive += [float(dtype.max), float(dtype.max) / 2, np.inf, 1e-3, 1e-5, 20.0, 50.0, 300.0]
    return stored(np.array([s for v in positive for s in (v, -v)] + [np.nan], np.float64), dtype)
