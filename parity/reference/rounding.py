"""Rounding: units in the last place, and correct rounding of wide values.

Wide values are float64 arrays. "On the grid of T" means exactly representable in T.
"""

from __future__ import annotations

import math

import gmpy2
import numpy as np

from parity.model.dtypes import DTYPES, Array, DType

SLACK = 1 + 2.0**-20
"""Factor on first-order bounds that covers terms of second order in u (docs/tolerance-model.md, section 2)."""

_EXPONENT = np.int64(0x7FF0_0000_0000_0000)
_F32, _F64 = DTYPES["f32"], DTYPES["f64"]


def wide(x: Array | np.generic) -> Array:
    """Convert any float array to float64, exactly."""
    return np.asarray(x).astype(np.float64)


def unit_roundoff(dtype: DType) -> float:
    """Return half the distance from 1 to the next number, 2**-p."""
    return 2.0**-dtype.precision


def smallest(dtype: DType) -> float:
    """Return the smallest subnormal number."""
    return 2.0 ** (dtype.emin - dtype.precision + 1)


def half_ulp_of_max(dtype: DType) -> float:
    """Return half a unit in the last place of the largest finite value. Overflow starts at max plus this value."""
    return float(2.0 ** (math.frexp(dtype.max)[1] - dtype.precision - 1))


def ulp(r: Array, dtype: DType) -> Array:
    """``2**(max(floor(log2|r|), emin) - p + 1)`` (Muller, INRIA RR-5504); infinite for infinities and NaN."""
    power = (np.asarray(r, np.float64).view(np.int64) & _EXPONENT).view(np.float64)
    return np.maximum(power * 2.0 ** (1 - dtype.precision), smallest(dtype))


def ulp_safe(r: Array, dtype: DType) -> Array:
    """``ulp(|r| (1 + 8u))``: also valid if the result crosses a power of two. Always finite."""
    return np.minimum(ulp(np.multiply(r, 1 + 8 * unit_roundoff(dtype)), dtype), 2.0**972)


def below_f32_normals(r: Array) -> bool:
    """Return whether any exact value would be subnormal in f32 (and in bf16)."""
    size = np.abs(r)
    return bool(np.any((size < 2.0**_F32.emin) & (size > 0)))


def to_grid(r: Array, dtype: DType) -> Array:
    """Round float64 once, to nearest, ties to even; return float64 on the grid of ``dtype``.

    Overflow gives infinity, or the largest value of a saturating type.
    """
    return np.asarray(r, np.float64) if dtype is _F64 else wide(dtype.convert(r))


def store(r: Array, dtype: DType) -> Array:
    """Round float64 once, to nearest, ties to even, to an array of ``dtype``; overflow as in ``to_grid``."""
    return dtype.convert(r)


def fma(x: Array, y: Array, z: Array, dtype: DType) -> Array:
    """``x * y + z`` rounded once. Operands and result are arrays of ``dtype``.

    For types narrower than f64, the product is exact in float64 and the sum is rounded to odd; a second rounding to at
    most 51 bits is then correct (Boldo and Melquiond, 2008). f64 uses MPFR with the exponent range of IEEE binary64.
    """
    if dtype is _F64:
        a, b, c = np.broadcast_arrays(x, y, z)
        terms = zip(*(each.ravel().tolist() for each in (a, b, c)), strict=True)
        return np.array([float(_BINARY64.fma(*each)) for each in terms], np.float64).reshape(a.shape)
    product, addend = wide(x) * wide(y), wide(z)
    total = np.asarray(product + addend)
    part = total - product
    error = (product - (total - part)) + (addend - part)
    inexact = np.isfinite(total) & (error != 0) & (total.view(np.int64) & 1 == 0)
    return store(np.where(inexact, np.nextafter(total, np.copysign(np.inf, error)), total), dtype)


_BINARY64 = gmpy2.ieee(64)
