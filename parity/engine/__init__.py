"""The engine: a plan of kernels and cases, executed in isolated workers, recorded as results arrive."""

from parity.engine.plan import Plan, Task, tasks_of
from parity.engine.record import CaseRecord, Record, RecordWriter, environment, read_record
from parity.engine.recorder import outcomes
from parity.engine.run import run

__all__ = [
    "CaseRecord",
    "Plan",
    "Record",
    "RecordWriter",
    "Task",
    "environment",
    "outcomes",
    "read_record",
    "run",
    "tasks_of",
]
