"""Coverage: the basic blocks and branch directions of machine code that launches reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["COUNTS", "Point", "Reached", "concatenate_coverage"]

COUNTS = ("blocks", "blocks_reached", "directions", "directions_reached")
"""The numbers of ``Reached``: basic blocks and branch directions, all and those that were reached."""


@dataclass(frozen=True)
class Point:
    """A basic block that begins with the instruction of that number, or a direction of the branch that it is."""

    kind: Literal["block", "taken", "not taken"]
    instruction: int

    @property
    def is_block(self) -> bool:
        return self.kind == "block"


@dataclass(frozen=True)
class Reached:
    """The points of code that launches reached, of so many ``blocks`` and ``directions`` of conditional branches.

    A block is a run of instructions without a branch, a label or a change of EXEC inside of it. It is reached when it
    runs with a lane in EXEC, or consists of scalar instructions alone; a direction, when a wavefront goes there. Of
    ``bits``, a hexadecimal number, bit i is block i, bit ``blocks`` + i direction i, in the order of the code.
    """

    blocks: int
    directions: int
    bits: str

    @classmethod
    def of(cls, blocks: int, directions: int, mask: int) -> Reached:
        """The same from a number."""
        return cls(blocks, directions, f"{mask:x}")

    @property
    def mask(self) -> int:
        """The bits as a number."""
        return int(self.bits, 16)

    @property
    def blocks_reached(self) -> int:
        """Number of blocks that were reached."""
        return (self.mask & self._all_blocks).bit_count()

    @property
    def directions_reached(self) -> int:
        """Number of directions of branches that were reached."""
        return (self.mask >> self.blocks).bit_count()

    @property
    def _all_blocks(self) -> int:
        return (1 << self.blocks) - 1

    def __or__(self, other: Reached) -> Reached:
        """The coverage of both together if they are of the same code, otherwise this one's."""
        if (self.blocks, self.directions) != (other.blocks, other.directions):
            return self
        return Reached.of(self.blocks, self.directions, self.mask | other.mask)

    def adds_to(self, mask: int) -> bool:
        """True if it has a point that is not in ``mask``."""
        return bool(self.mask & ~mask)


def concatenate_coverage(each: Iterable[Reached]) -> Reached | None:
    """The coverage of several kernels, one after the other in the order given; None of none."""
    blocks = directions = in_blocks = in_directions = 0
    found = False
    for one in each:
        found = True
        in_blocks |= (one.mask & one._all_blocks) << blocks
        in_directions |= one.mask >> one.blocks << directions
        blocks += one.blocks
        directions += one.directions
    return Reached.of(blocks, directions, in_directions << blocks | in_blocks) if found else None
