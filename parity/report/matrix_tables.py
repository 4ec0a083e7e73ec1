"""Lays out the matrix as one table per module, and fits each table to the width of the terminal.

A table that is too wide is narrowed by these steps, in this order and only as needed:

1. Targets with equal cells in every line of the module share a column, and heads take several lines.
2. Failure classes, divergences and the comparison with CUDA continue below their line.
3. Omit the coverage: the share of the machine code that the cases reached.
4. Count the dtypes instead of naming them: ``7 dtypes``, or ``q4_0,{2}``.
5. Omit the speed: the share of the copy rate or FLOP rate, or instructions per element.
6. Omit the numbers of cases.
7. Omit the shares of the error bounds.
8. Wrap cells that are still too wide.

States, failure classes, divergences and the comparison with CUDA are always shown.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from rich.text import Text

from parity.engine.case_records import Column
from parity.model.coverage import Reached
from parity.model.coverage import concatenate_coverage as joined_coverage
from parity.model.divergences import sort_ids
from parity.report import tables
from parity.report.agreement import AGREEMENT, agreement_text, is_compared
from parity.report.bench import slowest, speed_text
from parity.report.matrix import class_counts
from parity.report.model import Cell, CellState, KernelRow, Matrix, total_agreement

STYLES = {
    CellState.PASS: "green",
    CellState.KNOWN: "magenta",
    **dict.fromkeys((CellState.COMPILED, CellState.BASELINE), "cyan"),
    **dict.fromkeys((CellState.NOT_RECORDED, CellState.NOT_IN_RUN), "dim"),
    **dict.fromkeys((CellState.COULD_NOT_RUN, CellState.NOT_JUDGED, CellState.UNSUPPORTED), "yellow"),
}
FAILURE_STYLE = "bold red"

STEPS = ("coverage", "names of dtypes", "speed", "cases", "budgets")
"""The parts that a module with too wide a table omits, in this order."""
COVERAGE, DTYPES, SPEED, CASES, BUDGETS = STEPS

AGAINST = "against CUDA"
"""The note on a kernel that is judged by CUDA's results."""

NOTES = 12
WIDER = (48, 36, 30, 24, 18)
"""The minimum width of a line of notes or of a comparison with CUDA, and larger widths to try if there is room."""

Words = tuple[str, str, str, str, str, str]

LEAST = 40
"""The narrowest width, in characters, that a matrix is fitted to; narrower terminals wrap its lines."""

NUMBERS = (1, 2, 3, 4)
"""The indices of cases, budget, coverage and speed among the words of a cell."""


class Fold(IntEnum):
    """The parts of a table that continue in further lines: nothing; heads of merged targets; also notes."""

    NOTHING = 0
    HEADS = 1
    NOTES = 2


@dataclass(frozen=True)
class MatrixLine:
    """A line of the matrix: one kernel, or kernels of an op in the same state that differ in their last dtype.

    ``dtypes`` are the last dtypes; ``common`` are the dtypes before them.
    """

    module: str
    label: str
    dtypes: tuple[str, ...]
    common: tuple[str, ...]
    cells: tuple[Cell, ...]

    def types(self, *, counted: bool = False) -> str:
        """Return the dtypes as text, or their number."""
        several = len(self.dtypes) > 1
        names = str(len(self.dtypes)) if counted and several else " ".join(self.dtypes)
        if not self.common:
            return f"{names} dtypes" if counted and several else names
        return ",".join([*self.common, f"{{{names}}}" if several else names])


@dataclass(frozen=True)
class ModuleTable:
    """The table of a module. ``without`` lists the parts that were omitted to make it narrower."""

    module: str
    heads: tuple[str, ...]
    rows: tuple[tuple[tables.Cell, ...], ...]
    without: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """The length of the longest line, in characters."""
        columns = zip(self.heads, *self.rows, strict=True)
        return sum(max(map(_widest, column)) + tables.GAP for column in columns) - tables.GAP


