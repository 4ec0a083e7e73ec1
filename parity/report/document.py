"""The contents of ``matrix.json``. Its JSON Schema is generated from these types and their docstrings."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from msgspec import Meta

from parity.compare.verdict import Status
from parity.engine.case_records import Column
from parity.model.coverage import COUNTS
from parity.platform.serialization import checked, json_text, plain, read_json
from parity.platform.version import __version__
from parity.report.matrix import EXCLUDED
from parity.report.model import Agreement, Cell, CellState, KernelRow, Matrix, combine_agreements

WITHOUT_CASES = (CellState.NOT_IN_RUN.key, CellState.COULD_NOT_RUN.key)
"""The states of a kernel without records."""

_SHARED_FIELDS = (
    *("run", "passed", "failed", "exact", "vacuous", "beyond_observed", "divergences", "failures", "known"),
    *("unsupported", "unreferenced", "baseline", "by", "instructions", "reason"),
)
"""The fields that a cell of the file shares with ``Cell``."""

StateName = Annotated[str, Meta(extra_json_schema={"enum": [state.key for state in CellState]})]


@dataclass(frozen=True)
class IssueEntry:
    """A known issue. ``known`` counts the cases that it covers; ``complaint`` says why it needs attention."""

    location: str
    cases: tuple[str, ...]
    reason: str
    link: str
    expires: datetime.date
    known: int
    columns: tuple[str, ...]
    complaint: str


@dataclass(frozen=True)
class CompileErrorEntry:
    """The compiler's message for a module that does not compile for a target."""

    module: str
    target: str
    message: str


@dataclass(frozen=True)
class CellEntry:
    """One kernel in one column.

    The ``state`` "not run" means that the run does not include the kernel in this column; "could not run" means that
    the kernel should have run. ``reason`` explains these states, and why the first unjudged case was not judged.

    ``run`` counts executed cases. ``failures`` and ``known`` count failed cases by class; ``known`` covers known
    issues. ``worst_budget`` is the largest share of the error bound that a passing case used, or null if no case
    passed. ``exact`` means that no error was allowed and none was found. ``beyond_observed`` counts cases with a result
    between the observed and the documented limit. ``vacuous`` names outputs for which every case also accepts wrong
    results. ``divergences`` are the known CUDA/AMD divergences that the cases met, and ``against`` compares an AMD
    column with CUDA's results.

    For an op without a reference, ``baseline`` counts cases whose results judge other columns, ``by`` is the column
    that judges this one, and ``unreferenced`` is the part of ``not_judged`` in which only memory accesses were checked.

    If the kernel was measured, ``share`` is the time that the device's copy rate or FLOP rate allows, divided by the
    measured time, and ``bound`` names the limiting rate. ``blocks`` counts the basic blocks of the kernel's machine
    code, and ``directions`` the directions of its conditional branches. ``blocks_reached`` and ``directions_reached``
    are the parts that the cases reached, if an emulator recorded them.
    """

    target: str
    runner: str
    evidence: str
    state: StateName
    run: int
    passed: int
    failed: int
    worst_budget: float | None
    exact: bool
    vacuous: tuple[str, ...]
    beyond_observed: int
    divergences: tuple[str, ...]
    failures: Mapping[str, int]
    known: Mapping[str, int]
    unsupported: int
    not_judged: int
    unreferenced: int
    baseline: int
    by: str
    instructions: int
    against: Agreement | None
    share: float | None
    bound: str | None
    instructions_per_element: float | None
    blocks: int | None
    blocks_reached: int | None
    directions: int | None
    directions_reached: int | None
    reason: str


@dataclass(frozen=True)
class KernelEntry:
    """One kernel entry. ``cells`` are in the order of the matrix's columns."""

    module: str
    op: str
    dtypes: tuple[str, ...]
    kernel: str
    cells: tuple[CellEntry, ...]


