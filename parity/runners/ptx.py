"""The runner that executes CUDA code on the CPU: the PTX that nvcc makes."""

from __future__ import annotations

from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.targets import CUDA_TARGET, LIMITS, target
from parity.compilers.zig import zig
from parity.emulator.ptx import PtxDevice
from parity.platform.cache import Cache, default_root
from parity.runners.base import Evidence, Probe, Session, Vendor, missing_tool_probe
from parity.runners.device_session import DeviceSession
from parity.runners.emulated import INSTRUCTIONS

__all__ = ["PtxRunner"]


class PtxRunner:
    """Executes PTX on the CPU, with the checks of the runner ``emulated``.

    Wavefronts, which are warps, and workgroups run in an order that differs from launch to launch and depends on the
    launch alone; so do the threads of a warp that diverge.
    """

    name = "ptx"
    evidence = Evidence.EMULATED
    vendor: Vendor = "cuda"

    def probe(self) -> Probe:
        """Needs nvcc, which makes PTX, and the compiler of the emulator."""
        return missing_tool_probe(zig, nvcc) or Probe(True)

    def targets(self) -> tuple[str, ...]:
        """The architectures of CUDA that parity knows. The code is compiled for each; what it computes is the same."""
        return tuple(name for name in LIMITS if target(name).vendor == "cuda")

    def default_targets(self) -> tuple[str, ...]:
        """That of the GPU on which PTX's instructions were measured."""
        return (CUDA_TARGET,)

    def open(self, target: str, *, checked: bool = True) -> Session:
        # Without checks PTX runs no faster, so they stay.
        return DeviceSession(
            PtxDevice(traced=True, instruction_budget=INSTRUCTIONS, cache=Cache(default_root() / "emulator"))
        )
