"""Fitting the matrix to narrow terminals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.compare.arbitration import Conclusion
from parity.engine.bench import Measurement
from parity.engine.case_records import Column
from parity.model.coverage import Reached
from parity.report.matrix_tables import LEAST, STEPS, module_tables
from parity.report.model import Agreement, Cell, CellState, KernelRow, Matrix
from parity.report.render import plain, terminal
from parity.runners.timing import Timing, Timings

CUDA = Column("recorded", "sm_90", "recorded", "cuda", "recorded=h200.zip", "NVIDIA H200")
AMD = tuple(Column("emulated", target) for target in ("gfx1030", "gfx1100", "gfx90a"))
COLUMNS = (CUDA, *AMD)
SECONDS = Timing(1e-3, 1e-3, 1e-3, 0.001, 50)
MEASURED = Measurement(
    "unary", "unary.neg", ("f32",), "uneg_f32", "", "case", "recorded", "sm_90", "recorded",
    bytes=2**29, timings=Timings(SECONDS), copy=4e12, rate=6e13,
)  # fmt: skip


def cell(column, budget, fails):
    """Return a cell with 120 passing cases, and one failing case if the kernel ``fails``."""
    if column == CUDA:
        return Cell(CellState.PASS, 120, 120, budget, allowed=True, measured=MEASURED)
    found = {Conclusion.SAME: 120, **({Conclusion.AMD: 1} if fails else {})}
    passing = Cell(
        CellState.PASS, 120, 120, budget, allowed=True, divergences=("D5",), agreement=Agreement(CUDA.known_as, found),
        reached=Reached.of(8, 2, 0b01_01111111),
    )  # fmt: skip
    return replace(passing, state=CellState.FAIL, run=121, failures={"out-of-bounds read": 1}) if fails else passing


def matrix_of(entries, *, unlike=False, failing=()):
    """The ``failing`` kernels fail on gfx90a; with ``unlike``, targets use different shares of the error bound."""
    budgets = [0.25 + 0.1 * unlike * place for place in range(len(COLUMNS))]
    rows = [
        KernelRow(
            entry.op.module,
            entry.op.name,
            entry.dtypes,
            entry.kernel,
            tuple(
                cell(column, budget, entry.kernel in failing and column == AMD[-1])
                for column, budget in zip(COLUMNS, budgets, strict=True)
            ),
        )
        for entry in entries
    ]
    return Matrix(COLUMNS, tuple(rows))


@pytest.fixture
def unary(suite):
    return suite.select(["unary.exp", "unary.neg"]).entries


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize(("width", "full"), [(40, False), (80, False), (80, True), (120, False), (200, False)])
def test_lines_fit_width(suite, width, full):
    entries = suite.select(["quantized", "conv", "fill"] if full else ["*"]).entries
    matrix = matrix_of(entries, unlike=True, failing={entry.kernel for entry in entries[::50]})
    text = terminal(matrix, width=width, full=full).plain
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("unlike", [False, True])
def test_essential_parts_are_shown_at_each_width(unary, width, unlike):
    (section,) = module_tables(matrix_of(unary, unlike=unlike, failing=["uexp_f16"]), width=width)
    for row in section.rows:
        label, _, *cells, compared = (words(str(cell)) for cell in row)
        assert all("D5" in cell for cell in cells[1:])
        assert "D5" not in cells[0]
        if label == "uexp_f16":
            assert [cell.split()[0] for cell in cells] == ["pass"] * (len(cells) - 1) + ["FAIL"]
            assert "out-of-bounds read x1" in cells[-1] and compared == "gfx90a AMD wrong x1"
        else:
            assert {cell.split()[0] for cell in cells} == {"pass"} and compared == "identical"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_cell_texts_are_complete(unary, width):
    matrix = matrix_of(unary, unlike=True, failing=["uexp_f16"])
    (section,) = module_tables(matrix, width=width)
    table = terminal(matrix, width=width).plain.split("\n\n")[2]
    said = "".join([*section.heads, *(str(cell) for row in section.rows for cell in row)])
    assert sorted("".join(table.split())) == sorted("".join(said.split()))


def test_class_list_wraps_between_items_and_uses_room():
    failures = {"out-of-bounds write": 9, "never-written read": 4, "data race": 2}
    row = KernelRow("unary", "unary.neg", ("f32",), "uneg_f32", (Cell(CellState.FAIL, 20, 5, failures=failures),) * 3)
    lines = {
        width: [line.strip() for line in terminal(Matrix(AMD, (row,)), width=width).plain.split("\n\n")[2].splitlines()]
        for width in (50, 72)
    }
    classes = ["out-of-bounds write x9,", "never-written read x4,", "data race x2"]
    assert lines[50][-3:] == classes
    assert lines[72][-2:] == [" ".join(classes[:2]), classes[2]]


def test_wide_terminal_shows_everything_without_note(unary):
    matrix = matrix_of(unary, unlike=True, failing=["uexp_f16"])
    assert terminal(matrix).plain == terminal(matrix, width=230).plain == plain(matrix)
    assert "left out" not in plain(matrix)


def test_equal_targets_merge_before_parts_are_omitted(unary):
    (section,) = module_tables(matrix_of(unary), width=120)
    assert [words(head) for head in section.heads[2:]] == [
        "sm_90 recorded",
        "gfx1030 gfx1100 gfx90a emulated",
        "vs CUDA",
    ]
    assert section.without == ()


def test_emulated_and_hardware_columns_do_not_merge():
    columns = (AMD[0], replace(AMD[1], evidence="hardware"), AMD[2])
    row = KernelRow("unary", "unary.neg", ("f32",), "uneg_f32", (Cell(CellState.PASS, 1200, 1200),) * 3)
    matrix = Matrix(columns, (row,))
    (section,) = module_tables(matrix, width=60)
    assert [words(head) for head in section.heads[2:]] == ["gfx1030 gfx90a emulated", "gfx1100 hardware"]


def test_different_target_keeps_its_column(unary):
    (section,) = module_tables(matrix_of(unary, failing=["uexp_f16"]), width=120)
    assert [words(head) for head in section.heads[3:5]] == ["gfx1030 gfx1100 emulated", "gfx90a emulated"]


def test_parts_are_omitted_in_fixed_order(unary):
    matrix = matrix_of(unary, unlike=True)
    left_out = [module_tables(matrix, width=width)[0].without for width in range(200, LEAST, -1)]
    assert left_out[0] == () and left_out[-1] == STEPS
    assert all(each == STEPS[: len(each)] for each in left_out)
    assert [*dict.fromkeys(map(len, left_out))] == [0, 1, 2, 3, 4, 5]


def test_note_lists_omitted_parts_modules_and_full_width(suite):
    entries = suite.select(["unary.exp", "fill.fill"]).entries
    matrix = matrix_of(entries, unlike=True)
    widths = [each.width for each in module_tables(matrix)]
    text = words(terminal(matrix, width=100).plain)
    assert f"left out to fit 100 characters ({max(widths)} show everything): coverage, names of dtypes" in text
    assert "(all modules)" in text
    assert "left out" not in terminal(matrix, width=max(widths)).plain
    assert sorted(row[1] for each in module_tables(matrix, width=100) for row in each.rows) == ["5 dtypes", "8 dtypes"]


def test_note_does_not_list_absent_parts(unary):
    whole = matrix_of(unary, unlike=True)
    rows = [replace(row, cells=(replace(row.cells[0], measured=None), *row.cells[1:])) for row in whole.rows]
    text = words(terminal(replace(whole, rows=tuple(rows)), width=44).plain)
    assert "): coverage, names of dtypes, cases, budgets (unary)" in text


def test_narrow_terminal_counts_as_forty_characters(unary):
    matrix = matrix_of(unary)
    assert terminal(matrix, width=3).plain == terminal(matrix, width=LEAST).plain