def module_tables(matrix: Matrix, *, full: bool = False, width: int | None = None) -> list[ModuleTable]:
    """Return the tables of all modules, fitted to ``width`` if possible. Without a width, they are complete."""
    room = math.inf if width is None else max(width, LEAST)
    grouped = itertools.groupby(matrix_lines(matrix.rows, full), key=lambda line: line.module)
    return [_fitted(matrix, tuple(lines), room) for _, lines in grouped]


def _fitted(matrix: Matrix, lines: Sequence[MatrixLine], room: float) -> ModuleTable:
    for fold in (Fold.NOTHING, Fold.HEADS):
        section = _section(matrix, lines, fold)
        if section.width <= room:
            return section
    without: list[str] = []
    section = _section(matrix, lines, Fold.NOTES)
    for step in STEPS:
        if section.width <= room:
            break
        before, section = section, _section(matrix, lines, Fold.NOTES, (*without, step))
        if section.rows != before.rows:
            without.append(step)
    # Use wider notes if there is room, which saves lines.
    wider = (_section(matrix, lines, Fold.NOTES, without, notes) for notes in WIDER)
    best = next((each for each in wider if each.width <= room), section)
    return replace(best, without=tuple(without))


def _section(
    matrix: Matrix, lines: Sequence[MatrixLine], fold: Fold, without: Container[str] = (), notes: int = NOTES
) -> ModuleTable:
    """Build the table of a module without some parts; ``notes`` is the minimum width of notes."""
    columns = zip(*([cell_words(cell, without) for cell in line.cells] for line in lines), strict=True)
    alike: dict[Hashable, list[Column]] = {}
    words: dict[Hashable, tuple[Words, ...]] = {}
    for i, (column, shown) in enumerate(zip(matrix.columns, columns, strict=True)):
        key: Hashable = (column.runner, column.evidence, shown) if fold else i
        alike.setdefault(key, []).append(column)
        words[key] = shown
    module = lines[0].module
    table: list[tuple[str, Sequence[tables.Cell]]] = [(module, [f"  {line.label}" for line in lines])]
    table.append(("", [line.types(counted=DTYPES in without) for line in lines]))
    for key, shown in words.items():
        texts = _texts(shown, notes if fold >= Fold.NOTES else None)
        head = alike[key][0].head(" ".join(column.target for column in alike[key]))
        table.append((_folded(head, max(map(_widest, texts))) if fold else head, texts))
    if is_compared(matrix):
        compared = [agreement_text(matrix.columns, line.cells, brief=True) for line in lines]
        table.append((AGREEMENT, [_folded(each, notes) for each in compared] if fold >= Fold.NOTES else compared))
    heads, cells = zip(*table, strict=True)
    return ModuleTable(module, heads, tuple(zip(*cells, strict=True)))


