"""Reference values of ops that pick or update rows by ids. All are exact: data movement, and sums in a given order.

``dim`` counts from 0. An id that is the maximum of its type means "none"; every other one lies in range. Ids of any
integer dtype; the other operands share one dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.model.dtypes import array_dtype
from parity.reference.expected import Expected
from parity.reference.rounding import Array, to_grid, wide

__all__ = ["gather", "index_add", "index_select", "scatter", "scatter_add"]


def index_select(ids: Array, inp: Array, dim: Any) -> Expected:
    """Rows ``ids``, of shape (n,), of ``inp`` along ``dim``; zeros for "none"."""
    rows = _with_a_row_for_none(np.moveaxis(inp, dim, 0))
    return _exact(np.moveaxis(rows[_rows_of(ids, len(rows))], 0, dim))


def gather(ids: Array, inp: Array, dim: Any) -> Expected:
    """``inp[..., ids[..., j, ...], ...]`` along ``dim``, in the shape of ``ids``; zeros for "none"."""
    rows = _with_a_row_for_none(np.moveaxis(inp, dim, 0))
    indices = np.moveaxis(_rows_of(ids, len(rows)), dim, 0)
    return _exact(np.moveaxis(np.take_along_axis(rows, indices, 0), 0, dim))


def index_add(ids: Array, inp: Array, out: Array, dim: Any) -> Expected:
    """``out`` with row j of ``inp`` added to its row ``ids[j]``, for each j in turn, rounding each time."""
    return scatter_add(np.broadcast_to(ids.reshape([-1] + [1] * (inp.ndim - dim - 1)), inp.shape), inp, out, dim)


@np.errstate(all="ignore")
def scatter_add(ids: Array, inp: Array, out: Array, dim: Any) -> Expected:
    """``out`` with ``inp[..., j, ...]`` added at ``ids[..., j, ...]``, for each j in turn, rounding each time."""
    dtype = array_dtype(out)
    if not dtype.is_float:
        return _exact(_updated(ids, inp, out, dim, np.add))
    # A sum of two numbers in float64 rounds to any narrower type as the exact sum does (Figueroa 1995).
    sums = _updated(ids, wide(inp), wide(out), dim, lambda x, y: to_grid(x + y, dtype))
    return _exact(sums.astype(dtype.numpy))


def scatter(ids: Array, inp: Array, out: Array, dim: Any) -> Expected:
    """``out`` with ``inp[..., j, ...]`` put at ``ids[..., j, ...]``, for each j in turn: the last one stays."""
    return _exact(_updated(ids, inp, out, dim, lambda x, y: y))


def _exact(value: Array) -> Expected:
    return Expected(np.ascontiguousarray(value), sign_of_zero=True)


def _with_a_row_for_none(rows: Array) -> Array:
    return np.concatenate([rows, np.zeros((1, *rows.shape[1:]), rows.dtype)])


def _rows_of(ids: Array, rows: int) -> Array:
    """Row numbers, where "none" is the last of ``rows``."""
    return np.where(ids == array_dtype(ids).max, rows - 1, ids.astype(np.int64))


def _updated(ids: Array, inp: Array, out: Array, dim: Any, update: Any) -> Array:
    rows = _with_a_row_for_none(np.moveaxis(out, dim, 0))
    indices = np.moveaxis(_rows_of(ids, len(rows)), dim, 0)
    for index, row in zip(indices[:, None], np.moveaxis(inp, dim, 0)[:, None], strict=True):
        np.put_along_axis(rows, index, update(np.take_along_axis(rows, index, 0), row), 0)
    return np.moveaxis(rows[:-1], 0, dim)
