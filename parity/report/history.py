"""The history of a suite: a folder with one JSON summary per run, which CI keeps from commit to commit.

A kernel is flaky if its state differs between runs with the same code, the same cases and the same version of parity.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from parity.errors import UsageError
from parity.platform.cache import digest
from parity.platform.files import naming_write_errors, read_content
from parity.platform.serialization import json_text, read_json
from parity.report.document import WITHOUT_CASES, IssueEntry, MatrixFile
from parity.report.model import FAILED_KEYS, CellState
from parity.runners.recording_file import Environment

FORMAT, VERSION = "parity history", 1

SOON = datetime.timedelta(days=30)
"""The page lists known issues that expire within this time."""


@dataclass(frozen=True)
class ColumnSummary:
    """A column of a run: kernel states, the largest share of an error bound in passing cases, and the case count.

    ``made_of`` maps each module to a digest of everything that decides outcomes: code, cases, seed, parity's version.
    """

    states: tuple[str, ...]
    budget: float | None
    cases: int
    made_of: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunSummary:
    """A run in the history. ``kernels`` has (module, op, kernel) tuples; the keys of ``columns`` are column names.

    ``recall`` is the share of planted faults that the cases catch, if measured.
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
    """A kernel with different states in a column; ``states`` are in the order of the runs with the same code."""

    op: str
    kernel: str
    column: str
    states: tuple[str, ...]


def summarize_run(
    matrix: MatrixFile, environment: Environment, commit: str, date: str, recall: float | None = None
) -> RunSummary:
    """Summarize a run; ``date`` is ISO 8601."""
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
        states, cases = tuple(cell.state for cell in cells), sum(cell.run for cell in cells)
        columns[str(column)] = ColumnSummary(states, max(used, default=None), cases, made_of)
    kernels = tuple((each.module, each.op, each.kernel) for each in matrix.kernels)
    about = (matrix.parity, matrix.complete, matrix.seconds)
    return RunSummary(commit, date, *about, kernels, columns, matrix.known_issues, recall)


def add_summary(folder: Path, summary: RunSummary) -> Path:
    """Write a summary to a file named after its date and commit, unless the file exists. Return the path.

    Raises:
        UsageError, ResourceExhausted: the file cannot be written.
    """
    name = re.sub(r"[^\w.-]+", "-", f"{summary.date}-{summary.commit[:12] or 'run'}")
    path = folder / f"{name}.json"
    with naming_write_errors(path, "choose another folder with --history"):
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(json_text(summary) + b"\n")
    return path


def read_history(folder: Path) -> list[RunSummary]:
    """Read the summaries in a folder, oldest first.

    Raises:
        UsageError: the folder does not exist, or a file in it is not a summary.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; parity run --history {folder} creates it")
    found = []
    for path in sorted(folder.glob("*.json")):
        kind = read_json(read_content(path), dict[str, Any], str(path))
        if (kind.get("format"), kind.get("version")) != (FORMAT, VERSION):
            raise UsageError(f"{path} is not a summary of version {VERSION} written by parity run --history; remove it")
        found.append(read_json(read_content(path), RunSummary, str(path)))
    return sorted(found, key=lambda each: datetime.datetime.fromisoformat(each.date).astimezone())


def flaky_kernels(runs: Sequence[RunSummary]) -> list[FlakyKernel]:
    """Return the kernels whose state changed although nothing changed that decides it."""
    met: dict[tuple[str, str, str, str], list[str]] = {}
    for run in runs:
        for name, column in run.columns.items():
            for (module, op, kernel), state in zip(run.kernels, column.states, strict=True):
                if module in column.made_of and state not in WITHOUT_CASES:
                    met.setdefault((op, kernel, name, column.made_of[module]), []).append(state)
    found = (FlakyKernel(op, kernel, name, tuple(states)) for (op, kernel, name, _), states in met.items())
    return [each for each in found if len({_outcome(state) for state in each.states}) > 1]


def _outcome(state: str) -> str:
    """The state without the difference between failed and known, which does not depend on the code."""
    return "failed" if state in FAILED_KEYS or state == CellState.KNOWN.key else state


def history_content(runs: Sequence[RunSummary]) -> dict[str, Any]:
    """Return the part ``history`` of the page."""
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
        "flaky": [{**asdict(each), "cell": f"{each.op}/{each.kernel}@{each.column}"} for each in flaky_kernels(runs)],
        "expiring": [{**asdict(each), "expires": str(each.expires)} for each in (_expiring(last) if last else ())],
    }


def _expiring(run: RunSummary) -> Iterable[IssueEntry]:
    """The known issues that expire soon after this run, earliest first."""
    day = datetime.datetime.fromisoformat(run.date).date()
    return sorted((each for each in run.issues if each.expires <= day + SOON), key=lambda each: each.expires)
