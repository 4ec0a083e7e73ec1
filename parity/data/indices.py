"""Index streams: ids into a dim of a given extent. Like data streams they are endless and have random access.

``offsets``, ``parts``, ``segments`` and ``consecutive`` are the exceptions: they begin with their tensor, and all but
the last end with it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from parity.data.values import field, mix
from parity.model.dtypes import Array, DType

DISTINCT = 3
"""Number of different ids in ``repeat``."""


def ids(stream: str, dtype: DType, start: int, count: int, name: str, bound: int) -> Array:
    """Return elements ``start`` to ``start + count - 1`` of an index stream, with shape (count,).

    Every id, except the numbers of rows in ``segments``, is in [0, bound) and below the maximum of its type, which
    means "none" to many kernels. If ``bound`` is 0, all ids are 0, and the caller must refuse them.
    """
    extent = max(1, min(bound, int(dtype.max)))
    index = np.arange(start, start + count, dtype=np.uint64)
    random = mix(index ^ np.uint64(zlib.crc32(f"{stream}/{name}".encode()) << 20))
    return INDEX_STREAMS[stream](dtype, index, random, extent)


def is_sentinel(values: Array, dtype: DType) -> Array:
    """Return a mask of the ids that are the maximum of their type."""
    return np.asarray(values == dtype.max)


def _index(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """Uniform."""
    return (field(random, 0, 63) % np.uint64(extent)).astype(dtype.numpy)


def _repeat(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """A few ids, which repeat and include the last index."""
    choice = field(random, 0, 32) % np.uint64(DISTINCT)
    return ((np.uint64(extent - 1) * choice) // np.uint64(DISTINCT - 1)).astype(dtype.numpy)


def _ramp(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """Every index in turn."""
    return (index % np.uint64(extent)).astype(dtype.numpy)


def _consecutive(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """Every index in turn, from 0 at the start of the tensor."""
    return (np.arange(len(index)) % extent).astype(dtype.numpy)


def _permutation(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """A pseudo-random permutation of all indices, which repeats.

    It applies a bijection of the next power of two until the result is inside the extent (cycle walking).
    """
    bits = max(1, (extent - 1).bit_length())
    mask, shift = np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)
    found = index % np.uint64(extent)
    outside = np.ones(found.shape, np.bool_)
    while outside.any():
        x = found[outside]
        for factor in (0x9E3779B1, 0x85EBCA77):
            x = (x * np.uint64(factor) + np.uint64(0x27D4EB2F)) & mask
            x ^= x >> shift
        found[outside] = x
        outside = found >= np.uint64(extent)
    return found.astype(dtype.numpy)


def _sentinel(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """The maximum of the type with probability 1/4; otherwise uniform."""
    none = field(random, 40, 2) == 0
    return np.where(none, dtype.numpy.type(dtype.max), _index(dtype, index, mix(random), extent))


def _offsets(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """Row starts of a sparse matrix, and the end of its last row: ascending from 0 to ``extent - 1``.

    A quarter of the rows are empty, and lengths vary widely.
    """
    lengths = np.where(field(random, 40, 2) == 0, 0, field(random, 0, 12).astype(np.int64) ** 2)
    places = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths[:-1])))[: len(index)]
    total = int(places[-1]) if len(places) else 0
    return (places * (extent - 1) // max(1, total)).astype(dtype.numpy)


def _bounds(index: Array, extent: int) -> Array:
    """Return where parts of ``extent - 1`` entries begin, and the end of the last part. No part is empty if possible.

    All tensors with the same number of elements have the same parts.
    """
    count, bound = len(index), extent - 1
    random = mix(np.arange(count, dtype=np.uint64) ^ np.uint64((count << 32) + bound))
    places = np.concatenate((np.zeros(1, np.int64), np.cumsum(field(random, 0, 12).astype(np.int64) ** 2)))
    spread = places * max(0, bound - count) // max(1, int(places[-1]))
    return np.asarray(np.minimum(spread + np.arange(count + 1), bound))


def _parts(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """Like ``offsets``, and no row is empty if possible."""
    return _bounds(index[1:], extent)[: len(index)].astype(dtype.numpy)


def _starts(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """Where parts begin, ascending from 0. Each start is below ``extent - 1``."""
    return np.minimum(_bounds(index, extent)[:-1], max(0, extent - 2)).astype(dtype.numpy)


def _lengths(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """The lengths of the parts that ``starts`` begins: together ``extent - 1``, and at least 1 if possible."""
    return np.diff(_bounds(index, extent)).astype(dtype.numpy)


def _segments(dtype: DType, index: Array, random: Array, extent: int) -> Array:
    """Rows of three: the number of the row, in descending order, and the start and the length of a part.

    The parts together have ``extent - 1`` elements, and at least 1 each if possible.
    """
    bounds = _bounds(index[::3], extent)
    table = np.stack((np.arange(len(bounds) - 1)[::-1], bounds[:-1], np.diff(bounds)), axis=1)
    return np.asarray(table.ravel()[: len(index)].astype(dtype.numpy))


INDEX_STREAMS: dict[str, Callable[[DType, Array, Array, int], Array]] = {
    "ramp": _ramp,
    "consecutive": _consecutive,
    "index": _index,
    "repeat": _repeat,
    "sentinel": _sentinel,
    "permutation": _permutation,
    "offsets": _offsets,
    "parts": _parts,
    "starts": _starts,
    "lengths": _lengths,
    "segments": _segments,
}
