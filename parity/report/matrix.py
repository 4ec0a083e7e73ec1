"""The matrix: kernels down, runners and targets across."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from parity.compare import Conclusion, Status, Verdict
from parity.engine import COMPILE_ERROR, NOT_RECORDED, Against, CaseRecord, Column, Provenance, Reviewed
from parity.engine.bench import Measurement
from parity.engine.judging import NO_REFERENCE
from parity.model.case import split
from parity.model.coverage import Reached
from parity.model.divergences import in_order
from parity.mutation.recall import Recall
from parity.op import Entry

if TYPE_CHECKING:
    import pandas

__all__ = ["Agreement", "Cell", "Matrix", "Row", "State", "failure_class", "joined", "make_matrix", "matrix_of_records"]


NO_KERNEL = "an op without a kernel, which libraries compute (parity run gemm --runner hipblas, for one)"
NOT_IN_RUN = "not part of the run"
ENDED = "the run was ended before it"
NO_CASE = "no case of it could be executed"
"""Reasons why kernels did not run."""


class State(StrEnum):
    """The state of one kernel on one runner and target. Only PASS is a success, and it needs an executed case.

    KNOWN: cases fail, all of them in a way that is a known issue. NOT_JUDGED: something else than the kernel kept cases
    from being judged, and no other failed. NOT_RUN: it should have run, and could not. NOT_PART: it is no part of the
    run, as an op that only libraries compute has no kernel. TAKEN: the op has no reference, and the other columns are
    judged by what CUDA computed here.
    """

    PASS = "pass"
    KNOWN = "known"
    FAIL = "FAIL"
    MISSING = "MISSING KERNEL"
    COMPILE_ERROR = "COMPILE ERROR"
    COMPILED = "compiled only"
    UNSUPPORTED = "unsupported"
    NOT_RECORDED = "not recorded"
    NOT_RUN = "NOT RUN"
    NOT_JUDGED = "NOT JUDGED"
    NOT_PART = "not run"
    TAKEN = "taken as right"

    @property
    def key(self) -> str:
        """The state as files have it."""
        return "could not run" if self is State.NOT_RUN else self.lower()

    @property
    def failed(self) -> bool:
        """True if this is a parity failure (exit code 1)."""
        return self in (State.FAIL, State.MISSING, State.COMPILE_ERROR)


FAILED = frozenset(state.key for state in State if state.failed)
"""The states, as files have them, that are parity failures."""


@dataclass(frozen=True)
class Agreement:
    """The comparison of an AMD column's cases with those of CUDA's column ``witness``.

    ``conclusions`` counts cases; where both are right, ``ulps`` is the largest distance, ``zeros`` the most elements of
    a case that differ in nothing but the sign of zero, and ``elements`` the most others that differ; ``share`` is the
    largest distance by what both budgets allow; ``divergences`` are the rules by which they differ.
    """

    witness: str
    conclusions: Mapping[Conclusion, int]
    ulps: float = 0.0
    elements: int = 0
    divergences: tuple[str, ...] = ()
    zeros: int = 0
    share: float = 0.0

    @property
    def cases(self) -> int:
        """Number of cases that both ran."""
        return sum(self.conclusions.values())


@dataclass(frozen=True)
class Cell:
    """One kernel in one column.

    ``run`` counts executed cases, ``worst`` is the largest share of an error budget that a passing case used (1.0 = at
    the limit), ``beyond_observed`` counts cases with a result between the observed and the documented limit,
    ``failures`` counts failed cases by class, ``unjudged`` those that something else than the kernel kept from being
    judged, ``known`` those whose failure is a known issue, ``divergences`` are the known CUDA/AMD divergences that
    passing cases met, ``agreement`` compares an AMD column with CUDA's, if there is one, and ``measured`` is the first
    case that was measured, if any was. ``allowed`` says that in a passing case an error was allowed, ``vacuous`` names
    the outputs in which zeros would have passed every case as well. Of an op without a reference, ``taken`` counts the
    cases by whose results other columns are judged, ``by`` is the column by which these are, and ``unreferenced``
    counts those of ``unjudged`` of which only the use of memory was checked. ``reached`` is what the cases reached of
    the machine code, where an emulator noted that. ``reason`` says why it did not run, or was not judged.
    """

    state: State
    run: int = 0
    passed: int = 0
    worst: float = 0.0
    beyond_observed: int = 0
    divergences: tuple[str, ...] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    known: Mapping[str, int] = field(default_factory=dict)
    unsupported: int = 0
    unjudged: int = 0
    instructions: int = 0
    agreement: Agreement | None = None
    measured: Measurement | None = None
    allowed: bool = False
    vacuous: tuple[str, ...] = ()
    taken: int = 0
    by: str = ""
    unreferenced: int = 0
    reached: Reached | None = None
    reason: str = ""

    @property
    def exact(self) -> bool:
        """True if it passed, no error was allowed, and none was found."""
        return self.state is State.PASS and not self.allowed and self.worst == 0

    @property
    def failed(self) -> int:
        """Number of executed cases that failed, and not in a known way."""
        return self.run - self.passed - sum(self.known.values())


@dataclass(frozen=True)
class Row:
    """One kernel entry; ``cells`` are in the order of the matrix's columns."""

    module: str
    op: str
    dtypes: tuple[str, ...]
    kernel: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Matrix:
    """The aggregate of a run.

    ``issues`` are the known issues that were met, or that have to be looked at again. ``uncompiled`` has a record,
    without a case, of every kernel that did not compile, or whose module is not there. ``recall`` is that of faults
    planted before in kernels of this matrix, on targets of it, if the project keeps one.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    provenance: Provenance = field(default_factory=Provenance)
    issues: tuple[Reviewed, ...] = ()
    uncompiled: tuple[CaseRecord, ...] = ()
    recall: Recall | None = None

    def __str__(self) -> str:
        """As text, with everything that a terminal leaves out."""
        from parity.report.render import plain, summary  # which is about matrices

        return f"{plain(self)}\n{summary(self)}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text that a notebook shows."""
        printer.text(str(self))

    def with_recall(self, recall: Recall) -> Matrix:
        """The matrix with what is known of how many faults in its kernels are caught."""
        kernels, targets = (row.kernel for row in self.rows), (column.target for column in self.columns)
        return replace(self, recall=recall.of(kernels, targets))

    def with_measurements(self, measured: Mapping[tuple[str, Column], Measurement]) -> Matrix:
        """The matrix with what kernels cost, by kernel and column, in the cells of those that have run."""

        def cell(kernel: str, column: Column, cell: Cell) -> Cell:
            return replace(cell, measured=measured.get((kernel, column))) if cell.run else cell

        rows = (
            replace(row, cells=tuple(cell(row.kernel, *each) for each in zip(self.columns, row.cells, strict=True)))
            for row in self.rows
        )
        return replace(self, rows=tuple(rows))

    def frame(self) -> pandas.DataFrame:
        """One row per kernel and column; see ``matrix_frame``.

        Raises:
            MissingTool: pandas is not installed.
        """
        from parity.report.frames import matrix_frame

        return matrix_frame(self)

    def cells(self) -> list[Cell]:
        """All cells, row by row."""
        return [cell for row in self.rows for cell in row.cells]

    def by_column(self) -> list[tuple[Column, list[Cell]]]:
        """Every column with its cells, from top to bottom."""
        return [(column, [row.cells[i] for row in self.rows]) for i, column in enumerate(self.columns)]

    @property
    def executed(self) -> int:
        """Number of executed cases."""
        return sum(cell.run for cell in self.cells())

    @property
    def passed(self) -> int:
        """Number of cases that passed."""
        return sum(cell.passed for cell in self.cells())

    @property
    def known(self) -> int:
        """Number of cases that failed in a known way."""
        return sum(sum(cell.known.values()) for cell in self.cells())

    @property
    def unjudged(self) -> int:
        """Number of cases that something else than the kernel kept from being judged."""
        return sum(cell.unjudged for cell in self.cells())

    @property
    def failures(self) -> int:
        """Number of cases that failed, and of kernels that are not there, or did not compile."""
        cases = self.executed - self.passed - self.known
        return cases + sum(cell.state in (State.MISSING, State.COMPILE_ERROR) for cell in self.cells())

    @property
    def failed(self) -> bool:
        """True if anything failed: a case, a compilation, a kernel that is not there, or the review of an issue."""
        return any(cell.state.failed for cell in self.cells()) or any(each.complaint for each in self.issues)


