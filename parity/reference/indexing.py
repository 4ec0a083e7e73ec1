"""Reference values of ops that read or update rows by ids. All are exact: data movement, or sums in a fixed order.

``dim`` counts from 0. An id that is the maximum of its type means "none"; other ids are in range. Ids have any integer
dtype, and the remaining operands share one dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.model.dtypes import Array, array_dtype
from parity.reference.expected import Expected
from parity.reference.rounding import to_grid, wide


def index_select(ids: Array, inp: Array, dim: Any) -> Expected:
    """Rows ``ids``, of shape (n,), of ``inp`` along ``dim``; zeros for "none"."""
    rows = _with_a_row_for_none(np.moveaxis(inp, dim, 0))
    return _exact(np.moveaxis(rows[_row_numbers(ids, len(rows))], 0, dim))


def gather(ids: Array, inp: Array, dim: Any) -> Expected:
    """``inp[..., ids[..., j, ...], ...]`` along ``dim``, in the shape of ``ids``; zeros for "none"."""
    rows = _with_a_row_for_none(np.moveaxis(inp, dim, 0))
    indices = np.moveaxis(_row_numbers(ids, len(rows)), dim, 0)
    return _exact(np.moveaxis(np.take_along_axis(rows, indices, 0), 0, dim))


def index_add(ids: Array, inp: Array, out: Array, dim: Any) -> Expected:
    """``out`` with row j of ``inp`` added to its row ``ids[j]``, for each j in turn, rounding each time."""
    return scatter_add(np.broadcast_to(ids.reshape([-1] + [1] * (inp.ndim - dim - 1)), inp.shape), inp, out, dim)


def scatter_add(ids: Array, inp: Array, out: Array, dim: Any) -> Expected:
    """``out`` with ``inp[..., j, ...]`` added at ``ids[..., j, ...]``, for each j in turn, rounding each time."""
    dtype = array_dtype(out)
    if not dtype.is_float:
        return _exact(_updated(ids, inp, out, dim, np.add))
    # Rounding the float64 sum of two narrower numbers gives the same result as rounding the exact sum (Figueroa 1995).
    sums = _updated(ids, wide(inp), wide(out), dim, lambda x, y: to_grid(x + y, dtype))
    return _exact(sums.astype(dtype.numpy))


def scatter(ids: Array, inp: Array, out: Array, dim: Any) -> Expected:
    """``out`` with ``inp[..., j, ...]`` written to ``ids[..., j, ...]``, for each j in turn; the last write wins."""
    return _exact(_updated(ids, inp, out, dim, lambda x, y: y))


def _exact(value: Array) -> Expected:
    return Expected(np.ascontiguousarray(value), sign_of_zero=True)


def _with_a_row_for_none(rows: Array) -> Array:
    return np.concatenate([rows, np.zeros((1, *rows.shape[1:]), rows.dtype)])


def _row_numbers(ids: Array, rows: int) -> Array:
    """Return row numbers, with the last of ``rows`` for "none"."""
    return np.where(ids == array_dtype(ids).max, rows - 1, ids.astype(np.int64))


def _updated(ids: Array, inp: Array, out: Array, dim: Any, update: Any) -> Array:
    rows = _with_a_row_for_none(np.moveaxis(out, dim, 0))
    indices = np.moveaxis(_row_numbers(ids, len(rows)), dim, 0)
    for index, row in zip(indices[:, None], np.moveaxis(inp, dim, 0)[:, None], strict=True):
        np.put_along_axis(rows, index, update(np.take_along_axis(rows, index, 0), row), 0)
    return np.moveaxis(rows[:-1], 0, dim)
