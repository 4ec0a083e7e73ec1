"""The results of a run as plain data: a matrix with kernels as rows, and runners and targets as columns.

Nothing here renders: ``parity.report.matrix`` builds a matrix from records, and the other modules of ``parity.report``
turn it into text, tables and files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from parity.compare.arbitration import Conclusion
from parity.engine.bench import Measurement
from parity.engine.case_records import DECLARATION, CaseRecord, Column, Provenance
from parity.engine.known_issues import ReviewedIssue
from parity.model.coverage import Reached
from parity.model.divergences import sort_ids
from parity.mutation.recall import Recall


class CellState(StrEnum):
    """The state of one kernel on one runner and target. Only PASS is a success, and it needs an executed case.

    The values are the words of ``matrix.txt`` and ``matrix.csv``; ``key`` is the name in ``matrix.json``.
    """

    PASS = "pass"
    KNOWN = "known"
    """Cases fail, and each failure is a known issue."""
    FAIL = "FAIL"
    MISSING = "MISSING KERNEL"
    COMPILE_ERROR = "COMPILE ERROR"
    COMPILED = "compiled only"
    UNSUPPORTED = "unsupported"
    NOT_RECORDED = "not recorded"
    COULD_NOT_RUN = "NOT RUN"
    """The kernel should have run, but no case was executed. The key is "could not run"."""
    NOT_JUDGED = "NOT JUDGED"
    """No case failed, but something other than the kernel prevented the judgement of at least one."""
    NOT_IN_RUN = "not run"
    """The run does not include the kernel in this column: for example, an op that only libraries compute."""
    BASELINE = "baseline"
    """The op has no reference; CUDA computed these results, and the other columns are judged by them."""

    @property
    def key(self) -> str:
        """The state in files for programs. COULD_NOT_RUN and NOT_IN_RUN would collide in lower case."""
        return "could not run" if self is CellState.COULD_NOT_RUN else self.lower()

    @property
    def failed(self) -> bool:
        """True for a parity failure (exit code 1)."""
        return self in (CellState.FAIL, CellState.MISSING, CellState.COMPILE_ERROR)


FAILED_KEYS = frozenset(state.key for state in CellState if state.failed)
"""The keys of the states that are parity failures."""


@dataclass(frozen=True)
class Agreement:
    """How the cases of an AMD column compare with CUDA's results in the column ``witness``.

    ``conclusions`` counts cases. The next fields cover the cases in which both vendors are right: ``ulps`` is the
    largest distance, ``zeros`` the largest number of elements of a case that differ only in the sign of zero, and
    ``elements`` the largest number that differ otherwise. ``share`` is the largest distance relative to the sum of both
    error bounds. ``divergences`` are the ids of the rules by which the vendors differ.
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
        """Number of cases that ran in both columns."""
        return sum(self.conclusions.values())


def combine_agreements(agreements: Iterable[Agreement]) -> Agreement:
    """Merge at least one agreement: add the counts, and keep the largest of each figure."""
    each = list(agreements)
    return Agreement(
        each[0].witness,
        sum((Counter(one.conclusions) for one in each), Counter()),
        **{name: max(getattr(one, name) for one in each) for name in ("ulps", "elements", "zeros", "share")},
        divergences=sort_ids(d for one in each for d in one.divergences),
    )


@dataclass(frozen=True)
class Cell:
    """One kernel in one column. ``run`` counts executed cases."""

    state: CellState
    run: int = 0
    passed: int = 0
    worst: float = 0.0
    """The largest share of the error bound that an element of a passing case used; 1.0 is the limit."""
    beyond_observed: int = 0
    """Cases with a result between the observed and the documented limit."""
    divergences: tuple[str, ...] = ()
    """Ids of the known CUDA/AMD divergences that passing cases met."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Failed cases by class."""
    known: Mapping[str, int] = field(default_factory=dict)
    """Cases by class whose failure is a known issue."""
    unsupported: int = 0
    unjudged: int = 0
    """Cases that something other than the kernel kept from being judged."""
    instructions: int = 0
    agreement: Agreement | None = None
    """Comparison of an AMD column with CUDA's results."""
    measured: Measurement | None = None
    """The first measured case."""
    allowed: bool = False
    """True if the error bound of a passing case is above 0."""
    vacuous: tuple[str, ...] = ()
    """Outputs for which every case also accepts wrong results."""
    baseline: int = 0
    """Cases of an op without a reference whose results judge the other columns."""
    by: str = ""
    """The column whose results judge this one, for an op without a reference."""
    unreferenced: int = 0
    """The part of ``unjudged`` in which only memory accesses were checked, for an op without a reference."""
    reached: Reached | None = None
    """Coverage of the machine code, where an emulator recorded it."""
    reason: str = ""
    """Why the kernel did not run, or was not judged."""

    @property
    def exact(self) -> bool:
        """True if the kernel passed, no error was allowed, and none was found."""
        return self.state is CellState.PASS and not self.allowed and self.worst == 0

    @property
    def failed(self) -> int:
        """Number of executed cases that failed, without known issues."""
        return self.run - self.passed - sum(self.known.values())


