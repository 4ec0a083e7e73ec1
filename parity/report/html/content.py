"""Prepares the data of the page: a run as columns of numbers and texts, which compress well.

A packed column is ``{"all": value}`` if all values are equal, ``{"texts": [...], "at": [...]}`` for texts (each text
once, and one index per value), or else a list. Infinities, which JSON lacks, are ``null``.
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from parity.engine.bench import Measurement
from parity.engine.case_records import CaseRecord
from parity.model.divergences import divergences
from parity.mutation.recall import Recall
from parity.report.agreement import AGREEMENT_LEGEND, describe_agreement
from parity.report.changes import RunComparison
from parity.report.document import CellEntry, MatrixFile
from parity.report.excerpts import SourceFolders
from parity.report.failures import CLASSES, Failure, Reproduction, failure_lines, not_judged, shown_failures
from parity.report.matrix import class_counts, failure_class
from parity.report.model import CellState

if TYPE_CHECKING:  # with the emulator
    from parity.footprint.measure import Footprint

Places = Mapping[tuple[str, str], int]
"""The number of each row, by op and kernel, or of each column, by runner and target."""

LONGEST = 20_000
"""Characters to show of a value of a failure; compiler messages can be longer."""

DIGITS = 4
"""Significant digits of rounded numbers."""


MOST_CASES = 5_000
"""Cases of a comparison to list; runs with different seeds have hardly any case in common."""


@dataclass(frozen=True)
class PageInput:
    """The run that the page shows.

    ``records`` contains its cases, and records without a case for kernels that did not compile. ``date`` is the time of
    the run (ISO 8601). ``more`` maps names of additional parts of the page to plain data.
    """

    matrix: MatrixFile
    records: Sequence[CaseRecord]
    reproduction: Reproduction = field(default_factory=Reproduction)
    sources: SourceFolders = field(default_factory=SourceFolders)
    date: str = ""
    footprints: Sequence[Footprint] = ()
    measurements: Sequence[Measurement] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


def page_content(shown: PageInput) -> dict[str, Any]:
    """Return the data of the page."""
    matrix = shown.matrix
    rows = {(each.op, each.kernel): i for i, each in enumerate(matrix.kernels)}
    columns = {(each.runner, each.target): i for i, each in enumerate(matrix.columns)}
    return {
        "date": shown.date,
        **{name: getattr(matrix, name) for name in ("parity", "complete", "seed", "examples", "seconds")},
        "counts": {name: getattr(matrix, name) for name in ("cases", "passed", "failed", "known")},
        "states": [{"name": state.key, "failed": state.failed} for state in CellState],
        "columns": [{**asdict(each), "name": str(each), "known_as": each.known_as} for each in matrix.columns],
        "compilers": dict(matrix.compilers),
        "issues": [{**asdict(each), "expires": str(each.expires)} for each in matrix.known_issues],
        "notes": not_judged(shown.records),
        "legend": AGREEMENT_LEGEND if matrix.against else [],
        "divergences": {name: str(divergences()[name]) for name in _met(matrix) if name in divergences()},
        "kernels": {
            **{name: packed(getattr(each, name) for each in matrix.kernels) for name in ("module", "op")},
            "dtypes": packed(",".join(each.dtypes) for each in matrix.kernels),
            "kernel": [each.kernel for each in matrix.kernels],
        },
        "cells": _cells(matrix),
        "cases": _cases(shown.records, rows, columns),
        "again": {"command": shown.reproduction.command, "options": shlex.join(shown.reproduction.options)},
        "failures": [_failure(each, shown, rows, columns) for each in shown_failures(shown.records)],
        "static": [{**asdict(each), "occupancy": rounded(each.occupancy)} for each in shown.footprints],
        "speed": _speed(shown.measurements),
        "recall": [],
        **shown.more,
    }


def packed(values: Iterable[object]) -> object:
    """Pack a column for ``unpacked`` in js/model.js."""
    column = list(values)
    kinds = set(map(type, column))
    if len(kinds) == 1 and column.count(column[0]) == len(column):
        return {"all": column[0]}
    if kinds and all(issubclass(kind, str) for kind in kinds):
        texts = {text: i for i, text in enumerate(dict.fromkeys(column))}
        return {"texts": list(texts), "at": list(map(texts.__getitem__, column))}
    return column


def rounded(value: float | None, digits: int = DIGITS) -> float | int | None:
    """Round to a few significant digits; None for None, NaN and infinities."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) else short


_UNCHANGED = (
    *("state", "run", "passed", "failed", "exact", "beyond_observed", "unsupported", "not_judged", "unreferenced"),
    *("baseline", "by"),
)

_CELL: Mapping[str, Callable[[CellEntry], object]] = {
    **{name: attrgetter(name) for name in _UNCHANGED},
    "budget": lambda cell: rounded(cell.worst_budget),
    "vacuous": lambda cell: " ".join(cell.vacuous),
    "divergences": lambda cell: " ".join(cell.divergences),
    "failures": lambda cell: ", ".join(class_counts(cell.failures)),
    "known": lambda cell: ", ".join(class_counts(cell.known)),
    "against": lambda cell: describe_agreement(cell.against) if cell.against else "",
    "share": lambda cell: rounded(cell.share),
    "bound": lambda cell: cell.bound or "",
    "instructions": lambda cell: rounded(cell.instructions_per_element),
}


def _cells(matrix: MatrixFile) -> dict[str, object]:
    """The cells, kernel by kernel, as columns."""
    cells = [cell for kernel in matrix.kernels for cell in kernel.cells]
    return {name: packed(map(value, cells)) for name, value in _CELL.items()}


