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
from parity.model.layout import SPARSE

TILE, TILE_OF_IDS = 2**18, 2**20
"""Number of values (and of ids) to generate for a timed launch. They repeat up to the size of the tensor."""


@dataclass(frozen=True)
class Memory:
    """The content of a buffer before the launch: the data of a tensor, or poison for a tensor without data.

    The data depend on the tensor's ``name``. ``bound`` is the number of positions that its elements index.
    """

    name: str
    kind: DType
    tensor: Tensor
    bound: int | None = None
    writable: bool = False

    def buffer(self, points: tuple[float, ...] = ()) -> Buffer:
        """Generate the whole buffer, for a launch whose results are compared."""
        if not self.tensor.data:
            return blank(self.kind, self.tensor.layout.span)
        return filled(self.name, self.kind, self.tensor, points, self.bound, self.writable)

    def tiled(self, points: tuple[float, ...] = ()) -> Tiled:
        """Generate the first elements, which repeat, for a timed launch."""
        count = self.tensor.layout.span
        data = np.empty(0, self.kind.numpy)
        if self.tensor.data:
            tile = TILE if self.bound is None else TILE_OF_IDS  # few ids would read few positions
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
    """Return the buffer of a tensor: its stream where the layout has elements, and poison in the gaps.

    Gaps are undefined: reading them is an error. ``bound`` is the number of positions that the elements index.
    """
    layout = tensor.layout
    stream = _stream(name, kind, tensor, layout.span - layout.offset, points, bound)
    if layout.offset == 0 and (layout.is_contiguous or layout.numel >= SPARSE):  # a sparse case has no gaps
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
    """Return a buffer for an output, with every element poisoned and undefined; sparse if it is too large."""
    if count >= SPARSE:
        return Buffer(kind, poisoned(kind, 0), writable=True, sparse=count)
    nothing: np.ndarray[Any, np.dtype[np.bool_]] = np.zeros(count, np.bool_)
    return Buffer(kind, poisoned(kind, count), nothing, writable=True)
