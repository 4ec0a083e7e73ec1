"""How many wavefronts of a kernel a processor holds at once, as a share of the most it can hold.

The model is that of the vendors' calculators: what shares LDS (a CU, a WGP, an SM) has a few SIMDs, each with a
register file and places for wavefronts, and whole workgroups are placed until one of these is used up.
"""

from __future__ import annotations

from dataclasses import dataclass

from parity.toolchain.targets import Target

__all__ = ["LIMITS", "Limits", "limits_of", "occupancy"]


@dataclass(frozen=True)
class Limits:
    """What kernels share: an SM, the CU of gfx9, or the WGP of gfx10 and up (the compiler's default mode).

    ``waves`` and ``vgprs`` (per lane) are those of one of the ``simds``; registers are given out in steps of
    ``vgpr_step`` and, where their number matters, ``sgpr_step``. ``shared`` is LDS in bytes, given out in steps of
    ``shared_step``, of which each workgroup costs ``shared_own`` more than it asks for. ``groups`` are the workgroups.
    """

    simds: int
    waves: int
    vgprs: int
    vgpr_step: int
    shared: int
    shared_step: int
    groups: int
    shared_own: int = 0
    sgprs: int = 0
    sgpr_step: int = 16

    def waves_of(self, vgprs: int, sgprs: int | None = None) -> int:
        """How many wavefronts with so many registers one SIMD holds."""
        waves = min(self.waves, self.vgprs // _rounded(max(vgprs, 1), self.vgpr_step))
        if self.sgprs and sgprs:
            waves = min(waves, self.sgprs // _rounded(sgprs, self.sgpr_step))
        return waves


# LLVM, AMDGPUBaseInfo.cpp: getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU, getMaxWorkGroupsPerCU. SGPRs: the
# occupancy functions of the HIP runtime, hip_platform.cpp. LDS: the ISA documents; its steps: Mesa, ac_gpu_info.c.
_RDNA2 = Limits(4, 16, 1024, 16, 128 << 10, 1024, 32)
_RDNA3 = Limits(4, 16, 1536, 24, 128 << 10, 1024, 32)
_CDNA2 = Limits(4, 8, 512, 8, 64 << 10, 512, 16, sgprs=800)


def _sm(warps: int, blocks: int, kib: int) -> Limits:
    """An SM since compute capability 8.0: 64 Ki registers, for each warp in units of 256, on four partitions; 1 KiB of
    shared memory per block is the system's (CUDA C++ Programming Guide, and ``cuda_occupancy.h`` of the toolkit).
    """
    return Limits(4, warps // 4, 512, 8, kib << 10, 128, blocks, shared_own=1024)


LIMITS = {
    "gfx1030": _RDNA2,
    "gfx1100": _RDNA3,
    "gfx1201": _RDNA3,
    "gfx90a": _CDNA2,
    "gfx942": _CDNA2,
    # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": resident warps, resident blocks,
    # shared memory of an SM in KiB.
    "sm_75": Limits(4, 8, 512, 8, 64 << 10, 256, 16),
    "sm_80": _sm(64, 32, 164),
    "sm_86": _sm(48, 16, 100),
    "sm_87": _sm(48, 16, 164),
    "sm_89": _sm(48, 24, 100),
    "sm_90": _sm(64, 32, 228),
    "sm_100": _sm(64, 32, 228),
    "sm_103": _sm(64, 32, 228),
    "sm_120": _sm(48, 24, 100),
    "sm_121": _sm(48, 24, 100),
}
"""The limits by target. A target that is not here has none that we know."""


def limits_of(target: Target) -> Limits | None:
    """The limits of a target; ``sm_90a`` and ``sm_100f`` have those of ``sm_90`` and ``sm_100``."""
    return LIMITS.get(target.name.rstrip("af") if target.vendor == "cuda" else target.name)


def occupancy(
    target: Target, *, threads: int, vgprs: int, sgprs: int | None = None, shared_bytes: int = 0
) -> float | None:
    """The share of the wavefronts that can be resident which workgroups of ``threads`` threads fill, from 0 to 1.

    0 if not one workgroup fits, None if the limits of the target are not known.
    """
    if (limits := limits_of(target)) is None:
        return None
    per_group = -(-threads // target.wavefront)
    groups = min(limits.simds * limits.waves_of(vgprs, sgprs) // per_group, limits.groups)
    if shared := _rounded(shared_bytes + limits.shared_own, limits.shared_step):
        groups = min(groups, limits.shared // shared)
    return groups * per_group / (limits.simds * limits.waves)


def _rounded(number: int, step: int) -> int:
    return -(-number // step) * step
