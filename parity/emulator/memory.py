"""Device memory: one range of addresses with red zones, and a state for each byte."""

from __future__ import annotations

import bisect
import ctypes
import mmap
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.emulator.runtime_headers import constants
from parity.errors import UsageError

BASE = 0x7F40_0000_0000
"""Device address of the first byte: fixed, so that reports are reproducible; far from 0 and from all 32-bit values."""

_WRITABLE: int = constants("memory.h")["WRITABLE"]
_READABLE: int = constants("memory.h")["READABLE"]
_RED_ZONE = 256
_ALIGNMENT = 256
_NO_RESERVE = 0x4000
_CLEAR_LIMIT = 1 << 22
_address = operator.attrgetter("address")

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True)
class Allocation:
    """``size`` bytes of device memory at a device ``address``."""

    name: str
    address: int
    size: int


class DeviceMemory:
    """Address space for ``capacity`` bytes. The operating system provides pages when they are first accessed.

    State of a byte (``enum ByteState``): 0 not allocated, 1 allocated and never written, 2 read-only, 3 written. The
    first ``system`` bytes hold the read-only data of a launch (arguments, dispatch packet). ``reserve`` takes bytes
    from the end.
    """

    def __init__(self, capacity: int = 1 << 30, system: int = 1 << 16) -> None:
        self.capacity, self._system = capacity, system
        self._maps = [_map(capacity) for _ in range(2)]
        self.data, self.state = (np.frombuffer(m, np.uint8) for m in self._maps)
        self.allocations: list[Allocation] = []  # sorted by address
        self._freed: dict[int, list[int]] = {}
        self._top, self.end = system, capacity

    def allocate(self, size: int, name: str) -> Allocation:
        """Allocate memory that nothing has written.

        Raises:
            UsageError: the size is negative, or the memory is used up.
        """
        if again := self._freed.get(size):
            allocation = Allocation(name, BASE + again.pop(), size)
            bisect.insort(self.allocations, allocation, key=_address)
            self.state[self.span(allocation)] = _WRITABLE
            return allocation
        start = -(-(self._top + _RED_ZONE) // _ALIGNMENT) * _ALIGNMENT
        if size < 0 or start + size + _RED_ZONE > self.end:
            raise UsageError(
                f"cannot allocate {size} bytes for {name!r}: {self.end - start} of {self.capacity} bytes of "
                "emulated memory are left; free buffers with reset() or use a smaller case"
            )
        self.state[start : start + size] = _WRITABLE
        self._top = start + size
        allocation = Allocation(name, BASE + start, size)
        self.allocations.append(allocation)
        return allocation

    def free(self, allocation: Allocation) -> None:
        """Make memory inaccessible. Only an allocation of the same size reuses it, so the red zones remain.

        Raises:
            UsageError: the allocation was freed already.
        """
        span = self.span(allocation)
        self.state[span] = 0
        self.allocations.remove(allocation)
        self._freed.setdefault(allocation.size, []).append(span.start)

    @property
    def used(self) -> int:
        """The number of bytes up to the end of the last allocation."""
        return self._top

    def span(self, allocation: Allocation) -> slice:
        """Return the slice of an allocation, or of a variable, in ``data`` and ``state``.

        Raises:
            UsageError: the allocation was freed.
        """
        start = allocation.address - BASE
        if start < self.end and allocation not in self.allocations:
            raise UsageError(f"buffer {allocation.name!r} was freed or belongs to another device")
        return slice(start, start + allocation.size)

    def place(self, at: int, content: bytes) -> int:
        """Write read-only bytes to the system part; return their device address."""
        size = -(-len(content) // 64) * 64  # compiled scalar loads may read past the last argument
        if at + size + _RED_ZONE > self._system:
            raise UsageError(f"{len(content)} bytes of kernel arguments are more than the emulator's {self._system}")
        self.data[at : at + size] = 0
        self.data[at : at + len(content)] = np.frombuffer(content, np.uint8)
        self.state[at : at + size] = _READABLE
        self.state[at + size : at + size + _RED_ZONE] = 0
        return BASE + at

    def reserve(self, size: int, red_zone: int = _RED_ZONE) -> int:
        """Take ``size`` bytes permanently from the end of memory; return their device address (a multiple of 256).

        Raises:
            UsageError: less memory is left.
        """
        start = (self.end - size - red_zone) // 256 * 256
        if start < self._top:
            raise UsageError(f"cannot reserve {size} bytes: the emulated memory of {self.capacity} bytes is used up")
        self.end = start
        return BASE + start

    def place_image(self, address: int, content: bytes, writable: bytes) -> None:
        """Write data to reserved memory; ``writable`` is 1 for each byte that kernels may write."""
        at = slice(address - BASE, address - BASE + len(content))
        self.data[at] = np.frombuffer(content, np.uint8)
        self.state[at] = np.frombuffer(writable, np.uint8) * _WRITABLE + _READABLE

    def put(self, address: int, content: bytes) -> None:
        """Write bytes to reserved memory; kernels may read and write them."""
        at = slice(address - BASE, address - BASE + len(content))
        self.data[at] = np.frombuffer(content, np.uint8)
        self.state[at] = _WRITABLE | _READABLE

    def clear(self, address: int, size: int) -> None:
        """Make reserved memory inaccessible."""
        ctypes.memset(self.state.ctypes.data + address - BASE, 0, size)

    def nearest(self, address: int) -> Allocation | None:
        """Return the allocation that contains an address, or the closest one."""
        i = bisect.bisect_right(self.allocations, address, key=_address)
        around = self.allocations[max(i - 1, 0) : i + 1]
        return min(around, key=lambda a: max(a.address - address, address - (a.address + a.size), 0), default=None)

    def reset(self) -> None:
        """Free all allocations, in time proportional to the used memory; returns many used pages to the system."""
        used = self._top - self._system
        if used > _CLEAR_LIMIT and hasattr(mmap, "MADV_DONTNEED"):
            for m in self._maps:
                m.madvise(mmap.MADV_DONTNEED, 0, -(-self._top // mmap.PAGESIZE) * mmap.PAGESIZE)
        else:
            ctypes.memset(self.state.ctypes.data, 0, self._top)
        self._top = self._system
        self.allocations.clear()
        self._freed.clear()


def _map(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)


def zeroed_pages(size: int) -> Bytes:
    """Return zeroed memory of the host. The operating system provides pages when they are first accessed."""
    return np.frombuffer(_map(size), np.uint8)
