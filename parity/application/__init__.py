"""A run as data: its scope, its steps (build, execute) and its results; for commands, pytest and notebooks.

Nothing here prints, parses options or knows a terminal. What a name needs is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.application.columns import Columns, columns, default_runners  # now, as a module has the name of a function
from parity.platform.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from parity.application.explanation import explain
    from parity.application.loading import LoadedRun
    from parity.application.measuring import Measured
    from parity.application.merging import Merged, costs_of, merge, merge_recordings, write_part
    from parity.application.recording import Recorded
    from parity.application.results import RECORD, Results, Stored, load
    from parity.application.run import Prepared, Run, Settings, replay
    from parity.report.changes import Difference, differences

__all__ = [
    "RECORD",
    "Columns",
    "Difference",
    "LoadedRun",
    "Measured",
    "Merged",
    "Prepared",
    "Recorded",
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

__getattr__ = lazy_getattr(
    __name__,
    {
        "explanation": "explain",
        "measuring": "Measured",
        "recording": "Recorded",
        "loading": "LoadedRun",
        "results": "RECORD Results Stored load",
        "run": "Prepared Run Settings replay",
        "merging": "Merged costs_of merge merge_recordings write_part",
        "parity.report.changes": "Difference differences",
    },
)
