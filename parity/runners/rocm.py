"""The runner ``rocm``: executes AMD code on an AMD GPU, through hip-python."""

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
from parity.compilers.targets import TARGETS
from parity.errors import NotAvailable, UsageError
from parity.hip.library import DEVICE_NAME
from parity.hsa.library import DEVICE_NAME as AMD_DEVICE_NAME
from parity.model.code_object import CodeObject
from parity.model.launch import Launch
from parity.model.texture import Texture
from parity.platform.installation import install_command
from parity.reference.expected import Vendor
from parity.runners.base import Evidence, Probe, Session, missing_tool_probe
from parity.runners.gpu import DriverTexture, GpuDevice, max_workers, worker_number
from parity.runners.isolated import LAUNCH_SECONDS, IsolatedSession
from parity.runners.redzone import Bytes

_EMULATED = {AMD_DEVICE_NAME: Evidence.AMD_RUNTIME, DEVICE_NAME: Evidence.EMULATED_HIP}
"""The evidence by the prefix of a GPU's name; the first match counts."""

EMULATED_LAUNCH_SECONDS = 300.0
"""Time limit for a launch on an emulated GPU. The first launch also translates and compiles the kernel."""

NON_BLOCKING = 1
"""hipStreamNonBlocking: the stream and the null stream do not wait for each other."""


class RocmRunner:
    """Executes HSACOs on the GPUs of this machine, in a separate process and with red zones around the buffers.

    With ``parity exec``, the GPUs are emulated, and the evidence is ``AMD_RUNTIME`` or ``EMULATED_HIP``.
    """

    name = "rocm"
    vendor: Vendor = "amd"
    visible = "HIP_VISIBLE_DEVICES"

    @property
    def evidence(self) -> Evidence:
        """``AMD_RUNTIME`` or ``EMULATED_HIP`` if a GPU has the name of an emulated GPU, otherwise ``HARDWARE``."""
        with contextlib.suppress(Exception):
            found = [gpu.name for gpu in gpus()] if _is_installed() else []
            for prefix, evidence in _EMULATED.items():
                if any(name.startswith(prefix) for name in found):
                    return evidence
        return Evidence.HARDWARE

    def probe(self) -> Probe:
        """Require hip-python, a GPU with ROCm's driver, and the compiler."""
        if problem := gpu_problem() or missing_tool_probe(zig.check_obtainable):
            return problem
        if not any(gpu.target in TARGETS for gpu in gpus()):
            names = " ".join(dict.fromkeys(gpu.target for gpu in gpus()))
            return Probe(False, f"the GPUs here are {names}; parity builds for {' '.join(TARGETS)}")
        return Probe(True)

    def targets(self) -> tuple[str, ...]:
        """Return the supported targets of the GPUs; empty without a GPU or hip-python."""
        if not self.probe().available:
            return ()
        return tuple(dict.fromkeys(gpu.target for gpu in gpus() if gpu.target in TARGETS))

    def device_targets(self) -> list[str]:
        return [gpu.target for gpu in gpus()]

    def describe(self) -> dict[str, str]:
        """Describe the GPUs and the versions of driver, runtime, hip-python and the compiler."""
        return {**software(), "compiler": zig.version()}

    def max_workers(self, targets: Sequence[str]) -> int:
        """Return how many processes the GPUs of these targets serve at once."""
        return max_workers([gpu.memory for gpu in gpus() if gpu.target in targets])

    def open(self, target: str, *, checked: bool = True) -> Session:
        seconds = LAUNCH_SECONDS if self.evidence == Evidence.HARDWARE else EMULATED_LAUNCH_SECONDS
        arguments = (target, checked, worker_number())
        return IsolatedSession("parity.runners.rocm:RocmDevice", arguments, launch_seconds=seconds)


def RocmDevice(target: str, checked: bool, worker: int = 0) -> GpuDevice:  # noqa: N802 - creates one
    """Open a GPU for a worker process; see ``GpuDevice`` and ``HipDriver``."""
    return GpuDevice(HipDriver(target, worker), checked)


class HipCallError(Exception):
    """A HIP call returned an error. The message has the name of the error and HIP's description."""


