"""Device memory: one range of addresses with red zones, and a state for each byte."""

from __future__ import annotations

import bisect
import ctypes
import functools
import mmap
import operator
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.emulator.runtime_headers import constants
from parity.errors import UsageError

BASE = 0x7F40_0000_0000
"""Device address of the first byte: fixed, so that reports are reproducible; far from 0 and from all 32-bit values."""

WRITABLE: int = constants("memory.h")["WRITABLE"]
READABLE: int = constants("memory.h")["READABLE"]
_STATES = np.array([READABLE, READABLE | WRITABLE, 0], np.uint8)
"""The states of bytes by their entry in ``Image.writable``."""
TRACED: int = constants("memory.h")["TRACED"]
"""Device memory that is traced, around each multiple of 4 GiB."""
_SPARSE_BUFFERS: int = constants("memory.h")["SPARSE_BUFFERS"]
_SLOT = 1 << 32
_SLOTS = 17
"""Multiples of 4 GiB in a spread memory: one for each of the first 16 allocations, and the first bytes."""
SPARSE = 1 << 37
"""Bytes of the largest sparse allocation."""
HEAP = 1 << 37
"""Address space for the memory that kernels allocate themselves."""
_FAR_SHARE = 32
"""The part of the heap's address space that the far arenas of a launch may take. Each thread has one."""
_FAR_ARENA = 1 << 24
"""The largest far arena: twice CUDA's default for a whole device."""
_NEAR_ARENA: int = constants("memory.h")["NEAR_ARENA"]
_MARKS = {
    constants("memory.h")["ALLOCATED"]: "allocated by the kernel",
    constants("memory.h")["RELEASED"]: "released by the kernel",
}
_MARK_DISTANCE = 1 << 20
"""How far in front of an address to search for the mark of an allocation."""
_RED_ZONE = 256
_ALIGNMENT = 256
NO_RESERVE = 0x4000
"""MAP_NORESERVE of Linux."""
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

    A spread memory places each of the first allocations across another multiple of 4 GiB, so that the upper halves of
    addresses differ within a buffer and between buffers, even if buffers are small. Without address space for that,
    and in a memory that is not spread, allocations follow each other.

    State of a byte (``enum ByteState``): 0 not allocated, 1 allocated and never written, 2 read-only, 3 written. The
    first ``system`` bytes hold the read-only data of a launch (arguments, dispatch packet). ``heap`` bytes of addresses
    are for what kernels allocate. ``reserve`` takes bytes from the end.
    """

    base = BASE
    """Device address of the first byte."""
    discard = getattr(mmap, "MADV_DONTNEED", 0)
    """How to return pages to the system, which then are zero."""

    def __init__(
        self, capacity: int = 1 << 30, system: int = 1 << 16, *, spread: bool = True, heap: int = HEAP
    ) -> None:
        self.capacity, self._system = capacity, system
        try:
            self.slots = _SLOTS if spread else 1
            before = self.slots * _SLOT + _SPARSE_BUFFERS * SPARSE if spread else capacity
            maps = [_map(before + heap + capacity) for _ in range(2)]
            self.heap = range(self.base + before, self.base + before + heap)
        except OSError:
            self.slots = 1
            maps = [_map(capacity) for _ in range(2)]
            self.heap = range(self.base, self.base)
        self._open(maps)
        # By slot: the first byte that may be in use, and the byte after the last.
        self._bounds = [[i * _SLOT, i * _SLOT or system] for i in range(self.slots)]

    def _open(self, maps: Sequence[mmap.mmap]) -> None:
        """Use this memory for data and states. Nothing is allocated yet."""
        self._maps = maps
        self.data, self.state = (np.frombuffer(m, np.uint8) for m in maps)
        self.size = self.end = self.data.size
        self.allocations: list[Allocation] = []  # sorted by address
        self._freed: dict[int, list[int]] = {}
        self._sparse: list[Allocation] = []
        self._arenas: dict[int, tuple[int, int, int]] = {}
        self._count = self._allocated = self._heap_used = 0

    @functools.cached_property
    def _data_at(self) -> int:
        return self.data.ctypes.data

    @functools.cached_property
    def _state_at(self) -> int:
        return self.state.ctypes.data

    @property
    def before(self) -> int:
        """The bytes in front of a multiple of 4 GiB that are traced, of ``TRACED`` bytes for each."""
        return TRACED // 2 if self.slots > 1 else 0

    @property
    def _used_slots(self) -> list[list[int]]:
        """The bounds of the slots in use: each of the first allocations takes the next one."""
        return self._bounds[: self._count + 1]

    def allocate(self, size: int, name: str) -> Allocation:
        """Allocate memory that nothing has written.

        Raises:
            UsageError: the size is negative, or the memory is used up.
        """
        if again := self._freed.get(size):
            allocation = Allocation(name, self.base + again.pop(), size)
        else:
            allocation = Allocation(name, self.base + self._place(size, name), size)
        bisect.insort(self.allocations, allocation, key=_address)
        self.state[self.span(allocation)] = WRITABLE
        return allocation

    def _place(self, size: int, name: str) -> int:
        """Return the offset of a new allocation."""
        first = self._count < self.slots - 1
        bounds = self._bounds[self._count % (self.slots - 1) + 1 if self.slots > 1 else 0]
        if first:
            # Varies with the size and number of the allocation, that is, from case to case.
            steps, draw = max(size - 1, 0) // _ALIGNMENT, zlib.crc32(f"{self._count} {size}".encode())
            before = _ALIGNMENT * (1 + draw % steps if steps else draw % 2)
            bounds[0] = bounds[1] = start = bounds[1] - min(before, self.before)
        else:
            start = -(-(bounds[1] + _RED_ZONE) // _ALIGNMENT) * _ALIGNMENT
        needed = start - bounds[1] + size + _RED_ZONE
        left = self.capacity - self._system - (self.size - self.end) - self._allocated
        if size < 0 or needed > left:
            raise UsageError(
                f"cannot allocate {size} bytes for {name!r}: {left} of {self.capacity} bytes of "
                "emulated memory are left; free buffers with reset() or use a smaller case"
            )
        bounds[1] = start + size
        self._allocated += needed - _RED_ZONE
        self._count += 1
        return start

    def allocate_sparse(self, size: int, name: str) -> Allocation:
        """Allocate up to ``SPARSE`` bytes, for a few buffers. An access by a kernel makes its page accessible.

        Raises:
            UsageError: there is not enough address space.
        """
        if self.slots == 1 or size > SPARSE or len(self._sparse) == _SPARSE_BUFFERS:
            raise UsageError(f"cannot allocate {size} bytes for {name!r}: the address space is too small")
        allocation = Allocation(name, self.base + self.slots * _SLOT + len(self._sparse) * SPARSE, size)
        self._sparse.append(allocation)
        bisect.insort(self.allocations, allocation, key=_address)
        return allocation

    def sparse_pages(self, allocation: Allocation, pages: np.ndarray[Any, Any]) -> tuple[Bytes, Bytes]:
        """Return data and state of pages of a sparse allocation."""
        start = allocation.address - self.base
        data, state = (a[start : start + SPARSE].reshape(-1, mmap.PAGESIZE)[pages] for a in (self.data, self.state))
        return data, state

    def take_heap(self, threads: int) -> tuple[int, int, int]:
        """Return arenas, until ``reset``, for what the threads of a launch allocate.

        These are the device addresses of the near and far arenas, and the bytes of a far one; all 0 without address
        space. Launches with as many threads share them.
        """
        if found := self._arenas.get(threads):
            return found
        far_bytes = min(_FAR_ARENA, len(self.heap) // _FAR_SHARE // threads // mmap.PAGESIZE * mmap.PAGESIZE)
        near_bytes = -(-threads * _NEAR_ARENA // mmap.PAGESIZE) * mmap.PAGESIZE
        start, needed = self._heap_used, near_bytes + threads * far_bytes
        if needed > len(self.heap) - start:
            return 0, 0, 0
        self._heap_used += needed
        near = self.heap.start + start
        self._arenas[threads] = found = near, near + near_bytes, far_bytes
        return found

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
        """The largest distance of an allocated byte from a multiple of 4 GiB."""
        return max(max(i * _SLOT - low, high - i * _SLOT) for i, (low, high) in enumerate(self._used_slots))

    def span(self, allocation: Allocation) -> slice:
        """Return the slice of an allocation, or of a variable, in ``data`` and ``state``.

        Raises:
            UsageError: the allocation was freed.
        """
        start = allocation.address - self.base
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
        self.state[at : at + size] = READABLE
        self.state[at + size : at + size + _RED_ZONE] = 0
        return self.base + at

    def reserve(self, size: int, red_zone: int = _RED_ZONE) -> int:
        """Take ``size`` bytes permanently from the end of memory; return their device address (a multiple of 256).

        Raises:
            UsageError: less memory is left.
        """
        start = (self.end - size - red_zone) // 256 * 256
        if self.size - start > self.capacity - self._system - self._allocated:
            raise UsageError(f"cannot reserve {size} bytes: the emulated memory of {self.capacity} bytes is used up")
        self.end = start
        return self.base + start

    def place_image(self, address: int, content: bytes, writable: bytes) -> None:
        """Write data to reserved memory, with an entry of ``Image.writable`` for each byte."""
        at = slice(address - self.base, address - self.base + len(content))
        self.data[at] = np.frombuffer(content, np.uint8)
        self.state[at] = _STATES[np.frombuffer(writable, np.uint8)]

    def put(self, address: int, content: bytes) -> None:
        """Write bytes to reserved memory; kernels may read and write them."""
        self.place_image(address, content, bytes([1]) * len(content))

    def clear(self, address: int, size: int) -> None:
        """Make reserved memory inaccessible."""
        ctypes.memset(self._state_at + address - self.base, 0, size)

    def fill(self, address: int, size: int, value: int) -> None:
        """Set bytes of reserved memory, and leave their state."""
        ctypes.memset(self._data_at + address - self.base, value, size)

    def nearest(self, address: int) -> Allocation | None:
        """Return the allocation that contains an address, or the closest one."""
        if address in self.heap:
            return self._in_heap(address)
        i = bisect.bisect_right(self.allocations, address, key=_address)
        around = self.allocations[max(i - 1, 0) : i + 1]
        return min(around, key=lambda a: max(a.address - address, address - (a.address + a.size), 0), default=None)

    def clear_heap(self) -> None:
        """Release what kernels have allocated."""
        if self._heap_used:
            for m in self._maps:
                m.madvise(self.discard, self.heap.start - self.base, self._heap_used)
            self._arenas.clear()
            self._heap_used = 0

    def _in_heap(self, address: int) -> Allocation | None:
        """Return the last allocation of a kernel that begins at or before an address."""
        end = (address - self.base) // 16 * 16
        start = max(end - _MARK_DISTANCE, self.heap.start - self.base)
        blocks = self.data[start:end].view(np.uint64).reshape(-1, 2)
        found = np.flatnonzero(np.isin(blocks[:, 1], [*_MARKS]))
        if not found.size:
            return None
        size, mark = blocks[found[-1]].tolist()
        return Allocation(_MARKS[mark], self.base + start + (int(found[-1]) + 1) * 16, size)

    def reset(self) -> None:
        """Free all allocations, in time proportional to the used memory; returns many used pages to the system."""
        for slot, (low, high) in enumerate(self._used_slots):
            if high - low > _CLEAR_LIMIT and hasattr(mmap, "MADV_DONTNEED"):
                page = low // mmap.PAGESIZE * mmap.PAGESIZE
                for m in self._maps:
                    m.madvise(mmap.MADV_DONTNEED, page, -(-(high - page) // mmap.PAGESIZE) * mmap.PAGESIZE)
            else:
                ctypes.memset(self._state_at + low, 0, high - low)
            self._bounds[slot] = [slot * _SLOT, slot * _SLOT or self._system]
        for each in self._sparse:
            for m in self._maps:
                m.madvise(mmap.MADV_DONTNEED, each.address - self.base, SPARSE)
        self.clear_heap()
        self._sparse.clear()
        self._count = self._allocated = 0
        self.allocations.clear()
        self._freed.clear()


def _map(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)


def zeroed_pages(size: int) -> Bytes:
    """Return zeroed memory of the host. The operating system provides pages when they are first accessed."""
    return np.frombuffer(_map(size), np.uint8)
