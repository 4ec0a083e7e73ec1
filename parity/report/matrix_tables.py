"""The layout of the matrix: its lines, its columns, and the parts that are left out where there is little room.

A module whose table is wider than the terminal is made narrower by these steps, in this order, as many as it takes:

1. Targets that show the same in every line of the module stand in one column, and heads take several lines.
2. Classes of failures, divergences and the comparison with CUDA go on below the line that they belong to.
3. The coverage is left out: the share of the machine code that the cases reached.
4. dtypes are counted and not named: ``7 dtypes``, or ``q4_0,{2}``.
5. The speed is left out: the share of the copy rate or FLOP rate, or instructions per element.
6. The numbers of cases are left out.
7. The budgets are left out.
8. Cells that are still too wide go on in further lines.

CellState, classes of failures, divergences and the comparison with CUDA are always there.
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

from parity.engine import Column
from parity.model.coverage import Reached
from parity.model.coverage import concatenate_coverage as joined_coverage
from parity.model.divergences import sort_ids
from parity.report import tables
from parity.report.agreement import AGREEMENT, agreement_text, is_compared
from parity.report.bench import slowest, speed_text
from parity.report.matrix import class_counts
from parity.report.model import Cell, CellState, KernelRow, Matrix, combine_agreements

__all__ = ["MatrixLine", "ModuleTable", "cell_words", "coverage_share", "matrix_lines", "module_tables"]

STYLES = {
    CellState.PASS: "green",
    CellState.KNOWN: "magenta",
    CellState.COMPILED: "cyan",
    CellState.NOT_RECORDED: "dim",
    CellState.COULD_NOT_RUN: "yellow",
    CellState.NOT_JUDGED: "yellow",
    CellState.NOT_IN_RUN: "dim",
    CellState.TAKEN: "cyan",
    CellState.UNSUPPORTED: "yellow",
}
FAILED = "bold red"

STEPS = ("coverage", "names of dtypes", "speed", "cases", "budgets")
"""The parts that a module that is too wide omits, in this order."""
COVERAGE, DTYPES, SPEED, CASES, BUDGETS = STEPS

AGAINST = "against CUDA"
"""The note on a kernel that is judged by what CUDA computes."""

NOTES = 12
WIDER = (48, 36, 30, 24, 18)
"""Characters that a line of notes, or of a comparison with CUDA, takes at least before it goes on below, and the widths
that are tried where there is room.
"""

Words = tuple[str, str, str, str, str, str]

LEAST = 40
"""Characters of the narrowest terminal that a matrix is fitted to; a narrower one breaks its lines."""

NUMBERS = (1, 2, 3, 4)
"""The indices of cases, budget, coverage and speed among the words of a cell."""


class Fold(IntEnum):
    """The parts of a table that continue in further lines: nothing; heads, with targets together; notes as well."""

    NOTHING = 0
    HEADS = 1
    NOTES = 2


@dataclass(frozen=True)
class MatrixLine:
    """A line of the matrix: one kernel, or those of an op that have the same state, by the dtypes that they differ in.

    ``common`` is what their dtypes begin with.
    """

    module: str
    label: str
    dtypes: tuple[str, ...]
    common: tuple[str, ...]
    cells: tuple[Cell, ...]

    def types(self, *, counted: bool = False) -> str:
        """The dtypes in words."""
        several = len(self.dtypes) > 1
        names = str(len(self.dtypes)) if counted and several else " ".join(self.dtypes)
        if not self.common:
            return f"{names} dtypes" if counted and several else names
        return ",".join([*self.common, f"{{{names}}}" if several else names])


@dataclass(frozen=True)
class ModuleTable:
    """The table of a module. ``without`` is what was left out of it to make it narrower."""

    module: str
    heads: tuple[str, ...]
    rows: tuple[tuple[tables.Cell, ...], ...]
    without: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Characters of its longest line."""
        columns = zip(self.heads, *self.rows, strict=True)
        return sum(max(map(_widest, column)) + tables.GAP for column in columns) - tables.GAP


def module_tables(matrix: Matrix, *, full: bool = False, width: int | None = None) -> list[ModuleTable]:
    """The tables of all modules, none wider than this where that is possible; None: with all there is."""
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
    # What fits has no more lines than it takes.
    wider = (_section(matrix, lines, Fold.NOTES, without, notes) for notes in WIDER)
    best = next((each for each in wider if each.width <= room), section)
    return replace(best, without=tuple(without))


