"""Runs as data, and the functions that execute, record, measure, merge and explain them.

Commands, the pytest plugin and notebooks use this package. It does not print and does not parse options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Imported eagerly, because the module "columns" would shadow the function of the same name.
from parity.application.columns import Columns, columns, default_runners
from parity.platform.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from parity.application.explanation import explain
    from parity.application.loading import LoadedRun
    from parity.application.measuring import Measured, measure
    from parity.application.merging import Merged, costs_of, merge, merge_recordings, write_part
    from parity.application.recording import Recorded, record
    from parity.application.run import Prepared, Results, Run, Settings, replay
    from parity.application.stored_results import RECORD, Stored, load
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
    "measure",
    "merge",
    "merge_recordings",
    "record",
    "replay",
    "write_part",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "explanation": "explain",
        "measuring": "Measured measure",
        "recording": "Recorded record",
        "loading": "LoadedRun",
        "run": "Prepared Results Run Settings replay",
        "stored_results": "RECORD Stored load",
        "merging": "Merged costs_of merge merge_recordings write_part",
        "parity.report.changes": "Difference differences",
    },
)
