"""A session on an emulated device: executes launches, and repeats them to find results that are undefined."""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parity.emulator.approximate import ApproximateResults
from parity.emulator.device import Device
from parity.emulator.faults import DataRace, KernelFault, UnknownInstruction, UnsupportedFeature, source_location
from parity.emulator.instruction import Instruction
from parity.emulator.launch_options import RACE_MASKS, REGISTER_FILL, REVERSED, LaunchOptions
from parity.emulator.printing import SHOWN
from parity.emulator.shadow_runs import shadow_seed
from parity.errors import ParityError, ResourceExhausted
from parity.model.code_object import CodeObject, MissingKernel, source_name
from parity.model.coverage import Point
from parity.model.dtypes import Array
from parity.model.launch import POISON, PRINTF, Buffer, Fault, Launch, Outcome
from parity.runners.emulated_launch import EmulatedLaunch, LaunchExecutor, launch_seed

ORDERS = 4
"""Number of wavefront orders that are tried for a failing launch."""

_NEVER_WRITTEN = "never-written read"
_FILLS = (POISON ^ 0xFF, 0, 0xFF, 0x7B, 0xFB)
"""Bytes of memory that nothing has written (``EmulatedLaunch.memory_fill``). The first leaves outputs as they are. The
last two are large positive and negative numbers in every format from f16 to f64.
"""
_RACES = tuple({"seed": seed, "race_mask": mask} for mask in RACE_MASKS for seed in (0, REVERSED))
"""Launches in which the loads of races return other values. Of two wavefronts, each begins in one of the orders."""

_CLOCK_RATES = (1, 13, 1 << 20, 1, 997, 61, 1 << 12, 5)
"""The clock of each launch in ``reorder``."""
_UNDIVIDED = (LaunchOptions.undivided, 0)
"""What integers divided by zero give in these launches (``LaunchOptions.undivided``)."""


_INVERTED_FILL = ~REGISTER_FILL & 0xFFFFFFFF


def chosen_results(launch: Launch) -> ApproximateResults:
    """Choose the results of approximate instructions in a launch.

    Half of all launches get the results that gfx1100 computes. The other half draws them from the range that AMD's
    manual allows, so that a pass holds for every GPU that complies with the manual. The choice does not depend on the
    kernel's symbol, which is only known with a code object.
    """
    shape = f"{launch.grid} {launch.block} {launch.shared_bytes} {' '.join(map(str, launch.args))}"
    return ApproximateResults.DOCUMENTED if zlib.crc32(shape.encode()) & 1 else ApproximateResults.GFX1100