def make_matrix(
    entries: Sequence[Entry],
    columns: Sequence[Column],
    records: Sequence[CaseRecord],
    *,
    issues: Sequence[Reviewed] = (),
    provenance: Provenance | None = None,
) -> Matrix:
    """The matrix of these kernel entries, from the records of their cases.

    A record without a case stands for a kernel that could not be run (``without_code``, ``NOT_RECORDED``).
    """
    provenance = provenance or Provenance()
    rows = [Row(entry.op.module, entry.op.name, entry.dtypes, entry.kernel, ()) for entry in entries]
    libraries = {entry.op.name for entry in entries if entry.op.library}
    filled, uncompiled = _filled(rows, columns, records, provenance.complete, libraries)
    return Matrix(tuple(columns), filled, provenance, tuple(issues), uncompiled)


def matrix_of_records(records: Sequence[CaseRecord], columns: Sequence[Column], provenance: Provenance) -> Matrix:
    """The matrix of a run that left nothing but the records of its cases; its rows are the kernels that these name."""
    kernels: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for record in records:
        kernel = (record.module, record.op, record.kernel)
        kernels[kernel] = kernels.get(kernel) or (split(record.case)[1] if record.case else ())
    rows = [Row(module, op, dtypes, kernel, ()) for (module, op, kernel), dtypes in kernels.items()]
    filled, uncompiled = _filled(rows, columns, records, provenance.complete)
    return Matrix(tuple(columns), filled, provenance, (), uncompiled)


