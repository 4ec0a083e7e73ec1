"""Implements HIP's functions on one emulated device, which represents several GPUs."""

from __future__ import annotations

import bisect
import os
import struct
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.compilers.targets import Target, target
from parity.emulator import faults
from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.launch_options import LaunchOptions
from parity.emulator.memory import Allocation
from parity.errors import ParityError, UsageError, nearest
from parity.hip.faults import STICKY, HipError, PlantedFault
from parity.hip.images import code_object_from_image
from parity.hip.properties import ATTRIBUTES, as_struct, properties
from parity.model.code_object import CodeObject
from parity.platform.cache import Cache, default_root

CAPACITY = 8 << 30
"""Address space for device memory in bytes. It exceeds the memory because freed addresses are not always reused."""
_HEAP = 1 << 30
"""Address space for what kernels allocate. A program must not have its own memory there, so it is small."""

INSTRUCTIONS = 500_000_000
"""Instruction budget of one launch, to stop endless loops."""

VERSION = 7 * 10_000_000
"""HIP 7.0.0 in the format of hipRuntimeGetVersion."""

_LAUNCH_ERRORS: dict[type[ParityError], tuple[str, bool]] = {
    faults.UnknownInstruction: ("hipErrorNotSupported", False),
    faults.MemoryFault: ("hipErrorIllegalAddress", True),
    faults.InstructionBudgetExceeded: ("hipErrorLaunchTimeOut", True),
    faults.NoProgress: ("hipErrorLaunchTimeOut", True),
    faults.UnsupportedFeature: ("hipErrorNotSupported", False),
    faults.LdsExceeded: ("hipErrorInvalidConfiguration", False),
    faults.FailedAssertion: ("hipErrorAssert", True),
    faults.KernelFault: ("hipErrorLaunchFailure", True),
    ParityError: ("hipErrorInvalidConfiguration", False),
}
"""The HIP error for each error of a launch (the first match counts), and whether it is sticky."""

_NULL_STREAMS = (0, 1, 2)  # the null stream, hipStreamLegacy, hipStreamPerThread


