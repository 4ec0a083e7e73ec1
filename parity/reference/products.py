"""Sums and sums of products that a device accumulates in any order: exact values and error bounds.

Operands are stored arrays of one dtype. The last axis is summed; other axes broadcast. Missing terms have two zeros as
factors. Half types accumulate in f32, other types in their own type; integers wrap modulo 2**bits.

The bounds hold for any order, with or without contraction (Jeannerod and Rump, SIMAX 34, 2013). Let m be the number of
nonzero terms, S the sum of their absolute values, and u the unit roundoff of the accumulator. The error is at most
m u S, or (m - 1) u S if products are exact. If all operands are integers and S fits the significand, nothing rounds and
the bound is zero: such data reveal every term that is lost, duplicated or read from the wrong position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parity.model.dtypes import DTYPES, Array, DType, array_dtype
from parity.reference.exact_context import exact_context
from parity.reference.expected import Bounds, Expected, Limits
from parity.reference.halves import hull_bounds
from parity.reference.real import doubles
from parity.reference.rounding import SLACK, smallest, store, to_grid, ulp, unit_roundoff, wide

_F32, _F64 = DTYPES["f32"], DTYPES["f64"]
_EXACT = exact_context(128)


def sum_of_products(left: Array, right: Array) -> Expected:
    """The sum of ``left * right`` over the last axis, rounded to the operands' dtype."""
    dtype = array_dtype(left)
    if not dtype.is_float:
        return Expected(_wrapped(left.astype(np.uint64) * right.astype(np.uint64), dtype))
    total = _Total(left, right)
    if dtype is not total.accumulator:
        return total.expected_between(*total.ends)
    return total.expected_around(total.error * SLACK)


def matmul(a: Array, b: Array) -> Expected:
    """The product of matrices of shapes (m, k) and (k, n)."""
    return sum_of_products(a[:, None, :], b.T[None, :, :])


def batched_matmul(a: Array, b: Array) -> Expected:
    """The products of the matrices of a batch, of shapes (batch, m, k) and (batch, k, n)."""
    return sum_of_products(a[:, :, None, :], b.swapaxes(1, 2)[:, None, :, :])


def mean(x: Array) -> Expected:
    """The mean over the last axis: the sum times 1 / count, a factor in f32 for all types.

    Integer sums are converted to f32, and integer results are truncated.
    """
    dtype, scale = array_dtype(x), np.float32(1 / x.shape[-1])
    if not dtype.is_float:
        product = _wrapped(x.astype(np.uint64), dtype).astype(np.float32) * scale
        return Expected(np.asarray(np.clip(np.trunc(product.astype(np.float64)), 0, dtype.max).astype(dtype.numpy)))
    total = _Total(x, np.ones(x.shape[-1], dtype.numpy), float(scale))
    if dtype is not _F64:
        return total.expected_between(*total.ends)
    error = total.error * float(scale)
    return total.expected_around(np.where(error == 0, 0, error + ulp(np.abs(total.centre) + error, _F64) / 2) * SLACK)


def _wrapped(terms: Array, dtype: DType) -> Array:
    return np.asarray(terms.sum(axis=-1, dtype=np.uint64).astype(dtype.numpy))


