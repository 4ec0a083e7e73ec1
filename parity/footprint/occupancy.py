"""Computes the occupancy of a kernel: the share of a processor's wavefront slots that its workgroups fill.

The model follows the vendors' occupancy calculators. A processor that shares LDS (a CU, WGP or SM) has several SIMDs,
each with a register file and wavefront slots. Whole workgroups are placed until one of these resources is exhausted.
"""

from __future__ import annotations

from parity.compilers.targets import Target, TargetLimits


def resident_waves(limits: TargetLimits, vgprs: int, sgprs: int | None = None) -> int:
    """Return how many wavefronts with these numbers of registers fit on one SIMD."""
    waves = min(limits.waves, limits.vgprs // _rounded(max(vgprs, 1), limits.vgpr_step))
    if limits.sgprs and sgprs:
        waves = min(waves, limits.sgprs // _rounded(sgprs, limits.sgpr_step))
    return waves


def occupancy(
    target: Target, *, threads: int, vgprs: int, sgprs: int | None = None, shared_bytes: int = 0
) -> float | None:
    """Return the occupancy, from 0 to 1, for workgroups of ``threads`` threads.

    It is 0 if no workgroup fits, and None if the limits of the target are unknown. ``shared_bytes`` is the shared
    memory per workgroup.
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
