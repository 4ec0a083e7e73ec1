"""Executes and times launches on a GPU through any runtime: the common part of the runners ``cuda`` and ``rocm``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from parity.errors import ParityError, UsageError
from parity.model.code_object import CodeObject, MissingKernel
from parity.model.launch import (
    POISON,
    PRINTF,
    Buffer,
    Fault,
    Launch,
    Outcome,
    Pointer,
    Tiled,
    argument_bytes,
    variable_content,
    with_addresses,
)
from parity.model.texture import Texture
from parity.runners.base import argument_mismatch
from parity.runners.redzone import RED_BYTES, Arena, Bytes
from parity.runners.timing import Stopwatch, TimedStream, Timings

WORKERS_PER_GPU = 16
"""Maximum number of processes on one GPU, which time-slices their contexts (NVIDIA, Multi-Process Service). A case
takes milliseconds on the CPU and microseconds on the GPU, so this many processes rarely wait for each other."""

WORKER_BYTES = 512 * 2**20
"""GPU memory of one process: context, loaded modules, buffers. All processes together take at most half of a GPU."""

WORKER_NUMBER = "PARITY_WORKER"
"""The environment variable with the number of a worker process, counted from 0."""

# The fault kinds of runtime errors that the kernel did not cause. The name of any other error is the fault kind.
_UNUSABLE = ("InvalidImage", "InvalidKernelFile", "NoBinaryForGpu", "SharedObjectInitFailed")
FAULT_KINDS = {
    "hipErrorOutOfMemory": "out of memory",
    "hipErrorNotFound": "missing kernel",
    **{f"hipError{name}": "unusable code object" for name in _UNUSABLE},
}


class DriverTexture(Protocol):
    """A texture or surface object. ``value`` is the kernel's argument, and ``store`` copies it back to its tensor."""

    value: int

    def store(self) -> None: ...


class GpuDriver(TimedStream, Protocol):
    """A GPU and one of its streams, accessed through a runtime.

    All work is enqueued on the stream that ``active`` makes current. The runtime's errors are raised as one of the
    types in ``errors``, with the message ``name: description``.
    """

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exception types that the methods raise."""

    def active(self) -> AbstractContextManager[Any]:
        """Return a context that must be active while enqueueing or allocating."""

    def load(self, code: CodeObject) -> Any:
        """Load a code object that has a binary, and return the runtime's module."""

    def find(self, module: Any, name: str) -> Any:
        """Return a function of a module."""

    def symbol(self, module: Any, name: str) -> Any:
        """Return the memory of a variable of a module, for ``upload``."""

    def texture(self, texture: Texture, address: int) -> DriverTexture:
        """Create the texture or surface object of a tensor at an address.

        Raises:
            UsageError: the runner has no such textures.
        """

    def packed(self, args: list[bytes]) -> Any:
        """Convert the bytes of each argument into the form that ``launch`` takes."""

    def launch(self, function: Any, launch: Launch, args: Any) -> None:
        """Enqueue a launch with packed arguments."""

    def address(self, memory: Any) -> int:
        """Return the address of device memory."""

    def upload(self, memory: Any, data: Bytes) -> None:
        """Enqueue a copy of host memory to the start of device memory."""

    def download(self, memory: Any, nbytes: int) -> Bytes:
        """Wait for all enqueued work and return the content of device memory."""

    def copy(self, memory: Any, source: Any, nbytes: int, offset: int = 0) -> None:
        """Enqueue a copy from ``source`` to byte ``offset`` of ``memory``."""

    def is_lost(self) -> bool:
        """True if the device has a sticky error, which every further call returns."""


@dataclass(frozen=True)
class PlacedLaunch:
    """A launch whose buffers are in device memory, ready to be repeated.

    ``launch`` enqueues the kernels. ``restore`` enqueues copies that reset writable buffers to their initial content.
    ``memory`` is the driver's object for each buffer.
    """

    launch: Callable[[], None]
    restore: Callable[[], None]
    memory: Mapping[str, Any]


