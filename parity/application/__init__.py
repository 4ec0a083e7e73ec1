"""A run as data: what it is about, what it builds and executes, and what it found; for commands, pytest and notebooks.

Nothing here prints, parses options or knows a terminal.
"""

from parity.application.columns import Columns, columns
from parity.application.measured import Measured
from parity.application.recorded import Recorded
from parity.application.results import Results, Stored, load
from parity.application.run import Prepared, Run, Settings

__all__ = [
    "Columns",
    "Measured",
    "Prepared",
    "Recorded",
    "Results",
    "Run",
    "Settings",
    "Stored",
    "columns",
    "load",
]
