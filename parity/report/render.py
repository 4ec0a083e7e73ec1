"""Renders the matrix. Each function returns text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from rich.text import Text

from parity.compare.arbitration import Conclusion
from parity.errors import first_names, pluralize
from parity.model.divergences import divergences, sort_ids
from parity.reference.accuracy import furthest
from parity.report import matrix_tables, tables
from parity.report.agreement import AGREEMENT, agreement_legend, agreement_text, is_compared
from parity.report.bench import speed_legend
from parity.report.coverage_totals import coverage_by_column
from parity.report.matrix import NO_KERNEL
from parity.report.model import Agreement, Cell, CellState, Matrix
from parity.report.overview import agreement_line, head
from parity.report.recall import recall_line

PROSE = 160
"""The largest width of the legend, in characters."""

LEGEND = (
    "n/n: passed and executed cases",
    "n %: the largest share of the allowed error that an element used (exact: no error was allowed or found)",
)
MET = "D..: known CUDA/AMD divergences that cases met"
COVERAGE = (
    "code n %: the share of the basic blocks of machine code that the cases reached (parity coverage lists the rest)"
)
VACUOUS = "vacuous: every case would also accept wrong results, such as only zeros, so a pass proves nothing"
AGAINST_CUDA = (
    "against CUDA: the op has no reference, so CUDA's values are the baseline. Values that no rounding changes, such "
    f"as integers, must be equal. Other numbers may differ by {furthest('f32'):g} times the change that occurs when "
    "each operation of the kernel rounds up or down (docs/tolerance-model.md, section 10).\n"
    "Only a reference can reveal a mistake that both sides share"
)
ONLY_MEMORY = (
    "only memory checked: the op has no reference, and the other vendor's side has no result; memory accesses and "
    "races were checked, but not the values"
)

CODE = ("blocks_reached", "blocks", "directions_reached", "directions")


def terminal(matrix: Matrix, *, full: bool = False, width: int | None = None) -> Text:
    """Return the matrix as aligned, coloured text, grouped by module, below a header that explains its numbers.

    Kernels of an op that pass share a line; other kernels have separate lines. With ``full``, each kernel has a line.

    ``width`` limits the length of lines, in characters. ``parity.report.matrix_tables`` narrows modules that are too
    wide. A line below the matrix lists what was left out, and the width that shows everything.
    """
    room = None if width is None else max(width, matrix_tables.LEAST)
    found = matrix_tables.module_tables(matrix, full=full, width=room)
    prose = _prose(matrix, min(room or PROSE, PROSE))
    if left_out := _left_out(found):
        whole = max(each.width for each in matrix_tables.module_tables(matrix, full=full))
        note = f"left out to fit {room} characters ({whole} show everything): {left_out}"
        prose = Text.assemble((f"{note}\n\n", "yellow"), prose)
    # Without a width, rich is several times as fast.
    parts = [tables.coloured(s.heads, s.rows, width=room if room and s.width > room else None) for s in found]
    header = tables.folded(Text(f"{head(matrix)}\n\n{_header(matrix)}", "dim"), min(room or PROSE, PROSE))
    return Text("\n\n").join([header, *parts, tables.folded(prose, room)])


def plain(matrix: Matrix, *, full: bool = False) -> str:
    """Return the complete matrix as aligned text without colours."""
    parts = [tables.plain(each.heads, each.rows) for each in matrix_tables.module_tables(matrix, full=full)]
    header = tables.folded(Text(f"{head(matrix)}\n\n{_header(matrix)}"), PROSE).plain
    return "\n\n".join([header, *parts, _prose(matrix).plain])


def _prose(matrix: Matrix, width: int = PROSE) -> Text:
    """The text below the tables: divergences, origins, coverage, and known issues."""
    notes = _notes(matrix)
    text = tables.folded(Text(f"{notes}\n" if notes else "", "dim"), width)
    if coverage := coverage_summary(matrix):
        text.append(f"\n{coverage}\n")
    if matrix.issues:
        text.append("\nknown issues\n", "bold")
        for each in matrix.issues:
            text.append(f"  {each}\n", matrix_tables.FAILURE_STYLE if each.complaint else "")
    if matrix.undeclared:
        text.append("\nkernels without an op, which no case tests (parity init writes missing case files)\n", "bold")
        for file, names in matrix.undeclared.items():
            text.append(f"  {file}: {first_names(names, UNDECLARED)}\n", "yellow")
    return text


def coverage_summary(matrix: Matrix) -> str:
    """Return one line per column with its coverage; empty if no column recorded any."""
    return "\n".join(map(str, coverage_by_column(matrix)))


def _left_out(found: Sequence[matrix_tables.ModuleTable]) -> str:
    """The omitted parts and their modules; empty if nothing was omitted."""
    steps: dict[tuple[str, ...], list[str]] = {}
    for step in matrix_tables.STEPS:
        if modules := tuple(each.module for each in found if step in each.without):
            steps.setdefault(modules, []).append(step)
    every = len(found)
    return "; ".join(
        f"{', '.join(names)} ({'all modules' if len(modules) == every > 1 else ' '.join(modules)})"
        for modules, names in steps.items()
    )


UNDECLARED = 8
"""Kernels without an op to list for each file."""

MACHINES = 8
"""Machines of a cluster to list by name."""


def summary(matrix: Matrix) -> str:
    """Return the run in one line."""
    cells = matrix.cells()
    kernels = len({(row.module, row.kernel) for row in matrix.rows if any(cell.run for cell in row.cells)})
    parts = [pluralize(kernels, "kernel"), pluralize(matrix.executed, "case"), f"{matrix.passed:,} passed"]
    absent = _counts(cells, (CellState.COMPILE_ERROR, CellState.MISSING))
    parts.append(f"{matrix.failures:,} failed" + (f" ({', '.join(absent)})" if absent else ""))
    parts += [
        f"{count:,} {what}" for what, count in (("known", matrix.known), ("not judged", matrix.unjudged)) if count
    ]
    if wrong := sum(bool(each.complaint) for each in matrix.issues):
        parts.append(f"{wrong} known {'issues' if wrong > 1 else 'issue'} to look at")
    parts += _counts(cells, (CellState.COULD_NOT_RUN, CellState.NOT_RECORDED, CellState.UNSUPPORTED))
    if vacuous := sum(bool(cell.vacuous) for cell in cells):
        parts.append(f"{vacuous} vacuous")
    if undeclared := sum(map(len, matrix.undeclared.values())):
        parts.append(f"{undeclared} without an op")
    rate = matrix.executed / matrix.provenance.seconds if matrix.provenance.seconds else 0
    parts += [f"{matrix.provenance.seconds:.1f} s", f"{rate:,.0f} cases/s", f"seed {matrix.provenance.seed}"]
    if machines := matrix.provenance.machines:
        parts.append(f"executed by {first_names(machines, MACHINES)}")
    return ("" if matrix.provenance.complete else "interrupted: ") + ", ".join(parts)


def totals(matrix: Matrix) -> str:
    """Return the run in one line, and the agreement with CUDA in another if results were compared."""
    return "\n".join(filter(None, [summary(matrix), agreement_line(matrix)]))


def _counts(cells: Sequence[Cell], states: Iterable[CellState]) -> list[str]:
    """The number of cells in each of these states as text, without zeros."""
    counts = ((sum(cell.state is state for cell in cells), str(state).lower()) for state in states)
    return [f"{count} {name}" for count, name in counts if count]


def markdown(matrix: Matrix, *, full: bool = False) -> str:
    """Return the matrix as a GitHub table."""
    last = [AGREEMENT] if is_compared(matrix) else []
    heads = ["module", "op", "dtypes", *map(str, matrix.columns), *last]
    rows = []
    for line in matrix_tables.matrix_lines(matrix.rows, full):
        cells = (" ".join(filter(None, matrix_tables.cell_words(cell))) for cell in line.cells)
        compared = [agreement_text(matrix.columns, line.cells)] if last else []
        rows.append([line.module, f"`{line.label}`", line.types(), *cells, *compared])
    issues = "\n".join(f"* {f'**{each}**' if each.complaint else each}" for each in matrix.issues)
    legend = f"{_header(matrix)}\n{_notes(matrix)}".strip().replace("\n", "\n\n")
    below = (summary(matrix), agreement_line(matrix), coverage_summary(matrix), issues, legend)
    return "\n\n".join([tables.markdown(heads, rows), *filter(None, below)]) + "\n"


def _header(matrix: Matrix) -> str:
    """The meaning of the numbers and words in the cells."""
    cells = matrix.cells()
    explained = {COVERAGE: "reached", VACUOUS: "vacuous", AGAINST_CUDA: "by", ONLY_MEMORY: "unreferenced"}
    parts = [*LEGEND, *[MET] * bool(_met(matrix))]
    parts += [text for text, name in explained.items() if any(getattr(cell, name) for cell in cells)]
    parts += [f"{CellState.NOT_IN_RUN}: {NO_KERNEL}"] * any(cell.reason == NO_KERNEL for cell in cells)
    parts += speed_legend([cell.measured for cell in cells if cell.measured])
    return "\n".join(filter(None, [*parts, agreement_legend(matrix)]))


def _notes(matrix: Matrix) -> str:
    """The divergences that cases met, the origin of the code, and the recall."""
    parts = [str(divergences()[name]) for name in _met(matrix) if name in divergences()]
    made_by = matrix.provenance.made_by
    for text in dict.fromkeys(made_by.values()):
        parts.append(f"{' '.join(target for target, made in made_by.items() if made == text)}: {text}")
    parts += [recall_line(matrix.recall)] if matrix.recall else []
    return "\n".join(part for part in parts if part)


def _met(matrix: Matrix) -> tuple[str, ...]:
    """The ids of all divergences in the matrix."""
    found = ((*cell.divergences, *(cell.agreement.divergences if cell.agreement else ())) for cell in matrix.cells())
    return sort_ids(itertools.chain.from_iterable(found))


def as_csv(matrix: Matrix) -> str:
    """Return CSV with one line per kernel. The field names of a column begin with its target and evidence.

    An AMD column that was compared with CUDA's results has four additional fields: cases by conclusion and, where both
    are right, the largest distance in ULPs, the largest number of elements that differ, and the largest number that
    differ only in the sign of zero. A column with coverage has the numbers of reached and all basic blocks, and of
    reached and all branch directions.
    """
    fields = ("state", "run", "passed", "worst_budget", "beyond_observed", "divergences", "failures", "known")
    compared = ("against_cuda", "against_cuda_ulps", "against_cuda_elements", "against_cuda_zeros")
    heads = ["module", "op", "dtypes", "kernel"]
    lines: list[list[object]] = [[row.module, row.op, ",".join(row.dtypes), row.kernel] for row in matrix.rows]
    for column, cells in matrix.by_column():
        with_cuda = any(cell.agreement for cell in cells)
        code = CODE if any(cell.reached for cell in cells) else ()
        names = (*fields, *(compared if with_cuda else ()), *code)
        heads += [f"{column} {name}".replace(" ", "_") for name in names]
        for line, cell in zip(lines, cells, strict=True):
            counts = ("; ".join(f"{kind} {n}" for kind, n in each.items()) for each in (cell.failures, cell.known))
            worst = f"{cell.worst:.6g}" if cell.passed else ""
            met = " ".join(cell.divergences)
            line += [cell.state, cell.run, cell.passed, worst, cell.beyond_observed, met, *counts]
            line += _compared(cell.agreement) if with_cuda else []
            line += [getattr(cell.reached, name, "") for name in code]
    return tables.comma_separated(heads, lines)


def _compared(agreement: Agreement | None) -> list[object]:
    if agreement is None:
        return ["", "", "", ""]
    counts = (f"{each} {agreement.conclusions[each]}" for each in Conclusion if each in agreement.conclusions)
    by = f" ({' '.join(agreement.divergences)})" if agreement.divergences else ""
    return ["; ".join(counts) + by, f"{agreement.ulps:.6g}", agreement.elements, agreement.zeros]
