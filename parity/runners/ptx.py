"""The runner ``ptx``: executes CUDA code on the CPU, from the PTX that nvcc generates."""

from __future__ import annotations

from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.targets import CUDA_TARGET, LIMITS, target
from parity.compilers.zig import check_obtainable
from parity.emulator.ptx.device import PtxDevice
from parity.platform.cache import Cache, default_root
from parity.platform.fork_server import preload
from parity.reference.expected import Vendor
from parity.runners.base import Evidence, Probe, Session, missing_tool_probe
from parity.runners.device_session import DeviceSession
from parity.runners.emulated import INSTRUCTIONS


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
        return DeviceSession(
            PtxDevice(traced=True, instruction_budget=INSTRUCTIONS, cache=Cache(default_root() / "emulator"))
        )
