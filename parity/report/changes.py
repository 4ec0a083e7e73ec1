"""The changes between two runs, kernel by kernel and case by case."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from parity.engine import CaseRecord
from parity.report.document import WITHOUT_CASES, CellEntry, MatrixFile
from parity.report.model import FAILED_KEYS

__all__ = ["KINDS", "Difference", "KernelChange", "RunComparison", "compare_runs", "differences"]

KINDS = ("broken", "changed", "mended", "removed", "added", "unchanged")
"""The kinds of changes, what matters most first."""

NOISE = 0.001
"""A used budget that differs by no more is the same."""


class HasRecords(Protocol):
    """An object with case records: ``Results`` or ``Stored``."""

    @property
    def records(self) -> Iterable[CaseRecord]:
        """The cases."""
        ...


@dataclass(frozen=True)
class Difference:
    """A case with another outcome in each of two runs; None stands for a run that did not have it."""

    before: CaseRecord | None
    after: CaseRecord | None

    @property
    def record(self) -> CaseRecord:
        """The case, as the later run has it if it does."""
        found = self.after or self.before
        assert found
        return found

    @property
    def kind(self) -> str:
        """``added`` or ``removed``; ``broken`` or ``mended``, if only one of the two outcomes is a pass; else
        ``changed``.
        """
        if self.before is None or self.after is None:
            return "added" if self.after else "removed"
        if self.before.verdict.passed == self.after.verdict.passed:
            return "changed"
        return "mended" if self.after.verdict.passed else "broken"

    def __str__(self) -> str:
        outcomes = " -> ".join(_outcome(each) for each in (self.before, self.after))
        return f"{self.kind}: {self.record.case} on {self.record.column}: {outcomes}"

    @property
    def outcomes(self) -> tuple[str, str]:
        """Both outcomes in words."""
        return _outcome(self.before), _outcome(self.after)


def differences(before: HasRecords, after: HasRecords) -> list[Difference]:
    """The cases whose outcomes differ between two runs, in the order of the later one, then those only the first had.

    A case is the same in both if kernel, runner, target and text are. Its outcome is its verdict, with the class of a
    failure; how far values are off, and how many, is not compared.
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
    """A kernel in a column, in each of two runs; None stands for a run that did not have it, or did not run it.

    ``ulps`` are the largest distances from the reference of what passed, before and after.
    """

    op: str
    kernel: str
    column: str
    before: CellEntry | None
    after: CellEntry | None
    ulps: tuple[float, float] = (0.0, 0.0)

    @property
    def kind(self) -> str:
        """One of ``KINDS``: ``broken`` and ``mended`` are about failures, ``changed`` is any other difference in
        state, cases, used budget or distance.
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
        """True if the used budget is another."""
        then, now = (each.worst_budget if each else None for each in (self.before, self.after))
        return then != now and (then is None or now is None or abs(then - now) > NOISE)

    @property
    def worse(self) -> bool:
        """True if it fails now and did not before, or passed and is not judged, or was not run, now."""
        if self.kind == "broken":
            return True
        passed = self.before is not None and self.before.state == "pass"
        return passed and self.after is not None and self.after.state not in ("pass", "known")


@dataclass(frozen=True)
class RunComparison:
    """Two runs: every kernel in every column of either, and the cases whose outcomes differ."""

    cells: tuple[KernelChange, ...]
    cases: tuple[Difference, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of kernels, in columns, by the kind of their change; every kind is there."""
        found = Counter(each.kind for each in self.cells)
        return {kind: found[kind] for kind in KINDS}

    @property
    def worse(self) -> bool:
        """True if a kernel is worse, or a case fails that passed."""
        return any(each.worse for each in self.cells) or any(each.kind == "broken" for each in self.cases)

    @property
    def changed(self) -> list[KernelChange]:
        """The kernels that are not unchanged, what matters most first."""
        found = [each for each in self.cells if each.kind != "unchanged"]
        return sorted(found, key=lambda each: (not each.worse, KINDS.index(each.kind)))


class ComparedRun(HasRecords, Protocol):
    """A run with its matrix."""

    @property
    def matrix(self) -> MatrixFile:
        """The matrix, as it is written."""
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
    """The largest distance of a kernel in a column, of what passed."""
    found: dict[tuple[str, str, str], float] = {}
    for each in records:
        if each.verdict.passed and math.isfinite(each.verdict.ulps):
            key = (each.op, each.kernel, each.column)
            found[key] = max(found.get(key, 0.0), each.verdict.ulps)
    return found


def _shown(cell: CellEntry) -> tuple[object, ...]:
    return cell.state, cell.run, cell.passed, cell.failures, cell.known, cell.divergences
