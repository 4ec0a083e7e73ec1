"""Renderings of the matrix: each is a function from a matrix to text."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from parity.compare import Finding
from parity.report.agreement import AGREEMENT, AGREEMENT_LEGEND, agreement_of, agreement_summary, is_compared
from parity.report.bench import slowest, speed_legend, speed_of
from parity.report.github import github_table
from parity.report.matrix import Agreement, Cell, Matrix, Row, State, joined, sort_divergences

__all__ = ["as_csv", "markdown", "plain", "summary", "terminal"]

STYLES = {
    State.PASS: "green",
    State.KNOWN: "magenta",
    State.COMPILED: "cyan",
    State.NOT_RECORDED: "dim",
    State.NOT_RUN: "yellow",
    State.NOT_JUDGED: "yellow",
    State.NO_KERNEL: "dim",
    State.UNSUPPORTED: "yellow",
}
FAILED = "bold red"
LEGEND = (
    "cases: passed/run; budget: the largest share of the allowed error that an element used (exact: none was allowed); "
    "D..: known CUDA/AMD divergences that were met"
)
VACUOUS = "vacuous: a kernel that writes nothing but zeros would have passed every case as well, so nothing was tested"
NO_KERNEL = "not run: an op without a kernel, which libraries compute (parity run gemm --runner hipblas, for one)"


def terminal(matrix: Matrix, *, full: bool = False) -> Text:
    """The matrix as aligned text with colours, grouped by module.

    One line per op, dtypes together, for what passes; a line per kernel for what does not. ``full``: a line per kernel.
    """
    text = Text()
    for module, lines in itertools.groupby(_lines(matrix.rows, full), key=lambda line: line[0][0]):
        text.append("\n" if text else "")
        _module(text, module, matrix, list(lines))
    text.append(f"\n{_legend(matrix)}\n", "dim")
    if agreement := agreement_summary(matrix):
        text.append(f"\n{agreement}\n")
    if matrix.issues:
        text.append("\nknown issues\n", "bold")
        for each in matrix.issues:
            text.append(f"  {each}\n", FAILED if each.complaint else "")
    return text


def _module(text: Text, module: str, matrix: Matrix, lines: Sequence[tuple[tuple[str, str, str], list[Cell]]]) -> None:
    """Append a heading and the lines of one module, aligned."""
    heads = max(len(label) for (_, label, _), _ in lines)
    types = max(len(dtypes) for (_, _, dtypes), _ in lines)
    table = [[_fields(cell) for cell in cells] for _, cells in lines]
    # A field that is empty everywhere takes no place, or four columns would be too wide.
    widths = [[max(len(each[i]) for each in column) + 2 for i in range(5)] for column in zip(*table, strict=True)]
    widths = [[width if width > 2 else 0 for width in each] for each in widths]
    totals = [max(sum(width), len(str(column)) + 2) for column, width in zip(matrix.columns, widths, strict=True)]
    text.append(module.ljust(heads + types + 6), "bold")
    for column, total in zip(matrix.columns, totals, strict=True):
        text.append(str(column).ljust(total), "bold")
    text.append(AGREEMENT if is_compared(matrix) else "", "bold")
    text.rstrip()
    text.append("\n")
    for ((_, label, dtypes), cells), fields in zip(lines, table, strict=True):
        text.append(f"  {label.ljust(heads)}  {dtypes.ljust(types)}  ")
        for (state, counts, budget, speed, notes), width, total in zip(fields, widths, totals, strict=True):
            style = STYLES.get(State(state), FAILED)
            text.append(state.ljust(width[0]), style)
            text.append(f"{counts.rjust(width[1] - 2)}  {budget.rjust(width[2] - 2)}  " if width[1] else "")
            text.append(f"{speed.rjust(width[3] - 2)}  " if width[3] else "")
            text.append(notes.ljust(total - sum(width[:4])), "" if style != FAILED else style)
        text.append(agreement_of(matrix.columns, cells, brief=True))
        text.rstrip()
        text.append("\n")


def plain(matrix: Matrix, *, full: bool = False) -> str:
    """The matrix as aligned ASCII text."""
    return terminal(matrix, full=full).plain


def summary(matrix: Matrix) -> str:
    """The run in one line."""
    cells = matrix.cells()
    kernels = len({row.kernel for row, cell in ((r, c) for r in matrix.rows for c in r.cells) if cell.run})
    parts = [f"{kernels} kernels", f"{matrix.executed} cases", f"{matrix.passed} passed"]
    absent = _counts(cells, (State.COMPILE_ERROR, State.MISSING))
    parts.append(f"{matrix.failures} failed" + (f" ({', '.join(absent)})" if absent else ""))
    if matrix.known:
        parts.append(f"{matrix.known} known")
    if matrix.unjudged:
        parts.append(f"{matrix.unjudged} not judged")
    if wrong := sum(bool(each.complaint) for each in matrix.issues):
        parts.append(f"{wrong} known {'issues' if wrong > 1 else 'issue'} to look at")
    parts += _counts(cells, (State.NOT_RUN, State.NOT_RECORDED, State.UNSUPPORTED))
    if vacuous := sum(bool(cell.vacuous) for cell in cells):
        parts.append(f"{vacuous} vacuous")
    rate = matrix.executed / matrix.seconds if matrix.seconds else 0
    parts += [f"{matrix.seconds:.1f} s", f"{rate:.0f} cases/s", f"seed {matrix.seed}"]
    return ("" if matrix.complete else "interrupted: ") + ", ".join(parts)


def _counts(cells: Sequence[Cell], states: Iterable[State]) -> list[str]:
    """How many cells have each of these states, of those that any has."""
    counts = ((sum(cell.state is state for cell in cells), str(state).lower()) for state in states)
    return [f"{count} {name}" for count, name in counts if count]


def markdown(matrix: Matrix, *, full: bool = False) -> str:
    """The matrix as a GitHub table."""
    last = [AGREEMENT] if is_compared(matrix) else []
    head = ["module", "op", "dtypes", *map(str, matrix.columns), *last]
    lines = []
    for (module, label, types), cells in _lines(matrix.rows, full):
        texts = (" ".join(field for field in _fields(cell) if field) for cell in cells)
        lines.append([module, f"`{label}`", types, *texts, *([agreement_of(matrix.columns, cells)] if last else [])])
    table = github_table(head, lines)
    issues = "\n".join(f"* {f'**{each}**' if each.complaint else each}" for each in matrix.issues)
    parts = [table, summary(matrix), agreement_summary(matrix), issues, _legend(matrix).replace("\n", "\n\n")]
    return "\n\n".join(part for part in parts if part) + "\n"


def _legend(matrix: Matrix) -> str:
    measured = [cell.measured for cell in matrix.cells() if cell.measured]
    libraries = any(cell.state is State.NO_KERNEL for cell in matrix.cells())
    vacuous = any(cell.vacuous for cell in matrix.cells())
    parts = [
        LEGEND,
        VACUOUS if vacuous else "",
        NO_KERNEL if libraries else "",
        AGREEMENT_LEGEND if is_compared(matrix) else "",
    ]
    parts += speed_legend(measured)
    parts += [f"{' '.join(targets)}: {text}" for text, targets in _makers(matrix)]
    return "\n".join(part for part in parts if part)


def _makers(matrix: Matrix) -> Iterator[tuple[str, list[str]]]:
    """How code was made, and the targets of which that holds."""
    for text in dict.fromkeys(matrix.made_by.values()):
        yield text, [target for target, made in matrix.made_by.items() if made == text]


def as_csv(matrix: Matrix) -> str:
    """One line per kernel; the fields of a column begin with its target and evidence.

    An AMD column that was compared with CUDA's has four more: cases by finding, and where both are right the largest
    distance in ULP, and the most elements that differ, in more than the sign of zero and in nothing else.
    """
    fields = ("state", "run", "passed", "worst_budget", "sharp", "divergences", "failures", "known")
    compared = ("against_cuda", "against_cuda_ulps", "against_cuda_elements", "against_cuda_zeros")
    with_cuda = [any(cell.agreement for cell in cells) for _, cells in matrix.by_column()]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    prefixes = [str(column).replace(" ", "_") for column in matrix.columns]
    names = [
        f"{prefix}_{field}"
        for prefix, more in zip(prefixes, with_cuda, strict=True)
        for field in (*fields, *(compared if more else ()))
    ]
    writer.writerow(["module", "op", "dtypes", "kernel", *names])
    for row in matrix.rows:
        values: list[object] = []
        for cell, more in zip(row.cells, with_cuda, strict=True):
            failures, known = (
                "; ".join(f"{kind} {n}" for kind, n in each.items()) for each in (cell.failures, cell.known)
            )
            worst = f"{cell.worst:.6g}" if cell.passed else ""
            values += [
                cell.state,
                cell.run,
                cell.passed,
                worst,
                cell.sharp,
                " ".join(cell.divergences),
                failures,
                known,
            ]
            values += _compared(cell.agreement) if more else []
        writer.writerow([row.module, row.op, ",".join(row.dtypes), row.kernel, *values])
    return out.getvalue()


def _compared(agreement: Agreement | None) -> list[object]:
    if agreement is None:
        return ["", "", "", ""]
    findings = (f"{finding} {agreement.findings[finding]}" for finding in Finding if finding in agreement.findings)
    by = f" ({' '.join(agreement.divergences)})" if agreement.divergences else ""
    return ["; ".join(findings) + by, f"{agreement.ulps:.6g}", agreement.elements, agreement.zeros]


def _lines(rows: Sequence[Row], full: bool) -> Iterator[tuple[tuple[str, str, str], list[Cell]]]:
    """(module, op or kernel, dtypes) and cells of every line."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        together = not full and not any(map(_alone, row.cells))
        # Kernels of two dtypes make one line per first dtype, or the line would be too long.
        states = ",".join(cell.state for cell in row.cells)
        key = (row.module, row.op, *row.dtypes[:-1], states) if together else (row.module, row.op, "", row.kernel)
        groups.setdefault(key, []).append(row)
    for group in groups.values():
        first = group[0]
        short = first.op.partition(".")[2]
        if full or any(map(_alone, first.cells)):
            yield (first.module, first.kernel, ",".join(first.dtypes)), list(first.cells)
        else:
            cells = [_sum(cells) for cells in zip(*(row.cells for row in group), strict=True)]
            yield (first.module, short, _dtypes(group)), cells


