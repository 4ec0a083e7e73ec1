"""A run as data: its scope, its steps (build, execute) and its results; for commands, pytest and notebooks.

Nothing here prints, parses options or knows a terminal. What a name needs is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.application.columns import Columns, columns, default_runners  # now, as a module has the name of a function
from parity.later import later

if TYPE_CHECKING:
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

__getattr__ = later(
    __name__,
    {
        "explanation": "explain",
        "measured": "Measured",
        "recorded": "Recorded",
        "reported": "Reported",
        "results": "RECORD Results Stored load",
        "run": "Prepared Run Settings replay",
        "shards": "Merged costs_of merge merge_recordings write_part",
        "parity.report.changes": "Difference differences",
    },
)
