"""The engine: a plan of kernels and cases, executed in isolated workers, recorded as results arrive."""

from parity.engine.calls import Progress, quiet
from parity.engine.execution import run
from parity.engine.journal import Journal, differing
from parity.engine.known_issues import Issue, Known, Reviewed, known_issues
from parity.engine.outcomes import outcome_journal, record_outcomes
from parity.engine.plan import Plan, columns_of, runnable, tasks_of
from parity.engine.record_file import Record, RecordWriter, environment, read_record, without_code
from parity.engine.records import COMPILE_ERROR, NOT_RECORDED, Against, CaseRecord, Column, Provenance, Task
from parity.engine.shards import Shard, Share

__all__ = [
    "COMPILE_ERROR",
    "NOT_RECORDED",
    "Against",
    "CaseRecord",
    "Column",
    "Issue",
    "Journal",
    "Known",
    "Plan",
    "Progress",
    "Provenance",
    "Record",
    "RecordWriter",
    "Reviewed",
    "Shard",
    "Share",
    "Task",
    "columns_of",
    "differing",
    "environment",
    "known_issues",
    "outcome_journal",
    "quiet",
    "read_record",
    "record_outcomes",
    "run",
    "runnable",
    "tasks_of",
    "without_code",
]