def by_cell(records: Iterable[CaseRecord]) -> dict[tuple[str, str, str, str], list[CaseRecord]]:
    """The records of each cell, by op, kernel, runner and target. Two ops may share a kernel."""
    found: dict[tuple[str, str, str, str], list[CaseRecord]] = {}
    for record in records:
        found.setdefault((record.op, record.kernel, record.runner, record.target), []).append(record)
    return found


def _filled(
    rows: Iterable[Row],
    columns: Sequence[Column],
    records: Sequence[CaseRecord],
    complete: bool,
    libraries: Container[str] = (),
) -> tuple[tuple[Row, ...], tuple[CaseRecord, ...]]:
    """The rows with their cells, and the records of kernels without code; ``libraries`` are ops without a kernel."""
    grouped = by_cell(records)

    def cell(row: Row, column: Column) -> Cell:
        if not column.takes(row.op in libraries):
            return Cell(State.NOT_PART, reason=NO_KERNEL)
        mine = grouped.get((row.op, row.kernel, column.runner, column.target), [])
        if column.compiled_only and not mine:
            return Cell(State.COMPILED)
        made = _cell(mine)
        if made.state is State.NOT_RUN:
            made = replace(made, reason=NO_CASE if complete else ENDED)
        against = [record.against for record in mine if record.against] if column.vendor == "amd" else []
        return replace(made, agreement=_agreement(against)) if against else made

    filled = (replace(row, cells=tuple(cell(row, column) for column in columns)) for row in rows)
    return tuple(filled), tuple(record for record in records if record.without_code)


_WITHOUT_CODE = {
    Status.MISSING: Cell(State.MISSING, failures={str(Status.MISSING): 1}),
    COMPILE_ERROR: Cell(State.COMPILE_ERROR),
}
"""The cell of a kernel without code, by the class of the failure that this is."""


