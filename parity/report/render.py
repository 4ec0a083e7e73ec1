"""Renderings of the matrix: each is a function from a matrix to text."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.text import Text

import parity
from parity.report.matrix import Cell, Matrix, Row, State, divergence_order

__all__ = ["as_csv", "as_dict", "as_json", "markdown", "plain", "summary", "terminal"]

STYLES = {
    State.PASS: "green",
    State.COMPILED: "cyan",
    State.NOT_RECORDED: "dim",
    State.NOT_RUN: "yellow",
    State.UNSUPPORTED: "yellow",
}
FAILED = "bold red"
LEGEND = (
    "cases: passed/run; budget: the largest share of the allowed error that an element used; "
    "D..: known CUDA/AMD divergences that were met"
)


def terminal(matrix: Matrix, *, full: bool = False) -> Text:
    """The matrix as aligned text with colours, grouped by module.

    One line per op, dtypes together, for what passes; a line per kernel for what does not. ``full``: a line per kernel.
    """
    groups = [(head, [_fields(cell) for cell in cells]) for head, cells in _lines(matrix.rows, full)]
    heads = max((len(label) for (_, label, _), _ in groups), default=0)
    names = max((len(types) for (_, _, types), _ in groups), default=0)
    widths = [
        [max(len(fields[column][i]) for _, fields in groups) for i in range(4)] for column in range(len(matrix.columns))
    ]
    text = Text()
    module = ""
    for (of, label, types), cells in groups:
        if of != module:
            text.append("\n" if module else "").append(of.ljust(heads + names + 6), "bold")
            for column, width in zip(matrix.columns, widths, strict=True):
                text.append(str(column).ljust(sum(width) + 8), "bold")
            text.rstrip()
            text.append("\n")
            module = of
        text.append(f"  {label.ljust(heads)}  {types.ljust(names)}  ")
        for (state, counts, budget, notes), width in zip(cells, widths, strict=True):
            style = STYLES.get(State(state), FAILED)
            text.append(state.ljust(width[0]), style)
            text.append(f"  {counts.rjust(width[1])}  {budget.rjust(width[2])}  ")
            text.append(notes.ljust(width[3]) + "  ", "" if style != FAILED else style)
        text.rstrip()
        text.append("\n")
    text.append(f"\n{LEGEND}\n", "dim")
    return text


def plain(matrix: Matrix, *, full: bool = False) -> str:
    """The matrix as aligned ASCII text."""
    return terminal(matrix, full=full).plain


def summary(matrix: Matrix) -> str:
    """The run in one line."""
    cells = matrix.cells()
    kernels = len({row.kernel for row, cell in ((r, c) for r in matrix.rows for c in r.cells) if cell.run})
    parts = [f"{kernels} kernels", f"{matrix.executed} cases", f"{matrix.passed} passed"]
    parts.append(f"{matrix.executed - matrix.passed} failed")
    for state in (State.COMPILE_ERROR, State.MISSING, State.NOT_RUN, State.UNSUPPORTED):
        count = sum(cell.state is state for cell in cells)
        if count:
            parts.append(f"{count} {str(state).lower()}")
    rate = matrix.executed / matrix.seconds if matrix.seconds else 0
    parts += [f"{matrix.seconds:.1f} s", f"{rate:.0f} cases/s", f"seed {matrix.seed}"]
    return ("" if matrix.complete else "interrupted: ") + ", ".join(parts)


def markdown(matrix: Matrix, *, full: bool = False) -> str:
    """The matrix as a GitHub table."""
    lines = [["module", "op", "dtypes", *map(str, matrix.columns)]]
    lines += [["---"] * len(lines[0])]
    for (module, label, types), cells in _lines(matrix.rows, full):
        texts = (" ".join(field for field in _fields(cell) if field) for cell in cells)
        lines.append([module, f"`{label}`", types, *texts])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{summary(matrix)}\n\n{LEGEND}\n"


def as_csv(matrix: Matrix) -> str:
    """One line per kernel; the fields of a column begin with its target and evidence."""
    fields = ("state", "run", "passed", "worst_budget", "sharp", "divergences", "failures")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    prefixes = [str(column).replace(" ", "_") for column in matrix.columns]
    writer.writerow(["module", "op", "dtypes", "kernel", *(f"{p}_{field}" for p in prefixes for field in fields)])
    for row in matrix.rows:
        values: list[object] = []
        for cell in row.cells:
            failures = "; ".join(f"{kind} {count}" for kind, count in cell.failures.items())
            worst = f"{cell.worst:.6g}" if cell.passed else ""
            values += [cell.state, cell.run, cell.passed, worst, cell.sharp, " ".join(cell.divergences), failures]
        writer.writerow([row.module, row.op, ",".join(row.dtypes), row.kernel, *values])
    return out.getvalue()


def as_dict(matrix: Matrix) -> dict[str, Any]:
    """The matrix as plain data for JSON: every kernel, every column, and the totals."""
    return {
        "parity": parity.__version__,
        "complete": matrix.complete,
        "seed": matrix.seed,
        "examples": matrix.examples,
        "seconds": round(matrix.seconds, 3),
        "kernels_total": len(matrix.rows),
        "cases": matrix.executed,
        "passed": matrix.passed,
        "failed": matrix.executed - matrix.passed,
        "columns": [vars(column) for column in matrix.columns],
        "kernels": [
            {
                "module": row.module,
                "op": row.op,
                "dtypes": list(row.dtypes),
                "kernel": row.kernel,
                "cells": [
                    {
                        "target": column.target,
                        "runner": column.runner,
                        "evidence": column.evidence,
                        "state": str(cell.state).lower(),
                        "run": cell.run,
                        "passed": cell.passed,
                        "failed": cell.failed,
                        "worst_budget": cell.worst if cell.passed and math.isfinite(cell.worst) else None,
                        "sharp": cell.sharp,
                        "divergences": list(cell.divergences),
                        "failures": dict(cell.failures),
                        "unsupported": cell.unsupported,
                        "instructions": cell.instructions,
                    }
                    for column, cell in zip(matrix.columns, row.cells, strict=True)
                ],
            }
            for row in matrix.rows
        ],
    }


def as_json(matrix: Matrix) -> str:
    """The matrix as JSON text."""
    return json.dumps(as_dict(matrix), indent=1, allow_nan=False) + "\n"


def _lines(rows: Sequence[Row], full: bool) -> Iterator[tuple[tuple[str, str, str], list[Cell]]]:
    """(module, op or kernel, dtypes) and cells of every line."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        together = not full and not any(cell.state.failed for cell in row.cells)
        # Kernels of two dtypes make one line per first dtype, or the line would be too long.
        states = ",".join(cell.state for cell in row.cells)
        key = (row.module, row.op, *row.dtypes[:-1], states) if together else (row.module, row.op, "", row.kernel)
        groups.setdefault(key, []).append(row)
    for group in groups.values():
        first = group[0]
        short = first.op.partition(".")[2]
        if full or any(cell.state.failed for cell in first.cells):
            yield (first.module, first.kernel, ",".join(first.dtypes)), list(first.cells)
        else:
            cells = [_sum(cells) for cells in zip(*(row.cells for row in group), strict=True)]
            yield (first.module, short, _dtypes(group)), cells


