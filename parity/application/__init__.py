"""A run as data: its scope, its steps (build, execute) and its results; for commands, pytest and notebooks.

Nothing here prints, parses options or knows a terminal.
"""

from parity.application.columns import Columns, columns, default_runners
from parity.application.explanation import explain
from parity.application.measured import Measured
from parity.application.recorded import Recorded
from parity.application.reported import Reported
from parity.application.results import RECORD, Results, Stored, load
from parity.application.run import Prepared, Run, Settings, replay
from parity.application.shards import Merged, costs_of, merge, merge_recordings, write_part
from parity.report.changes import Difference, differences

__all__ = [
    "RECORD",
    "Columns",
    "Difference",
    "Measured",
    "Merged",
    "Prepared",
    "Recorded",
    "Reported",
    "Results",
    "Run",
    "Settings",
    "Stored",
    "columns",
    "costs_of",
    "default_runners",
    "differences",
    "explain",
    "load",
    "merge",
    "merge_recordings",
    "replay",
    "write_part",
]
