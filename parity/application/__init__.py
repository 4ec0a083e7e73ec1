"""Runs as data, and the functions that execute, record, measure, merge and explain them.

Commands, the pytest plugin and notebooks use this package. It does not print and does not parse options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Imported eagerly, because the module "columns" would shadow the function of the same name.
from parity.application.columns import Columns, default_runners, select_columns
from parity.platform.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from parity.application.explanation import explain
    from parity.application.loaded_run import LoadedRun
    from parity.application.measuring import Measured, measure
    from parity.application.merging import Merged, measured_costs, merge, merge_recordings, write_shard_file
    from parity.application.recording import Recorded, record
    from parity.application.run import Prepared, Results, Run, Settings, replay
    from parity.application.stored_results import RECORD, Stored, load
    from parity.report.changes import Difference, differences

__all__ = [
    "RECORD", "Columns", "Difference", "LoadedRun", "Measured", "Merged", "Prepared", "Recorded", "Results", "Run",
    "Settings", "Stored", "default_runners", "differences", "explain", "load", "measure", "measured_costs", "merge",
    "merge_recordings", "record", "replay", "select_columns", "write_shard_file",
]  # fmt: skip

__getattr__ = lazy_getattr(
    __name__,
    {
        "explanation": "explain",
        "measuring": "Measured measure",
        "recording": "Recorded record",
        "loaded_run": "LoadedRun",
        "run": "Prepared Results Run Settings replay",
        "stored_results": "RECORD Stored load",
        "merging": "Merged measured_costs merge merge_recordings write_shard_file",
        "parity.report.changes": "Difference differences",
    },
)
