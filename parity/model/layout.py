"""Layouts: the positions of a tensor's elements in its buffer."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.errors import UsageError, parse_natural

LARGEST = 2**48
"""More elements than any device memory holds, with addresses of 48 bits."""

SPARSE = 2**32
"""Elements of a tensor from which on a case is sparse (``Case.is_sparse``)."""

_TEXT = re.compile(r"(?P<shape>\(\)|\d+(?:x\d+)*)(?::(?P<strides>\d+(?:,\d+)*))?(?:\+(?P<offset>\d+))?", re.ASCII)


@dataclass(frozen=True)
class Layout:
    """Shape, strides and start offset, in elements. Stride 0 broadcasts; strides are never negative.

    The text form is ``4x5:1,4+3``: dims joined by ``x`` (``()`` for rank 0), ``:`` and the strides unless the layout is
    contiguous, and ``+`` and the offset unless it is 0.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    def __post_init__(self) -> None:
        if len(self.shape) != len(self.strides):
            raise UsageError(f"layout has {len(self.shape)} dims but {len(self.strides)} strides: {self}")

    @property
    def numel(self) -> int:
        """Number of elements of the tensor."""
        return math.prod(self.shape)

    @property
    def span(self) -> int:
        """Number of elements that the buffer must have, including the offset."""
        if self.numel == 0:
            return self.offset
        return self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + 1

    @property
    def distinct(self) -> int:
        """Number of distinct buffer elements: a broadcast dim counts once."""
        return math.prod(n for n, s in zip(self.shape, self.strides, strict=True) if s or n == 0)

    @property
    def is_contiguous(self) -> bool:
        """Whether the layout is row-major without gaps. Ignores offset, strides of size-1 dims and of empty tensors."""
        if self.numel == 0:
            return True
        product = 1
        for n, s in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n > 1 and s != product:
                return False
            product *= n
        return True

    @property
    def is_injective(self) -> bool:
        """Whether no two elements share a position, so that the tensor may be written (a sufficient test)."""
        if self.numel == 0:
            return True
        reach = 0
        for n, s in sorted(zip(self.shape, self.strides, strict=True), key=lambda d: d[1]):
            if n > 1:
                if s <= reach:
                    return False
                reach += (n - 1) * s
        return True

    def view(self, buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the tensor as a NumPy view of a one-dimensional buffer with at least ``span`` elements."""
        if self.numel == 0:
            return np.empty(self.shape, buffer.dtype)
        steps = tuple(s * buffer.itemsize for s in self.strides)
        return np.ndarray(self.shape, buffer.dtype, buffer, self.offset * buffer.itemsize, steps)

    def coordinates(self, positions: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """Return the coordinates of buffer positions, for a tensor without gaps whose dims are in any order."""
        order = sorted(range(len(self.shape)), key=lambda axis: (-self.strides[axis], axis))
        found = np.unravel_index(np.asarray(positions) - self.offset, [self.shape[axis] for axis in order])
        return tuple(found[order.index(axis)] for axis in range(len(order)))

    def indices(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the buffer index of every element, with shape ``shape``."""
        index = np.full(self.shape, self.offset, np.int64)
        for axis, (n, s) in enumerate(zip(self.shape, self.strides, strict=True)):
            index += (np.arange(n, dtype=np.int64) * s).reshape((-1,) + (1,) * (len(self.shape) - axis - 1))
        return index

    def __str__(self) -> str:
        text = "x".join(map(str, self.shape)) or "()"
        if self.strides != contiguous(self.shape).strides:
            text += ":" + ",".join(map(str, self.strides))
        return text + (f"+{self.offset}" if self.offset else "")

    @staticmethod
    def parse(text: str) -> Layout:
        """Parse the text form.

        Raises:
            UsageError: the text is not a layout.
        """
        match = _TEXT.fullmatch(text)
        if not match:
            raise UsageError(f"{text!r} is not a layout; write dims, strides and offset like 4x5:1,4+3")

        def numbers(what: str, separator: str) -> tuple[int, ...]:
            return tuple(parse_natural(each, f"a number of the {what}") for each in match[what].split(separator))

        shape = () if match["shape"] == "()" else numbers("shape", "x")
        strides = numbers("strides", ",") if match["strides"] else contiguous(shape).strides
        layout = Layout(shape, strides, parse_natural(match["offset"] or "0", "the offset"))
        if max(layout.numel, layout.span) > LARGEST:
            raise UsageError(f"{text!r} has more elements, or reaches further, than the limit of {LARGEST}")
        return layout


@functools.lru_cache(maxsize=4096)
def contiguous(shape: tuple[int, ...], offset: int = 0) -> Layout:
    """Return the row-major layout of a shape."""
    strides, product = [], 1
    for n in reversed(shape):
        strides.append(product)
        product *= max(n, 1)
    return Layout(shape, tuple(reversed(strides)), offset)