class HipMemory:
    """Device memory, freed with this object."""

    def __init__(self, hip: Any, nbytes: int) -> None:
        self._hip, self.address = hip, 0
        self._memory = _checked(hip.hipMalloc(nbytes))
        self.address = int(self._memory.as_c_void_p().value)

    def __del__(self) -> None:
        # After a sticky error this call fails as well, and the caller cannot do anything about it.
        if self.address:
            with contextlib.suppress(Exception):
                self._hip.hipFree(self.address)


class HipDriver:
    """Accesses a GPU through hip-python, on a separate stream.

    ``worker`` is the number of the worker process. Workers spread evenly over the GPUs of the target, among the GPUs in
    ``HIP_VISIBLE_DEVICES``.

    Raises:
        NotAvailable: This machine does not have a GPU of that target.
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
        return int(_properties(self._hip, self.number).l2CacheSize)

    def active(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def load(self, code: CodeObject) -> Any:
        assert code.binary is not None
        return _checked(self._hip.hipModuleLoadData(code.binary.read_bytes()), code.binary)

    def find(self, module: Any, name: str) -> Any:
        return _checked(self._hip.hipModuleGetFunction(module, name.encode()), name)

    def symbol(self, module: Any, name: str) -> Any:
        address, _ = _checked(self._hip.hipModuleGetGlobal(module, name.encode()), name)
        return DeviceVariable(int(address))

    def texture(self, texture: Texture, address: int) -> DriverTexture:
        raise UsageError(f"{texture.spec.tensor}: the runner rocm has no textures; use the runner emulated")

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
        """Launch repeatedly. A kernel that is faster than its launch appears as slow as the launch."""

        def all_of_them() -> None:
            for _ in range(count):
                work()

        return all_of_them

    def notes(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class DeviceVariable:
    """The memory of a variable of a module."""

    address: int


@dataclass(frozen=True)
class Gpu:
    """A GPU: its name, target (such as "gfx90a") and memory in bytes."""

    name: str
    target: str
    memory: int


@functools.cache
def gpus() -> tuple[Gpu, ...]:
    """Return the GPUs, indexed by number.

    Raises:
        HipCallError: There is no GPU, or ROCm's driver is missing.
    """
    hip = _hip()
    found = []
    for number in range(_checked(hip.hipGetDeviceCount())):
        properties = _properties(hip, number)
        # "gfx90a:sramecc+:xnack-" is a gfx90a. Code built without features runs with all settings of them.
        target = _text(properties.gcnArchName).partition(":")[0]
        found.append(Gpu(_text(properties.name), target, int(properties.totalGlobalMem)))
    return tuple(found)


def _properties(hip: Any, number: int) -> Any:
    """Return the properties of a GPU: hip-python 10 returns them, and earlier versions fill an object."""
    try:
        return _checked(hip.hipGetDeviceProperties(number))
    except TypeError:  # a missing argument
        properties = hip.hipDeviceProp_t()
        _checked(hip.hipGetDeviceProperties(properties, number))
        return properties


def _is_installed() -> bool:
    return importlib.util.find_spec("hip") is not None


def gpu_problem() -> Probe | None:
    """Return a failed probe if hip-python or an AMD GPU is missing, otherwise None. Never raises."""
    if not _is_installed():
        return Probe(False, "hip-python is not installed", f"install it with: {install_command('rocm')}")
    try:
        found = gpus()
    except Exception as error:
        return Probe(False, f"hip-python finds no GPU ({error})", "it needs an AMD GPU, and ROCm; see rocminfo")
    return None if found else Probe(False, "this machine has no AMD GPU", "see rocminfo")


def software() -> dict[str, str]:
    """Describe the GPUs and the versions of driver, runtime and hip-python.

    Raises:
        HipCallError: There is no GPU, or ROCm's driver is missing.
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


def _checked(result: Any, subject: object = "") -> Any:
    """Return the values of a HIP call without its error code. Error messages name the ``subject``.

    Raises:
        HipCallError: The error code is not success.
    """
    error, *values = result
    if error.value:
        _, text = _hip().hipGetErrorString(error)
        raise HipCallError(f"{error.name}: {_text(text)}" + (f" ({subject})" if subject else ""))
    return values[0] if len(values) == 1 else tuple(values)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _dotted(version: int) -> str:
    """Convert HIP's version number 70125424 into "7.1.25424"."""
    return f"{version // 10_000_000}.{version // 100_000 % 100}.{version % 100_000}"
