"""Executes single launches on an emulated device: places the buffers, runs the kernels, reads the buffers back."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.approximate import ApproximateResults
from parity.emulator.device import Device
from parity.emulator.faults import MemoryFault
from parity.emulator.launch_options import REGISTER_FILL, LaunchOptions
from parity.emulator.memory import Allocation
from parity.emulator.stats import LaunchStats, merge_stats
from parity.errors import UsageError
from parity.model.code_object import CodeObject
from parity.model.coverage import Reached, concatenate_coverage
from parity.model.launch import (
    PRINTF,
    Buffer,
    Launch,
    Pointer,
    Scalar,
    Struct,
    argument_bytes,
    variable_content,
    with_addresses,
    without_addresses,
)
from parity.runners.base import argument_mismatch

ENDED_INSTRUCTIONS = 2_000_000_000
"""Instruction budget of a launch that ended on a GPU. It takes about a minute on one core."""

SAMPLED, MOST_SAMPLED = 16, 128
"""Limits for the number of workgroups that a launch with a sparse buffer executes: the first one, and others that
depend on the launch.
"""

SAMPLED_ELEMENTS = 2048
"""Elements of the sparse buffer from which on further workgroups are not executed. Some of them may be idle."""


def launch_seed(launch: Launch) -> int:
    """The seed of a launch, which depends on the launch alone: never 0, which would be the natural order."""
    return zlib.crc32(str(launch).encode()) | 1


@dataclass(frozen=True)
class EmulatedLaunch:
    """A launch with every choice that the emulator leaves open.

    ``seed``, ``draw`` and ``shuffled_lanes`` have the meaning described in ``LaunchOptions``. By default, seed and
    draw depend on the launch alone, so that every run repeats them. ``inverted`` selects one register, by step of the
    launch sequence and by number in ``Device.undefined_reads``, that holds the complement of ``register_fill``. With
    ``keep_variables`` the variables of the code object hold what the previous launch left in them. With
    ``memory_fill``, kernels may read memory that nothing has written. Each byte of LDS and scratch memory has this
    value, and each byte of buffers the complement, so that a copy differs from what nothing has written.
    ``clock_rate``, ``undivided`` and ``race_mask`` have the meaning described in ``LaunchOptions``.
    """

    code: CodeObject
    launch: Launch
    buffers: Mapping[str, Buffer]
    results: ApproximateResults = ApproximateResults.NEAREST
    seed: int | None = None
    draw: int | None = None
    register_fill: int = REGISTER_FILL
    inverted: tuple[int, int] | None = None
    keep_variables: bool = False
    clock_rate: int = 1
    undivided: int = LaunchOptions.undivided
    shuffled_lanes: bool = False
    memory_fill: int | None = None
    race_mask: int = 0

    @property
    def buffer_fill(self) -> int | None:
        """The value of each byte of buffers that nothing has written; None if kernels may not read it."""
        return None if self.memory_fill is None else self.memory_fill ^ 0xFF

    def options(self, step: int) -> LaunchOptions:
        """Return the options for the launch with the number ``step`` in the sequence."""
        default = launch_seed(self.launch)
        seed, draw = (default if each is None else each for each in (self.seed, self.draw))
        inverted = self.inverted[1] if self.inverted and self.inverted[0] == step else None
        elements = sum(each.sparse for each in self.buffers.values() if each.writable)
        wanted = SAMPLED_ELEMENTS * math.prod(self.launch.grid) // elements if elements else 0
        sampled = min(max(wanted, SAMPLED), MOST_SAMPLED) if elements else 0
        instructions = ENDED_INSTRUCTIONS if self.launch.ended else None
        return LaunchOptions(
            seed, self.register_fill, inverted, self.results, draw, sampled, self.clock_rate, self.undivided,
            instructions, shuffled_lanes=self.shuffled_lanes, memory_fill=self.memory_fill,
            race_mask=self.race_mask,
        )  # fmt: skip


class LaunchExecutor:
    """Runs launches on one emulated device, one at a time.

    ``changed_variables`` are the symbols of the variables that the last launch changed, and ``places`` the written
    elements of the sparse buffers that were read last.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.changed_variables: tuple[str, ...] = ()
        self._allocations: dict[str, Allocation] = {}
        self.places: dict[str, np.ndarray[Any, Any]] = {}

    def run(self, request: EmulatedLaunch) -> LaunchStats:
        """Run the kernels of a launch in order. The buffers stay on the device until ``read_buffers``.

        Read-only buffers are write-protected at first. If a kernel writes out of bounds, the write may have hit one of
        them, so the launch runs again without the protection, and the write shows as a changed input.
        """
        try:
            return self._run(request, protect_inputs=not request.keep_variables)
        except MemoryFault as error:
            if request.keep_variables or error.kind != "out-of-bounds write":
                raise
        return self._run(request, protect_inputs=False)

    def _run(self, request: EmulatedLaunch, *, protect_inputs: bool) -> LaunchStats:
        device, code, launch = self.device, request.code, request.launch
        self.changed_variables = ()
        device.reset()
        if not request.keep_variables:
            device.restore(code)
        self._allocations.clear()
        for each in launch.sequence:
            if problem := argument_mismatch(code.kernel(each.kernel), each):
                raise UsageError(f"{problem}; the op declares {each}")
        self._write_buffers(request.buffers, protect_inputs, request.buffer_fill)
        address = self._addresses(request.buffers)
        for name, content in launch.constants.items():
            device.write_symbol(code, name, variable_content(content, address))
        before = device.variables(code)
        stats = []
        for step, each in enumerate(launch.sequence):
            args, options = self._arguments(request, each), request.options(step)
            run = functools.partial(device.launch, code, each.kernel, grid=each.grid, block=each.block)
            stats.append(run(args=args, shared_bytes=each.shared_bytes, options=options))
        after = device.variables(code)
        self.changed_variables = tuple(name for name, content in after.items() if content != before[name])
        return stats[0] if len(stats) == 1 else merge_stats(stats)

    def _write_buffers(self, buffers: Mapping[str, Buffer], protect_inputs: bool, fill: int | None) -> None:
        for name, buffer in buffers.items():
            if buffer.sparse:
                size = buffer.sparse * buffer.dtype.itemsize
                found = self.device.allocate_sparse(size, name, buffer.data, writable=buffer.writable)
                self._allocations[name] = found
                continue
            self._allocations[name] = self.device.allocate(buffer.data.nbytes, name)
            defined = None if buffer.defined is None else np.repeat(buffer.defined, buffer.dtype.itemsize)
            constant, data = protect_inputs and not buffer.writable, buffer.data
            if fill is not None and defined is not None:
                data, defined = np.where(defined, data.view(np.uint8), np.uint8(fill)), None
            if not buffer.pointers:
                self.device.write(self._allocations[name], data, defined=defined, constant=constant)
        address = self._addresses(buffers)
        for name, buffer in buffers.items():
            if buffer.pointers:
                constant = protect_inputs and not buffer.writable
                self.device.write(self._allocations[name], with_addresses(buffer, address), constant=constant)

    def _addresses(self, buffers: Mapping[str, Buffer]) -> Callable[[Pointer], int]:
        """Return a function from pointers to addresses."""

        def address(pointer: Pointer) -> int:
            if pointer.buffer is None:
                return 0
            itemsize = buffers[pointer.buffer].dtype.itemsize
            return self._allocations[pointer.buffer].address + pointer.offset * itemsize

        return address

    def _arguments(self, request: EmulatedLaunch, launch: Launch) -> bytes:
        address = self._addresses(request.buffers)

        def value(arg: Pointer | Scalar | Struct) -> int | bytes:
            return address(arg) if isinstance(arg, Pointer) else argument_bytes(arg, address)

        return pack(request.code.kernels[launch.kernel], list(map(value, launch.args)))

    def read_buffers(self, request: EmulatedLaunch) -> dict[str, np.ndarray[Any, Any]]:
        """Return the contents of all buffers, and of variables that they stand for, and free their memory."""
        found: dict[str, np.ndarray[Any, Any]] = {}
        buffers, variables = request.buffers, {of: name for name, of in request.launch.results.items()}
        self.places = {}
        try:
            for name, allocation in self._allocations.items():
                dtype = buffers[name].dtype.numpy
                if variables.get(name, PRINTF) != PRINTF:
                    variable = self.device.symbol(request.code, variables[name])
                    found[name] = self.device.read(variable)[: allocation.size].view(dtype)
                    continue
                if buffers[name].sparse and not buffers[name].writable:
                    found[name] = buffers[name].data
                elif buffers[name].sparse:
                    self.places[name], found[name] = self.device.read_sparse(allocation, dtype)
                else:
                    found[name] = without_addresses(buffers[name], self.device.read(allocation).view(dtype))
            return found
        finally:
            self.device.reset()
            self._allocations.clear()

    def take_reached(self, request: EmulatedLaunch) -> Reached | None:
        """The code that the kernels of a launch reached since the last call; None if nothing was noted."""
        kernels = dict.fromkeys(each.kernel for each in request.launch.sequence)
        found = concatenate_coverage([self.device.take_reached(request.code, kernel) for kernel in kernels])
        return found if found and found.blocks else None

    def discard(self, request: EmulatedLaunch) -> None:
        """Drop everything that extra executions of a launch left, so that no case gets their coverage."""
        self.device.reset()
        self.take_reached(request)
