"""The matrix that ``import parity`` returns: it prints, shows itself in notebooks and converts to a pandas table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parity.report.frames import matrix_frame
from parity.report.model import Matrix
from parity.report.render import plain, totals

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class PrintableMatrix(Matrix):
    """A matrix for interactive use. ``str`` returns the text of ``matrix.txt``."""

    @classmethod
    def from_matrix(cls, matrix: Matrix) -> PrintableMatrix:
        """Wrap the same data."""
        return cls(**vars(matrix))

    def __str__(self) -> str:
        return f"{plain(self)}\n{totals(self)}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the text in a notebook."""
        printer.text(str(self))

    def frame(self) -> pandas.DataFrame:
        """One row per kernel and column; see ``matrix_frame``.

        Raises:
            MissingTool: pandas is not installed.
        """
        return matrix_frame(self)