@dataclass(frozen=True, eq=False)
class _Total:
    """``factor`` times the sum of ``left * right`` over the last axis, for float operands of one dtype.

    NaN and infinities propagate as in IEEE 754, in any order, unless finite terms overflow.
    """

    left: Array
    right: Array
    factor: float = 1.0

    @cached_property
    def dtype(self) -> DType:
        return array_dtype(self.left)

    @cached_property
    def accumulator(self) -> DType:
        return _F32 if self.dtype.itemsize < _F32.itemsize else self.dtype

    @cached_property
    def terms(self) -> Array:
        """The products in float64; exact, except for f64 operands."""
        return np.asarray(wide(self.left) * wide(self.right))

    @cached_property
    def _parts(self) -> tuple[Array, Array | float]:
        plain = np.asarray(self.terms.sum(axis=-1))
        if self.dtype is not _F64:
            return plain * self.factor, 0.0
        left, right = (a.reshape(plain.size, a.shape[-1]).tolist() for a in np.broadcast_arrays(self.left, self.right))
        multiply, add, factor = _EXACT.mul, _EXACT.fsum, self.factor
        exact = [multiply(add(list(map(multiply, *rows))), factor) for rows in zip(left, right, strict=True)]
        return doubles(exact, plain.shape)

    @property
    def centre(self) -> Array:
        """Return the exact value as float64 plus a residual."""
        return self._parts[0]

    @property
    def residual(self) -> Array | float:
        return self._parts[1]

    @cached_property
    def error(self) -> Array:
        """Return the error bound of the accumulated sum, without the factor; 0 where it rounds at most once."""
        a, b, to = wide(self.left), wide(self.right), self.accumulator
        u, present, size = unit_roundoff(to), (a != 0) & (b != 0), np.abs(self.terms)
        # u goes to the larger factor, where it cannot underflow
        shares = np.abs(np.where(np.abs(a) < np.abs(b), a * (b * u), (a * u) * b)).sum(axis=-1)
        count = present.sum(axis=-1)
        roundings = count if to is self.dtype else count - 1
        underflow = ((present & (size < 2.0**to.emin)).sum(axis=-1) + 1) // 2 * smallest(to)
        integers = np.all((a == np.rint(a)) & (b == np.rint(b)), axis=-1) & (size.sum(axis=-1) <= 2.0**to.precision)
        certain = integers | (count <= 1) | ~np.isfinite(self.centre)
        return np.asarray(np.where(certain, 0, roundings * shares + underflow))

    @property
    def ends(self) -> tuple[Array, Array]:
        """Return the least and greatest value before rounding, for types narrower than f64."""
        error = self.error * (SLACK * self.factor)
        return self.centre - error, self.centre + error

    def _rounded(self, x: Array) -> Array:
        return to_grid(to_grid(x, self.accumulator), self.dtype)

    def expected_between(self, low: Array, high: Array) -> Expected:
        """Accept values from ``low`` to ``high``, rounded to the accumulator's type and then to the stored type."""
        value = store(self._rounded(self.centre), self.dtype)
        return self._expected(value, lambda _: hull_bounds(wide(value), self._rounded(low), self._rounded(high)))

    def expected_around(self, error: Array) -> Expected:
        """Accept values within ``error``, which covers all roundings; the nearest value where it is 0."""
        # The centre is the nearest float64 except beyond the largest float64. A subnormal residual is rounded.
        nearest = np.where(np.abs(self.centre) == _F64.max, self.centre + self.residual, self.centre)
        value = store(nearest, self.dtype)
        exact = error == 0
        centre, residual = np.where(exact, wide(value), self.centre), np.where(exact, 0, self.residual)
        return self._expected(value, lambda _: Bounds(centre, residual, error, error))

    def _expected(self, value: Array, bounds: Callable[[Limits], Bounds]) -> Expected:
        """Also accept the infinities and NaN to which finite terms may overflow.

        Rounding is monotone, so no partial sum exceeds the sum of the positive terms, each of which rounds once.
        """
        to, finite = self.accumulator, np.isfinite(self.centre)
        above, below = (
            terms.sum(axis=-1) * (1 + 2 * ((terms != 0).sum(axis=-1) - 1) * unit_roundoff(to)) > to.max
            for terms in (np.maximum(self.terms, 0), np.maximum(-self.terms, 0))
        )
        reached = [(side & finite, sign) for side, sign in ((above, np.inf), (below, -np.inf))]
        others = tuple(np.where(places, value.dtype.type(v), value) for places, v in reached if places.any())
        return Expected(value, bounds, nan_allowed=above & below & ~np.isnan(self.centre), alternatives=others)
