"""The runner that executes AMD code on an AMD GPU, through hip-python."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.compilers import zig
from parity.compilers.device_library import device_library
from parity.compilers.targets import TARGETS
from parity.errors import NotAvailable
from parity.hip import DEVICE_NAME
from parity.model.code_object import CodeObject
from parity.model.launch import Launch
from parity.runners.base import Evidence, Probe, Session, Vendor, missing_tool_probe
from parity.runners.gpu import GpuDevice, max_workers, worker_number
from parity.runners.isolated import IsolatedSession
from parity.runners.redzone import Bytes

__all__ = ["INSTALL", "Gpu", "HipCallError", "HipDriver", "RocmDevice", "RocmRunner", "gpu_problem", "gpus", "software"]

INSTALL = "python -m pip install 'parity-harness[rocm]'"

NON_BLOCKING = 1
"""hipStreamNonBlocking: work on the null stream does not wait for this one, nor this one for it."""


class RocmRunner:
    """Executes HSACOs on the GPUs of this machine, every launch between red zones and in a process that may die.

    Where the library that hip-python finds is parity's own (``parity hip-emulator``), the evidence is that of the
    emulator.
    """

    name = "rocm"
    vendor: Vendor = "amd"
    visible = "HIP_VISIBLE_DEVICES"

    @property
    def evidence(self) -> Evidence:
        """``HARDWARE``, or ``EMULATED_HIP`` if the GPUs have the name of emulated ones."""
        with contextlib.suppress(Exception):
            if _is_installed() and any(gpu.name.startswith(DEVICE_NAME) for gpu in gpus()):
                return Evidence.EMULATED_HIP
        return Evidence.HARDWARE

    def probe(self) -> Probe:
        """Needs hip-python, a GPU with ROCm's driver, and the compiler. hip-python is imported only if it is there."""
        if problem := gpu_problem() or missing_tool_probe(zig.zig, device_library):
            return problem
        if not any(gpu.target in TARGETS for gpu in gpus()):
            names = " ".join(dict.fromkeys(gpu.target for gpu in gpus()))
            return Probe(False, f"the GPUs here are {names}; parity builds for {' '.join(TARGETS)}")
        return Probe(True)

    def targets(self) -> tuple[str, ...]:
        """The targets of the GPUs: none where there is no GPU or no hip-python."""
        if not self.probe().available:
            return ()
        return tuple(dict.fromkeys(gpu.target for gpu in gpus() if gpu.target in TARGETS))

    def device_targets(self) -> list[str]:
        """The target of each GPU, by its number."""
        return [gpu.target for gpu in gpus()]

    def describe(self) -> dict[str, str]:
        """The GPUs, the versions of driver and runtime, hip-python and the compiler."""
        return {**software(), "compiler": zig.version()}

    def max_workers(self, targets: Sequence[str]) -> int:
        """Processes that the GPUs of these targets serve together."""
        return max_workers([gpu.memory for gpu in gpus() if gpu.target in targets])

    def open(self, target: str, *, checked: bool = True) -> Session:
        return IsolatedSession("parity.runners.rocm:RocmDevice", (target, checked, worker_number()))


def RocmDevice(target: str, checked: bool, worker: int = 0) -> GpuDevice:  # noqa: N802 - it makes one
    """The GPU of that target for the worker of that number, with red zones around buffers if ``checked``.

    Raises:
        NotAvailable: no GPU of this machine is of that target.
    """
    return GpuDevice(HipDriver(target, worker), checked)


class HipCallError(Exception):
    """A call of HIP returned an error: its name, and what HIP says of it."""


class HipMemory:
    """Device memory, freed with this object."""

    def __init__(self, hip: Any, nbytes: int) -> None:
        self._hip, self.address = hip, 0
        self._memory = _checked(hip.hipMalloc(nbytes))
        self.address = int(self._memory.as_c_void_p().value)

    def __del__(self) -> None:
        # After an error that stays this call fails as well; the caller cannot do anything about it.
        if self.address:
            with contextlib.suppress(Exception):
                self._hip.hipFree(self.address)


