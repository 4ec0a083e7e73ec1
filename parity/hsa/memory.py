"""Device memory that the HSA runtime of a program owns, mapped by the process that executes kernels."""

from __future__ import annotations

import bisect
import ctypes
import mmap

from parity.emulator.memory import NO_RESERVE, Allocation, DeviceMemory

BASE = 0x2000_0000_0000
"""Device address of the first byte, in both processes: far from where Linux places programs and libraries."""

SPACE = 64 << 30
RESERVED, HEAP = 12 << 30, 8 << 30
"""Bytes at the end for the emulator: first what kernels allocate, then variables, LDS and scratch memory."""
_SYSTEM = 1 << 16
_SLOT = 1 << 32
_MAP_FIXED = 0x10  # of Linux
_mmap = ctypes.CDLL(None, use_errno=True).mmap
_mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
_mmap.restype = ctypes.c_void_p


class SharedMemory(DeviceMemory):
    """Memory whose bytes and states are in files. The program allocates; this object only knows the allocations.

    Data races are found in the first 16 MiB after each multiple of 4 GiB.
    """

    base = BASE
    discard = mmap.MADV_REMOVE

    def __init__(self, data: int, state: int) -> None:
        self.capacity, self._system = RESERVED - HEAP + _SYSTEM, _SYSTEM
        self.slots = SPACE // _SLOT
        self._files = data, state
        self._open([mmap.mmap(file, SPACE, flags=mmap.MAP_SHARED | NO_RESERVE) for file in self._files])
        self._bounds = []
        self.heap = range(BASE + SPACE - RESERVED, BASE + SPACE - RESERVED + HEAP)
        self._by_address: dict[int, Allocation] = {}

    @property
    def before(self) -> int:
        return 0

    @property
    def used(self) -> int:
        return _SLOT

    def adopt(self, allocation: Allocation) -> None:
        """Take note of an allocation of the program."""
        self._by_address[allocation.address] = allocation
        bisect.insort(self.allocations, allocation, key=lambda each: each.address)

    def forget(self, address: int) -> None:
        """Take note that the program freed an allocation."""
        if known := self._by_address.pop(address, None):
            self.allocations.remove(known)

    def remap(self, address: int, size: int, source: int) -> None:
        """Give addresses the pages of other addresses, as ``runtime/memory.c`` does in the program's process.

        Raises:
            OSError: the system refuses.
        """
        access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | NO_RESERVE | _MAP_FIXED
        for file, array in zip(self._files, (self.data, self.state), strict=True):
            at = array.ctypes.data + address - BASE
            if _mmap(at, size, access, flags, file, source - BASE) != at:
                raise OSError(ctypes.get_errno(), f"cannot map {size} bytes of the GPUs' memory")

    def part(self, address: int, size: int) -> slice:
        """Return the slice of ``data`` and ``state`` with these bytes."""
        return slice(address - BASE, address - BASE + size)

    def is_allocated(self, address: int, size: int) -> bool:
        """Return whether all of these bytes are allocated."""
        start = address - BASE
        return 0 <= start <= SPACE - size and bool(self.state[start : start + size].all())
