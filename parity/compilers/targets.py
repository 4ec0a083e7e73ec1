"""The targets that modules can be built for.

``targets.csv`` has a row for each AMD target, with everything that parity knows about it, including what
``noxfile.py`` and the GitHub workflow run. CUDA targets follow from their names; their rows only add resource limits
and the default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from parity.errors import UsageError, nearest
from parity.platform.files import read_rows

VERSION_MARK = "@"
"""Separates a GPU from a version of HIP in the name of a target."""

TABLE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True)
class TargetLimits:
    """The resources of an SM, of a CU on gfx9, or of a WGP on gfx10 and newer, which workgroups share.

    The WGP is what the compiler's default mode uses. ``waves``, ``vgprs`` (per lane) and ``sgprs`` (0 if they limit
    nothing) belong to one of the ``simds``. ``vgpr_step``, ``sgpr_step`` and ``shared_step`` are allocation
    granularities. ``shared`` is LDS or shared memory in bytes. Each workgroup costs ``shared_own`` bytes in addition to
    its request. ``groups`` is the number of workgroups.

    Sources. AMD: LLVM, AMDGPUBaseInfo.cpp (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU,
    getMaxWorkGroupsPerCU); SGPRs: the occupancy functions of the HIP runtime, hip_platform.cpp; LDS: the ISA documents,
    and for its granularity Mesa, ac_gpu_info.c. CUDA: CUDA C++ Programming Guide, "Technical Specifications per Compute
    Capability" (resident warps, resident blocks, shared memory of an SM), and ``cuda_occupancy.h`` of the toolkit: 64
    Ki registers on four partitions, allocated per warp in units of 256; since 8.0, the system reserves 1 KiB for each
    block.
    """

    simds: int
    waves: int
    vgprs: int
    vgpr_step: int
    sgprs: int
    sgpr_step: int
    shared: int
    shared_step: int
    shared_own: int
    groups: int


@dataclass(frozen=True)
class Target:
    """A GPU architecture.

    The ABI fields follow LLVM, "User Guide for AMDGPU Backend": target properties in the table of processors, and
    "Initial Kernel Execution State".

    Attributes:
        name: The name for users: the GPU, and perhaps a version of HIP to compile with (``gfx90a@7.2``).
        isa: The number that device libraries use: major * 1000 + minor * 100 + stepping. For CUDA, the compute
            capability in the same form.
        machine: The number of the GPU in the header of an ELF file (``EF_AMDGPU_MACH``).
        wavefront: Lanes of a wavefront (or warp) in code that the compiler generates by default.
        lds_bytes: LDS (or shared memory) that one workgroup can use, in bytes.
        packed_ids: True if v0 contains all three coordinates of a work-item, False if they are in v0, v1 and v2.
        group_ids_in_ttmp: True if trap temporaries contain the coordinates of the workgroup, False for SGPRs.
        architected_scratch: True if scratch memory needs no register for its base.
        fnuz: True if instructions for 8-bit floats use the FNUZ formats, False for OCP (CDNA3 and RDNA4 Instruction Set
            Architecture, V_CVT_PK_FP8_F32).
        limits: The resource limits, if they are known.
        default: True for a target of runs that name none.
        triton: True for the target of its vendor on which ``parity init`` tries Triton functions.
        vendor: Whose compiler builds for it.
    """

    name: str
    isa: int
    wavefront: int
    lds_bytes: int
    packed_ids: bool = False
    group_ids_in_ttmp: bool = False
    architected_scratch: bool = False
    fnuz: bool = False
    limits: TargetLimits | None = None
    machine: int = 0
    default: bool = False
    triton: bool = False
    vendor: Literal["amd", "cuda"] = "amd"

    @property
    def gpu(self) -> str:
        """The name that compilers use."""
        return gpu_of(self.name)

    @property
    def hip(self) -> str:
        """The version of HIP that code is compiled with; empty for the default."""
        return self.name.partition(VERSION_MARK)[2]

    @property
    def generation(self) -> int:
        """The major version of the instruction set: 9 (CDNA), 10 (RDNA 1 and 2), 11 (RDNA 3), ..."""
        return self.isa // 1000

    def __str__(self) -> str:
        return self.name


_ROWS = read_rows(TABLE, Target)  # an empty cell is 0 or "no"

LIMITS = dict(zip((row.name for row in _ROWS), read_rows(TABLE, TargetLimits), strict=True))
"""The limits of all targets by name."""

TARGETS = {row.name: replace(row, limits=LIMITS[row.name]) for row in _ROWS if row.isa}
"""The AMD targets by name."""

DEFAULT_TARGETS = tuple(target.name for target in TARGETS.values() if target.default)
"""The targets of a run that names none. Every ROCm still in use supports the first."""

CUDA_TARGET = next(row.name for row in _ROWS if row.default and not row.isa)
"""The default CUDA target. It is the architecture of the H200, whose results the PTX emulator reproduces (docs/ptx.md).
"""

TRITON_TARGETS = tuple(next(row.name for row in _ROWS if row.triton and (row.name in TARGETS) == amd) for amd in (0, 1))
"""The CUDA target and the AMD target on which ``parity init`` tries Triton functions."""


def gpu_of(name: str) -> str:
    """Return the GPU that the name of a target contains: ``gfx90a`` for ``gfx90a@7.2``."""
    return name.partition(VERSION_MARK)[0]


def target(name: str) -> Target:
    """Return the target of a name: a row of ``TARGETS``, or ``sm_`` and a compute capability (``sm_90``, ``sm_100a``).

    A version of HIP may follow the name of a row (``gfx90a@7.2``).

    Raises:
        UsageError: parity cannot build for it.
    """
    if name in TARGETS:
        return TARGETS[name]
    if (gpu := gpu_of(name)) in TARGETS:
        return replace(TARGETS[gpu], name=name)
    if match := _CUDA.fullmatch(name):
        major, minor = int(match["major"]), int(match["minor"])
        limits = LIMITS.get(f"sm_{major}{minor}")  # sm_90a has the limits of sm_90
        # The most that a kernel can request, as the runners do: 64 KiB (7.5) to 227 KiB (9.0), from "Technical
        # Specifications per Compute Capability". ptxas refuses static shared memory above 48 KiB.
        lds_bytes = limits.shared - limits.shared_own if limits else 48 * 1024
        return Target(name, major * 1000 + minor * 100, 32, lds_bytes, limits=limits, vendor="cuda")
    raise UsageError(f"unknown target {name!r}; known: {' '.join(TARGETS)} sm_NN{nearest(name, TARGETS)}")


_CUDA = re.compile(r"sm_(?P<major>[1-9]\d?)(?P<minor>\d)[af]?")
