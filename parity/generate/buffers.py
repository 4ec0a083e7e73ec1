"""What a tensor of a case holds before the launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.case import Tensor
from parity.dtypes import DType
from parity.generate.data import elements
from parity.generate.indices import INDEX_STREAMS, ids
from parity.launch import Buffer, poisoned

__all__ = ["blank", "filled"]


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
    count = layout.span - layout.offset
    if bound is not None and tensor.data in INDEX_STREAMS:
        stream = ids(tensor.data, kind, tensor.start, count, name, bound)
    else:
        stream = elements(tensor.data, kind, tensor.start, count, name, points)
    if layout.offset == 0 and layout.is_contiguous:
        return Buffer(kind, stream, writable=writable)
    data = poisoned(kind, layout.span)
    defined = np.zeros(layout.span, np.bool_)
    defined[layout.indices().ravel()] = True
    data[layout.offset :] = stream
    data[~defined] = poisoned(kind, int((~defined).sum()))
    return Buffer(kind, data, defined, writable)


def blank(kind: DType, count: int) -> Buffer:
    """An output of which nothing is written yet."""
    nothing: np.ndarray[Any, np.dtype[np.bool_]] = np.zeros(count, np.bool_)
    return Buffer(kind, poisoned(kind, count), nothing, writable=True)
