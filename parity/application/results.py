"""The results of a run, and a folder of results read back."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from parity.build.builder import Built
from parity.engine import CaseRecord, Column, Plan, Provenance, Record, read_record
from parity.engine.baseline import parse_baseline
from parity.engine.bench import Measurement
from parity.errors import NotAvailable, UsageError
from parity.mutation import Recall, committed, read_recall
from parity.report import Failure, PrintableMatrix, case_frame, make_matrix, not_judged, shown_failures
from parity.runners.recording import MEASUREMENTS

if TYPE_CHECKING:
    import pandas

    from parity.application.run import Run

__all__ = ["RECORD", "Cases", "Results", "Stored", "load"]

RECORD = "record.jsonl"
"""The file of a results folder that has a line for each case."""


class Cases:
    """Queries of case records, for a run of this process and for results read back."""

    records: Sequence[CaseRecord]

    @property
    def failures(self) -> list[Failure]:
        """The failing cases, the simplest of each kind."""
        return list(shown_failures(self.records))

    def frame(self) -> pandas.DataFrame:
        """One row per case; see ``case_frame``.

        Raises:
            MissingTool: pandas is not installed.
        """
        return case_frame(self.records)


@dataclass(frozen=True)
class Results(Cases):
    """The results of a run, also of one that ended early: ``stopped`` is the exception that ended it.

    ``records`` are its cases, ``seconds`` the time of the execution, ``measured`` what kernels cost, by kernel and
    column, where that was measured, ``recall`` how many planted faults the project's cases catch, if that is kept.
    """

    run: Run
    plan: Plan
    built: tuple[Built, ...]
    records: Sequence[CaseRecord]
    seconds: float
    stopped: KeyboardInterrupt | NotAvailable | None = None
    measured: Mapping[tuple[str, Column], Measurement] = field(default_factory=dict)
    recall: Recall | None = None

    @property
    def complete(self) -> bool:
        """True if the run was not ended early."""
        return self.stopped is None

    @property
    def without_cases(self) -> list[CaseRecord]:
        """The records of kernels that have no case on a column, as nothing compiled or was recorded for it."""
        run = self.run
        errors = {(b.module, b.target): b.error.log for b in self.built if b.error}
        return [*run.without_code(run.entries, run.columns.every, errors), *run.not_recorded(self.plan)]

    @functools.cached_property
    def matrix(self) -> PrintableMatrix:
        """Kernels down, columns across."""
        run, plan = self.run, self.plan
        records = [*self.records, *self.without_cases]
        issues = run.known.review(records, run.drawn(plan) if self.complete else ())
        machines = tuple(sorted(run.cluster.machines)) if run.cluster else ()
        provenance = Provenance(self.seconds, plan.seed, plan.examples, self.complete, plan.made_by, machines)
        matrix = make_matrix(run.entries, run.columns.every, records, issues=issues, provenance=provenance)
        matrix = matrix.with_measurements(self.measured)
        return PrintableMatrix.from_matrix(matrix.with_recall(self.recall) if self.recall else matrix)

    @property
    def notes(self) -> Iterator[str]:
        """Notes on cases that could not be judged, or that differ from what was recorded."""
        yield from self.run.columns.stale(self.records, self.run.suite)
        yield from not_judged(self.records)


def recorded_measurements(run: Run) -> tuple[list[tuple[Column, Measurement]], list[str]]:
    """The measurements of kernels in recordings, and an error message for each file of them that cannot be read."""
    found: list[tuple[Column, Measurement]] = []
    problems = []
    for column, recording in run.columns.recordings.items():
        if MEASUREMENTS in recording.attached:
            try:
                stored = parse_baseline(recording.attached[MEASUREMENTS], f"{MEASUREMENTS} of {column.spec}")
            except UsageError as error:  # it must not end the run, whose values do not depend on measurements
                problems.append(f"what was measured is not shown: {error}")
                continue
            found += [(column, m) for m in stored.measurements.values() if m.target == column.target]
    return found, problems


def first_measured(
    found: Iterable[tuple[Column, Measurement]],
) -> dict[tuple[str, Column], Measurement]:
    """Of the measurements of each kernel in a column the first without a problem."""
    first: dict[tuple[str, Column], Measurement] = {}
    for column, each in found:
        if not each.problem:
            first.setdefault((each.kernel, column), each)
    return first


def recorded_recall(run: Run) -> tuple[Recall | None, list[str]]:
    """The recall that the project of a run keeps, and an error message if that cannot be read."""
    path = committed(run.suite.cases.absolute().parent)
    try:
        return (read_recall(path), []) if path else (None, [])
    except UsageError as error:
        return None, [f"recall is not shown: {error}"]


@dataclass(frozen=True)
class Stored(Record, Cases):
    """The results of a run that ended before: ``records`` of its cases, and the ``environment`` of the run.

    ``complete`` says whether it came to its end.
    """


def load(folder: str | Path) -> Stored:
    """The results in an output folder of ``parity run``, also of one that was interrupted.

    Raises:
        UsageError: the folder has no record, or the file is none.
    """
    path = Path(folder)
    return Stored(**vars(read_record(path / RECORD if path.is_dir() else path)))
