"""The runner that executes CUDA code on an NVIDIA GPU, through CuPy."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parity.codeobject import CodeObject
from parity.errors import MissingTool, NotAvailable, ParityError, UsageError
from parity.launch import POISON, Buffer, Fault, Launch, Outcome, Pointer, Scalar, Tiled
from parity.runners.base import Evidence, Probe, Session, Vendor, mismatch
from parity.runners.cuda_timing import Stopwatch
from parity.runners.isolated import Isolated
from parity.runners.redzone import RED_BYTES, Arena
from parity.runners.timing import Timings
from parity.toolchain import MissingKernel, ModuleStore, nvcc, nvcc_version

__all__ = ["Cuda", "CudaDevice", "Placed"]

INSTALL = "python -m pip install cupy-cuda13x (cupy-cuda12x for a driver of CUDA 12)"

DRIVER = Path("/sys/module/nvidia/version")
"""Where Linux tells the version of the loaded driver."""

SHARED_BYTES = 48 * 1024
"""Dynamic shared memory above this has to be asked for per kernel (CUDA C++ Programming Guide, "Shared Memory")."""

WORKERS_PER_GPU = 16
"""Processes on one GPU take turns (NVIDIA's documentation of MPS: without it, their contexts are time-sliced). A case
keeps a processor busy for milliseconds and the GPU for microseconds, so this many still find it free."""

WORKER_BYTES = 512 * 2**20
"""Memory of a GPU for one process: context, loaded modules, buffers. No more than half of a GPU is taken in all."""


class Cuda:
    """Executes cubins on the GPUs of this machine, every launch between red zones and in a process that may die."""

    name = "cuda"
    evidence = Evidence.HARDWARE
    vendor: Vendor = "cuda"

    def probe(self) -> Probe:
        """Needs CuPy, nvcc, and a GPU with its driver. CuPy is imported only if it is there."""
        if importlib.util.find_spec("cupy") is None:
            return Probe(False, "CuPy is not installed", f"install it with: {INSTALL}")
        try:
            nvcc()
        except MissingTool as error:
            return Probe(False, f"{error.tool} not found", f"install it with: {error.install}")
        try:
            found = _capabilities()
        except Exception as error:
            return Probe(False, f"CuPy finds no GPU ({error})", "it needs an NVIDIA GPU and a driver; see nvidia-smi")
        return Probe(True) if found else Probe(False, "this machine has no NVIDIA GPU", "see nvidia-smi")

    def targets(self) -> tuple[str, ...]:
        """The architectures of the GPUs: none where there is no GPU or no CuPy."""
        return tuple(dict.fromkeys(_capabilities())) if self.probe().available else ()

    def describe(self) -> dict[str, str]:
        """The GPUs, the driver, and the versions of CUDA, CuPy and nvcc."""
        cupy: Any = importlib.import_module("cupy")
        runtime = cupy.cuda.runtime
        gpus = (runtime.getDeviceProperties(i)["name"].decode() for i in range(runtime.getDeviceCount()))
        supported, used = runtime.driverGetVersion(), runtime.runtimeGetVersion()
        return {
            "gpu": ", ".join(dict.fromkeys(gpus)),
            "driver": DRIVER.read_text().strip() if DRIVER.is_file() else "unknown",
            "driver's CUDA": _dotted(supported),
            "runtime": _dotted(used),
            "cupy": cupy.__version__,
            "nvcc": nvcc_version().strip().splitlines()[-1],
        }

    def most_workers(self, targets: Sequence[str]) -> int:
        """Processes that the GPUs of these targets serve together."""
        runtime: Any = importlib.import_module("cupy").cuda.runtime
        gpus = [place for place, target in enumerate(_capabilities()) if target in targets]
        memory = (int(runtime.getDeviceProperties(place)["totalGlobalMem"]) for place in gpus)
        return max(1, sum(min(WORKERS_PER_GPU, each // 2 // WORKER_BYTES) for each in memory))

    def open(self, target: str, *, checked: bool = True) -> Session:
        return Isolated("parity.runners.cuda:CudaDevice", (target, checked, _worker()))


@dataclass(frozen=True)
class Placed:
    """A launch whose buffers lie in memory: both functions enqueue on CuPy's current stream.

    ``launch`` launches the kernel, ``restore`` puts back what the host wrote into memory that the kernel changes.
    ``memory`` is CuPy's pointer to each buffer.
    """

    launch: Callable[[], None]
    restore: Callable[[], None]
    memory: Mapping[str, Any]


class CudaDevice:
    """One GPU, used by this process alone or beside others; ``checked`` puts red zones around buffers.

    ``worker`` is the number of the process for which this works: those from 0 on spread evenly over the GPUs of the
    target. The driver shows only those in ``CUDA_VISIBLE_DEVICES``.

    Raises:
        NotAvailable: no GPU of this machine is of that target.
    """

    def __init__(self, target: str, checked: bool, worker: int = 0) -> None:
        places = [i for i, name in enumerate(_capabilities()) if name == target]
        if not places:
            raise NotAvailable(f"no GPU here is {target}")
        self._cupy: Any = importlib.import_module("cupy")
        self._cupy.cuda.Device(places[worker % len(places)]).use()
        self._errors = (self._cupy.cuda.runtime.CUDARuntimeError, self._cupy.cuda.driver.CUDADriverError)
        self.stream = self._cupy.cuda.Stream(non_blocking=True)
        self._red_bytes = RED_BYTES if checked else 0
        self._stopwatch: Stopwatch | None = None
        self.modules: ModuleStore[Any, Any] = ModuleStore(self._load, lambda module, name: module.get_function(name))

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run one launch and wait for its end; errors of the device and changed red zones are faults."""
        arena = Arena.of(buffers, self._red_bytes)
        try:
            after = self._launch(code, launch, arena)
        except self._errors as error:
            name, _, text = str(error).partition(": ")
            return Outcome(arena.contents(arena.image), Fault(name, text, self._is_lost()))
        except MissingKernel as error:
            return Outcome(arena.contents(arena.image), Fault("missing kernel", str(error)))
        except ParityError as error:
            return Outcome(arena.contents(arena.image), Fault("error", str(error)))
        damage = arena.damage(after)
        return Outcome(arena.contents(after), Fault("out-of-bounds write", damage) if damage else None)

    def time(
        self, code: CodeObject, launch: Launch, buffers: Mapping[str, Tiled], *, hot: bool, seconds: float
    ) -> Timings | Fault:
        """Time a launch, without red zones; an error of the device, or too little memory, is a fault."""
        try:
            with self.stream:
                placed = self.place(code, launch, buffers)
                if self._stopwatch is None:
                    self._stopwatch = Stopwatch(self._cupy, self.stream)
                return self._stopwatch.time(placed.launch, placed.restore, hot=hot, seconds=seconds)
        except self._errors as error:
            name, _, text = str(error).partition(": ")
            return Fault(name, text, self._is_lost())
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            return Fault("out of memory", str(error))
        except ParityError as error:
            return Fault("error", str(error))

    def place(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Tiled]) -> Placed:
        """Put the buffers into memory of their own, so that the launch can be repeated.

        Raises:
            UsageError: the code object has no such kernel, or the arguments do not fit.
        """
        function = self._function(code, launch)
        memory = {name: self._cupy.cuda.alloc(max(1, buffer.nbytes)) for name, buffer in buffers.items()}
        for name, buffer in buffers.items():
            self._fill(memory[name], buffer)
        # What the host wrote and the kernel changes is put back each time, so that sums do not run away.
        kept = [
            (memory[name], self._copy(memory[name], buffer.nbytes), buffer.nbytes)
            for name, buffer in buffers.items()
            if buffer.writable and buffer.data.size
        ]
        places = {name: (memory[name].ptr, buffer.dtype.itemsize) for name, buffer in buffers.items()}
        args = tuple(_argument(arg, places) for arg in launch.args)

        def enqueue() -> None:
            function(launch.grid, launch.block, args, shared_mem=launch.shared_bytes)

        def restore() -> None:
            for place, copy, size in kept:
                place.copy_from_device_async(copy, size)

        return Placed(enqueue, restore, memory)

    def _fill(self, memory: Any, buffer: Tiled) -> None:
        """Write the tile over and over; poison where there is none."""
        memory.memset_async(POISON, max(1, buffer.nbytes))
        tile = np.ascontiguousarray(buffer.data[: buffer.count])
        done = tile.nbytes
        if done:
            memory.copy_from_host_async(ctypes.c_void_p(tile.ctypes.data), done)
        while 0 < done < buffer.nbytes:
            more = min(done, buffer.nbytes - done)
            (memory + done).copy_from_device_async(memory, more)
            done += more

    def _copy(self, memory: Any, size: int) -> Any:
        copy = self._cupy.cuda.alloc(size)
        copy.copy_from_device_async(memory, size)
        return copy

    def _load(self, code: CodeObject) -> Any:
        if code.binary is None:
            raise UsageError(f"module {code.module!r} for {code.target} has no cubin; build it again")
        return self._cupy.RawModule(path=str(code.binary))

    def _function(self, code: CodeObject, launch: Launch) -> Any:
        function = self.modules.function(code, launch.kernel)
        if problem := mismatch(code.kernels[launch.kernel], launch):
            raise UsageError(f"{problem}; the op declares {launch}")
        if launch.shared_bytes > SHARED_BYTES:
            function.max_dynamic_shared_size_bytes = launch.shared_bytes
        return function

    def _launch(self, code: CodeObject, launch: Launch, arena: Arena) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The content of the arena after the launch."""
        function = self._function(code, launch)
        with self.stream:
            memory = self._cupy.empty(len(arena.image), np.uint8)
            memory.set(arena.image, stream=self.stream)
            places = {
                name: (memory.data.ptr + start, arena.buffers[name].dtype.itemsize)
                for name, (start, _) in arena.places.items()
            }
            args = tuple(_argument(arg, places) for arg in launch.args)
            function(launch.grid, launch.block, args, shared_mem=launch.shared_bytes)
            self.stream.synchronize()
            after: np.ndarray[Any, np.dtype[np.uint8]] = memory.get()
            return after

    def _is_lost(self) -> bool:
        """Whether the error stays: then it is returned by every further call."""
        try:
            self._cupy.cuda.runtime.deviceSynchronize()
        except self._errors:
            return True
        return False


def _argument(arg: Pointer | Scalar, places: Mapping[str, tuple[int, int]]) -> Any:
    """A NumPy scalar with the bytes of an argument; CuPy passes it by value, whatever its type means.

    ``places`` maps each buffer to its address and the size of its elements.
    """
    if isinstance(arg, Pointer):
        if arg.buffer is None:
            return np.uint64(0)
        address, itemsize = places[arg.buffer]
        return np.uint64(address + arg.offset * itemsize)
    data = arg.bytes
    return np.frombuffer(data, f"u{len(data)}")[0]


def _worker() -> int:
    """The number of this process among the workers of a run: the parent counts those it starts."""
    identity = multiprocessing.current_process()._identity
    return identity[-1] - 1 if identity else 0


def _dotted(version: int) -> str:
    """13.0 of 13000, which is how CUDA gives its versions."""
    return f"{version // 1000}.{version % 1000 // 10}"


def _capabilities() -> list[str]:
    """The target of every GPU, by its number. No context is made for that."""
    cupy: Any = importlib.import_module("cupy")
    return [f"sm_{cupy.cuda.Device(i).compute_capability}" for i in range(cupy.cuda.runtime.getDeviceCount())]
