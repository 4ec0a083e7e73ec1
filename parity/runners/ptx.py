"""The runner ``ptx``: executes CUDA code on the CPU, from the PTX that nvcc generates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.targets import CUDA_TARGET, LIMITS, target
from parity.compilers.zig import check_obtainable
from parity.emulator.ptx.device import PtxDevice
from parity.emulator.shadow_runs import SHADOW_RUNS
from parity.model.code_object import CodeObject
from parity.model.launch import Arithmetic, Buffer, Launch, Shadows
from parity.platform.cache import Cache, default_root
from parity.platform.fork_server import preload
from parity.reference.expected import Vendor
from parity.runners.base import Evidence, Probe, Session, missing_tool_probe
from parity.runners.device_session import DeviceSession
from parity.runners.emulated import INSTRUCTIONS
from parity.runners.emulated_launch import EmulatedLaunch


class PtxRunner:
    """Executes PTX on the CPU with the checks of the runner ``emulated``.

    Warps, workgroups and the diverged threads of a warp run in an order that depends on the launch alone and differs
    between launches.
    """

    name = "ptx"
    evidence = Evidence.EMULATED
    vendor: Vendor = "cuda"

    def probe(self) -> Probe:
        """Require nvcc for the PTX, and the emulator's compiler."""
        preload(__name__)
        return missing_tool_probe(check_obtainable, nvcc) or Probe(True)

    def targets(self) -> tuple[str, ...]:
        """Return all CUDA architectures that parity knows. The code differs between them, the results do not."""
        return tuple(name for name in LIMITS if target(name).vendor == "cuda")

    def default_targets(self) -> tuple[str, ...]:
        """Return the architecture of the GPU on which the PTX instructions were measured."""
        return (CUDA_TARGET,)

    def open(self, target: str, *, checked: bool = True) -> Session:
        # ``checked`` is ignored: PTX does not run faster without checks.
        return PtxSession()


class PtxSession(DeviceSession):
    """An emulated NVIDIA GPU. It also runs launches with other roundings."""

    def __init__(self) -> None:
        device = partial(PtxDevice, instruction_budget=INSTRUCTIONS, cache=Cache(default_root() / "emulator"))
        super().__init__(device(traced=True), partial(device, traced=True, shadow=True))

    def arithmetic(self, code: CodeObject, launch: Launch) -> Arithmetic:
        """Implement ``SupportsShadows.arithmetic``. PTX is not classified: it may round."""
        return Arithmetic.ROUNDS

    def shadows(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Shadows:
        """Run the launch with nearest results, then its shadow runs."""
        request = EmulatedLaunch(code, launch, buffers)
        return Shadows(self._execute(request), self.shadow_outcomes(request, SHADOW_RUNS))
