"""The engine: a plan of kernels and cases, executed in isolated workers, recorded as results arrive."""

from parity.engine.journal import Journal
from parity.engine.plan import Column, Plan, Task, columns_of, runnable, tasks_of
from parity.engine.record import Against, CaseRecord, Record, RecordWriter, environment, read_record
from parity.engine.recorder import outcomes
from parity.engine.run import run

__all__ = [
    "Against",
    "CaseRecord",
    "Column",
    "Journal",
    "Plan",
    "Record",
    "RecordWriter",
    "Task",
    "columns_of",
    "environment",
    "outcomes",
    "read_record",
    "run",
    "runnable",
    "tasks_of",
]
