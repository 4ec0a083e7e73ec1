"""The AMD targets a module can be built for: one row per target."""

from __future__ import annotations

from dataclasses import dataclass

from parity.errors import UsageError, nearest

__all__ = ["DEFAULT_TARGETS", "TARGETS", "Target", "target"]


@dataclass(frozen=True)
class Target:
    """An AMD GPU architecture.

    ``wavefront`` is the number of lanes of the code the compiler makes by default, ``isa`` the number by which the
    device library knows it (major * 1000 + minor * 100 + stepping), ``packed_ids`` says that the three coordinates of a
    work-item come packed in v0 and not in v0, v1 and v2, ``lds_bytes`` is the LDS one workgroup can have, ``vgprs`` the
    vector registers one lane can address (AGPRs included).
    """

    name: str
    wavefront: int
    isa: int
    packed_ids: bool = True
    lds_bytes: int = 65536
    vgprs: int = 256

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
    """The target of that name.

    Raises:
        UsageError: parity cannot build for it.
    """
    try:
        return TARGETS[name]
    except KeyError:
        raise UsageError(f"unknown target {name!r}; known: {' '.join(TARGETS)}{nearest(name, TARGETS)}") from None
