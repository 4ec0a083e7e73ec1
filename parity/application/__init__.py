"""A run as data: its scope, its steps (build, execute) and its results; for commands, pytest and notebooks.

Nothing here prints, parses options or knows a terminal.
"""

from parity.application.changes import Difference, differences
from parity.application.columns import Columns, columns, default_runners
from parity.application.explanation import explain
from parity.application.measured import Measured
from parity.application.recorded import Recorded
from parity.application.results import Results, Stored, load
from parity.application.run import Prepared, Run, Settings, replay

__all__ = [
    "Columns",
    "Difference",
    "Measured",
    "Prepared",
    "Recorded",
    "Results",
    "Run",
    "Settings",
    "Stored",
    "columns",
    "default_runners",
    "differences",
    "explain",
    "load",
    "replay",
]
