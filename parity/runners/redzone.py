"""Places the buffers of a launch in one allocation, with red zones between them.

A GPU does not stop a write past the end of a buffer if memory is mapped there. Red zones hold known bytes, and a
changed byte after the launch reveals the write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.model.launch import Buffer, Pointer, with_addresses, without_addresses

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

ALIGNMENT = 256
"""Alignment of every buffer in bytes, as guaranteed by cudaMalloc and hipMalloc."""

RED_BYTES = 8192
"""Minimum distance between buffers in bytes: 1024 threads that each write one f64 too far."""


@dataclass(frozen=True)
class Arena:
    """The buffers of a launch in one block of memory.

    ``image`` is the content of the block before the launch. ``ranges`` maps each buffer to its offset and its size in
    bytes.
    """

    buffers: Mapping[str, Buffer]
    ranges: Mapping[str, tuple[int, int]]
    image: Bytes

    @staticmethod
    def of(buffers: Mapping[str, Buffer], red_bytes: int = RED_BYTES) -> Arena:
        """Lay out the buffers with red zones of at least ``red_bytes`` before, between and after them (0: no zones).

        A red zone starts right after the last byte of a buffer. Its content is random, so that a write of any constant,
        or a copy from another part of the block, changes it.
        """
        ranges = {}
        end = 0
        for name, buffer in buffers.items():
            start = _aligned(end + red_bytes)
            end = start + buffer.data.nbytes
            ranges[name] = start, buffer.data.nbytes
        image = np.frombuffer(np.random.default_rng(0).bytes(_aligned(end + red_bytes) or ALIGNMENT), np.uint8).copy()
        for name, (start, size) in ranges.items():
            image[start : start + size] = np.ascontiguousarray(buffers[name].data).view(np.uint8)
        return Arena(buffers, ranges, image)

    def linked(self, address: Callable[[Pointer], int]) -> Bytes:
        """Return ``image`` with the addresses of buffers in other buffers."""
        image = self.image.copy()
        for name, (start, size) in self.ranges.items():
            if self.buffers[name].pointers:
                image[start : start + size] = with_addresses(self.buffers[name], address).view(np.uint8)
        return image

    def contents(self, after: Bytes) -> dict[str, np.ndarray[Any, Any]]:
        """Extract the content of every buffer from the content of the block after the launch."""
        return {
            name: without_addresses(
                self.buffers[name], after[start : start + size].copy().view(self.buffers[name].dtype.numpy)
            )
            for name, (start, size) in self.ranges.items()
        }

    def damage(self, after: Bytes) -> str:
        """Describe the writes outside of the buffers: their number and the position of the first; otherwise empty."""
        changed = after != self.image
        for start, size in self.ranges.values():
            changed[start : start + size] = False
        where = np.flatnonzero(changed)
        if not where.size:
            return ""
        first = int(where[0])
        name, (start, size) = min(self.ranges.items(), key=lambda item: _distance(first, *item[1]))
        offset = first - start
        side = f"{-offset} bytes before its start" if offset < 0 else f"{offset - size} bytes behind its end"
        itemsize = self.buffers[name].dtype.itemsize
        return (
            f"bytes changed outside of the buffers: {where.size}; the first is byte {offset} (element "
            f"{offset // itemsize}) of {name!r}, which has {size} bytes ({size // itemsize} elements): {side}"
        )


def _aligned(address: int) -> int:
    return -(-address // ALIGNMENT) * ALIGNMENT


def _distance(address: int, start: int, size: int) -> int:
    return start - address if address < start else address - (start + size) + 1