def _met(matrix: MatrixFile) -> list[str]:
    """The ids of the divergences that cases met."""
    cells = [cell for kernel in matrix.kernels for cell in kernel.cells]
    found = ((*cell.divergences, *(cell.against.divergences if cell.against else ())) for cell in cells)
    return list(dict.fromkeys(itertools.chain.from_iterable(found)))


def _outcome(record: CaseRecord) -> str:
    status = str(record.verdict.status)
    return f"{status}: {failure_class(record)}" if record.verdict.kind not in ("", status) else status


_CASE: Mapping[str, Callable[[CaseRecord], object]] = {
    "case": lambda each: each.case,
    "title": lambda each: each.title,
    "outcome": _outcome,
    "failed": lambda each: int(each.failed),
    "known": lambda each: each.known,
    "budget": lambda each: rounded(each.verdict.budget),
    "ulp": lambda each: rounded(each.verdict.ulps),
    "wrong": lambda each: each.verdict.wrong,
    "elements": lambda each: each.verdict.total,
    "divergences": lambda each: " ".join(each.verdict.divergences),
    "against": lambda each: str(each.against.conclusion) if each.against else "",
    "apart": lambda each: rounded(each.against.ulps) if each.against else 0,
}


def _cases(records: Iterable[CaseRecord], rows: Places, columns: Places) -> dict[str, object]:
    """The cases as columns, grouped by kernel and then by text."""
    places = ((rows.get((e.op, e.kernel)), columns.get((e.runner, e.target)), e) for e in records if e.case)
    found = [(row, column, each) for row, column, each in places if row is not None and column is not None]
    texts = {text: i for i, text in enumerate(dict.fromkeys(each.case for *_, each in found))}
    found.sort(key=lambda place: (place[0], texts[place[2].case], place[1]))
    sorted_records = [each for *_, each in found]
    packed_columns = {
        "row": packed(row for row, *_ in found),
        "column": packed(column for _, column, _ in found),
        **{name: packed(map(value, sorted_records)) for name, value in _CASE.items()},
    }
    return {"length": len(found), "columns": packed_columns}


def _failure(failure: Failure, shown: PageInput, rows: Places, columns: Places) -> dict[str, object]:
    record = failure.records[0]
    small = record.minimal or record
    head, lines = failure_lines(failure, shown.reproduction, shown.sources)
    kind = failure_class(record)
    places = {rows.get((each.op, each.kernel)): None for each in failure.records}
    return {
        "head": head,
        "kind": kind,
        "about": CLASSES[kind]["meaning"] if kind in CLASSES else "",
        "rows": [place for place in places if place is not None],
        "columns": sorted({columns[key] for each in failure.records if (key := (each.runner, each.target)) in columns}),
        "case": small.case,
        "found": record.case,
        "lines": [(label, value[:LONGEST]) for label, value in lines.items() if label != "again"],
        "again": shown.reproduction.of(small),
        "alone": shown.reproduction.alone(small),
        "more": failure.more,
        # The minimized case often has one element; the original case shows a pattern.
        "picture": record.verdict.picture or small.verdict.picture,
        "shape": record.verdict.shape or small.verdict.shape,
        "excerpts": [asdict(each) for each in shown.sources.excerpts(record)],
    }


def _speed(measurements: Sequence[Measurement]) -> list[dict[str, object]]:
    return [
        {
            **{name: getattr(each, name) for name in ("module", "kernel", "target")},
            "case": each.title or each.case,
            "evidence": str(each.evidence),
            "seconds": each.timings.cold.median if each.timings else None,
            "error": rounded(each.timings.cold.error) if each.timings else None,
            "share": rounded(each.share),
            "bound": each.bound if each.timings else "",
            "instructions": rounded(each.per_element),
            "mix": dict(each.instructions),
            "notes": "; ".join([*[each.problem] * bool(each.problem), *each.notes]),
        }
        for each in measurements
    ]


def recall_content(recall: Recall | None) -> list[dict[str, object]]:
    """Return the part ``recall`` of the page: caught and planted faults by kernel and target."""
    return [
        {name: getattr(each, name) for name in ("kernel", "target", "caught", "planted")}
        for each in (recall.kernels if recall else ())
    ]


def comparison_content(found: RunComparison, before: str) -> dict[str, Any]:
    """Return the part ``comparison`` of the page: the changes since the run named ``before``."""
    return {
        "before": before,
        "counts": dict(found.counts),
        "cells": [
            {
                "change": each.kind,
                **{name: getattr(each, name) for name in ("op", "kernel", "column")},
                **_sides("state", each.before and each.before.state, each.after and each.after.state),
                **_sides(
                    "passed", *(c and (f"{c.passed}/{c.run}" if c.run else "") for c in (each.before, each.after))
                ),
                **_sides("budget", *(rounded(c.worst_budget) if c else None for c in (each.before, each.after))),
                **_sides("ulp", *map(rounded, each.ulps)),
                **_sides("share", *(rounded(c.share) if c else None for c in (each.before, each.after))),
            }
            for each in found.changed
        ],
        "cases": [
            {
                "change": each.kind,
                **{name: getattr(each.record, name) for name in ("case", "op", "kernel", "column")},
                **_sides("outcome", *each.outcomes),
            }
            for each in found.cases[:MOST_CASES]
        ],
        "all_cases": len(found.cases),
    }


def _sides(name: str, before: object, after: object) -> dict[str, object]:
    return {f"{name}_before": before, f"{name}_after": after}
