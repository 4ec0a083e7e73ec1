"""The requirements on sorting, which are a property and not one value: equal elements may come in any order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parity.model.dtypes import array_dtype
from parity.reference.expected import Expected
from parity.reference.rounding import Array, wide

__all__ = ["InOrder", "argsort_ascending", "argsort_descending"]


def argsort_ascending(x: Array) -> Expected:
    """Per row of x (rows, columns) a permutation of the column numbers (u32) that puts the row in order.

    Any permutation will do for a row that holds a NaN, which compares to nothing. -0 and +0 are equal.
    """
    return _argsort(x, 1)


def argsort_descending(x: Array) -> Expected:
    """As ``argsort_ascending``, the largest element first."""
    return _argsort(x, -1)


@np.errstate(all="ignore")
def _argsort(x: Array, sign: int) -> Expected:
    floats = array_dtype(x).is_float
    keys = wide(x) if floats else np.unique(x, return_inverse=True)[1].reshape(x.shape)
    value = np.argsort(sign * keys, axis=1, kind="stable").astype(np.uint32)
    return Expected(value, accepts=InOrder(sign * keys))


@dataclass(frozen=True, eq=False)
class InOrder:
    """The requirement on the indices of a sort by ``keys``, (rows, columns), as ``Expected.accepts``."""

    keys: Array

    def __call__(self, got: Array) -> Array:
        """True where an index is one of the row, was not seen before, and does not belong before its predecessor."""
        ranks = self.ranks
        right = got < ranks.shape[1]
        taken = np.take_along_axis(ranks, np.where(right, got, 0).astype(np.int64), axis=1)
        first = np.zeros_like(right)
        for row, indices in enumerate(got):
            first[row, np.unique(indices, return_index=True)[1]] = True
        right &= first
        right[:, 1:] &= ~(taken[:, 1:] < taken[:, :-1])
        return np.asarray(right)

    @cached_property
    def ranks(self) -> Array:
        """The place of every key among those of its row (u32), the same for equal keys and in a row with a NaN."""
        found = np.zeros(self.keys.shape, np.uint32)
        for row in np.flatnonzero(~np.isnan(self.keys).any(axis=1)):
            found[row] = np.unique(self.keys[row], return_inverse=True)[1]
        return found
