"""The history of a suite: a folder with a summary of every run, a JSON file each, that CI keeps from commit to commit.

A kernel is flaky if it had different states in runs of the same code, the same cases and the same parity: then nothing
but chance can have changed them.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity.errors import UsageError
from parity.platform.cache import digest
from parity.platform.files import naming_write_errors, read_content
from parity.platform.serialization import json_text, read_json
from parity.report.document import WITHOUT_CASES, IssueEntry, MatrixFile
from parity.report.model import FAILED_KEYS, CellState
from parity.runners.recording_file import Environment

__all__ = [
    "FlakyKernel",
    "RunSummary",
    "add_summary",
    "flaky_kernels",
    "history_content",
    "read_history",
    "summarize_run",
]

FORMAT, VERSION = "parity history", 1

SOON = datetime.timedelta(days=30)
"""A known issue that expires within this time is shown."""


@dataclass(frozen=True)
class ColumnSummary:
    """A column of a run: the state of every kernel, the largest used budget of what passed, and the number of cases.

    ``made_of`` is by module a digest of all that decides an outcome: code, cases, seed, parity.
    """

    states: tuple[str, ...]
    budget: float | None
    cases: int
    made_of: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunSummary:
    """A run in its history. ``kernels`` are module, op and kernel of each, ``columns`` by their name.

    ``recall`` is the share of planted faults that were found, where something has measured it.
    """

    commit: str
    date: str
    parity: str
    complete: bool
    seconds: float
    kernels: tuple[tuple[str, str, str], ...]
    columns: Mapping[str, ColumnSummary]
    issues: tuple[IssueEntry, ...] = ()
    recall: float | None = None
    format: str = FORMAT
    version: int = VERSION


@dataclass(frozen=True)
class FlakyKernel:
    """A kernel with several states in a column, in the order of the runs of the same code and cases."""

    op: str
    kernel: str
    column: str
    states: tuple[str, ...]


def summarize_run(
    matrix: MatrixFile, environment: Environment, commit: str, date: str, recall: float | None = None
) -> RunSummary:
    """The summary of a run; ``date`` is ISO 8601."""
    columns = {}
    code, sources = environment.get("code objects", {}), environment.get("sources", {})
    for index, column in enumerate(matrix.columns):
        cells = [kernel.cells[index] for kernel in matrix.kernels]
        used = [cell.worst_budget for cell in cells if cell.worst_budget is not None]
        made_of = {
            module: digest(own, sources.get(f"{module}.py", ""), str(matrix.seed), str(matrix.examples), matrix.parity)
            for module in dict.fromkeys(kernel.module for kernel in matrix.kernels)
            if (own := code.get(f"{module} {column}"))
        }
        columns[str(column)] = ColumnSummary(
            tuple(cell.state for cell in cells), max(used, default=None), sum(cell.run for cell in cells), made_of
        )
    kernels = tuple((each.module, each.op, each.kernel) for each in matrix.kernels)
    return RunSummary(
        commit,
        date,
        matrix.parity,
        matrix.complete,
        matrix.seconds,
        kernels,
        columns,
        tuple(matrix.known_issues),
        recall,
    )


def add_summary(folder: Path, summary: RunSummary) -> Path:
    """Write a summary into the folder, under a name of its date and commit; if it is there already, it stays as it is.

    Raises:
        UsageError, SystemLacks: the file cannot be written.
    """
    name = re.sub(r"[^\w.-]+", "-", f"{summary.date}-{summary.commit[:12] or 'run'}")
    path = folder / f"{name}.json"
    with naming_write_errors(path, "choose another folder with --history"):
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(json_text(summary) + b"\n")
    return path


def read_history(folder: Path) -> list[RunSummary]:
    """The summaries in a folder, the oldest first.

    Raises:
        UsageError: there is no such folder, or a file in it is something else.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; parity run --history {folder} makes it")
    found = []
    for path in sorted(folder.glob("*.json")):
        kind = read_json(read_content(path), dict[str, Any], str(path))
        if (kind.get("format"), kind.get("version")) != (FORMAT, VERSION):
            raise UsageError(f"{path} is no summary of version {VERSION} that parity run --history wrote; remove it")
        found.append(read_json(read_content(path), RunSummary, str(path)))
    return sorted(found, key=lambda each: datetime.datetime.fromisoformat(each.date).astimezone())


def flaky_kernels(runs: Sequence[RunSummary]) -> list[FlakyKernel]:
    """The kernels whose state has changed while nothing did that decides it."""
    met: dict[tuple[str, str, str, str], list[str]] = {}
    for run in runs:
        for name, column in run.columns.items():
            for (module, op, kernel), state in zip(run.kernels, column.states, strict=True):
                if module in column.made_of and state not in WITHOUT_CASES:
                    met.setdefault((op, kernel, name, column.made_of[module]), []).append(state)
    found = (FlakyKernel(op, kernel, name, tuple(states)) for (op, kernel, name, _), states in met.items())
    return [each for each in found if len({_outcome(state) for state in each.states}) > 1]


def _outcome(state: str) -> str:
    """The state, as far as the code decides it: an issue that becomes known changes nothing."""
    return "failed" if state in FAILED_KEYS or state == CellState.KNOWN.key else state


def history_content(runs: Sequence[RunSummary]) -> dict[str, Any]:
    """The part ``history`` of the page."""
    last = runs[-1] if runs else None
    return {
        "states": [state.key for state in CellState],
        "runs": [
            {
                "commit": run.commit,
                "date": run.date,
                "complete": run.complete,
                "seconds": run.seconds,
                "cases": sum(column.cases for column in run.columns.values()),
                "states": Counter(state for column in run.columns.values() for state in column.states),
                "budgets": {name: column.budget for name, column in run.columns.items() if column.budget is not None},
                "recall": run.recall,
            }
            for run in runs
        ],
        "flaky": [
            {
                "kernel": each.kernel,
                "column": each.column,
                "cell": f"{each.op}/{each.kernel}@{each.column}",
                "states": each.states,
            }
            for each in flaky_kernels(runs)
        ],
        "expiring": [
            {"expires": str(each.expires), "location": each.location, "cases": each.cases, "reason": each.reason}
            for each in (_expiring(last) if last else ())
        ],
    }


def _expiring(run: RunSummary) -> Iterable[IssueEntry]:
    """The known issues that expire soon after this run."""
    day = datetime.datetime.fromisoformat(run.date).date()
    return sorted((each for each in run.issues if each.expires <= day + SOON), key=lambda each: each.expires)
