"""The common part of all GPU runners, whatever the runtime: red zones, poison, arguments, faults, repeated launches."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from parity.build.module_store import MissingKernel, ModuleStore
from parity.errors import ParityError, UsageError
from parity.model.code_object import CodeObject, mangled
from parity.model.launch import POISON, Buffer, Fault, Launch, Outcome, Pointer, Tiled, argument_bytes
from parity.runners.base import argument_mismatch
from parity.runners.redzone import RED_BYTES, Arena, Bytes
from parity.runners.stopwatch import Stopwatch, TimedStream
from parity.runners.timing import Timings

__all__ = ["WORKER_NUMBER", "GpuDevice", "GpuDriver", "PlacedLaunch", "max_workers", "worker_number"]

WORKERS_PER_GPU = 16
"""Processes on one GPU take turns (NVIDIA's documentation of MPS: without it, their contexts are time-sliced). A case
keeps a processor busy for milliseconds and the GPU for microseconds, so this many still find it free."""

WORKER_BYTES = 512 * 2**20
"""Memory of a GPU for one process: context, loaded modules, buffers. No more than half of a GPU is taken in all."""

WORKER_NUMBER = "PARITY_WORKER"
"""The environment variable with the number of a process among those that its parent has started, from 0 on."""

# What errors of a runtime mean that say nothing about the kernel's work; any other is a kind of its own.
FAULT_KINDS = {
    "hipErrorOutOfMemory": "out of memory",
    "hipErrorNotFound": "missing kernel",
    "hipErrorInvalidImage": "unusable code object",
    "hipErrorInvalidKernelFile": "unusable code object",
    "hipErrorNoBinaryForGpu": "unusable code object",
    "hipErrorSharedObjectInitFailed": "unusable code object",
}


class GpuDriver(TimedStream, Protocol):
    """One GPU as its runtime shows it, and one stream of work.

    What enqueues does so on the stream that ``active`` makes current. Every error of the runtime is one of ``errors``,
    with the text ``name: description``.
    """

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions that its methods raise."""

    def active(self) -> AbstractContextManager[Any]:
        """Inside of it the methods that enqueue and allocate may be called."""

    def load(self, code: CodeObject) -> Any:
        """The module of a code object that has a binary."""

    def find(self, module: Any, name: str) -> Any:
        """A function of a module."""

    def symbol(self, module: Any, name: str) -> Any:
        """The memory of a variable of a module, for ``upload``."""

    def packed(self, args: list[bytes]) -> Any:
        """Arguments as ``launch`` takes them, of the bytes of each."""

    def launch(self, function: Any, launch: Launch, args: Any) -> None:
        """Enqueue a launch with packed arguments."""

    def address(self, memory: Any) -> int:
        """The address of device memory."""

    def upload(self, memory: Any, data: Bytes) -> None:
        """Enqueue a copy of host memory to the begin of device memory."""

    def download(self, memory: Any, nbytes: int) -> Bytes:
        """The bytes of device memory, when all that was enqueued is done."""

    def copy(self, memory: Any, source: Any, nbytes: int, offset: int = 0) -> None:
        """Enqueue a copy between device memories, to byte ``offset`` of the first."""

    def is_lost(self) -> bool:
        """True if an error stays: then it is returned by every further call."""


@dataclass(frozen=True)
class PlacedLaunch:
    """A launch whose buffers lie in memory: both functions enqueue on the current stream.

    ``launch`` launches the kernel, ``restore`` puts back what the host wrote into memory that the kernel changes.
    ``memory`` is the driver's object for each buffer.
    """

    launch: Callable[[], None]
    restore: Callable[[], None]
    memory: Mapping[str, Any]


class GpuDevice:
    """One GPU, used by this process alone or beside others; ``checked`` puts red zones around buffers."""

    def __init__(self, driver: GpuDriver, checked: bool) -> None:
        self.driver = driver
        self._red_bytes = RED_BYTES if checked else 0
        self._errors: tuple[type[Exception], ...] = (*driver.errors, MemoryError, ParityError)
        self._stopwatch: Stopwatch | None = None
        self.modules: ModuleStore[Any, Any] = ModuleStore(self._load, driver.find)

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run one launch and wait for its end; errors of the device and changed red zones are faults."""
        arena = Arena.of(buffers, self._red_bytes)
        try:
            after = self._launch(code, launch, arena)
        except self._errors as error:
            return Outcome(arena.contents(arena.image), self._fault(error))
        damage = arena.damage(after)
        return Outcome(arena.contents(after), Fault("out-of-bounds write", damage) if damage else None)

    def time(
        self, code: CodeObject, launch: Launch, buffers: Mapping[str, Tiled], *, hot: bool, seconds: float
    ) -> Timings | Fault:
        """Time a launch, without red zones; an error of the device, or too little memory, is a fault."""
        try:
            with self.driver.active():
                placed = self.place(code, launch, buffers)
                if self._stopwatch is None:
                    self._stopwatch = Stopwatch(self.driver)
                return self._stopwatch.time(placed.launch, placed.restore, hot=hot, seconds=seconds)
        except self._errors as error:
            return self._fault(error)

    def place(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Tiled]) -> PlacedLaunch:
        """Put the buffers into memory of their own, so that the launch can be repeated.

        Raises:
            UsageError: the code object has no such kernel, or the arguments do not fit.
        """
        driver = self.driver
        functions = self._functions(code, launch)
        memory = {name: driver.allocate(max(1, buffer.nbytes)) for name, buffer in buffers.items()}
        for name, buffer in buffers.items():
            self._fill(memory[name], buffer)
        # What the host wrote and the kernel changes is restored each time, so that sums do not grow.
        kept = [
            (memory[name], self._copy(memory[name], buffer.nbytes), buffer.nbytes)
            for name, buffer in buffers.items()
            if buffer.writable and buffer.data.size
        ]
        addresses = {name: (driver.address(memory[name]), buffer.dtype.itemsize) for name, buffer in buffers.items()}
        args = [driver.packed(_arguments(each, addresses)) for each in launch.sequence]
        self._fill_variables(code, launch)

        def enqueue() -> None:
            for function, each, packed in zip(functions, launch.sequence, args, strict=True):
                driver.launch(function, each, packed)

        def restore() -> None:
            for address, copy, size in kept:
                driver.copy(address, copy, size)

        return PlacedLaunch(enqueue, restore, memory)

    def _fill(self, memory: Any, buffer: Tiled) -> None:
        """Write the tile over and over; poison where there is none."""
        self.driver.fill(memory, POISON, max(1, buffer.nbytes))
        tile = np.ascontiguousarray(buffer.data[: buffer.count]).view(np.uint8)
        done = tile.nbytes
        if done:
            self.driver.upload(memory, tile)
        while 0 < done < buffer.nbytes:
            more = min(done, buffer.nbytes - done)
            self.driver.copy(memory, memory, more, offset=done)
            done += more

    def _copy(self, memory: Any, size: int) -> Any:
        copy = self.driver.allocate(size)
        self.driver.copy(copy, memory, size)
        return copy

    def _load(self, code: CodeObject) -> Any:
        if code.binary is None:
            raise UsageError(f"module {code.module!r} for {code.target} has no code object file; build it again")
        return self.driver.load(code)

    def _functions(self, code: CodeObject, launch: Launch) -> list[Any]:
        found = []
        for each in launch.sequence:
            found.append(self.modules.function(code, each.kernel))
            if problem := argument_mismatch(code.kernels[each.kernel], each):
                raise UsageError(f"{problem}; the op declares {each}")
        return found

    def _fill_variables(self, code: CodeObject, launch: Launch) -> None:
        """Fill the variables that the launch names."""
        for name, contents in launch.constants.items():
            memory = self._symbol(self.modules.handle(code), name)
            self.driver.upload(memory, np.ascontiguousarray(contents).view(np.uint8))

    def _symbol(self, module: Any, name: str) -> Any:
        *others, last = mangled(name)
        for spelt in others:
            with contextlib.suppress(*self.driver.errors):
                return self.driver.symbol(module, spelt)
        return self.driver.symbol(module, last)

    def _launch(self, code: CodeObject, launch: Launch, arena: Arena) -> Bytes:
        """The content of the arena after the launch."""
        driver = self.driver
        functions = self._functions(code, launch)
        with driver.active():
            memory = driver.allocate(len(arena.image))
            driver.upload(memory, arena.image)
            start = driver.address(memory)
            addresses = {
                name: (start + offset, arena.buffers[name].dtype.itemsize) for name, (offset, _) in arena.ranges.items()
            }
            self._fill_variables(code, launch)
            for function, each in zip(functions, launch.sequence, strict=True):
                driver.launch(function, each, driver.packed(_arguments(each, addresses)))
            driver.synchronize()
            return driver.download(memory, len(arena.image))

    def _fault(self, error: Exception) -> Fault:
        if isinstance(error, MemoryError):
            return Fault("out of memory", str(error))
        if isinstance(error, ParityError):
            return Fault("missing kernel" if isinstance(error, MissingKernel) else "error", str(error))
        name, _, text = str(error).partition(": ")
        kind = FAULT_KINDS.get(name, name)
        return Fault(kind, text if kind == name else str(error), self.driver.is_lost())


def max_workers(memories: list[int]) -> int:
    """Processes that GPUs with so many bytes of memory serve together."""
    return max(1, sum(min(WORKERS_PER_GPU, each // 2 // WORKER_BYTES) for each in memories))


def worker_number() -> int:
    """The number of this process among the workers of a run, from 0 on; 0 in a process that is none of them."""
    return int(os.environ.get(WORKER_NUMBER, 0))


def _arguments(launch: Launch, addresses: Mapping[str, tuple[int, int]]) -> list[bytes]:
    """The bytes of each argument. ``addresses`` maps each buffer to its address and the size of its elements."""

    def address(pointer: Pointer) -> int:
        start, itemsize = addresses[pointer.buffer or ""]
        return start + pointer.offset * itemsize

    return [argument_bytes(arg, address) for arg in launch.args]
