"""Plans a run, executes it in isolated worker processes, judges each case, and writes records.

Where to look:

* ``judging`` decides whether one column computes a case correctly; ``worker`` runs a case on all columns. *
``cross_vendor`` and ``parity.compare.arbitration`` decide whether CUDA or AMD is wrong. * ``processes`` starts worker
processes and kills those that exceed their time limit; ``execution`` retries their cases.
"""

from parity.engine.calls import Progress, quiet
from parity.engine.case_records import (
    COMPILE_ERROR,
    NOT_RECORDED,
    CaseRecord,
    Column,
    CrossVendorComparison,
    Provenance,
    Task,
)
from parity.engine.execution import execute_plan
from parity.engine.journal import Journal, describe_differences
from parity.engine.known_issues import Issue, KnownIssues, ReviewedIssue, load_known_issues
from parity.engine.outcomes import outcome_journal, record_outcomes
from parity.engine.plan import Plan, make_tasks, runnable_tasks, runner_columns
from parity.engine.record_file import Record, RecordWriter, environment, read_record, records_without_code
from parity.engine.shards import Shard, Share

__all__ = [
    "COMPILE_ERROR", "NOT_RECORDED", "CaseRecord", "Column", "CrossVendorComparison", "Issue", "Journal", "KnownIssues",
    "Plan", "Progress", "Provenance", "Record", "RecordWriter", "ReviewedIssue", "Shard", "Share", "Task",
    "describe_differences", "environment", "execute_plan", "load_known_issues", "make_tasks", "outcome_journal",
    "quiet", "read_record", "record_outcomes", "records_without_code", "runnable_tasks", "runner_columns",
]  # fmt: skip