class Runtime:
    """The HIP state of one process. Each method ``do_ACTION`` implements an action that ``amdhip64.c`` requests.

    An action takes the number of the GPU, its arguments and the data of the request. It returns a value and bytes. All
    GPUs share one memory, so that an address is unique across GPUs. After a sticky error, every action except
    queries of the devices fails with the same error, as on a GPU with a lost context.
    """

    def __init__(self, targets: Sequence[str], memory: int, faults: Sequence[PlantedFault] = ()) -> None:
        self._targets: list[Target] = [target(name) for name in targets]
        self._memory, self._faults = memory, faults
        self._device = AmdgpuDevice(
            checked=True,
            traced=True,
            instruction_budget=INSTRUCTIONS,
            cache=Cache(default_root() / "emulator"),
            capacity=CAPACITY,
            spread=False,
            heap=_HEAP,
        )
        self._base = self._device.allocate(0, "base").address
        self._live: dict[int, Allocation] = {}
        self._addresses: list[int] = []
        self._used = 0
        self._names = 0
        self._variables: dict[int, tuple[int, Allocation]] = {}  # by address, with the handle of the module
        self._objects: dict[int, Any] = {}
        self._handles = 0x10000
        self._calls: Counter[str] = Counter()
        self._lost = ""

    def perform(
        self, api: str, action: str, device: int, arguments: Sequence[int], data: bytes
    ) -> tuple[int, int, bytes]:
        """Perform a call and return its error number, value and bytes. Prints an error's description to stderr."""
        try:
            self._plant(api)
            if self._lost and action not in ("hello", "properties", "bus", "attribute"):
                raise HipError(self._lost)
            value, result = getattr(self, f"do_{action}")(device, arguments, data) or (0, b"")
            return 0, value, result
        except HipError as error:
            if error.why:
                print(f"{api}: {error.name}: {error.why}", file=sys.stderr, flush=True)
            return error.number, 0, b""

    def _plant(self, api: str) -> None:
        self._calls[api] += 1
        for fault in self._faults:
            if fault.api == api and fault.call in (None, self._calls[api]):
                if fault.error == "exit":
                    os._exit(1)
                if fault.error in STICKY:
                    self._lost = fault.error
                raise HipError(fault.error, "planted")

    # Devices

    def do_hello(self, *_: Any) -> tuple[int, bytes]:
        """Return the number of GPUs, and the start and size of their memory."""
        start = self._base & -4096
        return len(self._targets), struct.pack("<2Q", start, self._device.addresses.stop - start)

    def do_nothing(self, *_: Any) -> None:
        """Do nothing. Fails only if the device has an error."""

    def do_version(self, *_: Any) -> tuple[int, bytes]:
        return 0, struct.pack("<i", VERSION)

    def do_properties(self, _: int, arguments: Sequence[int], data: bytes) -> tuple[int, bytes]:
        """Return the properties struct of a GPU, in the layout from before HIP 6 if the second argument is 1."""
        return 0, as_struct(self._properties(arguments[0]), old=bool(arguments[1]))

    def do_attribute(self, _: int, arguments: Sequence[int], data: bytes) -> tuple[int, bytes]:
        attribute, device = arguments[:2]
        if attribute not in ATTRIBUTES:
            raise HipError("hipErrorInvalidValue", f"the emulated GPUs have no attribute {attribute}")
        name, element = ATTRIBUTES[attribute]
        value = self._properties(device)[name]
        return 0, struct.pack("<i", value[element] if isinstance(value, tuple) else value)

    def do_bus(self, _: int, arguments: Sequence[int], data: bytes) -> tuple[int, bytes]:
        self._target(arguments[0])
        return 0, f"0000:{arguments[0] + 1:02x}:00.0".encode()

    def do_memory(self, *_: Any) -> tuple[int, bytes]:
        return 0, struct.pack("<2Q", self._memory - self._used, self._memory)

    def do_reset(self, *_: Any) -> None:
        self._live.clear()
        self._objects.clear()
        self._variables.clear()
        self._forget_memory()

    def _target(self, device: int) -> Target:
        if not 0 <= device < len(self._targets):
            raise HipError("hipErrorInvalidDevice", f"GPU {device} does not exist; there are {len(self._targets)} GPUs")
        return self._targets[device]

    def _properties(self, device: int) -> dict[str, Any]:
        return properties(self._target(device), device, self._memory)

    # Memory

    def do_allocate(self, _: int, arguments: Sequence[int], data: bytes) -> tuple[int, bytes]:
        """Allocate memory and return its address; 0 for 0 bytes."""
        size = arguments[0]
        if not size:
            return 0, b""
        if self._used + size > self._memory:
            raise HipError(
                "hipErrorOutOfMemory", f"{size} bytes requested, {self._memory - self._used} of {self._memory} free"
            )
        self._names += 1
        try:
            allocation = self._device.allocate(size, f"allocation {self._names} of {size} bytes")
        except UsageError as error:
            raise HipError("hipErrorOutOfMemory", str(error)) from error
        self._live[allocation.address] = allocation
        bisect.insort(self._addresses, allocation.address)
        self._used += size
        return allocation.address, b""

    def do_free(self, _: int, arguments: Sequence[int], data: bytes) -> None:
        address = arguments[0]
        if not address:
            return
        if address not in self._live:
            raise HipError("hipErrorInvalidValue", f"{address:#x} is not the address of memory that was allocated")
        allocation = self._live.pop(address)
        self._addresses.remove(address)
        self._used -= allocation.size
        if not self._live:
            self._forget_memory()
            return
        self._device.free(allocation)

    def _forget_memory(self) -> None:
        self._device.reset()
        self._addresses.clear()
        self._used = 0

    def do_upload(self, _: int, arguments: Sequence[int], data: bytes) -> None:
        if data:
            allocation, offset = self._find(arguments[0], len(data))
            self._device.write(allocation, np.frombuffer(data, np.uint8), offset=offset)

    def do_download(self, _: int, arguments: Sequence[int], data: bytes) -> tuple[int, bytes]:
        address, size = arguments[:2]
        return 0, self._read(address, size).tobytes()

    def do_copy(self, _: int, arguments: Sequence[int], data: bytes) -> None:
        to, source, size = arguments[:3]
        content = self._read(source, size)
        if size:
            origin, at = self._find(source, size)
            allocation, offset = self._find(to, size)
            defined = self._device.written(origin, at, size)
            self._device.write(allocation, content, defined=defined, offset=offset)

    def do_fill(self, _: int, arguments: Sequence[int], data: bytes) -> None:
        address, value, width, count = arguments[:4]
        pattern = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        self.do_upload(0, (address,), pattern * count)

    def _read(self, address: int, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        if not size:
            return np.zeros(0, np.uint8)
        allocation, offset = self._find(address, size)
        return self._device.read(allocation, offset, size)

    def _find(self, address: int, size: int) -> tuple[Allocation, int]:
        """Find the allocation or variable with these bytes, and the offset of the first byte."""
        i = bisect.bisect_right(self._addresses, address)
        variables = (variable for _, variable in self._variables.values())
        for allocation in (*(self._live[each] for each in self._addresses[i - 1 : i]), *variables):
            if allocation.address <= address and address + size <= allocation.address + allocation.size:
                return allocation, address - allocation.address
        raise HipError("hipErrorInvalidValue", f"{size} bytes at {address:#x} are not inside of allocated memory")

    # Streams and events

    def do_make_stream(self, *_: Any) -> tuple[int, bytes]:
        return self._keep("stream"), b""

    def do_make_event(self, *_: Any) -> tuple[int, bytes]:
        return self._keep(HipEvent()), b""

    def do_destroy(self, _: int, arguments: Sequence[int], data: bytes) -> None:
        self._object(arguments[0], object)
        del self._objects[arguments[0]]
        self._variables = {at: each for at, each in self._variables.items() if each[0] != arguments[0]}

    def do_synchronize(self, _: int, arguments: Sequence[int], data: bytes) -> None:
        if arguments and arguments[0] not in _NULL_STREAMS:
            self._object(arguments[0], str)

    def do_record(self, _: int, arguments: Sequence[int], data: bytes) -> None:
        event, stream = arguments[:2]
        self.do_synchronize(0, (stream,), b"")
        self._object(event, HipEvent).at = time.perf_counter()

    def do_recorded(self, _: int, arguments: Sequence[int], data: bytes) -> None:
        self._object(arguments[0], HipEvent)

    def do_elapsed(self, _: int, arguments: Sequence[int], data: bytes) -> tuple[int, bytes]:
        begin, end = (self._object(handle, HipEvent).at for handle in arguments[:2])
        if begin is None or end is None:
            raise HipError("hipErrorInvalidHandle", "an event that was not recorded has no time")
        return 0, struct.pack("<f", 1e3 * (end - begin))

    def _keep(self, made: Any) -> int:
        self._handles += 1
        self._objects[self._handles] = made
        return self._handles

    def _object(self, handle: int, kind: type[Any]) -> Any:
        found = self._objects.get(handle)
        if found is None or not isinstance(found, kind):
            raise HipError("hipErrorInvalidHandle", f"{handle:#x} is not a handle of this kind")
        return found

    # Modules

    def do_load(self, device: int, arguments: Sequence[int], data: bytes) -> tuple[int, bytes]:
        try:
            code = code_object_from_image(data)
        except UsageError as error:
            raise HipError("hipErrorInvalidImage", str(error)) from error
        if code.target != self._target(device).name:
            raise HipError(
                "hipErrorNoBinaryForGpu",
                f"module {code.module!r} is for {code.target}; GPU {device} is {self._target(device)}",
            )
        if all(getattr(each, "digest", None) != code.digest for each in self._objects.values()):
            self._device.restore(code)
        return self._keep(code), b""

    def do_global(self, _: int, arguments: Sequence[int], data: bytes) -> tuple[int, bytes]:
        """Return address and size of a variable, by its symbol. Modules with the same content share variables."""
        code: CodeObject = self._object(arguments[0], CodeObject)
        name = data.decode(errors="replace")
        known = data_image(code.listing).sizes
        if name not in known:
            raise HipError("hipErrorNotFound", f"module {code.module!r} has no variable {name!r}{nearest(name, known)}")
        allocation = self._device.symbol(code, name)
        self._variables[allocation.address] = arguments[0], allocation
        return allocation.address, struct.pack("<Q", allocation.size)

    def do_find(self, _: int, arguments: Sequence[int], data: bytes) -> tuple[int, bytes]:
        """Return the handle of a kernel, the total size and number of its arguments, and offset and size of each."""
        code: CodeObject = self._object(arguments[0], CodeObject)
        name = data.decode(errors="replace")
        if name not in code.kernels:
            raise HipError(
                "hipErrorNotFound", f"module {code.module!r} has no kernel {name!r}{nearest(name, code.kernels)}"
            )
        kernel = code.kernels[name]
        layout = b"".join(struct.pack("<2I", each.offset, each.size) for each in kernel.args)
        return self._keep((arguments[0], name)), struct.pack("<2I", kernel.explicit_bytes, len(kernel.args)) + layout

    def do_launch(self, device: int, arguments: Sequence[int], data: bytes) -> None:
        """Run a kernel. As on a GPU, the next call reports an error of the kernel."""
        module, kernel = self._object(arguments[0], tuple)
        code: CodeObject = self._object(module, CodeObject)
        gx, gy, gz, bx, by, bz, shared_bytes, stream = arguments[1:9]
        self.do_synchronize(0, (stream,), b"")
        size = code.kernels[kernel].explicit_bytes
        geometry = f"{kernel} {arguments[1:8]}"
        try:
            self._device.launch(
                code,
                kernel,
                grid=(gx, gy, gz),
                block=(bx, by, bz),
                args=data[:size].ljust(size, b"\0"),
                shared_bytes=shared_bytes,
                options=LaunchOptions(seed=zlib.crc32(geometry.encode()) | 1),
            )
        except ParityError as error:
            name, is_sticky = next(found for kind, found in _LAUNCH_ERRORS.items() if isinstance(error, kind))
            if not is_sticky:
                raise HipError(name, str(error)) from error
            self._lost = name
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        finally:
            print(self._device.take_printed(), end="", file=sys.stderr, flush=True)


@dataclass
class HipEvent:
    """An event and the time at which it was recorded."""

    at: float | None = None
