"""The content of a case's tensors before the launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.data.indices import INDEX_STREAMS, ids
from parity.data.streams import elements
from parity.model.case import Tensor
from parity.model.dtypes import DType
from parity.model.launch import Buffer, Tiled, poisoned
from parity.model.layout import Layout

TILE, TILE_OF_IDS = 2**18, 2**20
"""Number of values (and of ids) to generate for a timed launch. They repeat up to the size of the tensor."""

SPARSE_TILE = 2**14 - 3
"""Number of values to generate for a sparse case: a prime, so that no power of two leads to an equal value."""


@dataclass(frozen=True)
class Memory:
    """The content of a buffer before the launch: the data of a tensor, or poison for a tensor without data.

    The data depend on the tensor's ``name``. ``bound`` is the number of positions that its elements index.
    In a ``sparse`` case, the data of a long input repeat, and an output does not exist in memory.
    """

    name: str
    kind: DType
    tensor: Tensor
    bound: int | None = None
    writable: bool = False
    sparse: bool = False

    def buffer(self, points: tuple[float, ...] = ()) -> Buffer:
        """Generate the whole buffer, for a launch whose results are compared.

        It holds the stream where the layout has elements, and poison in the gaps. Reading a gap is an error.
        """
        layout = self.tensor.layout
        if not self.tensor.data:
            return blank(self.kind, layout.span, sparse=self.sparse)
        count = layout.span - layout.offset
        stream = self._stream(min(count, SPARSE_TILE) if self.sparse else count, points)
        if layout.offset == 0 and (layout.is_contiguous or self.sparse):  # a sparse case has no gaps
            return Buffer(self.kind, stream, writable=self.writable, sparse=count if stream.size < count else 0)
        data = poisoned(self.kind, layout.span)
        defined = np.zeros(layout.span, np.bool_)
        defined[layout.indices().ravel()] = True
        data[layout.offset :] = stream
        data[~defined] = poisoned(self.kind, int((~defined).sum()))
        return Buffer(self.kind, data, defined, self.writable)

    def tiled(self, points: tuple[float, ...] = ()) -> Tiled:
        """Generate the first elements, which repeat, for a timed launch."""
        count = self.tensor.layout.span
        data = np.empty(0, self.kind.numpy)
        if self.tensor.data:
            tile = TILE if self.bound is None else TILE_OF_IDS  # few ids would read few positions
            data = self._stream(min(count, tile // self.kind.values), points)
        return Tiled(self.kind, data, count, self.writable)

    def _stream(self, count: int, points: tuple[float, ...]) -> np.ndarray[Any, Any]:
        stream, start = self.tensor.data, self.tensor.start
        if self.bound is not None and stream in INDEX_STREAMS:
            return ids(stream, self.kind, start, count, self.name, self.bound)
        return elements(stream, self.kind, start, count, self.name, points)


@dataclass(frozen=True, eq=False)
class RepeatedArray:
    """A tensor in a buffer that is too large to hold and repeats ``tile``: only parts of it become arrays."""

    tile: np.ndarray[Any, Any]
    layout: Layout

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    def __getitem__(self, index: tuple[Any, ...]) -> np.ndarray[Any, Any]:
        """Return the elements at one array of coordinates for each dim, or at one such array after whole dims."""
        whole = [axis for axis in range(len(self.shape)) if axis >= len(index) or isinstance(index[axis], slice)]
        every = [np.arange(n) if axis in whole else index[axis] for axis, n in enumerate(self.shape)]
        places = np.ix_(*every) if whole else every
        at = sum((each * step for each, step in zip(places, self.layout.strides, strict=True)), self.layout.offset)
        return np.asarray(self.tile[at % self.tile.size])


def blank(kind: DType, count: int, *, sparse: bool = False) -> Buffer:
    """Return a buffer for an output, with every element poisoned and undefined; ``sparse`` if it is too large."""
    if sparse:
        return Buffer(kind, poisoned(kind, 0), writable=True, sparse=count)
    nothing: np.ndarray[Any, np.dtype[np.bool_]] = np.zeros(count, np.bool_)
    return Buffer(kind, poisoned(kind, count), nothing, writable=True)