def _dtypes(group: Sequence[Row]) -> str:
    *head, _ = group[0].dtypes
    last = [row.dtypes[-1] for row in group]
    if not head:
        return " ".join(last)
    return ",".join([*head, f"{{{' '.join(last)}}}" if len(last) > 1 else last[0]])


def _sum(cells: Iterable[Cell]) -> Cell:
    """Cells of one state as one."""
    each = list(cells)
    return Cell(
        each[0].state,
        run=sum(cell.run for cell in each),
        passed=sum(cell.passed for cell in each),
        worst=max(cell.worst for cell in each),
        sharp=sum(cell.sharp for cell in each),
        divergences=tuple(sorted({d for cell in each for d in cell.divergences}, key=divergence_order)),
    )


def _fields(cell: Cell) -> tuple[str, str, str, str]:
    """State, counts, budget and notes as text."""
    counts = f"{cell.passed}/{cell.run}" if cell.run else ""
    notes = [f"{kind} x{count}" for kind, count in cell.failures.items()] if cell.run else []
    budget = ""
    if cell.passed and not cell.failed:
        budget = "exact" if cell.worst == 0 else f"{max(1, math.ceil(100 * cell.worst))} %"
    return str(cell.state), counts, budget, " ".join([*notes, *cell.divergences])
