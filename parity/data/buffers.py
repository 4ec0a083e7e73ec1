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

__all__ = ["Memory", "blank", "filled"]


TILE, TILE_OF_IDS = 2**18, 2**20
"""Values that are made for a launch that is timed; they are repeated to the size of the tensor."""


@dataclass(frozen=True)
class Memory:
    """The content that a buffer is to get: the data of a tensor, or nothing yet if that has none.

    ``name`` is the tensor's, which its data depend on; ``bound`` is the number of places that its elements index.
    """

    name: str
    kind: DType
    tensor: Tensor
    bound: int | None = None
    writable: bool = False

    def buffer(self, points: tuple[float, ...] = ()) -> Buffer:
        """All of it, for a launch whose results are compared."""
        if not self.tensor.data:
            return blank(self.kind, self.tensor.layout.span)
        return filled(self.name, self.kind, self.tensor, points, self.bound, self.writable)

    def tiled(self, points: tuple[float, ...] = ()) -> Tiled:
        """The first elements over and over, for a launch that is timed."""
        count = self.tensor.layout.span
        data = np.empty(0, self.kind.numpy)
        if self.tensor.data:
            tile = TILE if self.bound is None else TILE_OF_IDS  # few ids would read the same few places
            data = _stream(self.name, self.kind, self.tensor, min(count, tile // self.kind.values), points, self.bound)
        return Tiled(self.kind, data, count, self.writable)


def filled(
    name: str,
    kind: DType,
    tensor: Tensor,
    points: tuple[float, ...] = (),
    bound: int | None = None,
    writable: bool = False,
) -> Buffer:
    """The buffer of a tensor that holds data: its stream where the layout has elements, poison in the gaps, which
    nothing may read. ``bound`` is the number of places that the elements index, if they do.
    """
    layout = tensor.layout
    stream = _stream(name, kind, tensor, layout.span - layout.offset, points, bound)
    if layout.offset == 0 and layout.is_contiguous:
        return Buffer(kind, stream, writable=writable)
    data = poisoned(kind, layout.span)
    defined = np.zeros(layout.span, np.bool_)
    defined[layout.indices().ravel()] = True
    data[layout.offset :] = stream
    data[~defined] = poisoned(kind, int((~defined).sum()))
    return Buffer(kind, data, defined, writable)


def _stream(
    name: str, kind: DType, tensor: Tensor, count: int, points: tuple[float, ...], bound: int | None
) -> np.ndarray[Any, Any]:
    if bound is not None and tensor.data in INDEX_STREAMS:
        return ids(tensor.data, kind, tensor.start, count, name, bound)
    return elements(tensor.data, kind, tensor.start, count, name, points)


def blank(kind: DType, count: int) -> Buffer:
    """An output of which nothing is written yet."""
    nothing: np.ndarray[Any, np.dtype[np.bool_]] = np.zeros(count, np.bool_)
    return Buffer(kind, poisoned(kind, count), nothing, writable=True)
