"""The runner that executes AMD code on the CPU."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.build.module_store import MissingKernel, ModuleStore
from parity.compilers.clang import device_library
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS
from parity.compilers.zig import zig
from parity.emulator import (
    BF16_SHADOW_RUNS,
    EXTRA_SHADOW_RUNS,
    SHADOW_RUNS,
    UNFLUSHED_SHADOW_RUNS,
    Allocation,
    AmdgpuDevice,
    ApproximateResults,
    Device,
    KernelFault,
    LaunchOptions,
    LaunchStats,
    MemoryFault,
    UnknownInstruction,
    UnsupportedFeature,
    merge_stats,
    pack,
    shadow_seed,
    source_location,
)
from parity.emulator.instruction import Instruction
from parity.errors import ParityError, ResourceExhausted, UsageError
from parity.model.code_object import CodeObject, name_of
from parity.model.coverage import Point, Reached, joined
from parity.model.launch import (
    Arithmetic,
    Buffer,
    Fault,
    Launch,
    Outcome,
    Pointer,
    Scalar,
    Shadows,
    Struct,
    argument_bytes,
)
from parity.platform.cache import Cache, default_root
from parity.runners.base import Evidence, Probe, Session, Vendor, lacking, mismatch

__all__ = ["INSTRUCTIONS", "DeviceSession", "Emulated", "results_of"]


class Emulated:
    """Executes code objects of AMD targets on the CPU, with every memory access checked.

    Wavefronts and workgroups run in an order that differs from launch to launch and depends on the launch alone, so a
    result that depends on the order is found, and found again in the next run. The results of approximate instructions
    differ in the same way, within the errors that AMD documents for them: see ``results_of``.
    """

    name = "emulated"
    evidence = Evidence.EMULATED
    vendor: Vendor = "amd"

    def probe(self) -> Probe:
        """Needs the compiler, and the device libraries that AMD code is linked with."""
        return lacking(zig, device_library) or Probe(True)

    def targets(self) -> tuple[str, ...]:
        return tuple(TARGETS)

    def usual(self) -> tuple[str, ...]:
        """Those that every ROCm in use knows."""
        return DEFAULT_TARGETS

    def open(self, target: str, *, checked: bool = True) -> Session:
        return EmulatedSession(checked)


ORDERS = 4
"""Orders of wavefronts in which a failing launch is run again."""

FILL = 0xBAADF00D
"""The value of every register before the first write to it."""

INSTRUCTIONS = 50_000_000
"""Instructions of one launch before it counts as an endless loop: some hundred times what the largest case needs."""

COUNTED_INSTRUCTIONS = 2_000_000_000
"""The same for a launch whose instructions are counted, which may be of the size of a benchmark."""


class DeviceSession:
    """One emulated device; a launch finds it empty and leaves it empty."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._allocations: dict[str, Allocation] = {}
        self._changed: tuple[str, ...] = ()  # the variables that are not as they were before the last launch
        self.modules = ModuleStore(lambda code: code.kernels, lambda kernels, name: kernels[name])

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Translate and compile these kernels; what cannot be translated is reported when it is launched."""
        try:
            self._device.prepare(code, kernels, workers=1)
        except (UnknownInstruction, UnsupportedFeature):
            for kernel in kernels:
                try:
                    self._device.prepare(code, [kernel], workers=1)
                except (UnknownInstruction, UnsupportedFeature):
                    continue

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run one launch; what the kernel does wrong, or uses without its being emulated, is a fault of the outcome."""
        return self._execute(code, launch, buffers, results_of(launch))

    def _execute(
        self,
        code: CodeObject,
        launch: Launch,
        buffers: Mapping[str, Buffer],
        results: ApproximateResults,
        draw: int | None = None,
    ) -> Outcome:
        fault, stats, reached = None, None, None
        try:
            stats = self._launch(code, launch, buffers, _seed(launch), results, draw=draw)
            reached = self._reached(code, launch)
        except KernelFault as error:
            fault, reached = Fault(error.kind, str(error)), self._reached(code, launch)
        except UnknownInstruction as error:
            fault = Fault("unknown instruction", str(error))
        except MissingKernel as error:
            fault = Fault("missing kernel", str(error))
        except ResourceExhausted:
            raise
        except ParityError as error:
            fault = Fault("error", str(error))
        printed = self._device.take_printed()
        approximate = any(self._device.is_approximate(code, each.kernel) for each in launch.sequence)
        drawn = str(results) if results and approximate else ""
        instructions = stats.instructions if stats else None
        outcome = Outcome(self._collect(buffers), fault, instructions, printed, drawn=drawn, reached=reached)
        if stats and stats.lacking and fault is None and draw is None:
            undefined = self._undefined(code, launch, buffers, results, outcome, stats.lacking)
            outcome = replace(outcome, fault=undefined)
        if self._changed and outcome.fault is None and draw is None:
            return replace(outcome, fault=self._after_another(code, launch, buffers, results, outcome))
        return outcome

    def _undefined(
        self,
        code: CodeObject,
        launch: Launch,
        buffers: Mapping[str, Buffer],
        results: ApproximateResults,
        outcome: Outcome,
        at: Instruction,
    ) -> Fault | None:
        """A fault if the launch has another outcome where a thread that takes no part gives something else."""
        try:
            self._launch(code, launch, buffers, _seed(launch), results, register_fill=~FILL & 0xFFFFFFFF)
            other = self._collect(buffers)
        except ParityError:  # it has a fault of its own then
            other = {}
        finally:
            self._device.reset()
            self._device.take_printed()
            self._reached(code, launch)  # which is of no case
        usual = outcome.buffers
        differ = [name for name in buffers if name not in other or other[name].tobytes() != usual[name].tobytes()]
        told = (
            f"what is left in {', '.join(differ)} depends on an undefined value: a thread has that of one which takes "
            f"no part in the exchange, or which the block does not have, in {at.text} ({source_location(at)})"
        )
        return Fault("undefined value", told) if differ else None

    def _after_another(
        self,
        code: CodeObject,
        launch: Launch,
        buffers: Mapping[str, Buffer],
        results: ApproximateResults,
        outcome: Outcome,
    ) -> Fault | None:
        """A fault if the launch has another outcome where one before it has left something in variables.

        The one before has other floating-point inputs, so that it has other results to leave; if the kernel cannot take
        them, it has the same.
        """
        names = ", ".join(name_of(name) for name in self._changed)
        said = f"a launch changes {names}, and after another launch this one "
        seed, other = _seed(launch), {name: _other(buffer) for name, buffer in buffers.items()}
        try:
            try:
                self._launch(code, launch, other, seed, results)
            except ParityError:
                self._launch(code, launch, buffers, seed, results)
            self._launch(code, launch, buffers, seed, results, keep=True)
            after = self._collect(buffers)
            differ = [name for name in buffers if after[name].tobytes() != outcome.buffers[name].tobytes()]
            told = f"{said}leaves other values in {', '.join(differ)}"
            host = "; what the host writes there before each launch is declared in symbols="
            return Fault("earlier launch", told + host) if differ else None
        except KernelFault as error:
            return Fault("earlier launch", f"{said}has a fault: {error}")
        finally:
            self._device.reset()
            self._device.take_printed()
            self._reached(code, launch)  # which is of no case

    def points(self, code: CodeObject, kernels: Iterable[str]) -> tuple[tuple[Point, ...], ...]:
        """The points of the code of each kernel, as ``parity.runners.Covering`` has it."""
        return tuple(self._device.points(code, kernel) for kernel in kernels)

    def _reached(self, code: CodeObject, launch: Launch) -> Reached | None:
        """The coverage of the kernels of a launch since the last call, by this launch alone if by any."""
        kernels = dict.fromkeys(each.kernel for each in launch.sequence)
        found = joined(self._device.take_reached(code, kernel) for kernel in kernels)
        return found if found and found.blocks else None

    def explain(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> tuple[str, ...]:
        """Notes on whether the result depends on registers that were never written or on the order of wavefronts, and
        whether values are exchanged across the halves of a wavefront of 64.
        """
        seed, results = _seed(launch), results_of(launch)

        def collected() -> dict[str, bytes]:
            return {name: array.tobytes() for name, array in self._collect(buffers).items()}

        def result(seed: int = seed, fill: int = FILL, inverted: tuple[int, int] | None = None) -> dict[str, bytes]:
            self._launch(code, launch, buffers, seed, results, fill, inverted)
            return collected()

        notes = []
        try:
            crossing = self._launch(code, launch, buffers, seed, results).crossing
            usual = collected()
            if result(fill=~FILL & 0xFFFFFFFF) != usual:
                for step, each in enumerate(launch.sequence):
                    for i, (name, first) in enumerate(self._device.registers(code, each.kernel).items()):
                        if result(inverted=(step, i)) != usual:
                            met = f"first met in {first.text} ({source_location(first)})"
                            notes.append(f"never-written read: register {name}, {met}")
            if any(result(seed=other) != usual for other in range(ORDERS)):
                notes.append("depends on the order in which wavefronts run")
            if crossing:
                notes.append(f"values cross lanes 31 and 32 of a wavefront at {crossing}")
        except ParityError as error:
            notes.append(f"in another order: {error}")
        finally:
            self._device.reset()
            self._reached(code, launch)  # which is of no case
        return tuple(notes)

    def _launch(
        self,
        code: CodeObject,
        launch: Launch,
        buffers: Mapping[str, Buffer],
        seed: int,
        results: ApproximateResults = ApproximateResults.NEAREST,
        register_fill: int = FILL,
        inverted: tuple[int, int] | None = None,
        draw: int | None = None,
        keep: bool = False,
    ) -> LaunchStats:
        """Put the buffers into memory, and launch the kernels one after the other.

        ``inverted`` is a register that holds the complement of ``register_fill``: the number of a launch, and its own.
        ``draw`` chooses among results (default: by the launch). ``keep`` leaves variables as the last launch did.
        """
        given = code, launch, buffers, seed, results, register_fill, inverted, draw, keep
        try:
            return self._launched(*given, constant=not keep)
        except MemoryFault as error:
            if keep or error.kind != "out-of-bounds write":
                raise
        # It may have been a write to what the launch is to leave as it is. What that does is seen where it is possible.
        return self._launched(*given, constant=False)

    def _launched(
        self,
        code: CodeObject,
        launch: Launch,
        buffers: Mapping[str, Buffer],
        seed: int,
        results: ApproximateResults,
        register_fill: int,
        inverted: tuple[int, int] | None,
        draw: int | None,
        keep: bool,
        *,
        constant: bool,
    ) -> LaunchStats:
        device, self._changed = self._device, ()
        device.reset()
        if not keep:
            device.restore(code)
        self._allocations.clear()
        for each in launch.sequence:
            if problem := mismatch(self.modules.function(code, each.kernel), each):
                raise UsageError(f"{problem}; the op declares {each}")
        allocations = self._allocations
        for name, buffer in buffers.items():
            allocations[name] = device.allocate(buffer.data.nbytes, name)
            defined = None if buffer.defined is None else np.repeat(buffer.defined, buffer.dtype.itemsize)
            device.write(allocations[name], buffer.data, defined=defined, constant=constant and not buffer.writable)
        for name, contents in launch.constants.items():
            device.write_symbol(code, name, contents)

        def address(pointer: Pointer) -> int:
            if pointer.buffer is None:
                return 0
            return allocations[pointer.buffer].address + pointer.offset * buffers[pointer.buffer].dtype.itemsize

        def packed(arg: Pointer | Scalar | Struct) -> int | bytes:
            return address(arg) if isinstance(arg, Pointer) else argument_bytes(arg, address)

        ran, before = [], device.variables(code)
        for step, each in enumerate(launch.sequence):
            ran.append(
                device.launch(
                    code,
                    each.kernel,
                    grid=each.grid,
                    block=each.block,
                    args=pack(code.kernels[each.kernel], list(map(packed, each.args))),
                    shared_bytes=each.shared_bytes,
                    options=LaunchOptions(
                        seed=seed,
                        register_fill=register_fill,
                        inverted_register=inverted[1] if inverted and inverted[0] == step else None,
                        results=results,
                        draw=_seed(launch) if draw is None else draw,
                    ),
                )
            )
        self._changed = tuple(name for name, content in device.variables(code).items() if content != before[name])
        return ran[0] if len(ran) == 1 else merge_stats(ran)

    def _collect(self, buffers: Mapping[str, Buffer]) -> dict[str, np.ndarray[Any, Any]]:
        """The content of all buffers; the device is empty afterwards."""
        try:
            return {
                name: self._device.read(allocation).view(buffers[name].dtype.numpy)
                for name, allocation in self._allocations.items()
            }
        finally:
            self._device.reset()
            self._allocations.clear()


class EmulatedSession(DeviceSession):
    """An emulated AMD GPU, which can also count instructions and give the nearest numbers."""

    _device: AmdgpuDevice

    def __init__(self, checked: bool, *, counted: bool = False, shadow: bool = False) -> None:
        super().__init__(
            AmdgpuDevice(
                checked=checked,
                traced=checked,
                counted=counted,
                shadow=shadow,
                instruction_budget=COUNTED_INSTRUCTIONS if counted else INSTRUCTIONS,
                cache=Cache(default_root() / "emulator"),
            )
        )
        self._counting: EmulatedSession | None = None
        self._shadow: EmulatedSession | None = None

    @property
    def nearest(self) -> Nearest:
        """The same device, but that approximate instructions give the nearest numbers."""
        return Nearest(self)

    def count(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Mapping[str, int]:
        """Run one launch and count the instructions that its wavefronts issue, by class (``emulator.CLASSES``).

        One count is one instruction of one wavefront, whatever its lanes do: an instruction that is issued with EXEC 0
        counts, one that a branch skips does not. Waits and hints do not count, so the sum is ``Outcome.instructions``.

        Raises:
            ParityError: the launch has a fault, which ``execute`` reports as such.
        """
        if self._counting is None:
            self._counting = EmulatedSession(False, counted=True)
        try:
            return self._counting._launch(code, launch, buffers, _seed(launch)).classes or {}
        finally:
            self._counting._device.reset()

    def arithmetic(self, code: CodeObject, launch: Launch) -> Arithmetic:
        """The most that the kernels of a launch do with floating-point numbers, as their machine code says."""
        return max(self._device.arithmetic(code, each.kernel) for each in launch.sequence)

    def shadows(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Shadows:
        """The launch with approximate instructions that give the nearest numbers, and its shadow runs: see
        ``parity.emulator.amdgpu.shadow``.
        """

        def runs(numbers: Sequence[int]) -> tuple[Outcome, ...]:
            return tuple(self._shadowed(code, launch, buffers, number) for number in numbers)

        nearest, moved = self._execute(code, launch, buffers, ApproximateResults.NEAREST), runs(SHADOW_RUNS)
        if all(each.fault is None and _same(each, nearest) for each in moved):
            moved += runs(EXTRA_SHADOW_RUNS)
        has_bf16 = any(buffer.dtype.name == "bf16" for buffer in buffers.values())
        has_flush = any(self._device.flushes(code, each.kernel) for each in launch.sequence)
        return Shadows(
            nearest, moved, runs(BF16_SHADOW_RUNS) if has_bf16 else (), runs(UNFLUSHED_SHADOW_RUNS) if has_flush else ()
        )

    def _shadowed(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer], number: int) -> Outcome:
        """The outcome of the shadow run of that number."""
        if self._shadow is None:
            self._shadow = EmulatedSession(False, shadow=True)
        draw = shadow_seed(_seed(launch), number)
        return self._shadow._execute(code, launch, buffers, ApproximateResults.DOCUMENTED, draw)


@dataclass(frozen=True)
class Nearest:
    """A session whose approximate instructions give the nearest numbers."""

    session: EmulatedSession

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """As ``EmulatedSession.execute``."""
        return self.session._execute(code, launch, buffers, ApproximateResults.NEAREST)


def _other(buffer: Buffer) -> Buffer:
    """An input of floating-point numbers with others, from 0.5 to 1.5, which any op can take; another buffer as is."""
    if buffer.writable or not buffer.dtype.is_float:
        return buffer
    numbers = 0.5 + np.arange(len(buffer.data)) % 1024 / 1024
    return replace(buffer, data=numbers.astype(buffer.data.dtype))


def _same(one: Outcome, other: Outcome) -> bool:
    """True if both left the same bytes."""
    return all(one.buffers[name].tobytes() == other.buffers[name].tobytes() for name in one.buffers)


def results_of(launch: Launch) -> ApproximateResults:
    """The results of approximate instructions in a launch: in one half of all launches those that gfx1100 computes.

    In the other half they are drawn from those that AMD's manual allows, so that a pass holds for every GPU that keeps
    to it. The choice does not depend on the symbols of kernels, which are only known with a code object.
    """
    shape = f"{launch.grid} {launch.block} {launch.shared_bytes} {' '.join(map(str, launch.args))}"
    return ApproximateResults.DOCUMENTED if zlib.crc32(shape.encode()) & 1 else ApproximateResults.GFX1100


def _seed(launch: Launch) -> int:
    return zlib.crc32(str(launch).encode()) | 1