class HipDriver:
    """A GPU through hip-python, on a stream of its own.

    ``worker`` is the number of the process for which this works: those from 0 on spread evenly over the GPUs of the
    target. HIP shows only those in ``HIP_VISIBLE_DEVICES``.

    Raises:
        NotAvailable: no GPU of this machine is of that target.
    """

    errors: tuple[type[Exception], ...] = (HipCallError,)

    def __init__(self, target: str, worker: int = 0) -> None:
        numbers = [i for i, gpu in enumerate(gpus()) if gpu.target == target]
        if not numbers:
            raise NotAvailable(f"no GPU here is {target}")
        self._hip = _hip()
        self._kind = self._hip.hipMemcpyKind
        self.number = numbers[worker % len(numbers)]
        _checked(self._hip.hipSetDevice(self.number))
        self.stream = _checked(self._hip.hipStreamCreateWithFlags(NON_BLOCKING))

    @property
    def l2_bytes(self) -> int:
        return int(_checked(self._hip.hipGetDeviceProperties(self.number)).l2CacheSize)

    def active(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def load(self, code: CodeObject) -> Any:
        assert code.binary is not None
        try:
            return _checked(self._hip.hipModuleLoadData(code.binary.read_bytes()))
        except HipCallError as error:
            raise HipCallError(f"{error} ({code.binary})") from error

    def find(self, module: Any, name: str) -> Any:
        try:
            return _checked(self._hip.hipModuleGetFunction(module, name.encode()))
        except HipCallError as error:
            raise HipCallError(f"{error} ({name})") from error

    def symbol(self, module: Any, name: str) -> Any:
        try:
            address, _ = _checked(self._hip.hipModuleGetGlobal(module, name.encode()))
        except HipCallError as error:
            raise HipCallError(f"{error} ({name})") from error
        return DeviceVariable(int(address))

    def packed(self, args: list[bytes]) -> Any:
        values = [ctypes.create_string_buffer(data, len(data)) for data in args]
        return values, (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))

    def launch(self, function: Any, launch: Launch, args: Any) -> None:
        _, places = args
        _checked(
            self._hip.hipModuleLaunchKernel(
                function, *launch.grid, *launch.block, launch.shared_bytes, self.stream,
                ctypes.c_void_p(ctypes.addressof(places)), None,
            )
        )  # fmt: skip

    def allocate(self, nbytes: int) -> HipMemory:
        return HipMemory(self._hip, nbytes)

    def address(self, memory: HipMemory) -> int:
        return memory.address

    def upload(self, memory: HipMemory | DeviceVariable, data: Bytes) -> None:
        self._copy(memory.address, data.ctypes.data, data.nbytes, self._kind.hipMemcpyHostToDevice)

    def download(self, memory: HipMemory, nbytes: int) -> Bytes:
        data = np.empty(nbytes, np.uint8)
        self._copy(data.ctypes.data, memory.address, nbytes, self._kind.hipMemcpyDeviceToHost)
        self.synchronize()
        return data

    def fill(self, memory: HipMemory, value: int, nbytes: int) -> None:
        _checked(self._hip.hipMemsetAsync(memory.address, value, nbytes, self.stream))

    def copy(self, memory: HipMemory, source: HipMemory, nbytes: int, offset: int = 0) -> None:
        self._copy(memory.address + offset, source.address, nbytes, self._kind.hipMemcpyDeviceToDevice)

    def _copy(self, to: int, source: int, nbytes: int, kind: Any) -> None:
        _checked(self._hip.hipMemcpyAsync(to, source, nbytes, kind, self.stream))

    def synchronize(self) -> None:
        _checked(self._hip.hipStreamSynchronize(self.stream))

    def is_lost(self) -> bool:
        try:
            _checked(self._hip.hipDeviceSynchronize())
        except HipCallError:
            return True
        return False

    def event(self) -> Any:
        return _checked(self._hip.hipEventCreate())

    def record(self, event: Any) -> None:
        _checked(self._hip.hipEventRecord(event, self.stream))

    def seconds(self, begin: Any, end: Any) -> float:
        return float(_checked(self._hip.hipEventElapsedTime(begin, end))) * 1e-3

    def repeated(self, work: Callable[[], object], count: int) -> Callable[[], object]:
        """One launch after the other: a kernel that is quicker than its launch is measured as slow as that."""

        def all_of_them() -> None:
            for _ in range(count):
                work()

        return all_of_them

    def notes(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class DeviceVariable:
    """A variable of a module."""

    address: int


@dataclass(frozen=True)
class Gpu:
    """A GPU as HIP shows it: name, target (``gfx90a``) and bytes of memory."""

    name: str
    target: str
    memory: int


@functools.cache
def gpus() -> tuple[Gpu, ...]:
    """The GPUs by their numbers.

    Raises:
        HipError: there are none, or ROCm's driver is missing.
    """
    hip = _hip()
    found = []
    for number in range(_checked(hip.hipGetDeviceCount())):
        properties = _checked(hip.hipGetDeviceProperties(number))
        # gfx90a:sramecc+:xnack- is a gfx90a; code that names no features runs with any of them.
        target = _text(properties.gcnArchName).partition(":")[0]
        found.append(Gpu(_text(properties.name), target, int(properties.totalGlobalMem)))
    return tuple(found)


def _is_installed() -> bool:
    """True if hip-python is installed; it is not imported."""
    return importlib.util.find_spec("hip") is not None


def gpu_problem() -> Probe | None:
    """The reason why hip-python cannot be used with an AMD GPU here; None if it can. Never raises."""
    if not _is_installed():
        return Probe(False, "hip-python is not installed", f"install it with: {INSTALL}")
    try:
        found = gpus()
    except Exception as error:
        return Probe(False, f"hip-python finds no GPU ({error})", "it needs an AMD GPU, and ROCm; see rocminfo")
    return None if found else Probe(False, "this machine has no AMD GPU", "see rocminfo")


def software() -> dict[str, str]:
    """The GPUs, the versions of driver and runtime, and hip-python.

    Raises:
        HipError: there are no GPUs, or ROCm's driver is missing.
    """
    hip = _hip()
    return {
        "gpu": ", ".join(dict.fromkeys(gpu.name for gpu in gpus())),
        "driver": _dotted(_checked(hip.hipDriverGetVersion())),
        "runtime": _dotted(_checked(hip.hipRuntimeGetVersion())),
        "hip-python": importlib.metadata.version("hip-python"),
    }


def _hip() -> Any:
    return importlib.import_module("hip").hip


def _checked(result: Any) -> Any:
    """The values that a call returned beside its error code, if that was success.

    Raises:
        HipError: it was not.
    """
    error, *values = result
    if error.value:
        _, text = _hip().hipGetErrorString(error)
        raise HipCallError(f"{error.name}: {_text(text)}")
    return values[0] if len(values) == 1 else tuple(values)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _dotted(version: int) -> str:
    """7.1.25424 of 70125424, which is how HIP gives its versions."""
    return f"{version // 10_000_000}.{version // 100_000 % 100}.{version % 100_000}"
