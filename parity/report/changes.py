"""Compares two runs, kernel by kernel and case by case."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from parity.engine.case_records import CaseRecord
from parity.report.document import WITHOUT_CASES, CellEntry, MatrixFile
from parity.report.model import FAILED_KEYS

KINDS = ("broken", "changed", "mended", "removed", "added", "unchanged")
"""The kinds of changes, most important first. They are values of ``parity compare --json``."""

NOISE = 0.001
"""Shares of the error bound that differ by at most this amount count as equal."""


class HasRecords(Protocol):
    """An object with case records, such as ``Results`` or ``Stored``."""

    @property
    def records(self) -> Iterable[CaseRecord]:
        """The cases."""
        ...


@dataclass(frozen=True)
class Difference:
    """A case whose outcomes differ between two runs; None means that a run does not have the case."""

    before: CaseRecord | None
    after: CaseRecord | None

    @property
    def record(self) -> CaseRecord:
        """The record of the later run, or of the earlier run if only that has the case."""
        found = self.after or self.before
        assert found
        return found

    @property
    def kind(self) -> str:
        """``added`` or ``removed``; ``broken`` or ``mended`` if one of the outcomes is a pass; else ``changed``."""
        if self.before is None or self.after is None:
            return "added" if self.after else "removed"
        if self.before.verdict.passed == self.after.verdict.passed:
            return "changed"
        return "mended" if self.after.verdict.passed else "broken"

    def __str__(self) -> str:
        return f"{self.kind}: {self.record.case} on {self.record.column}: {' -> '.join(self.outcomes)}"

    @property
    def outcomes(self) -> tuple[str, str]:
        """Both outcomes in words."""
        return _outcome(self.before), _outcome(self.after)


def differences(before: HasRecords, after: HasRecords) -> list[Difference]:
    """Return the cases whose outcomes differ between two runs.

    Cases of the later run come first, in its order; then cases that only the earlier run has. A case is identified by
    its kernel, runner, target and text. Its outcome is the status and the failure class, not the size of errors.
    """
    then, now = _by_case(before), _by_case(after)
    found = [Difference(then.get(key), now.get(key)) for key in dict.fromkeys((*now, *then))]
    return [each for each in found if _outcome(each.before) != _outcome(each.after)]


def _by_case(found: HasRecords) -> dict[tuple[str, str, str, str], CaseRecord]:
    return {(each.kernel, each.runner, each.target, each.case): each for each in found.records}


def _outcome(record: CaseRecord | None) -> str:
    if record is None:
        return "not run"
    return f"{record.verdict.status} ({record.verdict.kind})" if record.verdict.kind else str(record.verdict.status)


@dataclass(frozen=True)
class KernelChange:
    """A kernel in a column of two runs; None means that a run does not have the kernel or did not run it.

    ``ulps`` are the largest distances from the reference in passing cases, before and after.
    """

    op: str
    kernel: str
    column: str
    before: CellEntry | None
    after: CellEntry | None
    ulps: tuple[float, float] = (0.0, 0.0)

    @property
    def kind(self) -> str:
        """One of ``KINDS``. ``broken`` and ``mended`` concern failures; ``changed`` is any other difference in state,
        cases, used error bound or distance.
        """
        before, after = (each is not None and each.state in FAILED_KEYS for each in (self.before, self.after))
        if before != after and (after or self.after):
            return "broken" if after else "mended"
        if self.before is None or self.after is None:
            return "added" if self.after else "removed"
        same = _shown(self.before) == _shown(self.after) and self.ulps[0] == self.ulps[1]
        return "unchanged" if same and not self.moved else "changed"

    @property
    def moved(self) -> bool:
        """True if the used share of the error bound changed."""
        then, now = (each.worst_budget if each else None for each in (self.before, self.after))
        return then != now and (then is None or now is None or abs(then - now) > NOISE)

    @property
    def worse(self) -> bool:
        """True if the kernel newly fails, or passed before and is now neither a pass nor a known issue."""
        if self.kind == "broken":
            return True
        passed = self.before is not None and self.before.state == "pass"
        return passed and self.after is not None and self.after.state not in ("pass", "known")


@dataclass(frozen=True)
class RunComparison:
    """The comparison of two runs: all kernels in all columns, and the cases whose outcomes differ."""

    cells: tuple[KernelChange, ...]
    cases: tuple[Difference, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of cells for each kind of change, including zeros."""
        found = Counter(each.kind for each in self.cells)
        return {kind: found[kind] for kind in KINDS}

    @property
    def compared(self) -> bool:
        """True if both runs have results of a kernel in the same column."""
        return any(each.before and each.after for each in self.cells)

    @property
    def worse(self) -> bool:
        """True if a kernel is worse, or a case that passed fails."""
        return any(each.worse for each in self.cells) or any(each.kind == "broken" for each in self.cases)

    @property
    def changed(self) -> list[KernelChange]:
        """All cells that changed, most important first."""
        found = [each for each in self.cells if each.kind != "unchanged"]
        return sorted(found, key=lambda each: (not each.worse, KINDS.index(each.kind)))


class ComparedRun(HasRecords, Protocol):
    """A run with records and a matrix."""

    @property
    def matrix(self) -> MatrixFile:
        """The matrix as in ``matrix.json``."""
        ...


def compare_runs(before: ComparedRun, after: ComparedRun) -> RunComparison:
    """The changes from a run to a later one. A column is the same in both if its name is (``gfx1100 emulated``)."""
    then, now = _cells(before), _cells(after)
    distances = [_distances(each.records) for each in (before, after)]
    cells = (
        KernelChange(*key, then.get(key), now.get(key), (distances[0].get(key, 0.0), distances[1].get(key, 0.0)))
        for key in dict.fromkeys((*now, *then))
    )
    found = [each for each in cells if each.before or each.after]
    return RunComparison(tuple(found), tuple(differences(before, after)))


def _cells(run: ComparedRun) -> dict[tuple[str, str, str], CellEntry | None]:
    return {
        (kernel.op, kernel.kernel, str(column)): None if cell.state in WITHOUT_CASES else cell
        for kernel in run.matrix.kernels
        for column, cell in zip(run.matrix.columns, kernel.cells, strict=True)
    }


def _distances(records: Iterable[CaseRecord]) -> dict[tuple[str, str, str], float]:
    """The largest distance in passing cases, by op, kernel and column."""
    found: dict[tuple[str, str, str], float] = {}
    for each in records:
        if each.verdict.passed and math.isfinite(each.verdict.ulps):
            key = (each.op, each.kernel, each.column)
            found[key] = max(found.get(key, 0.0), each.verdict.ulps)
    return found


def _shown(cell: CellEntry) -> tuple[object, ...]:
    return cell.state, cell.run, cell.passed, cell.failures, cell.known, cell.divergences