class GpuDevice:
    """A GPU in this process. With ``checked``, buffers have red zones around them.

    Launches name variables by their symbols, as ``IsolatedSession`` does.
    """

    def __init__(self, driver: GpuDriver, checked: bool) -> None:
        self.driver = driver
        self._red_bytes = RED_BYTES if checked else 0
        self._errors: tuple[type[Exception], ...] = (*driver.errors, MemoryError, ParityError)
        self._stopwatch: Stopwatch | None = None
        self._modules: dict[str, Any] = {}

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run one launch and wait for it. Device errors and changed red zones are faults of the outcome."""
        if PRINTF in launch.results:
            return Outcome.untouched(buffers, Fault("printed text", "only the emulated runner captures printed text"))
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
        """Time a launch without red zones. Returns a fault on a device error or if memory does not suffice."""
        try:
            with self.driver.active():
                placed = self.place(code, launch, buffers)
                if self._stopwatch is None:
                    self._stopwatch = Stopwatch(self.driver)
                return self._stopwatch.time(placed.launch, placed.restore, hot=hot, seconds=seconds)
        except self._errors as error:
            return self._fault(error)

    def place(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Tiled]) -> PlacedLaunch:
        """Allocate and fill one block of memory per buffer, so that the launch can be repeated.

        Raises:
            UsageError: The code object does not have the kernel, or the arguments do not fit.
        """
        driver = self.driver
        functions = self._functions(code, launch)
        memory = {name: driver.allocate(max(1, buffer.nbytes)) for name, buffer in buffers.items()}
        for name, buffer in buffers.items():
            self._fill(memory[name], buffer)
        # Writable buffers are restored before each repetition, so that sums do not grow.
        kept = [
            (memory[name], self._copy(memory[name], buffer.nbytes), buffer.nbytes)
            for name, buffer in buffers.items()
            if buffer.writable and buffer.data.size
        ]
        addresses = {name: (driver.address(memory[name]), buffer.dtype.itemsize) for name, buffer in buffers.items()}
        for name, buffer in buffers.items():
            if buffer.pointers:
                driver.upload(memory[name], with_addresses(buffer, _address_function(addresses)).view(np.uint8))
        textures = self._place_textures(buffers, addresses)
        args = [driver.packed(_arguments(each, addresses)) for each in launch.sequence]
        self._fill_variables(code, launch, _address_function(addresses))

        def enqueue() -> None:
            for function, each, packed in zip(functions, launch.sequence, args, strict=True):
                driver.launch(function, each, packed)

        def restore() -> None:
            for address, copy, size in kept:
                driver.copy(address, copy, size)

        return PlacedLaunch(enqueue, restore, {**memory, **textures})

    def _fill(self, memory: Any, buffer: Tiled) -> None:
        """Fill memory with copies of the tile, or with poison if the tile is empty."""
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

    def _module(self, code: CodeObject) -> Any:
        """Return the loaded code object. The first call loads it."""
        if code.digest not in self._modules:
            if code.binary is None:
                raise UsageError(f"module {code.module!r} for {code.target} has no code object file; build it again")
            self._modules[code.digest] = self.driver.load(code)
        return self._modules[code.digest]

    def _functions(self, code: CodeObject, launch: Launch) -> list[Any]:
        found = []
        for each in launch.sequence:
            kernel = code.kernel(each.kernel)
            found.append(self.driver.find(self._module(code), each.kernel))
            if problem := argument_mismatch(kernel, each):
                raise UsageError(f"{problem}; the op declares {each}")
        return found

    def _fill_variables(self, code: CodeObject, launch: Launch, address: Callable[[Pointer], int]) -> None:
        for name, content in launch.constants.items():
            memory = self.driver.symbol(self._module(code), name)
            self.driver.upload(memory, variable_content(content, address).view(np.uint8))

    def _launch(self, code: CodeObject, launch: Launch, arena: Arena) -> Bytes:
        """Return the content of the arena after the launch."""
        driver = self.driver
        functions = self._functions(code, launch)
        with driver.active():
            memory = driver.allocate(len(arena.image))
            start = driver.address(memory)
            addresses = {
                name: (start + offset, arena.buffers[name].dtype.itemsize) for name, (offset, _) in arena.ranges.items()
            }
            driver.upload(memory, arena.linked(_address_function(addresses)))
            textures = self._place_textures(arena.buffers, addresses)
            self._fill_variables(code, launch, _address_function(addresses))
            for function, each in zip(functions, launch.sequence, strict=True):
                driver.launch(function, each, driver.packed(_arguments(each, addresses)))
            for texture in textures.values():
                texture.store()
            driver.synchronize()
            after = driver.download(memory, len(arena.image))
            for name, of in launch.results.items():
                begin, size = arena.ranges[of]
                after[begin : begin + size] = driver.download(driver.symbol(self._module(code), name), size)
            return after

    def _place_textures(
        self, buffers: Mapping[str, Buffer] | Mapping[str, Tiled], addresses: dict[str, tuple[int, int]]
    ) -> dict[str, DriverTexture]:
        """Create the texture and surface objects, by the names of their buffers, and put them in place of addresses."""
        address = _address_function(addresses)
        textures = {
            name: self.driver.texture(buffer.texture, address(buffer.pointers[0][1]))
            for name, buffer in buffers.items()
            if buffer.texture
        }
        addresses |= {name: (each.value, 1) for name, each in textures.items()}
        return textures

    def _fault(self, error: Exception) -> Fault:
        if isinstance(error, MemoryError):
            return Fault("out of memory", str(error))
        if isinstance(error, ParityError):
            return Fault("missing kernel" if isinstance(error, MissingKernel) else "error", str(error))
        name, _, text = str(error).partition(": ")
        kind = FAULT_KINDS.get(name, name)
        return Fault(kind, text if kind == name else str(error), self.driver.is_lost())


def max_workers(memories: list[int]) -> int:
    """Return how many processes GPUs with these memory sizes (in bytes) serve together."""
    return max(1, sum(min(WORKERS_PER_GPU, each // 2 // WORKER_BYTES) for each in memories))


def worker_number() -> int:
    """Return the number of this worker process; 0 if the process is not a worker."""
    return int(os.environ.get(WORKER_NUMBER, 0))


def _arguments(launch: Launch, addresses: Mapping[str, tuple[int, int]]) -> list[bytes]:
    """Return the bytes of each argument. ``addresses`` maps a buffer to its address and the size of its elements."""
    return [argument_bytes(arg, _address_function(addresses)) for arg in launch.args]


def _address_function(addresses: Mapping[str, tuple[int, int]]) -> Callable[[Pointer], int]:
    def address(pointer: Pointer) -> int:
        start, itemsize = addresses[pointer.buffer or ""]
        return start + pointer.offset * itemsize

    return address
