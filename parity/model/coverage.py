"""Coverage: the basic blocks and branch directions of machine code that launches reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

COUNTS = ("blocks", "blocks_reached", "directions", "directions_reached")
"""The counts in ``Reached``: basic blocks and branch directions, in total and reached."""


@dataclass(frozen=True)
class Point:
    """A basic block that begins at an instruction, or a direction of the branch that the instruction is."""

    kind: Literal["block", "taken", "not taken"]
    instruction: int

    @property
    def is_block(self) -> bool:
        return self.kind == "block"


@dataclass(frozen=True)
class Reached:
    """The basic blocks and directions of conditional branches that launches reached.

    A block is a run of instructions without a branch, label or change of EXEC inside it. A launch reaches a block if it
    executes the block with a lane in EXEC, or if the block consists of scalar instructions only. It reaches a direction
    if a wavefront takes it.

    Attributes:
        blocks: number of blocks in the code.
        directions: number of directions in the code.
        bits: hexadecimal number. Bit i is block i, bit ``blocks`` + i is direction i, in the order of the code.
    """

    blocks: int
    directions: int
    bits: str

    @classmethod
    def of(cls, blocks: int, directions: int, mask: int) -> Reached:
        """Create it from a mask."""
        return cls(blocks, directions, f"{mask:x}")

    @property
    def mask(self) -> int:
        """``bits`` as a number."""
        return int(self.bits, 16)

    @property
    def blocks_reached(self) -> int:
        """Number of reached blocks."""
        return (self.mask & self._all_blocks).bit_count()

    @property
    def directions_reached(self) -> int:
        """Number of reached directions."""
        return (self.mask >> self.blocks).bit_count()

    @property
    def _all_blocks(self) -> int:
        return (1 << self.blocks) - 1

    def __or__(self, other: Reached) -> Reached:
        """Merge the coverage of the same code; coverage of other code is ignored."""
        if (self.blocks, self.directions) != (other.blocks, other.directions):
            return self
        return Reached.of(self.blocks, self.directions, self.mask | other.mask)

    def adds_to(self, mask: int) -> bool:
        """Return whether it has a point that is not in ``mask``."""
        return bool(self.mask & ~mask)


def concatenate_coverage(each: Iterable[Reached]) -> Reached | None:
    """Concatenate the coverage of several kernels, in the given order. Return None if there are none."""
    blocks = directions = in_blocks = in_directions = 0
    found = False
    for one in each:
        found = True
        in_blocks |= (one.mask & one._all_blocks) << blocks
        in_directions |= one.mask >> one.blocks << directions
        blocks += one.blocks
        directions += one.directions
    return Reached.of(blocks, directions, in_directions << blocks | in_blocks) if found else None