def _folded(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _widest(cell: tables.Cell) -> int:
    return max(map(len, str(cell).split("\n")))


def _folded_list(text: str, width: int) -> str:
    """Wrap a comma-separated list between its items; only items longer than a line are broken."""
    lines = [""]
    for item in text.split(", "):
        if lines[-1] and len(f"{lines[-1]}, {item}") <= width:
            lines[-1] += f", {item}"
        else:
            lines[-1] += "," * bool(lines[-1])
            lines += _folded(item, width).split("\n")
    return "\n".join(filter(None, lines))


def _texts(column: Sequence[Words], below: int | None) -> list[Text]:
    """Align the words of a column, without words that no line has. With ``below``, the notes continue below their line
    in lines of at least that width.
    """
    kept = [i for i in range(len(column[0])) if any(words[i] for words in column)]
    beside = [i for i in kept if below is None or i != len(column[0]) - 1]
    right = [i for i, kind in enumerate(beside) if kind in NUMBERS]
    aligned = tables.plain((), [[words[i] for i in beside] for words in column], right=right).split("\n")
    width = max(below or NOTES, *map(len, aligned))
    texts = []
    for line, (state, *_, notes) in zip(aligned, column, strict=True):
        style = STYLES.get(CellState(state), FAILURE_STYLE)
        text = Text(f"{line}\n{_folded_list(notes, width)}" if below is not None and notes else line)
        text.stylize(style, 0, len(state))
        if style == FAILURE_STYLE and notes:
            text.stylize(style, len(text) - len(notes))
        texts.append(text)
    return texts


def cell_words(cell: Cell, without: Container[str] = ()) -> Words:
    """Return state, cases, share of the error bound, coverage, speed and notes of a cell."""
    counts = f"{cell.passed}/{cell.run}" if cell.run else f"{cell.baseline}" if cell.baseline else ""
    counts = "" if CASES in without else counts
    notes = class_counts(cell.failures) if cell.run else []
    notes += [f"{'known: ' if notes else ''}{each}" for each in class_counts(cell.known)]
    notes += [AGAINST] if cell.by else []
    unjudged = cell.unjudged - cell.unreferenced
    notes += [f"not judged x{unjudged}"] if unjudged else []
    notes += [f"only memory checked x{cell.unreferenced}"] if cell.unreferenced else []
    budget = ""
    if cell.passed and not cell.failed:
        if BUDGETS not in without:
            budget = f"{math.ceil(100 * cell.worst)} %" if cell.allowed or cell.worst else "exact" if cell.exact else ""
        if cell.vacuous:
            budget = "vacuous"
            notes += [f"({' '.join(cell.vacuous)})"]
    speed = "" if SPEED in without else speed_text(cell.measured)
    coverage = "" if COVERAGE in without or not cell.reached else f"code {coverage_share(cell.reached)}"
    notes += [" ".join(cell.divergences)] if cell.divergences else []
    return str(cell.state), counts, budget, coverage, speed, ", ".join(notes)


def coverage_share(reached: Reached) -> str:
    """Return the share of reached basic blocks, rounded down."""
    return f"{100 * reached.blocks_reached // max(reached.blocks, 1)} %"


def matrix_lines(rows: Sequence[KernelRow], full: bool) -> Iterator[MatrixLine]:
    """Yield one line per op for kernels that pass, and one per kernel for others; with ``full``, one per kernel."""
    groups: dict[tuple[str, ...], list[KernelRow]] = {}
    for row in rows:
        together = not full and not any(map(_alone, row.cells))
        # Kernels with two dtypes get one line per first dtype to keep lines short.
        states = ",".join(cell.state for cell in row.cells)
        key = (row.module, row.op, *row.dtypes[:-1], states) if together else (row.module, row.op, "", row.kernel)
        groups.setdefault(key, []).append(row)
    for group in groups.values():
        first = group[0]
        label, cells = first.kernel, first.cells
        if not (full or any(map(_alone, cells))):
            label = first.op.partition(".")[2] or first.op
            cells = tuple(_sum(each) for each in zip(*(row.cells for row in group), strict=True))
        yield MatrixLine(first.module, label, tuple(row.dtypes[-1] for row in group), first.dtypes[:-1], cells)


def _alone(cell: Cell) -> bool:
    """True if the kernel needs a separate line."""
    return cell.state.failed or bool(cell.vacuous)


def _sum(cells: Iterable[Cell]) -> Cell:
    """Merge cells with the same state."""
    each = list(cells)
    sums = ("run", "passed", "beyond_observed", "unjudged", "unreferenced", "baseline")
    return Cell(
        each[0].state,
        **{name: sum(getattr(cell, name) for cell in each) for name in sums},
        worst=max(cell.worst for cell in each),
        by=next((cell.by for cell in each if cell.by), ""),
        known=dict(sum((Counter(cell.known) for cell in each), Counter()).most_common()),
        divergences=sort_ids(d for cell in each for d in cell.divergences),
        agreement=total_agreement(each),
        allowed=any(cell.allowed for cell in each),
        measured=slowest([cell.measured for cell in each if cell.measured]),
        reached=joined_coverage(cell.reached for cell in each if cell.reached),
    )
