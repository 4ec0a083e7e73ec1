"""Reference values of softmax, RMS norm and layer norm over the rows of a matrix.

The error bounds combine the sums that all elements of a row share, by the depth of their trees, with the few operations
per element (docs/tolerance-model.md, sections 4.6 and 4.7). ``grid`` is the grid of the launch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from parity.model.dtypes import DTYPES, Array, DType, array_dtype
from parity.model.launch import Grid
from parity.reference.accuracy import accuracy
from parity.reference.exact_context import exact_context
from parity.reference.expected import Bounds, Expected, Limits
from parity.reference.halves import Hull, Nominal, hull_bounds
from parity.reference.real import doubles
from parity.reference.reduce import tree_depth
from parity.reference.rounding import SLACK, smallest, store, to_grid, ulp_safe, unit_roundoff, wide

_F32, _F64 = DTYPES["f32"], DTYPES["f64"]
_EXACT = exact_context(128)


def softmax(x: Array, grid: Grid) -> Expected:
    """exp(x - m) / sum(exp(x - m)) with the maximum m of each row; x (rows, columns).

    Kernels multiply by the reciprocal of the sum. Half types round every step except the sum, which is in f32. A row is
    NaN if it contains a NaN or if its maximum is infinite.
    """
    dtype = array_dtype(x)
    depth = tree_depth(x.shape[1], grid.threads)
    w = wide(x)
    largest = np.max(w, axis=1, keepdims=True, initial=-np.inf)  # a NaN makes its row NaN in any case
    if dtype.itemsize < _F32.itemsize:
        value = _rounded_softmax(w, largest, dtype)
        return Expected(value, partial(_softmax_hull, w, largest, depth, dtype, value))
    centre, residual = _softmax_rows(w) if dtype is _F64 else (_softmax(w, largest), 0.0)
    bounds = partial(_softmax_bounds, w, largest, depth, dtype, centre, residual)
    return Expected(store(centre + residual, dtype), bounds)


def _softmax(w: Array, largest: Array) -> Array:
    powers = np.exp(w - largest)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _softmax_rows(w: Array) -> tuple[Array, Array]:
    results: list[Any] = []
    for row in w.tolist():
        largest = max(row, default=0.0)
        powers = [_EXACT.exp(_EXACT.sub(v, largest)) for v in row]
        total = _EXACT.fsum(powers)
        results += [_EXACT.div(power, total) for power in powers]
    return doubles(results, w.shape)


def _softmax_bounds(
    w: Array, largest: Array, depth: int, dtype: DType, p: Array, residual: Array | float, limits: Limits
) -> Bounds:
    u, tiny, function = unit_roundoff(dtype), smallest(dtype), accuracy("exp", dtype.name, limits)
    power = np.where(p > 0, u * np.abs(w - largest) + 2 * u * function, 0)  # relative, of exp(x - m)
    total = np.exp(w - largest).sum(axis=1, keepdims=True)
    shared = (p * power).sum(axis=1, keepdims=True) + (depth + 2) * u
    error = (p * (power + shared) + (function + 0.5) * tiny / total + tiny) * SLACK
    error = np.where(np.isfinite(p), error, 0)
    return Bounds(p, residual, error, error)


def _rounded_softmax(w: Array, largest: Array, dtype: DType) -> Array:
    half = Nominal(dtype)
    powers = half.call("exp", half.add(w, -largest))
    scale = to_grid(1 / to_grid(powers.sum(axis=1, keepdims=True), _F32), _F32)
    return store(powers * to_grid(scale, dtype), dtype)


def _softmax_hull(w: Array, largest: Array, depth: int, dtype: DType, value: Array, limits: Limits) -> Bounds:
    hull, slack = Hull(dtype, limits), (depth + 2) * unit_roundoff(_F32) * SLACK
    powers = hull.call("exp", hull.add((w, w), (-largest, -largest)))
    least, most = (1 / end.sum(axis=1, keepdims=True) for end in reversed(powers))
    scale = to_grid(least * (1 - slack), dtype), to_grid(most * (1 + slack), dtype)
    return hull_bounds(wide(value), *hull.mul(powers, scale))


@dataclass(frozen=True)
class _Scale:
    """1 / sqrt(square) of every row, with the relative error of ``square``; arrays (rows, 1)."""

    square: Array
    relative: Array

    @property
    def value(self) -> Array:
        return np.asarray(1 / np.sqrt(self.square))

    @property
    def error(self) -> Array:
        """Return the error from the error of the square, plus the error of the root."""
        low, high = (1 / np.sqrt(self.square * np.maximum(1 + s * self.relative, 0)) for s in (1, -1))
        return np.asarray(np.maximum(high - self.value, self.value - low))

    @property
    def unknown(self) -> Array:
        """Return a mask of the rows whose square may be as small as 0."""
        return np.asarray(self.relative >= 1)


@dataclass(frozen=True)
class _Normed:
    """``normed * factor + term``, rounded to f32 and then stored as ``dtype``.

    ``normed`` (rows, columns) has an absolute error of ``error(limits)``, including its rounding, except in
    ``uncertain`` rows, in which f32 overflows or not, depending on the order.
    """

    normed: Array
    factor: Array
    term: Array | None
    error: Callable[[Limits], Array]
    uncertain: Array
    dtype: DType

    def expected(self) -> Expected:
        product = np.asarray(self.normed * self.factor)
        exact = product if self.term is None else product + self.term
        value = store(to_grid(exact, _F32), self.dtype)
        # A product may overflow before the term is added. A subnormal product may become 0 before it is scaled.
        overflow = np.isfinite(product) & (np.abs(product) >= _F32.max * (1 - 1e-3))
        infinite = np.where(overflow, np.copysign(np.inf, product), wide(value)).astype(value.dtype)
        return Expected(
            value,
            partial(self._bounds, product, exact, value),
            alternatives=(infinite,) if self.term is not None and overflow.any() else (),
            nan_allowed=(overflow & np.isinf(exact)) | (np.isinf(self.factor) & (np.abs(self.normed) < 2.0**-125)),
            unspecified=np.broadcast_to(self.uncertain, value.shape),
        )

    def _bounds(self, product: Array, exact: Array, value: Array, limits: Limits) -> Bounds:
        u, tiny = unit_roundoff(_F32), smallest(_F32)
        error = np.abs(self.factor) * self.error(limits) + u * np.abs(product) + tiny
        if self.term is not None:
            error = error + ulp_safe(np.abs(exact) + error, _F32) / 2
        error = np.where(np.isfinite(exact), error * SLACK, 0)
        if self.dtype is _F32:
            return Bounds(exact, 0.0, error, error)
        ends = (to_grid(to_grid(exact + s * error, _F32), self.dtype) for s in (-1, 1))
        return hull_bounds(wide(value), *ends)


def rms_norm(x: Array, alpha: Array | None, eps: Any, grid: Grid) -> Expected:
    """``x / sqrt(mean(x**2) + eps) * alpha``, computed in f32 for all types.

    x (rows, columns), alpha (columns,) or None.
    """
    w, u, tiny = _in_f32(x), unit_roundoff(_F32), smallest(_F32)
    squares, uncertain = _sum_in_f32(w * w)
    square = squares / x.shape[1] + wide(eps)
    scale = _Scale(square, (tree_depth(x.shape[1], grid.threads) + 3) * u + tiny / (2 * square))
    normed = np.asarray(w * scale.value)

    def error(limits: Limits) -> Array:
        root = 2 * u * accuracy("rsqrt", "f32", limits) + u
        return np.asarray(np.abs(w) * scale.error + np.abs(normed) * root + tiny)

    factor = np.ones(1) if alpha is None else _in_f32(alpha)
    return _Normed(normed, factor, None, error, uncertain | scale.unknown, array_dtype(x)).expected()


def layer_norm(x: Array, alpha: Array | None, beta: Array | None, eps: Any, grid: Grid) -> Expected:
    """(x - mean) / sqrt(variance + eps) * alpha + beta, computed in f32 for all types.

    x (rows, columns), alpha and beta (columns,) or None. The variance is the mean square of the deviations, which
    kernels compute in a second pass: mean(x**2) - mean**2 cancels, and has no useful bound if the mean is large.
    """
    w, u, tiny = _in_f32(x), unit_roundoff(_F32), smallest(_F32)
    depth = tree_depth(x.shape[1], grid.threads)
    size, uncertain = _sum_in_f32(np.abs(w))
    mean = w.sum(axis=1, keepdims=True) / x.shape[1]
    mean_error = (depth + 1) * u * size / x.shape[1] + tiny
    deviation = np.asarray(w - mean)
    squares, overflow = _sum_in_f32(deviation * deviation)
    variance = squares / x.shape[1] + wide(eps)
    # Deviations from a mean with an error of m have the mean square variance + m**2.
    scale = _Scale(variance, (depth + 5) * u + (mean_error**2 + tiny / 2) / variance)
    normed = np.asarray(deviation * scale.value)

    def error(limits: Limits) -> Array:
        root = 2 * u * accuracy("rsqrt", "f32", limits) + u
        shifted = mean_error + u * (np.abs(deviation) + mean_error)
        around = (np.abs(deviation) + shifted) * scale.error + shifted * scale.value
        return np.asarray(around + np.abs(normed) * root + tiny)

    overflow |= np.isinf(size) & np.isfinite(w).all(axis=1, keepdims=True)
    factor, term = np.ones(1) if alpha is None else _in_f32(alpha), None if beta is None else _in_f32(beta)
    return _Normed(normed, factor, term, error, uncertain | overflow | scale.unknown, array_dtype(x)).expected()


def _in_f32(x: Array) -> Array:
    return wide(x.astype(np.float32))


def _sum_in_f32(terms: Array) -> tuple[Array, Array]:
    """Sum rows of non-negative terms, infinite where f32 overflows, and mark the rows where that is uncertain."""
    total = terms.sum(axis=1, keepdims=True)
    uncertain = np.isfinite(total) & (np.abs(total / _F32.max - 1) < 1e-3)
    return np.where(total >= _F32.max, np.inf, total), uncertain
