"""Summarizes a run on one screen: a line per module, with a word per target and a word for the agreement with CUDA."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.text import Text

from parity.compare.arbitration import Conclusion
from parity.engine.case_records import Column
from parity.errors import pluralize
from parity.platform.version import __version__
from parity.report import tables
from parity.report.agreement import AGREEMENT, is_compared
from parity.report.matrix_tables import FAILURE_STYLE, STYLES
from parity.report.model import Cell, CellState, KernelRow, Matrix, total_agreement

_WORDS = {
    CellState.NOT_JUDGED: "not judged",
    CellState.COULD_NOT_RUN: "not run",
    CellState.KNOWN: "known issue",
    CellState.PASS: "ok",
    CellState.BASELINE: "baseline",
    CellState.COMPILED: "compiled",
    CellState.UNSUPPORTED: "unsupported",
    CellState.NOT_RECORDED: "not recorded",
    CellState.NOT_IN_RUN: "-",
}
"""The word for a module by the state of its kernels. The first state that any kernel has is shown."""

_WRONG = {
    Conclusion.AMD: "AMD is WRONG",
    Conclusion.CUDA: "CUDA is WRONG",
    Conclusion.BOTH: "both are WRONG",
    Conclusion.REFERENCE: "reference is WRONG",
    Conclusion.APART: "WRONG",
}
"""The words for a module in which a vendor or the reference is wrong, most important first."""


_States = tuple[Text, ...]
"""The words of a column, from top to bottom."""


def overview(matrix: Matrix, *, width: int | None = None) -> Text:
    """Return the head of the run, and the table of its modules. ``width`` limits the length of lines, in characters.

    If the table is too wide, targets with equal columns share a column. Modules that no column of the run can execute
    are listed in one line below the table, unless all modules are.
    """
    every = {name: list(rows) for name, rows in itertools.groupby(matrix.rows, key=lambda row: row.module)}
    modules = {name: rows for name, rows in every.items() if any(map(_is_in_run, rows))} or every
    others = [name for name in every if name not in modules]
    states = {
        column: tuple(_state([row.cells[i] for row in rows]) for rows in modules.values())
        for i, column in enumerate(matrix.columns)
    }
    table = _table(matrix, modules, [([column], of) for column, of in states.items()])
    if width is not None and max(map(len, table.plain.split("\n"))) > width:
        alike: dict[tuple[str, ...], tuple[list[Column], _States]] = {}
        for column, of in states.items():
            alike.setdefault((column.kind, *map(str, of)), ([], of))[0].append(column)
        table = _table(matrix, modules, list(alike.values()))
    if others:
        table.append(f"\nnot run: {' '.join(others)}, which libraries compute (docs/devices.md)", "dim")
    return Text("\n\n").join([Text(head(matrix)), table])


def _is_in_run(row: KernelRow) -> bool:
    return any(cell.state is not CellState.NOT_IN_RUN for cell in row.cells)


def head(matrix: Matrix) -> str:
    """Return one line with the version, and the targets by kind of evidence."""
    kinds: dict[str, list[str]] = {}
    for column in matrix.columns:
        on = f" on {column.device}" if column.device else ""
        kinds.setdefault(f"{column.kind}{on}", []).append(column.target)
    parts = [f"{' '.join(targets)} {kind}" for kind, targets in kinds.items()]
    return f"parity {__version__}: {'; '.join(parts)}"


def _table(
    matrix: Matrix, modules: Mapping[str, Sequence[KernelRow]], columns: Sequence[tuple[Sequence[Column], _States]]
) -> Text:
    """Format the table; each item of ``columns`` has the targets that share a column, and its words."""
    compared = is_compared(matrix)
    names = ["\n".join(column.label(matrix.columns) for column in group) for group, _ in columns]
    heads = ["module", "kernels", "cases", *names, *([AGREEMENT] if compared else [])]
    rows: list[list[tables.Cell]] = []
    for i, (module, kernels) in enumerate(modules.items()):
        cells = [cell for row in kernels for cell in row.cells]
        line: list[tables.Cell] = [module, f"{len(kernels):,}", f"{sum(cell.run for cell in cells):,}"]
        line += [states[i] for _, states in columns]
        rows.append([*line, *([_against_cuda(cells)] if compared else [])])
    return tables.coloured(heads, rows, right=(1, 2))


def _state(cells: Sequence[Cell]) -> Text:
    """Describe the kernels of a module in one column."""
    if failed := sum(cell.state.failed for cell in cells):
        return Text(f"{failed} FAILED", FAILURE_STYLE)
    if any(cell.vacuous for cell in cells):
        return Text("vacuous", "yellow")
    state = next(state for state in _WORDS if any(cell.state is state for cell in cells))
    return Text(_WORDS[state], STYLES.get(state, ""))


def _against_cuda(cells: Iterable[Cell]) -> Text:
    """Describe how the results of a module agree with CUDA's; empty if none were compared."""
    total = total_agreement(cells)
    if total is None:
        return Text("")
    counts = total.conclusions
    for conclusion, words in _WRONG.items():
        if counts.get(conclusion):
            return Text(words, FAILURE_STYLE)
    if total.divergences:
        return Text(f"{Conclusion.RULES} ({', '.join(total.divergences)})")
    within = counts.get(Conclusion.RIGHT) or counts.get(Conclusion.CLOSE)
    return Text(Conclusion.RIGHT if within else Conclusion.SAME)


def _word(conclusion: Conclusion) -> str:
    """Return "identical", "within bounds", "documented difference" or "WRONG"."""
    if not conclusion.agreement:
        return "WRONG"
    return str(Conclusion.RIGHT if conclusion is Conclusion.CLOSE else conclusion)


def agreement_line(matrix: Matrix) -> str:
    """Return the number of results that were compared with CUDA, by agreement; empty if none were."""
    total = total_agreement(matrix.cells())
    if total is None:
        return ""
    counts = Counter[str]()
    for conclusion in Conclusion:
        counts[_word(conclusion)] += total.conclusions.get(conclusion, 0)
    counts[_word(Conclusion.RULES) + "s"] = counts.pop(_word(Conclusion.RULES))
    shown = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    return f"{pluralize(total.cases, 'result')} compared with CUDA: {shown}"
