"""The matrix as it is in ``matrix.json``, whose schema is made of these types."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import Meta

from parity.compare import Status
from parity.engine import Column
from parity.model.coverage import COUNTS
from parity.platform.serialization import checked, json_text, plain, read_json
from parity.platform.version import __version__
from parity.report.matrix import EXCLUDED
from parity.report.model import Agreement, Cell, CellState, KernelRow, Matrix, combine_agreements

__all__ = ["WITHOUT_CASES", "MatrixFile", "as_json", "document", "empty_cell", "read_matrix", "with_totals"]

WITHOUT_CASES = (CellState.NOT_IN_RUN.key, CellState.COULD_NOT_RUN.key)
"""The states of a kernel that has no record."""

_AS_IN_THE_MATRIX = (
    *("run", "passed", "failed", "exact", "vacuous", "beyond_observed", "divergences", "failures", "known"),
    *("unsupported", "unreferenced", "taken", "by", "instructions", "reason"),
)
"""The parts of a cell that are in the file as the matrix has them."""

StateName = Annotated[str, Meta(extra_json_schema={"enum": [state.key for state in CellState]})]


@dataclass(frozen=True)
class IssueEntry:
    """A known issue: its ``location``, how many cases are ``known`` by it; ``complaint`` is what is wrong with it."""

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

    ``run`` counts executed cases, ``failures`` and ``known`` failed ones by class; ``worst_budget`` is the largest
    share of its error budget that a passing case used (null if none passed); ``exact`` says that no error was allowed
    and none was found; ``beyond_observed`` counts cases with a result between the observed and the documented limit;
    ``vacuous`` names outputs in which zeros would have passed as well. Of an op without a reference, ``taken`` counts
    cases by whose results other columns are judged, ``by`` is the column by which this one is, and ``unreferenced``
    counts those of ``not_judged`` of which only the use of memory was checked. ``divergences`` are known CUDA/AMD
    divergences that were met, and ``against`` compares an AMD column with CUDA's. Of what was measured, ``share`` is
    the time that the device's copy rate or FLOP rate allows, by the time it took, and ``bound`` the one of the two that
    binds. ``blocks`` are the basic blocks of the kernel's machine code and ``directions`` those of its conditional
    branches, ``blocks_reached`` and ``directions_reached`` those that the cases reached, where an emulator noted that.
    The ``state`` "not run" is that of a kernel that is no part of the run in this column, "could not run" of one that
    should have run; ``reason`` says why, and why the first case that was not judged was not.
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
    taken: int
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
    """One kernel entry, with a cell for each column of the matrix, in their order."""

    module: str
    op: str
    dtypes: tuple[str, ...]
    kernel: str
    cells: tuple[CellEntry, ...]


@dataclass(frozen=True)
class MatrixFile:
    """The aggregate of a run: every kernel and column, and the totals.

    ``parity`` is the version that made it; ``complete`` is false if the run was interrupted; ``seconds`` is the time
    of the execution. ``cases`` counts executed ones, ``failed`` and ``known`` those of them that failed, the latter in
    a known way. ``compilers`` says for each target how its code was made, ``machines`` are
    those of a cluster that executed (none if it was no cluster), and ``against`` says for each AMD column how it
    compares with CUDA's.
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


def document(matrix: Matrix) -> MatrixFile:
    """The matrix as it is written to its file."""
    issues = (
        IssueEntry(
            location=each.issue.location,
            cases=each.issue.selectors,
            reason=each.issue.reason,
            link=each.issue.link,
            expires=each.issue.expires,
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
    against = {
        str(column): combine_agreements(found)
        for column, cells in matrix.by_column()
        if (found := [cell.agreement for cell in cells if cell.agreement])
    }
    return MatrixFile(
        parity=__version__,
        complete=matrix.provenance.complete,
        seed=matrix.provenance.seed,
        examples=matrix.provenance.examples,
        seconds=round(matrix.provenance.seconds, 3),
        kernels_total=len(matrix.rows),
        cases=matrix.executed,
        passed=matrix.passed,
        failed=matrix.failures,
        known=matrix.known,
        known_issues=tuple(issues),
        columns=matrix.columns,
        compilers=matrix.provenance.made_by,
        machines=matrix.provenance.machines,
        compile_errors=tuple(dict.fromkeys(errors)),
        against=against,
        kernels=tuple(_kernel(row, matrix.columns) for row in matrix.rows),
    )


def _kernel(row: KernelRow, columns: tuple[Column, ...]) -> KernelEntry:
    cells = (_cell(column, cell) for column, cell in zip(columns, row.cells, strict=True))
    return KernelEntry(row.module, row.op, row.dtypes, row.kernel, tuple(cells))


def _cell(column: Column, cell: Cell) -> CellEntry:
    measured, same = cell.measured, {name: getattr(cell, name) for name in _AS_IN_THE_MATRIX}
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
    """The cell of a kernel that was no part of the run in this column."""
    return _cell(column, Cell(CellState.NOT_IN_RUN, reason=EXCLUDED))


def with_totals(matrix: MatrixFile) -> MatrixFile:
    """The matrix with totals that are those of its cells."""
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
    """The matrix as JSON text."""
    return json_text(document(matrix), indent=1).decode() + "\n"


def read_matrix(text: bytes, source: str) -> MatrixFile:
    """The matrix that ``as_json`` wrote, also of an older parity: what a cell had not then is as in one without cases.

    Raises:
        UsageError: the text is something else; ``source`` is its name in messages.
    """
    usual = {**plain(empty_cell(Column("", ""))), "reason": ""}
    stored = read_json(text, dict[str, Any], source)
    for kernel in stored.get("kernels", ()):
        kernel["cells"] = [{**usual, **cell} for cell in kernel["cells"]]
    return checked(stored, MatrixFile, source)
