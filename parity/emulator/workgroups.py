"""Executes the workgroups of a launch, by several threads of the host if they are independent."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from parity.emulator.language import LaunchShape
from parity.emulator.memory import DeviceMemory, zeroed_pages
from parity.emulator.runtime_headers import constants
from parity.model.code_object import Kernel

LDS = 1 << 18
"""Bytes reserved for the LDS of a thread: at least the LDS of the largest GPU."""
TRIAL = 1 << 17
"""Instructions that one thread executes before others help: 1 to 5 ms. To start them takes a tenth of it."""
_WAVEFRONTS = constants("wavefronts.h")
_STACKS = _WAVEFRONTS["MAX_WAVEFRONTS"] * _WAVEFRONTS["STACK"]
_SCRATCH = 1 << 28
"""Bytes of scratch memory that the threads of a launch may have together."""


class Workgroups:
    """The threads of a device, and the stacks, scratch memory and LDS of the workgroups that have begun.

    Args:
        memory: device memory; scratch memory is reserved there when a kernel needs it.
        cores: how many threads may execute workgroups.
    """

    def __init__(self, memory: DeviceMemory, cores: int) -> None:
        self._memory, self._cores = memory, cores
        self._stacks = zeroed_pages(cores * _STACKS)
        self._resident = zeroed_pages(1)  # the workgroups of a cooperative launch
        self._scratch, self._threads, self._span = 0, 1, 0
        self.scratch_bytes = 0

    @property
    def lds_bytes(self) -> int:
        """The bytes of all LDS, which begins at ``Context.lds``."""
        return self._cores * LDS

    def place(
        self, context: Any, kernel: Kernel, shape: LaunchShape, width: int, *, independent: bool, cooperative: bool
    ) -> None:
        """Prepare the memory of a launch with wavefronts of ``width`` lanes.

        All workgroups of a cooperative launch begin at once; otherwise, each thread executes one.
        """
        groups = shape.groups if cooperative else 1
        wavefronts, size = groups * -(-shape.threads // width), kernel.scratch_bytes
        context.scratch_bytes, context.scratch_stride = size, size + 64 if size else 0  # with a gap after each lane
        self._span = span = context.scratch_stride * wavefronts * width
        fitting = max(1, _SCRATCH // span) if span else self._cores
        self._threads = min(self._cores, shape.groups, fitting) if independent and not cooperative else 1
        if (needed := span * self._threads) > self.scratch_bytes:
            self._scratch, self.scratch_bytes = self._memory.reserve(needed), needed
        elif size and context.checked:
            self._memory.clear(self._scratch, self.scratch_bytes)
        context.scratch = self._scratch or context.variables
        if wavefronts * _WAVEFRONTS["STACK"] > self._stacks.size:
            self._stacks = zeroed_pages(wavefronts * _WAVEFRONTS["STACK"])
        if cooperative:
            self._resident = zeroed_pages(groups * (_WAVEFRONTS["RESIDENT"] + 2 * context.lds_bytes))
        context.stacks = self._stacks.ctypes.data
        context.resident = self._resident.ctypes.data if cooperative else 0

    def execute(self, launch: Callable[[Any], None], context: Any, shape: LaunchShape) -> Any:
        """Execute the workgroups of a launch that was placed, and return the context that has the result.

        ``launch`` executes the workgroups that the counter of a context yields. The result is the first fault in the
        order of the workgroups, as with one thread, or else all statistics.
        """
        counter = ctypes.c_uint64()
        context.next, context.trial = ctypes.addressof(counter), TRIAL if self._threads > 1 else 0
        launch(context)
        left = shape.groups - counter.value
        if context.fault or self._threads == 1 or left <= 0:
            return context
        context.trial, before = 0, context.budget + context.reserve
        contexts = [context, *(self._further(context, number) for number in range(1, min(self._threads, left)))]
        with ThreadPoolExecutor(len(contexts)) as pool:
            list(pool.map(launch, contexts))
        if failed := [each for each in contexts if each.fault]:
            return _moved(min(failed, key=lambda each: shape.number(each.group)), context)
        for each in contexts[1:]:
            context.reserve -= before - each.budget - each.reserve
            context.crossed = context.crossed or each.crossed
        return context

    def _further(self, context: Any, number: int) -> Any:
        """A copy of a context for another thread. Its memory ends with its LDS, so offsets beyond LDS are outside."""
        found = type(context).from_buffer_copy(context)
        found.lds, found.size = context.lds + number * LDS, context.size + number * LDS
        found.scratch, found.stacks = context.scratch + number * self._span, context.stacks + number * _STACKS
        return found


def _moved(failed: Any, first: Any) -> Any:
    """Change a fault in LDS, so that its address does not depend on the thread."""
    if 0 <= failed.address - failed.lds < 1 << 32:  # an offset has 32 bits
        failed.address -= failed.lds - first.lds
    failed.lds = first.lds
    return failed