@dataclass(frozen=True)
class MatrixFile:
    """The aggregated results of a run: every kernel and column, and the totals.

    ``parity`` is the version that wrote the file. ``complete`` is false if the run was interrupted. ``seconds`` is the
    time of the execution. ``cases`` counts executed cases; ``failed`` and ``known`` count failures, and ``known``
    covers known issues. ``compilers`` describes for each target how its code was built. ``machines`` are the machines
    of a cluster that executed cases. ``against`` compares each AMD column with CUDA's results. ``undeclared`` are the
    kernels without an op, which no case tests, by file. ``problems`` say what kept the run from testing everything:
    unavailable runners, and mistakes in the project.
    """

    parity: str
    complete: bool
    seed: int
    examples: int
    seconds: float
    kernels_total: int
    cases: int
    passed: int
    failed: int
    known: int
    known_issues: tuple[IssueEntry, ...]
    columns: tuple[Column, ...]
    compilers: Mapping[str, str]
    machines: tuple[str, ...]
    compile_errors: tuple[CompileErrorEntry, ...]
    against: Mapping[str, Agreement]
    kernels: tuple[KernelEntry, ...]
    undeclared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def document(matrix: Matrix) -> MatrixFile:
    """Return the contents of ``matrix.json`` for a matrix."""
    issues = (
        IssueEntry(
            location=each.issue.location,
            cases=each.issue.selectors,
            reason=each.issue.entry.reason,
            link=each.issue.entry.link,
            expires=each.issue.entry.expires,
            known=each.cases,
            columns=each.columns,
            complaint=each.complaint,
        )
        for each in matrix.issues
    )
    errors = (
        CompileErrorEntry(each.module, each.target, each.verdict.detail)
        for each in matrix.uncompiled
        if each.verdict.status is Status.ERROR
    )
    agreements = {str(c): [cell.agreement for cell in cells if cell.agreement] for c, cells in matrix.by_column()}
    against = {column: combine_agreements(found) for column, found in agreements.items() if found}
    made = matrix.provenance
    return MatrixFile(
        parity=__version__,
        **{name: getattr(made, name) for name in ("complete", "seed", "examples", "machines")},
        seconds=round(made.seconds, 3),
        kernels_total=len(matrix.rows),
        cases=matrix.executed,
        passed=matrix.passed,
        failed=matrix.failures,
        known=matrix.known,
        known_issues=tuple(issues),
        columns=matrix.columns,
        compilers=made.made_by,
        compile_errors=tuple(dict.fromkeys(errors)),
        against=against,
        kernels=tuple(_kernel(row, matrix.columns) for row in matrix.rows),
        undeclared=matrix.undeclared,
        problems=matrix.problems,
    )


def _kernel(row: KernelRow, columns: tuple[Column, ...]) -> KernelEntry:
    cells = (_cell(column, cell) for column, cell in zip(columns, row.cells, strict=True))
    return KernelEntry(row.module, row.op, row.dtypes, row.kernel, tuple(cells))


def _cell(column: Column, cell: Cell) -> CellEntry:
    measured, same = cell.measured, {name: getattr(cell, name) for name in _SHARED_FIELDS}
    reached: dict[str, Any] = {name: getattr(cell.reached, name, None) for name in COUNTS}
    return CellEntry(
        target=column.target,
        runner=column.runner,
        evidence=column.evidence,
        state=cell.state.key,
        **same,
        worst_budget=cell.worst if cell.passed and math.isfinite(cell.worst) else None,
        not_judged=cell.unjudged,
        against=cell.agreement,
        share=measured.share if measured else None,
        bound=measured.bound if measured and measured.timings else None,
        instructions_per_element=measured.per_element if measured else None,
        **reached,
    )


def empty_cell(column: Column) -> CellEntry:
    """Return the cell of a kernel that the run does not include in this column."""
    return _cell(column, Cell(CellState.NOT_IN_RUN, reason=EXCLUDED))


def with_totals(matrix: MatrixFile) -> MatrixFile:
    """Recompute the totals from the cells."""
    cells = [cell for kernel in matrix.kernels for cell in kernel.cells]
    absent = sum(cell.state in (CellState.MISSING.key, CellState.COMPILE_ERROR.key) for cell in cells)
    return replace(
        matrix,
        kernels_total=len(matrix.kernels),
        cases=sum(cell.run for cell in cells),
        passed=sum(cell.passed for cell in cells),
        failed=sum(cell.failed for cell in cells) + absent,
        known=sum(sum(cell.known.values()) for cell in cells),
    )


def as_json(matrix: Matrix) -> str:
    """Return the matrix as JSON text."""
    return json_text(document(matrix), indent=1).decode() + "\n"


def read_matrix(text: bytes, source: str) -> MatrixFile:
    """Read a matrix that ``as_json`` wrote. Fields that an older version lacks get the values of an empty cell.

    Raises:
        UsageError: the text is not a matrix; ``source`` is its name in messages.
    """
    usual = {**plain(empty_cell(Column("", ""))), "reason": ""}
    stored = read_json(text, dict[str, Any], source)
    for kernel in stored.get("kernels", ()):
        kernel["cells"] = [{**usual, **cell} for cell in kernel["cells"]]
    return checked(stored, MatrixFile, source)
