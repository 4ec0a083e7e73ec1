"""Renders the comparison of two runs as text, Markdown and plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rich.text import Text

from parity.report import tables
from parity.report.changes import KINDS, Difference, KernelChange, RunComparison
from parity.report.document import CellEntry

MOST = 20
"""Rows of a table without ``full``."""

STYLES = {"broken": "bold red", "mended": "green", "changed": "yellow"}
HEADS = ("change", "kernel", "column", "state", "cases", "budget", "ULP")
T = TypeVar("T", KernelChange, Difference)

LEGEND = (
    "broken: fails now but did not before; changed: different state, number of cases, used error bound or distance; "
    "removed, added: only one of the runs has it"
)


def terminal(found: RunComparison, *, full: bool = False, width: int | None = None) -> Text:
    """Return the changed kernels and cases as aligned, coloured text.

    Without ``full``, list only the most important ones and their remaining number, and omit cases that only one run
    has. ``width`` limits the length of lines, in characters.
    """
    parts = []
    kernels, more_kernels = _chosen(found.changed, "kernels", full)
    cases, more_cases = _chosen(_outcomes(found, full), "cases", full)
    if kernels:
        rows: list[list[tables.Cell]] = [
            [Text(kind, STYLES.get(kind, "")), *rest] for kind, *rest in map(_line, kernels)
        ]
        table = tables.coloured(HEADS, rows, width=width)
        parts.append(_with_rest(table, more_kernels))
    if cases:
        lines = Text("\n").join(Text(str(each), STYLES.get(each.kind, "")) for each in cases)
        parts.append(_with_rest(tables.folded(lines, width), more_cases))
    if parts:
        parts.append(tables.folded(Text(LEGEND, "dim"), width or 160))
    parts.append(tables.folded(Text(summary(found), "bold red" if found.worse else "bold green"), width))
    return Text("\n\n").join(parts)


def markdown(found: RunComparison, *, full: bool = False) -> str:
    """Return the changes as GitHub tables, for a job summary or a comment."""
    parts = [f"**{summary(found)}**"]
    kernels, more_kernels = _chosen(found.changed, "kernels", full)
    cases, more_cases = _chosen(_outcomes(found, full), "cases", full)
    if kernels:
        rows = [[kind, f"`{kernel}`", *rest] for kind, kernel, *rest in map(_line, kernels)]
        parts += [tables.markdown(HEADS, rows), more_kernels]
    if cases:
        rows = [[each.kind, f"`{each.record.case}`", each.record.column, " -> ".join(each.outcomes)] for each in cases]
        parts += [tables.markdown(("change", "case", "column", "outcome"), rows), more_cases]
    return "\n\n".join([*(part for part in parts if part), LEGEND]) + "\n"


def summary(found: RunComparison) -> str:
    """Return the comparison in one line."""
    counts = ", ".join(f"{count} {kind}" for kind, count in found.counts.items() if count)
    verdict = "worse" if found.worse else "no worse"
    cases = f"; {len(found.cases)} {'case has' if len(found.cases) == 1 else 'cases have'} another outcome"
    return f"{verdict}: kernels in columns: {counts or 'none'}{cases if found.cases else ''}"


def as_dict(found: RunComparison) -> dict[str, Any]:
    """Return all changes as plain data for JSON."""
    return {
        "worse": found.worse,
        "counts": dict(found.counts),
        "kernels": [{"change": each.kind, "worse": each.worse, **vars(each)} for each in found.changed],
        "cases": [
            {
                "change": each.kind,
                "case": each.record.case,
                "column": each.record.column,
                "before": each.outcomes[0],
                "after": each.outcomes[1],
            }
            for each in found.cases
        ],
    }


def _outcomes(found: RunComparison, full: bool) -> list[Difference]:
    """The changed cases, most important first; without ``full``, only cases that both runs have."""
    cases = sorted(found.cases, key=lambda each: KINDS.index(each.kind))
    return cases if full else [each for each in cases if each.before and each.after]


def _chosen(found: Sequence[T], noun: str, full: bool) -> tuple[Sequence[T], str]:
    """Return what to list, and a text with the number of what is left, if any."""
    left = 0 if full else max(0, len(found) - MOST)
    return found[: len(found) - left], f"and {left} more {noun} (--full lists them)" if left else ""


def _with_rest(table: Text, rest: str) -> Text:
    return Text.assemble(table, (f"\n{rest}", "dim")) if rest else table


def _line(each: KernelChange) -> list[str]:
    ulps = tuple(f"{value:.4g}" if value else "" for value in each.ulps)
    return [
        each.kind,
        each.kernel,
        each.column,
        _both(each, lambda cell: cell.state),
        _both(each, lambda cell: f"{cell.passed}/{cell.run}" if cell.run else ""),
        _both(each, lambda cell: "" if cell.worst_budget is None else f"{math.ceil(100 * cell.worst_budget)} %"),
        _arrow(*ulps),
    ]


def _both(each: KernelChange, value: Callable[[CellEntry], str]) -> str:
    return _arrow(*(value(cell) if cell else "" for cell in (each.before, each.after)))


def _arrow(before: str, after: str) -> str:
    return after if before == after else f"{before or '-'} -> {after or '-'}"