def _cell(records: Sequence[CaseRecord]) -> Cell:
    if absent := next((record for record in records if record.without_code), None):
        return Cell(State.KNOWN) if absent.known else _WITHOUT_CODE[absent.verdict.kind]
    if any(not record.case and record.verdict == NOT_RECORDED for record in records):
        return Cell(State.NOT_RECORDED)
    if any(record.verdict.status is Status.MISSING and record.failed for record in records):
        return _WITHOUT_CODE[Status.MISSING]
    unjudged = sum(record.verdict.status is Status.NOT_JUDGED for record in records)
    taken = sum(record.verdict.status is Status.TAKEN for record in records)
    executed = [record for record in records if record.verdict.executed]
    passing = [record.verdict for record in executed if record.verdict.passed]
    failures = Counter(failure_class(record) for record in executed if record.failed)
    known = Counter(failure_class(record) for record in executed if record.known)
    if failures:
        state = State.FAIL
    elif unjudged:
        state = State.NOT_JUDGED
    elif known:
        state = State.KNOWN
    elif executed:
        state = State.PASS
    elif taken:
        state = State.TAKEN
    else:
        state = State.UNSUPPORTED if records else State.NOT_RUN
    return Cell(
        state,
        run=len(executed),
        passed=len(passing),
        worst=max((verdict.budget for verdict in passing), default=0.0),
        beyond_observed=sum(verdict.beyond_observed for verdict in passing),
        divergences=in_order(d for verdict in passing for d in verdict.divergences),
        failures=dict(failures.most_common()),
        known=dict(known.most_common()),
        unsupported=len(records) - len(executed) - unjudged - taken,
        unjudged=unjudged,
        instructions=sum(record.instructions or 0 for record in executed),
        allowed=any(verdict.allowed for verdict in passing),
        vacuous=_vacuous(passing) if state is State.PASS else (),
        taken=taken,
        by=next((record.verdict.by for record in executed if record.verdict.by), ""),
        unreferenced=sum(record.verdict.kind == NO_REFERENCE for record in records),
        reached=_reached(records),
        reason=_reason(records) if state is State.NOT_JUDGED else "",
    )


def _reason(records: Iterable[CaseRecord]) -> str:
    """Why the first of the cases that were not judged was not."""
    verdict = next(record.verdict for record in records if record.verdict.status is Status.NOT_JUDGED)
    return verdict.detail.partition("\n")[0] or verdict.kind


def _reached(records: Iterable[CaseRecord]) -> Reached | None:
    """The coverage of all cases of a kernel on one column."""
    each = [record.reached for record in records if record.reached]
    return functools.reduce(operator.or_, each) if each else None


def _vacuous(passing: Sequence[Verdict]) -> tuple[str, ...]:
    """The outputs that every case leaves untested."""
    first = passing[0].vacuous if passing else ()
    return tuple(name for name in first if all(name in verdict.vacuous for verdict in passing))


def _agreement(against: Sequence[Against]) -> Agreement:
    both_right = [each for each in against if each.conclusion in (Conclusion.RIGHT, Conclusion.CLOSE)]
    return Agreement(
        against[0].column,
        Counter(each.conclusion for each in against),
        ulps=max((each.ulps for each in both_right), default=0.0),
        elements=max((each.elements - each.zeros for each in both_right), default=0),
        zeros=max((each.zeros for each in both_right), default=0),
        share=max((each.share for each in both_right), default=0.0),
        divergences=in_order(d for each in against for d in each.divergences),
    )


def joined(agreements: Iterable[Agreement]) -> Agreement:
    """Several as one, with the largest of each figure; there must be one."""
    each = list(agreements)
    return Agreement(
        each[0].witness,
        sum((Counter(one.conclusions) for one in each), Counter()),
        ulps=max(one.ulps for one in each),
        elements=max(one.elements for one in each),
        zeros=max(one.zeros for one in each),
        share=max(one.share for one in each),
        divergences=in_order(d for one in each for d in one.divergences),
    )


def times(counts: Mapping[str, int]) -> list[str]:
    """Classes of failures with their numbers: "value x3"."""
    return [f"{kind} x{count}" for kind, count in counts.items()]


def failure_class(record: CaseRecord) -> str:
    """The class of a failure in words: "value", "out-of-bounds read", "timeout", ..."""
    return record.verdict.kind or str(record.verdict.status)
