"""The changes between two runs, case by case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from parity.engine import CaseRecord

__all__ = ["Difference", "differences"]


class Cases(Protocol):
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


def differences(before: Cases, after: Cases) -> list[Difference]:
    """The cases whose outcomes differ between two runs, in the order of the later one, then those only the first had.

    A case is the same in both if kernel, runner, target and text are. Its outcome is its verdict, with the class of a
    failure; how far values are off, and how many, is not compared.
    """
    then, now = _by_case(before), _by_case(after)
    found = [Difference(then.get(key), now.get(key)) for key in dict.fromkeys((*now, *then))]
    return [each for each in found if _outcome(each.before) != _outcome(each.after)]


def _by_case(found: Cases) -> dict[tuple[str, str, str, str], CaseRecord]:
    return {(each.kernel, each.runner, each.target, each.case): each for each in found.records}


def _outcome(record: CaseRecord | None) -> str:
    if record is None:
        return "not run"
    return f"{record.verdict.status} ({record.verdict.kind})" if record.verdict.kind else str(record.verdict.status)
