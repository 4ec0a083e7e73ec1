"""Builds the matrix of a run from the records of its cases."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import (
    COMPILE_ERROR,
    NOT_RECORDED,
    CaseRecord,
    Column,
    CrossVendorComparison,
    Provenance,
)
from parity.engine.checked_case import NO_REFERENCE
from parity.engine.known_issues import ReviewedIssue
from parity.model.case import split
from parity.model.divergences import sort_ids
from parity.op import Entry
from parity.report.model import Agreement, Cell, CellState, KernelRow, Matrix

NO_KERNEL = "an op without a kernel, which libraries compute (for example: parity run gemm --runner hipblas)"
EXCLUDED = "not part of the run"
ENDED = "the run was ended before it"
NO_CASE = "no case of it could be executed"
"""Reasons why a kernel did not run."""

NOTHING_COMPARED = "nothing was compared, because no executed case has an element"
"""The reason why a kernel whose cases are all empty was not judged."""


def make_matrix(
    entries: Sequence[Entry],
    columns: Sequence[Column],
    records: Sequence[CaseRecord],
    *,
    issues: Sequence[ReviewedIssue] = (),
    provenance: Provenance | None = None,
) -> Matrix:
    """Return the matrix of these kernel entries.

    A record without a case means that the kernel could not run: see ``without_code`` and ``NOT_RECORDED``.
    """
    provenance = provenance or Provenance()
    rows = [KernelRow(entry.op.module, entry.op.name, entry.dtypes, entry.kernel) for entry in entries]
    libraries = {entry.op.name for entry in entries if entry.op.library}
    filled, uncompiled = _filled(rows, columns, records, provenance.complete, libraries)
    return Matrix(tuple(columns), filled, provenance, tuple(issues), uncompiled)


def matrix_from_records(records: Sequence[CaseRecord], columns: Sequence[Column], provenance: Provenance) -> Matrix:
    """Return the matrix of a run that left only its case records. Its rows are the kernels that the records name."""
    kernels: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for record in records:
        kernel = (record.module, record.op, record.kernel)
        kernels[kernel] = kernels.get(kernel) or (split(record.case)[1] if record.case else ())
    rows = [KernelRow(module, op, dtypes, kernel) for (module, op, kernel), dtypes in kernels.items()]
    filled, uncompiled = _filled(rows, columns, records, provenance.complete)
    return Matrix(tuple(columns), filled, provenance, (), uncompiled)


def by_cell(records: Iterable[CaseRecord]) -> dict[tuple[str, str, str, str], list[CaseRecord]]:
    """Group records by op, kernel, runner and target. The op is part of the key because two ops may share a kernel."""
    found: dict[tuple[str, str, str, str], list[CaseRecord]] = {}
    for record in records:
        found.setdefault((record.op, record.kernel, record.runner, record.target), []).append(record)
    return found


def _filled(
    rows: Iterable[KernelRow],
    columns: Sequence[Column],
    records: Sequence[CaseRecord],
    complete: bool,
    libraries: Container[str] = (),
) -> tuple[tuple[KernelRow, ...], tuple[CaseRecord, ...]]:
    """Return the rows with their cells, and the records of kernels without code.

    ``libraries`` are the ops without a kernel.
    """
    grouped = by_cell(records)

    def cell(row: KernelRow, column: Column) -> Cell:
        if not column.takes(row.op in libraries):
            return Cell(CellState.NOT_IN_RUN, reason=NO_KERNEL)
        mine = grouped.get((row.op, row.kernel, column.runner, column.target), [])
        if column.compiled_only and not mine:
            return Cell(CellState.COMPILED)
        made = _cell(mine)
        if made.state is CellState.COULD_NOT_RUN:
            made = replace(made, reason=NO_CASE if complete else ENDED)
        against = [record.against for record in mine if record.against] if column.vendor == "amd" else []
        return replace(made, agreement=_agreement(against)) if against else made

    filled = (replace(row, cells=tuple(cell(row, column) for column in columns)) for row in rows)
    return tuple(filled), tuple(record for record in records if record.without_code)


_WITHOUT_CODE = {
    Status.MISSING: Cell(CellState.MISSING, failures={str(Status.MISSING): 1}),
    COMPILE_ERROR: Cell(CellState.COMPILE_ERROR),
}
"""The cell of a kernel without code, by failure class."""


def _cell(records: Sequence[CaseRecord]) -> Cell:
    if absent := next((record for record in records if record.without_code), None):
        return Cell(CellState.KNOWN) if absent.known else _WITHOUT_CODE[absent.verdict.kind]
    if any(not record.case and record.verdict == NOT_RECORDED for record in records):
        return Cell(CellState.NOT_RECORDED)
    if missing := [record for record in records if record.verdict.status is Status.MISSING]:
        return Cell(CellState.KNOWN) if all(each.known for each in missing) else _WITHOUT_CODE[Status.MISSING]
    uncompared = uncompared_records(records)
    unjudged = len(uncompared) + sum(record.verdict.status is Status.NOT_JUDGED for record in records)
    baseline = sum(record.verdict.status is Status.BASELINE for record in records)
    executed = [] if uncompared else [record for record in records if record.verdict.executed]
    passing = [record.verdict for record in executed if record.verdict.passed]
    failures = Counter(failure_class(record) for record in executed if record.failed)
    known = Counter(failure_class(record) for record in executed if record.known)
    counts = {
        CellState.FAIL: failures,
        CellState.NOT_JUDGED: unjudged,
        CellState.KNOWN: known,
        CellState.PASS: executed,
        CellState.BASELINE: baseline,
        CellState.UNSUPPORTED: records,
    }
    state = next((state for state, count in counts.items() if count), CellState.COULD_NOT_RUN)
    reached = [record.reached for record in records if record.reached]
    return Cell(
        state,
        run=len(executed),
        passed=len(passing),
        worst=max((verdict.budget for verdict in passing), default=0.0),
        beyond_observed=sum(verdict.beyond_observed for verdict in passing),
        divergences=sort_ids(d for verdict in passing for d in verdict.divergences),
        failures=dict(failures.most_common()),
        known=dict(known.most_common()),
        unsupported=len(records) - len(executed) - unjudged - baseline,
        unjudged=unjudged,
        instructions=sum(record.instructions or 0 for record in executed),
        allowed=any(verdict.allowed for verdict in passing),
        vacuous=_vacuous(passing) if state is CellState.PASS else (),
        baseline=baseline,
        by=next((record.verdict.by for record in executed if record.verdict.by), ""),
        unreferenced=sum(record.verdict.kind == NO_REFERENCE for record in records),
        reached=functools.reduce(operator.or_, reached) if reached else None,
        reason=_reason(records) if state is CellState.NOT_JUDGED else "",
    )


def _reason(records: Iterable[CaseRecord]) -> str:
    """Why the first unjudged case was not judged."""
    verdict = next((record.verdict for record in records if record.verdict.status is Status.NOT_JUDGED), None)
    return verdict.detail.partition("\n")[0] or verdict.kind if verdict else NOTHING_COMPARED


def uncompared_records(records: Iterable[CaseRecord]) -> list[CaseRecord]:
    """Return the executed cases of a kernel on a column if all of them are empty; else an empty list."""
    executed = [record for record in records if record.verdict.executed]
    return [] if any(record.failed or record.known or record.verdict.total for record in executed) else executed


def _vacuous(passing: Sequence[Verdict]) -> tuple[str, ...]:
    """The outputs that are vacuous in every case."""
    first = passing[0].vacuous if passing else ()
    return tuple(name for name in first if all(name in verdict.vacuous for verdict in passing))


def _agreement(against: Sequence[CrossVendorComparison]) -> Agreement:
    both_right = [each for each in against if each.conclusion in (Conclusion.RIGHT, Conclusion.CLOSE)]
    return Agreement(
        against[0].column,
        Counter(each.conclusion for each in against),
        ulps=max((each.ulps for each in both_right), default=0.0),
        elements=max((each.elements - each.zeros for each in both_right), default=0),
        zeros=max((each.zeros for each in both_right), default=0),
        share=max((each.share for each in both_right), default=0.0),
        divergences=sort_ids(d for each in against for d in each.divergences),
    )


def class_counts(counts: Mapping[str, int]) -> list[str]:
    """Format failure classes with their counts: "value x3"."""
    return [f"{kind} x{count}" for kind, count in counts.items()]


def failure_class(record: CaseRecord) -> str:
    """Return the class of a failure in words: "value", "out-of-bounds read", "timeout", ..."""
    return record.verdict.kind or str(record.verdict.status)
