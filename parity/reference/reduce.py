"""Reference values of reductions: sums, extrema and their indices.

``grid`` is the grid of the launch. Its number of threads determines how often a sum may round, and which of several
equal extrema the kernels must find.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from parity.model.dtypes import DTYPES, Array, DType, array_dtype
from parity.model.launch import Grid
from parity.reference.exact_context import exact_context
from parity.reference.expected import Bounds, Expected
from parity.reference.real import doubles
from parity.reference.rounding import SLACK, store, unit_roundoff, wide

_F64 = DTYPES["f64"]
_HALVES = ("f16", "bf16")
_EXACT = exact_context(128)


def tree_depth(terms: int, threads: int) -> int:
    """Return the most roundings of a term: in one of ``threads`` strided serial sums, then in a tree of these sums."""
    if terms < 2:
        return 0
    return -(-terms // threads) - 1 + (min(terms, threads) - 1).bit_length()


def reduce_sum(x: Array, reduced: Any, grid: Grid) -> Expected:
    """Sum over the last ``reduced`` dims, accumulated in the type of ``x``. Integers wrap; an empty sum is 0.

    Floats are within h u S, with at most h roundings of a term and the sum S of the absolute values (Higham, "Accuracy
    and Stability of Numerical Algorithms", section 4.2).
    """
    rows = _rows(x, reduced)
    return _sum(rows, tree_depth(rows.shape[-1], grid.threads))


def prefix_sum(x: Array) -> Expected:
    """For each element of a vector, the sum up to it, in any order: at most n - 1 roundings, as in ``sum_onto``."""
    terms = np.tril(np.broadcast_to(x, (x.size, x.size)))
    return _sum(terms, x.size - 1)


def sum_onto(x: Array, out: Array, over: Any) -> Expected:
    """``out`` plus the sum over the dims whose bits are set in ``over``, added in any order, in the type of ``x``.

    With n terms, including the previous content of ``out``, the error is at most (n - 1) u S (Jeannerod and Rump, SIMAX
    34, 2013).
    """
    summed = [d for d in range(x.ndim) if int(over) >> d & 1]
    moved = np.moveaxis(x, summed, range(x.ndim - len(summed), x.ndim))
    terms = np.concatenate([out[..., None], _rows(moved, len(summed))], axis=-1)
    return _sum(terms, terms.shape[-1] - 1)


def _rows(x: Array, reduced: Any) -> Array:
    """Merge the last dims."""
    kept = x.ndim - int(reduced)
    return np.ascontiguousarray(x).reshape(*x.shape[:kept], math.prod(x.shape[kept:]))


def _sum(rows: Array, roundings: int) -> Expected:
    dtype = array_dtype(rows)
    if not dtype.is_float:
        return Expected(np.asarray(rows.sum(axis=-1, dtype=rows.dtype)))
    terms = wide(rows)
    size = np.abs(terms).sum(axis=-1)
    centre, residual = _exact_sum(terms, dtype)
    error = np.where(_rounds(terms, size, dtype), roundings * unit_roundoff(dtype) * size * SLACK, 0)
    error = np.where(np.isfinite(centre), error, 0)
    value = np.asarray(store(centre + residual, dtype))
    # Partial sums of finite terms may overflow to an infinity or, with both signs, to NaN.
    limit = float(dtype.max) / (1 + 2 * roundings * unit_roundoff(dtype))
    above, below = (np.maximum(s * terms, 0).sum(axis=-1) >= limit for s in (1, -1))
    overflowed = [(w & np.isfinite(centre), v) for w, v in ((above, np.inf), (below, -np.inf))]
    others = tuple(np.where(w, value.dtype.type(v), value) for w, v in overflowed if w.any())
    bounds = Bounds(centre, residual, error, error)
    return Expected(value, lambda _: bounds, nan_allowed=above & below, alternatives=others)


def _exact_sum(terms: Array, dtype: DType) -> tuple[Array, Array | float]:
    """Return the sum as float64 plus a residual, which matters for f64 only."""
    if dtype is not _F64:
        return np.asarray(terms.sum(axis=-1)), 0.0
    rows = terms.reshape(math.prod(terms.shape[:-1]), terms.shape[-1]).tolist()
    return doubles([_EXACT.fsum(row) for row in rows], terms.shape[:-1])


def _rounds(terms: Array, size: Array, dtype: DType) -> Array:
    """Return where a partial sum may round: unless all are multiples of a power of two and below 2**p times it."""
    mantissas, exponents = np.frexp(np.where(np.isfinite(terms), terms, 0))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    steps = np.where(whole == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), exponents - 53))
    return np.asarray(size * SLACK > 2.0**dtype.precision * steps.min(axis=-1, initial=np.inf))


def reduce_max(x: Array, reduced: Any) -> Expected:
    """Maximum over the last ``reduced`` dims. f32 and f64 ignore NaN (-Inf if all are NaN); half types propagate it."""
    return _extremum(x, reduced, np.maximum, -math.inf)


def reduce_min(x: Array, reduced: Any) -> Expected:
    """Minimum over the last ``reduced`` dims. f32 and f64 ignore NaN (Inf if all are NaN); half types propagate it."""
    return _extremum(x, reduced, np.minimum, math.inf)


def _extremum(x: Array, reduced: Any, of_two: np.ufunc, of_none: float) -> Expected:
    rows, dtype = _rows(x, reduced), array_dtype(x)
    if not dtype.is_float:
        return Expected(np.asarray(of_two.reduce(rows, axis=-1)))
    w = wide(rows)
    if dtype.name in _HALVES:
        return Expected(store(of_two.reduce(w, axis=-1), dtype))
    value = store(of_two.reduce(np.where(np.isnan(w), of_none, w), axis=-1), dtype)
    loses = _is_signalling(rows, dtype).any(axis=-1)
    if not loses.any():
        return Expected(value)

    def accepts(got: Array) -> Array:
        """Accept the extremum; also any element, because a signalling NaN may replace a number before it (D7)."""
        found = wide(got)
        return np.asarray((found == wide(value)) | (loses & ((w == found[..., None]).any(axis=-1) | np.isnan(found))))

    return Expected(value, accepts=accepts)


def _is_signalling(x: Array, dtype: DType) -> Array:
    """Return a mask of signalling NaNs."""
    quiet = dtype.bits.type(1 << (dtype.precision - 2))
    return np.asarray(np.isnan(x) & (x.view(dtype.bits) & quiet == 0))


def argmax(x: Array, reduced: Any, grid: Grid) -> Expected:
    """Index of the maximum over the last dim; u32. For ties and NaN see ``argmin``."""
    return _extremum_index(x, reduced, grid, np.greater)


def argmin(x: Array, reduced: Any, grid: Grid) -> Expected:
    """Index of the minimum over the last dim; u32.

    Thread t of n reads the elements t, t + n, ... and keeps the first until it finds a better one. A halving tree then
    combines the threads; the lower thread wins a tie. Among equal minima, the thread whose bit-reversed number is
    smallest therefore wins. A NaN is neither better nor worse than any element: a thread whose first element is NaN
    keeps it, and other threads do not take it over.
    """
    return _extremum_index(x, reduced, grid, np.less)


def _extremum_index(x: Array, reduced: Any, grid: Grid, better: Callable[[Array, Array], Array]) -> Expected:
    rows = _rows(x, reduced)
    values = wide(rows) if array_dtype(x).is_float else rows
    held = min(grid.threads, rows.shape[-1])  # threads that hold an element
    best, where = values[..., :held], np.broadcast_to(np.arange(held), (*rows.shape[:-1], held))
    for first in range(held, rows.shape[-1], held):
        count = min(held, rows.shape[-1] - first)
        taken = better(values[..., first : first + count], best[..., :count])
        best, where = _take(taken, values[..., first:], best), _take(taken, first + np.arange(held), where)
    width = grid.threads
    while width > 1:
        half = (width + 1) // 2
        other = best[..., half:]
        taken = better(other, best[..., : other.shape[-1]])
        best, where = _take(taken, other, best)[..., :half], _take(taken, where[..., half:], where)[..., :half]
        width = half
    return Expected(np.asarray(where[..., 0] % x.shape[-1]).astype(np.uint32))


def _take(taken: Array, new: Array, old: Array) -> Array:
    """Replace the first elements of ``old`` by elements of ``new`` where ``taken``."""
    count = taken.shape[-1]
    return np.concatenate([np.where(taken, new[..., :count], old[..., :count]), old[..., count:]], axis=-1)
