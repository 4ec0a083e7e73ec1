"""The wavefronts of a kernel that a processor holds at once, as a share of the most that it can hold.

The model is that of the vendors' calculators: what shares LDS (a CU, a WGP, an SM) has a few SIMDs, each with a
register file and places for wavefronts, and whole workgroups are placed until one of these is used up.
"""

from __future__ import annotations

from parity.compilers.targets import ResourceLimits, Target

__all__ = ["occupancy", "resident_waves"]


def resident_waves(limits: ResourceLimits, vgprs: int, sgprs: int | None = None) -> int:
    """The number of wavefronts with so many registers that one SIMD holds."""
    waves = min(limits.waves, limits.vgprs // _rounded(max(vgprs, 1), limits.vgpr_step))
    if limits.sgprs and sgprs:
        waves = min(waves, limits.sgprs // _rounded(sgprs, limits.sgpr_step))
    return waves


def occupancy(
    target: Target, *, threads: int, vgprs: int, sgprs: int | None = None, shared_bytes: int = 0
) -> float | None:
    """The share of the wavefronts that can be resident which workgroups of ``threads`` threads fill, from 0 to 1.

    0 if not one workgroup fits, None if the limits of the target are not known.
    """
    if (limits := target.limits) is None:
        return None
    per_group = -(-threads // target.wavefront)
    groups = min(limits.simds * resident_waves(limits, vgprs, sgprs) // per_group, limits.groups)
    if shared := _rounded(shared_bytes + limits.shared_own, limits.shared_step):
        groups = min(groups, limits.shared // shared)
    return groups * per_group / (limits.simds * limits.waves)


def _rounded(number: int, step: int) -> int:
    return -(-number // step) * step