def total_agreement(cells: Iterable[Cell]) -> Agreement | None:
    """Merge the agreements of cells; None if none was compared with CUDA."""
    found = [cell.agreement for cell in cells if cell.agreement]
    return combine_agreements(found) if found else None


@dataclass(frozen=True)
class KernelRow:
    """One kernel entry; ``cells`` are in the order of the matrix's columns."""

    module: str
    op: str
    dtypes: tuple[str, ...]
    kernel: str
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Matrix:
    """The aggregated results of a run.

    ``issues`` are the known issues that cases met, or that need attention. ``uncompiled`` has one record without a case
    for each kernel that did not compile, or whose module is missing. ``recall`` describes faults planted earlier in
    these kernels on these targets, if the project stores it. ``undeclared`` are the kernels without an op, by file.
    ``problems`` say what kept the run from testing everything: unavailable runners, and mistakes in the project.
    """

    columns: tuple[Column, ...]
    rows: tuple[KernelRow, ...]
    provenance: Provenance = field(default_factory=Provenance)
    issues: tuple[ReviewedIssue, ...] = ()
    uncompiled: tuple[CaseRecord, ...] = ()
    recall: Recall | None = None
    undeclared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def with_recall(self, recall: Recall) -> Matrix:
        """Add the part of ``recall`` that concerns these kernels and targets."""
        kernels, targets = (row.kernel for row in self.rows), (column.target for column in self.columns)
        return replace(self, recall=recall.of(kernels, targets))

    def with_measurements(self, measured: Mapping[tuple[str, Column], Measurement]) -> Matrix:
        """Add measurements, by kernel and column, to the cells that have run."""
        rows = []
        for row in self.rows:
            found = (measured.get((row.kernel, column)) for column in self.columns)
            pairs = zip(row.cells, found, strict=True)
            cells = tuple(replace(cell, measured=one) if cell.run else cell for cell, one in pairs)
            rows.append(replace(row, cells=cells))
        return replace(self, rows=tuple(rows))

    def cells(self) -> list[Cell]:
        """All cells, row by row."""
        return [cell for row in self.rows for cell in row.cells]

    def by_column(self) -> list[tuple[Column, list[Cell]]]:
        """Each column with its cells, from top to bottom."""
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
        """Number of cases whose failure is a known issue."""
        return sum(sum(cell.known.values()) for cell in self.cells())

    @property
    def unjudged(self) -> int:
        """Number of cases that something other than the kernel kept from being judged."""
        return sum(cell.unjudged for cell in self.cells())

    @property
    def failures(self) -> int:
        """Number of failed cases, plus kernels that are missing or did not compile."""
        cases = self.executed - self.passed - self.known
        return cases + sum(cell.state in (CellState.MISSING, CellState.COMPILE_ERROR) for cell in self.cells())

    @property
    def misdeclared(self) -> tuple[str, ...]:
        """The ops whose declarations are wrong, if nothing else failed."""
        failed = [(row.op, cell) for row in self.rows for cell in row.cells if cell.state.failed]
        others = any(set(cell.failures) != {DECLARATION} for _, cell in failed)
        return () if others or any(each.complaint for each in self.issues) else tuple({op: None for op, _ in failed})

    @property
    def failed(self) -> bool:
        """True if a cell failed, or a known issue has a complaint."""
        return any(cell.state.failed for cell in self.cells()) or any(each.complaint for each in self.issues)
