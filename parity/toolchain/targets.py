"""The targets a module can be built for: a row per AMD target; CUDA's follow from their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from parity.errors import UsageError, nearest

__all__ = ["DEFAULT_TARGETS", "TARGETS", "Target", "target"]


@dataclass(frozen=True)
class Target:
    """A GPU architecture.

    ``wavefront`` is the number of lanes of the code the compiler makes by default, ``isa`` the number by which the
    device library knows it (major * 1000 + minor * 100 + stepping), ``packed_ids`` says that the three coordinates of a
    work-item come packed in v0 and not in v0, v1 and v2, ``lds_bytes`` is the LDS one workgroup can have, ``vgprs`` the
    vector registers one lane can address (AGPRs included). Of a CUDA target ``isa`` is the compute capability in the
    same form, a wavefront is a warp, and LDS is shared memory.
    """

    name: str
    wavefront: int
    isa: int
    packed_ids: bool = True
    lds_bytes: int = 65536
    vgprs: int = 256
    vendor: Literal["amd", "cuda"] = "amd"

    @property
    def generation(self) -> int:
        """Major version of the instruction set: 9 (CDNA), 10 (RDNA 1 and 2), 11 (RDNA 3), ..."""
        return self.isa // 1000

    def __str__(self) -> str:
        return self.name


TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        Target("gfx1030", 32, 10300, packed_ids=False),
        Target("gfx1100", 32, 11000),
        Target("gfx90a", 64, 9010, vgprs=512),
        Target("gfx942", 64, 9402, vgprs=512),
        Target("gfx1201", 32, 12001),
    )
}


#: The targets of a run that names none.
DEFAULT_TARGETS = ("gfx1030", "gfx1100", "gfx90a")


def target(name: str) -> Target:
    """The target of that name: a row of ``TARGETS``, or ``sm_`` and a compute capability (``sm_90``, ``sm_100a``).

    Raises:
        UsageError: parity cannot build for it.
    """
    if name in TARGETS:
        return TARGETS[name]
    if match := _CUDA.fullmatch(name):
        major, minor = int(match["major"]), int(match["minor"])
        # 48 KiB is what a block has without asking for more; a thread has 255 registers since sm_35.
        return Target(name, 32, major * 1000 + minor * 100, lds_bytes=49152, vgprs=255, vendor="cuda")
    raise UsageError(f"unknown target {name!r}; known: {' '.join(TARGETS)} sm_NN{nearest(name, TARGETS)}")


_CUDA = re.compile(r"sm_(?P<major>[1-9]\d?)(?P<minor>\d)[af]?")