def _section(
    matrix: Matrix, lines: Sequence[MatrixLine], fold: Fold, without: Container[str] = (), notes: int = NOTES
) -> ModuleTable:
    """The table of a module without some things; ``notes`` are the characters of a line of them at least."""
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
        head = _head(alike[key])
        table.append((_folded(head, max(map(_widest, texts))) if fold else head, texts))
    if is_compared(matrix):
        compared = [agreement_text(matrix.columns, line.cells, brief=True) for line in lines]
        table.append((AGREEMENT, [_folded(each, notes) for each in compared] if fold >= Fold.NOTES else compared))
    return ModuleTable(
        module, tuple(head for head, _ in table), tuple(zip(*(cells for _, cells in table), strict=True))
    )


def _head(columns: Sequence[Column]) -> str:
    """The head of columns that differ in nothing but the target."""
    return columns[0].head(" ".join(column.target for column in columns))


def _folded(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _widest(cell: tables.Cell) -> int:
    return max(map(len, str(cell).split("\n")))


def _folded_list(text: str, width: int) -> str:
    """A list with commas in lines, which begin with a new item unless that is too long for a line."""
    lines = [""]
    for item in text.split(", "):
        if lines[-1] and len(f"{lines[-1]}, {item}") <= width:
            lines[-1] += f", {item}"
        else:
            lines[-1] += "," * bool(lines[-1])
            lines += _folded(item, width).split("\n")
    return "\n".join(filter(None, lines))


def _texts(column: Sequence[Words], below: int | None) -> list[Text]:
    """The words of a column as aligned text, those that no line has left out; the notes in further lines of ``below``
    characters at least.
    """
    kept = [i for i in range(len(column[0])) if any(words[i] for words in column)]
    beside = [i for i in kept if below is None or i != len(column[0]) - 1]
    right = [i for i, kind in enumerate(beside) if kind in NUMBERS]
    aligned = tables.plain((), [[words[i] for i in beside] for words in column], right=right).split("\n")
    width = max(below or NOTES, *map(len, aligned))
    texts = []
    for line, (state, *_, notes) in zip(aligned, column, strict=True):
        style = STYLES.get(CellState(state), FAILED)
        text = Text(f"{line}\n{_folded_list(notes, width)}" if below is not None and notes else line)
        text.stylize(style, 0, len(state))
        if style == FAILED and notes:
            text.stylize(style, len(text) - len(notes))
        texts.append(text)
    return texts


def cell_words(cell: Cell, without: Container[str] = ()) -> Words:
    """State, cases, budget, coverage, speed and notes of a cell."""
    counts = f"{cell.passed}/{cell.run}" if cell.run else f"{cell.taken}" if cell.taken else ""
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
    return (
        str(cell.state),
        counts,
        budget,
        coverage,
        speed,
        ", ".join([*notes, *([" ".join(cell.divergences)] if cell.divergences else [])]),
    )


def coverage_share(reached: Reached) -> str:
    """The share of the basic blocks that were reached, rounded down."""
    return f"{100 * reached.blocks_reached // max(reached.blocks, 1)} %"


def matrix_lines(rows: Sequence[KernelRow], full: bool) -> Iterator[MatrixLine]:
    """The lines: one per op, dtypes together, for what passes, one per kernel for the rest, and for all if ``full``."""
    groups: dict[tuple[str, ...], list[KernelRow]] = {}
    for row in rows:
        together = not full and not any(map(_alone, row.cells))
        # Kernels of two dtypes make one line per first dtype, or the line would be too long.
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
    """True if the kernel has to be named in a line of its own."""
    return cell.state.failed or bool(cell.vacuous)


def _sum(cells: Iterable[Cell]) -> Cell:
    """Cells of one state as one."""
    each = list(cells)
    agreements = [cell.agreement for cell in each if cell.agreement]
    return Cell(
        each[0].state,
        run=sum(cell.run for cell in each),
        passed=sum(cell.passed for cell in each),
        worst=max(cell.worst for cell in each),
        beyond_observed=sum(cell.beyond_observed for cell in each),
        unjudged=sum(cell.unjudged for cell in each),
        unreferenced=sum(cell.unreferenced for cell in each),
        taken=sum(cell.taken for cell in each),
        by=next((cell.by for cell in each if cell.by), ""),
        known=dict(sum((Counter(cell.known) for cell in each), Counter()).most_common()),
        divergences=sort_ids(d for cell in each for d in cell.divergences),
        agreement=combine_agreements(agreements) if agreements else None,
        allowed=any(cell.allowed for cell in each),
        measured=slowest([cell.measured for cell in each if cell.measured]),
        reached=joined_coverage(cell.reached for cell in each if cell.reached),
    )
