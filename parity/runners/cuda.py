"""The runner ``cuda``: executes CUDA code on an NVIDIA GPU, through CuPy."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parity.compilers.cuda_toolkit import nvcc, nvcc_version
from parity.errors import NotAvailable
from parity.model.code_object import CodeObject
from parity.model.launch import Launch
from parity.model.texture import Texture
from parity.platform.fork_server import preload
from parity.reference.expected import Vendor
from parity.runners.base import Evidence, Probe, Session, missing_tool_probe
from parity.runners.cuda_textures import CudaTexture
from parity.runners.gpu import GpuDevice, max_workers, worker_number
from parity.runners.isolated import IsolatedSession
from parity.runners.redzone import Bytes

INSTALL = "python -m pip install cupy-cuda13x (cupy-cuda12x for a driver of CUDA 12)"

DRIVER = Path("/sys/module/nvidia/version")
"""The file with the version of the loaded driver on Linux."""

SHARED_BYTES = 48 * 1024
"""More dynamic shared memory must be enabled per kernel (CUDA C++ Programming Guide, "Shared Memory")."""

# Reasons for lowered clocks: NVML's nvmlClocksEventReasons, except "idle" and the user's settings.
REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


class CudaRunner:
    """Executes cubins on the GPUs of this machine, in a separate process and with red zones around the buffers."""

    name = "cuda"
    evidence = Evidence.HARDWARE
    vendor: Vendor = "cuda"
    visible = "CUDA_VISIBLE_DEVICES"

    def probe(self) -> Probe:
        """Require CuPy, nvcc, and a GPU with its driver."""
        if importlib.util.find_spec("cupy") is None:
            return Probe(False, "CuPy is not installed", f"install it with: {INSTALL}")
        if problem := missing_tool_probe(nvcc):
            return problem
        preload("cupy")  # in parallel with this process
        try:
            found = capabilities()
        except Exception as error:
            return Probe(False, f"CuPy finds no GPU ({error})", "it needs an NVIDIA GPU and a driver; see nvidia-smi")
        return Probe(True) if found else Probe(False, "this machine has no NVIDIA GPU", "see nvidia-smi")

    def targets(self) -> tuple[str, ...]:
        """Return the architectures of the GPUs; empty without a GPU or CuPy."""
        return tuple(dict.fromkeys(capabilities())) if self.probe().available else ()

    def device_targets(self) -> list[str]:
        return capabilities()

    def describe(self) -> dict[str, str]:
        """Describe the GPUs and the versions of driver, CUDA, CuPy and nvcc."""
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

    def max_workers(self, targets: Sequence[str]) -> int:
        """Return how many processes the GPUs of these targets serve at once."""
        runtime: Any = importlib.import_module("cupy").cuda.runtime
        gpus = [number for number, target in enumerate(capabilities()) if target in targets]
        return max_workers([int(runtime.getDeviceProperties(number)["totalGlobalMem"]) for number in gpus])

    def open(self, target: str, *, checked: bool = True) -> Session:
        return IsolatedSession("parity.runners.cuda:CudaDevice", (target, checked, worker_number()), library="cupy")


def CudaDevice(target: str, checked: bool, worker: int = 0) -> GpuDevice:  # noqa: N802 - creates one
    """Open a GPU for a worker process; see ``GpuDevice`` and ``CudaDriver``."""
    return GpuDevice(CudaDriver(target, worker), checked)


class CudaDriver:
    """Accesses a GPU through CuPy, on a separate stream.

    ``worker`` is the number of the worker process. Workers spread evenly over the GPUs of the target, among the GPUs in
    ``CUDA_VISIBLE_DEVICES``.

    Raises:
        NotAvailable: This machine does not have a GPU of that target.
    """

    def __init__(self, target: str, worker: int = 0) -> None:
        numbers = [i for i, name in enumerate(capabilities()) if name == target]
        if not numbers:
            raise NotAvailable(f"no GPU here is {target}")
        self._cupy: Any = importlib.import_module("cupy")
        self._cupy.cuda.Device(numbers[worker % len(numbers)]).use()
        cuda = self._cupy.cuda
        self.errors: tuple[type[Exception], ...] = (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError)
        self.stream = cuda.Stream(non_blocking=True)

    @property
    def l2_bytes(self) -> int:
        return int(self._cupy.cuda.Device().attributes["L2CacheSize"])

    def active(self) -> Any:
        return self.stream

    def load(self, code: CodeObject) -> Any:
        return self._cupy.RawModule(path=str(code.binary))

    def find(self, module: Any, name: str) -> Any:
        return module.get_function(name)

    def symbol(self, module: Any, name: str) -> Any:
        return module.get_global(name)

    def texture(self, texture: Texture, address: int) -> CudaTexture:
        return CudaTexture(texture, address)

    def packed(self, args: list[bytes]) -> Any:
        # CuPy passes a NumPy scalar by value and looks only at its size; raw bytes become a struct.
        kinds = (f"u{len(data)}" if len(data) in (1, 2, 4, 8) else f"V{len(data)}" for data in args)
        return tuple(np.frombuffer(data, kind)[0] for data, kind in zip(args, kinds, strict=True))

    def launch(self, function: Any, launch: Launch, args: Any) -> None:
        if launch.shared_bytes > SHARED_BYTES:
            function.max_dynamic_shared_size_bytes = launch.shared_bytes
        function(launch.grid, launch.block, args, shared_mem=launch.shared_bytes)

    def allocate(self, nbytes: int) -> Any:
        return self._cupy.cuda.alloc(nbytes)

    def address(self, memory: Any) -> int:
        return int(memory.ptr)

    def upload(self, memory: Any, data: Bytes) -> None:
        memory.copy_from_host_async(ctypes.c_void_p(data.ctypes.data), data.nbytes)

    def download(self, memory: Any, nbytes: int) -> Bytes:
        data = np.empty(nbytes, np.uint8)
        memory.copy_to_host_async(ctypes.c_void_p(data.ctypes.data), nbytes)
        self.stream.synchronize()
        return data

    def fill(self, memory: Any, value: int, nbytes: int) -> None:
        memory.memset_async(value, nbytes)

    def copy(self, memory: Any, source: Any, nbytes: int, offset: int = 0) -> None:
        (memory + offset if offset else memory).copy_from_device_async(source, nbytes)

    def synchronize(self) -> None:
        self.stream.synchronize()

    def is_lost(self) -> bool:
        try:
            self._cupy.cuda.runtime.deviceSynchronize()
        except self.errors:
            return True
        return False

    def event(self) -> Any:
        return self._cupy.cuda.Event()

    def record(self, event: Any) -> None:
        event.record(self.stream)

    def seconds(self, begin: Any, end: Any) -> float:
        return float(self._cupy.cuda.get_elapsed_time(begin, end)) * 1e-3

    def repeated(self, work: Callable[[], object], count: int) -> Callable[[], object]:
        """Capture the work in a CUDA graph, so that the host launches it with one call."""
        self.stream.begin_capture()
        for _ in range(count):
            work()
        graph = self.stream.end_capture()
        return lambda: graph.launch(self.stream)

    def notes(self) -> tuple[str, ...]:
        device = self._cupy.cuda.Device()
        reasons = throttling(self._cupy.cuda.runtime.deviceGetPCIBusId(device.id))
        return (f"clocks lowered: {', '.join(reasons)}",) if reasons else ()


def throttling(bus: str) -> list[str]:
    """Return the reasons why the clocks of the GPU at a PCI bus id are lowered; empty if NVML reports nothing."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2():
            return []
        handle, reasons = ctypes.c_void_p(), ctypes.c_ulonglong()
        failed = nvml.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(handle))
        if failed or nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(reasons)):
            return []
    except (OSError, AttributeError):  # no driver, or a driver without these functions
        return []
    return [text for bit, text in REASONS.items() if reasons.value & bit]


def _dotted(version: int) -> str:
    """Convert CUDA's version number 13000 into "13.0"."""
    return f"{version // 1000}.{version % 1000 // 10}"


def capabilities() -> list[str]:
    """Return the target of every GPU, indexed by number, without creating a context."""
    cupy: Any = importlib.import_module("cupy")
    return [f"sm_{cupy.cuda.Device(i).compute_capability}" for i in range(cupy.cuda.runtime.getDeviceCount())]