def _alone(cell: Cell) -> bool:
    """Whether the kernel has to be named."""
    return cell.state.failed or bool(cell.vacuous)


def _dtypes(group: Sequence[Row]) -> str:
    *head, _ = group[0].dtypes
    last = [row.dtypes[-1] for row in group]
    if not head:
        return " ".join(last)
    return ",".join([*head, f"{{{' '.join(last)}}}" if len(last) > 1 else last[0]])


def _sum(cells: Iterable[Cell]) -> Cell:
    """Cells of one state as one."""
    each = list(cells)
    agreements = [cell.agreement for cell in each if cell.agreement]
    return Cell(
        each[0].state,
        run=sum(cell.run for cell in each),
        passed=sum(cell.passed for cell in each),
        worst=max(cell.worst for cell in each),
        sharp=sum(cell.sharp for cell in each),
        unjudged=sum(cell.unjudged for cell in each),
        known=dict(sum((Counter(cell.known) for cell in each), Counter()).most_common()),
        divergences=sort_divergences(d for cell in each for d in cell.divergences),
        agreement=joined(agreements) if agreements else None,
        allowed=any(cell.allowed for cell in each),
        measured=slowest([cell.measured for cell in each if cell.measured]),
    )


def _fields(cell: Cell) -> tuple[str, str, str, str, str]:
    """State, counts, budget, speed and notes as text."""
    counts = f"{cell.passed}/{cell.run}" if cell.run else ""
    notes = [f"{kind} x{count}" for kind, count in cell.failures.items()] if cell.run else []
    notes += [f"{'known: ' if notes else ''}{kind} x{count}" for kind, count in cell.known.items()]
    notes += [f"not judged x{cell.unjudged}"] if cell.unjudged else []
    budget = ""
    if cell.passed and not cell.failed:
        budget = f"{math.ceil(100 * cell.worst)} %" if cell.allowed or cell.worst else "exact" if cell.exact else ""
        if cell.vacuous:
            budget = "vacuous"
            notes += [f"({' '.join(cell.vacuous)})"]
    return str(cell.state), counts, budget, speed_of(cell.measured), " ".join([*notes, *cell.divergences])
