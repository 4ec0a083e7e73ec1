"""The runner that executes AMD code on the CPU."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from parity.cache import Cache, default_root
from parity.codeobject import CodeObject
from parity.emulator import (
    Allocation,
    BadCall,
    DataRace,
    Device,
    DivergentBarrier,
    InstructionBudgetExceeded,
    MemoryFault,
    UnknownInstruction,
    pack,
)
from parity.errors import MissingTool, ParityError
from parity.launch import Buffer, Fault, Launch, Outcome, Pointer
from parity.runners.base import Evidence, Probe, Session, Vendor
from parity.toolchain import TARGETS, MissingKernel, ModuleStore, device_library
from parity.zig import zig

__all__ = ["Emulated"]


class Emulated:
    """Executes code objects of AMD targets on the CPU, with every memory access checked.

    Wavefronts and workgroups run in an order that differs from launch to launch and depends on the launch alone, so a
    result that depends on it is found, and found again.
    """

    name = "emulated"
    evidence = Evidence.EMULATED
    vendor: Vendor = "amd"

    def probe(self) -> Probe:
        """Needs the compiler, and the device libraries that AMD code is linked with."""
        try:
            zig()
            device_library()
        except MissingTool as error:
            return Probe(False, f"{error.tool} not found", f"install it with: {error.install}")
        return Probe(True)

    def targets(self) -> tuple[str, ...]:
        return tuple(TARGETS)

    def open(self, target: str, *, checked: bool = True) -> Session:
        return EmulatedSession(checked)


INSTRUCTIONS = 50_000_000
"""Instructions of one launch before it counts as an endless loop: some hundred times what the largest case needs."""


class EmulatedSession:
    """One emulated device; a launch finds it empty and leaves it empty."""

    def __init__(self, checked: bool) -> None:
        self._device = Device(
            checked=checked, traced=checked, instruction_budget=INSTRUCTIONS, cache=Cache(default_root() / "emulator")
        )
        self.modules = ModuleStore(lambda code: code.kernels, lambda kernels, name: kernels[name])

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Translate and compile these kernels; what cannot be translated is reported when it is launched."""
        try:
            self._device.prepare(code, kernels, workers=1)
        except UnknownInstruction:
            for kernel in kernels:
                try:
                    self._device.prepare(code, [kernel], workers=1)
                except UnknownInstruction:
                    continue

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run one launch; memory faults, endless loops and unknown instructions become faults of the outcome."""
        device = self._device
        places: dict[str, Allocation] = {}
        fault, instructions = None, None
        try:
            for name, buffer in buffers.items():
                places[name] = device.allocate(buffer.data.nbytes, name)
                defined = None if buffer.defined is None else np.repeat(buffer.defined, buffer.dtype.itemsize)
                device.write(places[name], buffer.data, defined=defined)
            values = [
                (
                    0
                    if arg.buffer is None
                    else places[arg.buffer].address + arg.offset * buffers[arg.buffer].dtype.itemsize
                )
                if isinstance(arg, Pointer)
                else arg.bytes
                for arg in launch.args
            ]
            args = pack(self.modules.function(code, launch.kernel), values)
            stats = device.launch(
                code,
                launch.kernel,
                grid=launch.grid,
                block=launch.block,
                args=args,
                shared_bytes=launch.shared_bytes,
                seed=zlib.crc32(str(launch).encode()) | 1,
            )
            instructions = stats.instructions
        except (MemoryFault, DataRace, DivergentBarrier, BadCall, InstructionBudgetExceeded) as error:
            fault = Fault(error.kind, str(error))
        except UnknownInstruction as error:
            fault = Fault("unknown instruction", str(error))
        except MissingKernel as error:
            fault = Fault("missing kernel", str(error))
        except ParityError as error:
            fault = Fault("error", str(error))
        try:
            after = {name: device.read(place).view(buffers[name].dtype.numpy) for name, place in places.items()}
        finally:
            device.reset()
        return Outcome(after, fault, instructions)
