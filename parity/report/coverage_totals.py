"""The shares of machine code that cases reached, by column."""

from __future__ import annotations

from dataclasses import dataclass

from parity.model.coverage import COUNTS
from parity.report.model import Matrix


@dataclass(frozen=True)
class ColumnCoverage:
    """The coverage of all kernels in one column, in basic blocks and in directions of conditional branches.

    The last four fields classify unreached blocks, in this order, and are None if nobody classified them: ``explained``
    blocks have a reason in the code, ``library`` blocks belong to library functions, ``branches`` only lead from one
    block to another, and ``copies`` belong to lines that ran in another block.
    """

    column: str
    blocks: int
    blocks_reached: int
    directions: int
    directions_reached: int
    explained: int | None = None
    library: int | None = None
    branches: int | None = None
    copies: int | None = None

    def __str__(self) -> str:
        blocks = f"{self.blocks_reached:,} of {self.blocks:,} basic blocks reached"
        directions = f"{self.directions_reached:,} of {self.directions:,} branch directions"
        return (
            f"{self.column}: {blocks}{_percent(self.blocks_reached, self.blocks)}, "
            f"{directions}{_percent(self.directions_reached, self.directions)}{self._rest}"
        )

    @property
    def _rest(self) -> str:
        """The classification of the unreached blocks."""
        known = (self.explained, self.library, self.branches)
        if None in known or self.blocks == self.blocks_reached:
            return ""
        missing, other = self.blocks - self.blocks_reached, self.blocks - sum(each or 0 for each in known)
        return (
            f"\n  not reached: {missing:,}; with a reason above: {self.explained:,}, of library functions: "
            f"{self.library:,}, branches alone: {self.branches:,}; without these {self.blocks_reached:,} of {other:,} "
            f"were reached{_percent(self.blocks_reached, other)}{self._others(other - self.blocks_reached)}"
        )

    def _others(self, left: int) -> str:
        """The ``left`` blocks without a classification, by whether their lines ran elsewhere."""
        if not left:
            return ""
        copies = self.copies or 0
        return f"; the other {left:,}: {copies:,} of lines that ran, {left - copies:,} of lines that did not"


def coverage_by_column(matrix: Matrix) -> list[ColumnCoverage]:
    """Return the coverage of each column that records it."""
    found = []
    for column, cells in matrix.by_column():
        if each := [cell.reached for cell in cells if cell.reached]:
            found.append(ColumnCoverage(str(column), *(sum(getattr(one, name) for one in each) for name in COUNTS)))
    return found


def _percent(part: int, whole: int) -> str:
    """A share in percent, rounded down to a tenth, in brackets; empty if ``whole`` is 0."""
    return f" ({1000 * part // whole / 10:g} %)" if whole else ""
