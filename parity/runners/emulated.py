"""The runner that executes AMD code on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from parity.compilers.targets import DEFAULT_TARGETS, TARGETS
from parity.compilers.zig import check_obtainable
from parity.emulator import shadow_runs
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.model.code_object import CodeObject
from parity.model.launch import Arithmetic, Buffer, Launch, Outcome, Shadows
from parity.platform.cache import Cache, default_root
from parity.reference.expected import Vendor
from parity.runners.base import Evidence, Probe, Session, missing_tool_probe
from parity.runners.device_session import DeviceSession, different_buffers
from parity.runners.emulated_launch import EmulatedLaunch

INSTRUCTIONS = 50_000_000
"""Instruction budget of one launch, to stop endless loops: some hundred times what the largest case needs."""

COUNTED_INSTRUCTIONS = 2_000_000_000
"""Instruction budget of a launch whose instructions are counted, which may have the size of a benchmark."""


class EmulatedRunner:
    """Executes code objects of AMD targets on the CPU and checks every memory access.

    Wavefronts and workgroups run in an order that depends on the launch alone and differs between launches. A result
    that depends on the order is therefore found, and found again in the next run. The results of approximate
    instructions vary in the same way, within the errors that AMD documents (``device_session.chosen_results``).
    """

    name = "emulated"
    evidence = Evidence.EMULATED
    vendor: Vendor = "amd"

    def probe(self) -> Probe:
        """Require the compiler."""
        return missing_tool_probe(check_obtainable) or Probe(True)

    def targets(self) -> tuple[str, ...]:
        return tuple(TARGETS)

    def default_targets(self) -> tuple[str, ...]:
        """The targets that every ROCm release in use supports."""
        return DEFAULT_TARGETS

    def open(self, target: str, *, checked: bool = True) -> Session:
        return EmulatedSession(checked)


class EmulatedSession(DeviceSession):
    """An emulated AMD GPU. It also counts instructions and runs launches with other roundings."""

    _device: AmdgpuDevice

    def __init__(self, checked: bool, *, counted: bool = False) -> None:
        budget, cache = COUNTED_INSTRUCTIONS if counted else INSTRUCTIONS, Cache(default_root() / "emulator")
        device = partial(AmdgpuDevice, instruction_budget=budget, cache=cache)
        super().__init__(
            device(checked=checked, traced=checked, counted=counted), partial(device, checked=False, shadow=True)
        )
        self._counting: EmulatedSession | None = None

    @property
    def nearest(self) -> NearestExecutor:
        """The same device with approximate instructions that return the nearest numbers."""
        return NearestExecutor(self)

    def count(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Mapping[str, int]:
        """Run one launch and count the instructions that its wavefronts issue, by class (``classes.csv``).

        One count is one instruction of one wavefront, regardless of EXEC: an instruction issued with EXEC 0 counts, an
        instruction that a branch skips does not. Waits and hints do not count, so the sum is
        ``Outcome.instructions``.

        Raises:
            ParityError: The launch has a fault, which ``execute`` would return in the outcome.
        """
        if self._counting is None:
            self._counting = EmulatedSession(False, counted=True)
        executor = self._counting._executor
        try:
            return executor.run(EmulatedLaunch(code, launch, buffers)).classes or {}
        finally:
            executor.device.reset()

    def arithmetic(self, code: CodeObject, launch: Launch) -> Arithmetic:
        """Implement ``SupportsShadows.arithmetic`` from the machine code of the kernels."""
        return max(self._device.arithmetic(code, each.kernel) for each in launch.sequence)

    def shadows(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Shadows:
        """Run the launch with nearest results, then its shadow runs."""
        request = EmulatedLaunch(code, launch, buffers)
        runs = partial(self.shadow_outcomes, request)
        nearest, moved = self._execute(request), runs(shadow_runs.SHADOW_RUNS)
        if not any(each.fault or different_buffers(each.buffers, nearest.buffers) for each in moved):
            moved += runs(shadow_runs.EXTRA_SHADOW_RUNS)
        has_bf16 = any(buffer.dtype.name == "bf16" for buffer in buffers.values())
        kernels = [each.kernel for each in launch.sequence]
        has_flush = any(self._device.flushes_subnormals(code, each) for each in kernels)
        has_exp = any(self._device.has_exponentials(code, each) for each in kernels)
        narrow = runs(shadow_runs.BF16_SHADOW_RUNS) if has_bf16 else ()
        unflushed = runs(shadow_runs.UNFLUSHED_SHADOW_RUNS) if has_flush else ()
        exponentials = runs(shadow_runs.UNFLUSHED_SHADOW_RUNS[:1]) if has_exp and not has_flush else ()
        return Shadows(nearest, moved, narrow, unflushed, exponentials)


@dataclass(frozen=True)
class NearestExecutor:
    """Executes launches with approximate instructions that return the nearest numbers."""

    session: EmulatedSession

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Implement ``Executor.execute``."""
        return self.session._execute(EmulatedLaunch(code, launch, buffers))
