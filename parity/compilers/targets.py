"""The targets a module can be built for: a row of ``targets.csv`` per AMD target; CUDA's follow from their names.

All that parity knows of a target by its name stands in its row, also what ``noxfile.py`` and the workflow of GitHub
Actions run. A row of a CUDA target has its limits, and whether it is the one that stands for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from parity.errors import UsageError, nearest
from parity.platform.files import read_table

__all__ = ["CUDA_TARGET", "DEFAULT_TARGETS", "LIMITS", "TABLE", "TARGETS", "Limits", "Target", "read", "target"]

TABLE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True)
class Limits:
    """The resources that workgroups share: those of an SM, of the CU of gfx9, or of the WGP of gfx10 and newer.

    The WGP is what the compiler's default mode counts on. ``waves`` and ``vgprs`` (per lane) are those of one of the
    ``simds``; registers are allocated in steps of ``vgpr_step`` and, where their number limits anything, ``sgpr_step``
    (``sgprs`` is 0 where it does not). ``shared`` is LDS in bytes, allocated in steps of ``shared_step``; a workgroup
    costs ``shared_own`` bytes more than it asks for. ``groups`` is the number of workgroups.

    Sources. AMD: LLVM, AMDGPUBaseInfo.cpp (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU,
    getMaxWorkGroupsPerCU); SGPRs: the occupancy functions of the HIP runtime, hip_platform.cpp; LDS: the ISA documents,
    and for its steps Mesa, ac_gpu_info.c. CUDA: CUDA C++ Programming Guide, "Technical Specifications per Compute
    Capability" (resident warps, resident blocks, shared memory of an SM), and ``cuda_occupancy.h`` of the toolkit:
    64 Ki registers on four partitions, for each warp in units of 256; since 8.0 each block has 1 KiB of the system's.
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

    ``isa`` is the number by which the device library knows it (major * 1000 + minor * 100 + stepping), ``wavefront``
    the number of lanes of the code the compiler makes by default, ``lds_bytes`` the LDS one workgroup can have. Of a
    CUDA target ``isa`` is the compute capability in the same form, a wavefront is a warp, and LDS is shared memory.

    The ABI: ``packed_ids`` says that the three coordinates of a work-item come packed in v0 and not in v0, v1 and v2;
    ``group_ids_in_ttmp`` that those of the workgroup come in trap temporaries and not in SGPRs;
    ``architected_scratch`` that scratch memory is found without a register (LLVM, "User Guide for AMDGPU Backend":
    target properties in the table of processors, "Initial Kernel Execution State").

    ``fnuz`` says that 8-bit floats are FNUZ's formats and not OCP's, where there are instructions for them (CDNA3 and
    RDNA4 Instruction Set Architecture, V_CVT_PK_FP8_F32).

    ``limits`` is None where they are not known. ``default`` targets are those of a run that names none.
    """

    name: str
    isa: int
    wavefront: int
    lds_bytes: int
    packed_ids: bool = False
    group_ids_in_ttmp: bool = False
    architected_scratch: bool = False
    fnuz: bool = False
    limits: Limits | None = None
    default: bool = False
    vendor: Literal["amd", "cuda"] = "amd"

    @property
    def generation(self) -> int:
        """Major version of the instruction set: 9 (CDNA), 10 (RDNA 1 and 2), 11 (RDNA 3), ..."""
        return self.isa // 1000

    def __str__(self) -> str:
        return self.name


def read(path: Path) -> tuple[dict[str, Target], dict[str, Limits]]:
    """The AMD targets of a table, and the limits of all targets, by name; an empty cell is 0 or "no"."""
    rows = read_table(path)
    limits = {
        row["name"]: Limits(**{field.name: int(row[field.name] or 0) for field in fields(Limits)}) for row in rows
    }
    return {row["name"]: _target(row, limits[row["name"]]) for row in rows if row["isa"]}, limits


def _target(row: Mapping[str, str], limits: Limits) -> Target:
    return Target(
        row["name"],
        int(row["isa"]),
        int(row["wavefront"]),
        int(row["lds_bytes"]),
        packed_ids=row["packed_ids"] == "yes",
        group_ids_in_ttmp=row["group_ids_in_ttmp"] == "yes",
        architected_scratch=row["architected_scratch"] == "yes",
        fnuz=row["fnuz"] == "yes",
        limits=limits,
        default=row["default"] == "yes",
    )


TARGETS, LIMITS = read(TABLE)

DEFAULT_TARGETS = tuple(target.name for target in TARGETS.values() if target.default)
"""The targets of a run that names none. Every ROCm that is still in use knows the first one."""

CUDA_TARGET = next(row["name"] for row in read_table(TABLE) if row["default"] and not row["isa"])
"""CUDA's target where none is named: that of the H200, whose results PTX's instructions give (docs/ptx.md)."""


def target(name: str) -> Target:
    """The target of that name: a row of ``TARGETS``, or ``sm_`` and a compute capability (``sm_90``, ``sm_100a``).

    Raises:
        UsageError: parity cannot build for it.
    """
    if name in TARGETS:
        return TARGETS[name]
    if match := _CUDA.fullmatch(name):
        major, minor = int(match["major"]), int(match["minor"])
        limits = LIMITS.get(f"sm_{major}{minor}")  # sm_90a and sm_100f have those of sm_90 and sm_100
        # What a block can have when its kernel asks for it, as the runners do: "Technical Specifications per Compute
        # Capability", 64 KiB of 7.5 to 227 KiB of 9.0. Static shared memory above 48 KiB is refused by ptxas.
        lds_bytes = limits.shared - limits.shared_own if limits else 48 * 1024
        return Target(name, major * 1000 + minor * 100, 32, lds_bytes, limits=limits, vendor="cuda")
    raise UsageError(f"unknown target {name!r}; known: {' '.join(TARGETS)} sm_NN{nearest(name, TARGETS)}")


_CUDA = re.compile(r"sm_(?P<major>[1-9]\d?)(?P<minor>\d)[af]?")
