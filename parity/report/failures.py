"""Failures, told so that a person can start to debug at once."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parity.compare import Finding, Status
from parity.engine import CaseRecord
from parity.report.matrix import failure_class

__all__ = ["Reproduction", "failure_text", "failures_file", "shown_failures"]

SHOWN_PER_KERNEL = 2


@dataclass(frozen=True)
class Reproduction:
    """The command that runs one case again: how parity is called here, and the options that matter."""

    command: str = "parity run"
    options: tuple[str, ...] = ()

    def of(self, record: CaseRecord) -> str:
        """The command line for the case of a record, quoted for a POSIX shell."""
        return f"{self.command} {shlex.join([record.case, *self.options])}"


def shown_failures(records: Iterable[CaseRecord]) -> list[tuple[CaseRecord, int]]:
    """Of every kernel the failures worth reading, shrunk ones first, each with how many are left out after it."""
    kernels: dict[tuple[str, str, str], list[CaseRecord]] = {}
    for record in records:
        if not record.verdict.passed and record.verdict.status is not Status.UNSUPPORTED:
            kernels.setdefault((record.kernel, record.runner, record.target), []).append(record)
    chosen = []
    for failures in kernels.values():
        # One for every class, and those that were made small before others.
        classes: dict[str, CaseRecord] = {}
        for record in sorted(failures, key=lambda r: r.minimal is None):
            classes.setdefault(failure_class(record), record)
        shown = list(classes.values())[:SHOWN_PER_KERNEL]
        chosen += [(record, 0) for record in shown[:-1]] + [(shown[-1], len(failures) - len(shown))]
    return chosen


def failure_text(record: CaseRecord, reproduction: Reproduction, source: str = "") -> str:
    """A failure in lines of a label and a value. ``source`` is the file of the kernel."""
    small = record.minimal or record
    verdict = small.verdict
    head = f"FAIL  {record.kernel} on {record.target} ({record.evidence}): {failure_class(record)}"
    lines: list[tuple[str, str]] = [("case", small.case)]
    if small.case != record.case:
        lines.append(("found as", record.case))
    lines.append(("named", record.title))
    lines.append(("launch", small.launch))
    if verdict.first:
        first = verdict.first
        place = ", ".join(map(str, first.coordinates))
        values = "  ".join(f"{name} = {value}" for name, value in small.inputs.items())
        lines.append(("element", f"({place})" + (f"  {values}" if values else "")))
        lines += [("expected", first.expected), ("got", first.got)]
        if math.isfinite(first.ulps):
            apart = f"{first.ulps:.6g} ULP"
            budgets = (
                f", {first.budgets:.3g} times the allowed error"
                if math.isfinite(first.budgets)
                else ", no error is allowed"
            )
            lines.append(("apart", apart + budgets))
        lines.append(("wrong", f"{verdict.wrong} of {verdict.total}: {verdict.pattern}"))
    lines.append(("because", verdict.detail.rstrip()))
    lines.append(("who", _who(record, small)))
    lines += [("kernel", source), ("again", reproduction.of(small))]
    return "\n".join([head, *(_line(label, value) for label, value in lines if value)])


def _who(record: CaseRecord, shown: CaseRecord) -> str:
    """Who is wrong, by what the other vendor has for the case that is shown, or else for the case as it was found."""
    against = shown.against or record.against
    if against is None:
        return ""
    other, here = against.column, record.target
    place = "" if shown.against or shown.case == record.case else "in the case as found, "
    match against.finding:
        case Finding.AMD | Finding.CUDA:
            used = f"within {math.ceil(100 * against.budget)} % of its budget" if against.budget else "as expected"
            got = record.verdict.first.got if record.verdict.first else ""
            values = (
                f"gives {against.value}" + (f" where {here} gives {got}" if place else "")
                if against.value
                else "passes"
            )
            return f"{here} is wrong: {place}{other} {values}, {used}"
        case Finding.REFERENCE:
            near = f"no more than {against.ulps:.6g} ULP away" if against.ulps else "the same"
            return f"the reference is suspect: {place}{other} fails as well and gives {against.value}, {near}"
        case _:
            gives = f": {place}the latter gives {against.value}" if against.value else ""
            return f"{here} and {other} are both wrong, and differ{gives}"


def failures_file(records: Sequence[CaseRecord], reproduction: Reproduction) -> str:
    """All failures: those worth reading in full, then every other failing case as the command that runs it."""
    shown = [record for record, _ in shown_failures(records)]
    ids = {id(record) for record in shown}
    rest = [record for record in records if not record.verdict.passed and id(record) not in ids]
    blocks = [failure_text(record, reproduction) for record in shown]
    if rest:
        lines = [f"{record.kernel} {failure_class(record)}: {reproduction.of(record)}" for record in rest]
        blocks.append("\n".join(["Further failing cases:", *lines]))
    return "\n\n".join(blocks) + ("\n" if blocks else "no failures\n")


def _line(label: str, value: str) -> str:
    first, *more = value.splitlines()
    return "\n".join([f"  {label:<9} {first}", *(f"  {'':<9} {line}" for line in more)])