class DeviceSession:
    """One emulated device. Every launch finds it empty and leaves it empty.

    ``shadow`` makes a device of the same kind that executes shadow runs (``parity.emulator.shadow_runs``).
    """

    def __init__(self, device: Device, shadow: Callable[[], Device]) -> None:
        self._device = device
        self._executor = LaunchExecutor(device)
        self._make_shadow = shadow

    @functools.cached_property
    def _shadow(self) -> DeviceSession:
        return DeviceSession(self._make_shadow(), self._make_shadow)

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Translate and compile kernels. ``execute`` reports a kernel that cannot be translated."""
        try:
            self._device.prepare(code, kernels, workers=1)
        except (UnknownInstruction, UnsupportedFeature):
            for kernel in kernels:
                with contextlib.suppress(UnknownInstruction, UnsupportedFeature):
                    self._device.prepare(code, [kernel], workers=1)

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run one launch. Errors of the kernel, and features that are not emulated, are faults of the outcome."""
        return self._execute(EmulatedLaunch(code, launch, buffers, chosen_results(launch)))

    def _execute(self, request: EmulatedLaunch, *, check_defined: bool = True) -> Outcome:
        """Run one launch; with ``check_defined`` repeat it if its result may depend on undefined values."""
        executor = self._executor
        fault, stats, reached, undefined = None, None, None, None
        try:
            stats = executor.run(request)
            undefined, reached = stats.undefined, executor.take_reached(request)
        except KernelFault as error:
            fault, undefined = Fault(error.kind, str(error)), error.undefined
            if not isinstance(error, UnsupportedFeature):  # the kernel may not be translated
                reached = executor.take_reached(request)
        except UnknownInstruction as error:
            fault = Fault("unknown instruction", str(error))
        except MissingKernel as error:
            fault = Fault("missing kernel", str(error))
        except ResourceExhausted:
            raise
        except ParityError as error:
            fault = Fault("error", str(error))
        compared = request.launch.results.get(PRINTF)
        size = len(request.buffers[compared].data) if compared else SHOWN
        printed = self._device.take_printed(size)
        results, kernels = request.results, (each.kernel for each in request.launch.sequence)
        is_drawn = results and any(self._device.is_approximate(request.code, kernel) for kernel in kernels)
        buffers, drawn = executor.read_buffers(request), str(results) if is_drawn else ""
        instructions = stats.instructions if stats else None
        if compared:
            text = printed.encode()
            buffers[compared] = np.frombuffer(text[:size].ljust(size, b"\0"), np.uint8)
            if len(text) > size:
                fault = fault or Fault("error", f"the kernel prints more than the {size:,} bytes of {compared}")
        outcome = Outcome(
            buffers, fault, instructions, printed[:SHOWN], drawn=drawn, reached=reached, places=executor.places
        )
        if check_defined and fault and fault.kind == _NEVER_WRITTEN and request.memory_fill is None:
            found = self._without_effect(request, [{"memory_fill": fill} for fill in _FILLS])
            return replace(found, unused_read=fault.message) if found else outcome
        if check_defined and fault and fault.kind == DataRace.kind and not request.race_mask and _is_converged(request):
            return self._without_effect(request, _RACES) or outcome
        if check_defined and undefined:
            outcome = replace(outcome, fault=self._undefined_value(request, outcome, undefined) or fault)
        if check_defined and executor.changed_variables and outcome.fault is None:
            outcome = replace(outcome, fault=self._earlier_launch(request, outcome))
        return outcome

    def shadow_outcomes(self, request: EmulatedLaunch, numbers: Sequence[int]) -> tuple[Outcome, ...]:
        """Execute the shadow runs with these numbers."""
        seed, results = launch_seed(request.launch), ApproximateResults.DOCUMENTED
        request = replace(_without_races(request), results=results)
        drawn = (replace(request, draw=shadow_seed(seed, number)) for number in numbers)
        return tuple(self._shadow._execute(each, check_defined=False) for each in drawn)

    def _without_effect(self, request: EmulatedLaunch, changes: Iterable[Mapping[str, Any]]) -> Outcome | None:
        """Return the outcome if these changes of the request change neither results nor control flow.

        The number of instructions stands for the control flow.
        """
        if any(each.sparse for each in request.buffers.values()):
            return None
        runs = list[Outcome]()
        for each in changes:
            changed = replace(request, **each)
            run = self._execute(changed, check_defined=not runs)
            if run.fault or (runs and not _is_alike(changed, runs[0], run)):
                return None
            runs.append(run)
        buffers = {name: _restored(each, runs[0].buffers[name]) for name, each in request.buffers.items()}
        return replace(runs[0], buffers=buffers)

    def _undefined_value(self, request: EmulatedLaunch, outcome: Outcome, instruction: Instruction) -> Fault | None:
        """A fault if the outcome changes with undefined values, of which ``instruction`` used the first."""

        def changes(changed: EmulatedLaunch) -> list[str]:
            other = self._execute(changed, check_defined=False)
            alike = outcome.fault == other.fault
            return different_buffers(outcome.buffers, other.buffers) if alike else ["another fault"]

        differ = changes(replace(request, register_fill=_INVERTED_FILL))
        if not differ:
            return None
        what = outcome.fault.message if outcome.fault else f"the result in {', '.join(differ)}"
        for step, each in enumerate(request.launch.sequence):
            for number, (name, first) in self._device.undefined_reads(request.code, each.kernel).items():
                if changes(replace(request, inverted=(step, number))):
                    where = f"{first.text} ({source_location(first)})"
                    cause = f"never-written read: register {name}, first met in {where}"
                    return Fault(_NEVER_WRITTEN, f"{cause}; this changes {what}")
        return Fault(
            "undefined value",
            f"{what} depends on an undefined value: a thread reads from a thread that takes no part in the exchange, "
            f"or that the block does not have, in {instruction.text} ({source_location(instruction)})",
        )

    def _earlier_launch(self, request: EmulatedLaunch, outcome: Outcome) -> Fault | None:
        """A fault if the outcome changes when an earlier launch has left its values in variables.

        The earlier launch gets different floating-point inputs, so that it leaves different values. If the kernel
        cannot take them, it gets the same inputs.
        """
        names = ", ".join(source_name(name) for name in self._executor.changed_variables)
        prefix = f"a launch changes {names}, and after another launch this one "
        other = {name: _other_input(buffer) for name, buffer in request.buffers.items()}
        try:
            try:
                self._executor.run(replace(request, buffers=other))
            except ParityError:
                self._executor.run(request)
            self._executor.run(replace(request, keep_variables=True))
            after = self._executor.read_buffers(request)
            differ = different_buffers(outcome.buffers, after)
            message = f"{prefix}leaves other values in {', '.join(differ)}"
            remedy = "; what the host writes there before each launch is declared in symbols="
            return Fault("earlier launch", message + remedy) if differ else None
        except KernelFault as error:
            return Fault("earlier launch", f"{prefix}has a fault: {error}")
        finally:
            self._executor.discard(request)

    def reorder(
        self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer], times: int
    ) -> tuple[Outcome, ...]:
        """Implement ``SupportsReordering.reorder``."""
        request = _without_races(EmulatedLaunch(code, launch, buffers, chosen_results(launch)))
        changed = (
            replace(request, seed=seed, clock_rate=rate, undivided=_UNDIVIDED[seed % 2], shuffled_lanes=seed % 4 > 1)
            for seed, rate in enumerate(_CLOCK_RATES[:times])
        )
        return tuple(self._execute(each, check_defined=False) for each in changed)

    @property
    def samples(self) -> bool:
        """Implement ``SupportsSampling.samples``."""
        return self._device.has_sparse_memory

    def points(self, code: CodeObject, kernels: Iterable[str]) -> tuple[tuple[Point, ...], ...]:
        """Implement ``SupportsCoverage.points``."""
        return tuple(self._device.points(code, kernel) for kernel in kernels)

    def explain(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> tuple[str, ...]:
        """Find out whether the result depends on the order of wavefronts, and whether lanes of both halves of a
        wavefront of 64 exchange values.
        """
        request = _without_races(EmulatedLaunch(code, launch, buffers, chosen_results(launch)))
        notes = []
        try:
            for note in self._findings(request):
                notes.append(note)
        except ParityError as error:
            notes.append(f"in another order: {error}")
        finally:
            self._executor.discard(request)
        return tuple(notes)

    def _findings(self, request: EmulatedLaunch) -> Iterator[str]:
        def collect() -> dict[str, bytes]:
            return {name: array.tobytes() for name, array in self._executor.read_buffers(request).items()}

        def differs(changed: EmulatedLaunch) -> bool:
            self._executor.run(changed)
            return collect() != usual

        crossing = self._executor.run(request).crossing
        usual = collect()
        if any(differs(replace(request, seed=seed)) for seed in range(ORDERS)):
            yield "depends on the order in which wavefronts run"
        if crossing:
            place = f" at {crossing.source}" if crossing.source else ""
            yield f"values cross lanes 31 and 32 of a wavefront in {crossing.text}{place}"


def _is_converged(request: EmulatedLaunch) -> bool:
    """Return True for kernels of Triton. All wavefronts load a scalar and compute with it, even if one stores it."""
    return all(request.code.kernels[each.kernel].converged for each in request.launch.sequence)


def _without_races(request: EmulatedLaunch) -> EmulatedLaunch:
    """Return a request in which the races that ``execute`` may accept are not faults."""
    return replace(request, race_mask=RACE_MASKS[0]) if _is_converged(request) else request


def _is_alike(request: EmulatedLaunch, usual: Outcome, other: Outcome) -> bool:
    """Return True if the run of a request differs from the usual one only in memory that nothing has written."""
    return usual.instructions == other.instructions and all(
        bool(((a == b) | (~_defined(each) & (a == POISON) & (b == request.buffer_fill))).all())
        for name, each in request.buffers.items()
        for a, b in [(usual.buffers[name].view(np.uint8), other.buffers[name].view(np.uint8))]
    )


def _restored(buffer: Buffer, found: Array) -> Array:
    """Return the content of a buffer after a launch, without what filled it before."""
    unwritten = ~_defined(buffer) & (found.view(np.uint8) == POISON)
    return np.where(unwritten, buffer.data.view(np.uint8), found.view(np.uint8)).view(found.dtype)


def _defined(buffer: Buffer) -> Array:
    """Return a mask of the bytes that the host wrote."""
    size = buffer.dtype.itemsize
    return np.ones(buffer.data.nbytes, bool) if buffer.defined is None else np.repeat(buffer.defined, size)


def different_buffers(one: Mapping[str, Array], other: Mapping[str, Array]) -> list[str]:
    """Return the names of the buffers whose bytes differ."""
    return [name for name in one if name not in other or one[name].tobytes() != other[name].tobytes()]


def _other_input(buffer: Buffer) -> Buffer:
    """A floating-point input with other values, from 0.5 to 1.5, which any op accepts; any other buffer unchanged."""
    if buffer.writable or not buffer.dtype.is_float:
        return buffer
    numbers = 0.5 + np.arange(len(buffer.data)) % 1024 / 1024
    return replace(buffer, data=numbers.astype(buffer.data.dtype))
