"""Requirements on sorting. Equal elements may have any order, so a property defines correct results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parity.model.dtypes import Array, array_dtype
from parity.reference.expected import Expected
from parity.reference.rounding import wide


def argsort_ascending(x: Array) -> Expected:
    """For each row of x (rows, columns), a permutation of the column numbers (u32) that sorts the row.

    Any permutation is correct for a row with a NaN, because comparisons with NaN are false. -0 and +0 are equal.
    """
    return _argsort(x, 1)


def argsort_descending(x: Array) -> Expected:
    """Like ``argsort_ascending``, with the largest element first."""
    return _argsort(x, -1)


def _argsort(x: Array, sign: int) -> Expected:
    floats = array_dtype(x).is_float
    keys = wide(x) if floats else np.unique(x, return_inverse=True)[1].reshape(x.shape)
    value = np.argsort(sign * keys, axis=1, kind="stable").astype(np.uint32)
    return Expected(value, accepts=InOrder(sign * keys))


@dataclass(frozen=True, eq=False)
class InOrder:
    """Checks the indices of a sort by ``keys``, (rows, columns); for ``Expected.accepts``."""

    keys: Array

    def __call__(self, got: Array) -> Array:
        """Return where an index is valid, does not repeat, and does not belong before its predecessor."""
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
        """The rank of every key in its row (u32). Equal keys share a rank, and so do all keys of a row with a NaN."""
        found = np.zeros(self.keys.shape, np.uint32)
        for row in np.flatnonzero(~np.isnan(self.keys).any(axis=1)):
            found[row] = np.unique(self.keys[row], return_inverse=True)[1]
        return found
