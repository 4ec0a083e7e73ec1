"""The records of a traced device: who accessed each byte (``runtime/tracing.h``, ``runtime/warps.cpp``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.emulator.memory import TRACED, zeroed_pages
from parity.emulator.runtime_headers import constants, structure

_CELLS: tuple[int, ...] = constants("tracing.h")["CELLS"]
_CELL = np.dtype(structure("tracing.h", "Cell"))
_UNITS = (4, 1)
_THREAD_ENTRIES = {"who": 4, "wrote": 2, "loaded": 2}
"""The arrays of ``Context`` that record accesses of a warp's threads, with the bytes of an entry for each unit."""


class Trace:
    """Memory for the records of accesses, which a context points to.

    Args:
        context: the ``Context`` of the device.
        tail: the bytes of memory from ``Context.variables`` on, which are traced as well.
        warps: also record the threads of warps.
    """

    def __init__(self, context: Any, tail: int, *, warps: bool) -> None:
        self._context, self._size, self._warps = context, context.trace_bytes + tail, warps
        self.reset()

    def reset(self) -> None:
        """Forget all accesses, and number wavefronts from the beginning again."""
        context = self._context
        context.ordinal = 0
        self._levels = [zeroed_pages(self._size // size * _CELL.itemsize) for size in _CELLS]
        context.trace[:] = [level.ctypes.data for level in self._levels]
        if self._warps:
            self._threads = {
                name: [zeroed_pages(self._size // unit * size) for unit in _UNITS]
                for name, size in _THREAD_ENTRIES.items()
            }
            for name, arrays in self._threads.items():
                getattr(context, name)[:] = [array.ctypes.data for array in arrays]
            context.phases = 0

    def compare_threads(self, enabled: bool) -> None:
        """Find races between the threads of a warp in the next launch, or not, if they are recorded at all."""
        if self._warps:
            self._context.who[:] = [array.ctypes.data if enabled else 0 for array in self._threads["who"]]

    def accessed(self, span: slice, since: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return, for each byte, whether a wavefront after ordinal ``since`` read it, and whether one wrote it."""
        largest, moved = _CELLS[0], span.start + self._context.trace_before
        start = (moved >> 32) * TRACED + moved % (1 << 32)
        span = slice(start, start + span.stop - span.start)
        first, last = span.start // largest, -(-span.stop // largest)
        found: np.ndarray[Any, np.dtype[np.bool_]] = np.zeros((2, (last - first) * largest), bool)
        cells = np.arange(first, last)
        for level, size in enumerate(_CELLS):
            records = self._levels[level].view(_CELL)[cells if level else slice(first, last)]
            readers = records["read"]["who"] > since
            read = readers[:, 0] | readers[:, 1]
            wrote, parted = records["write"]["who"] > since, records["parted"] > since
            touched = np.flatnonzero(read | wrote | parted)
            places = (cells[touched] * size - first * largest)[:, None] + np.arange(size)
            found[0, places], found[1, places] = read[touched, None], wrote[touched, None]
            parts = size // _CELLS[min(level + 1, len(_CELLS) - 1)]
            cells = (cells[parted][:, None] * parts + np.arange(parts)).reshape(-1)
        within = slice(span.start - first * largest, span.stop - first * largest)
        return found[0, within], found[1, within]
