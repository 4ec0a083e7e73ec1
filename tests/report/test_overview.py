"""The summary of a run: a line per module, with a word per target and a word for the agreement with CUDA."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.compare.arbitration import Conclusion
from parity.engine.case_records import Column, Provenance
from parity.report.model import Agreement, Cell, CellState, KernelRow, Matrix
from parity.report.overview import agreement_line, overview

CUDA = Column("recorded", "sm_90", "recorded", "cuda", device="NVIDIA H200")
AMD = tuple(Column("emulated", target) for target in ("gfx1030", "gfx1100", "gfx90a"))
PASS = Cell(CellState.PASS, run=4, passed=4)
FAIL = Cell(CellState.FAIL, run=4, passed=1, failures={"value": 3})


def matrix(*modules):
    """Return a matrix of modules; each is a list of kernels, and a kernel a list of cells."""
    rows = [
        KernelRow(f"m{i}", f"m{i}.op", ("f32",), f"kernel_{i}_{k}", tuple(cells))
        for i, kernels in enumerate(modules)
        for k, cells in enumerate(kernels)
    ]
    return Matrix((CUDA, *AMD), tuple(rows), Provenance(seconds=1.0))


def lines(found, width=None):
    return overview(found, width=width).plain.split("\n")


def compared(*conclusions, divergences=()):
    counts = dict.fromkeys(conclusions, 2)
    return replace(PASS, agreement=Agreement("sm_90", counts, divergences=divergences))


def test_overview_has_one_line_per_module():
    head, _, heads, first, second = lines(matrix([[PASS] * 4, [PASS] * 4], [[PASS] * 4]))
    assert "sm_90 recorded on NVIDIA H200; gfx1030 gfx1100 gfx90a emulated" in head
    assert heads.split() == ["module", "kernels", "cases", "sm_90", "gfx1030", "gfx1100", "gfx90a"]
    assert first.split() == ["m0", "2", "32", *["ok"] * 4]
    assert second.split() == ["m1", "1", "16", *["ok"] * 4]


def test_overview_lists_modules_of_libraries_below_the_table():
    library = [[Cell(CellState.NOT_IN_RUN)] * 4]
    *_, first, last = lines(matrix([[PASS] * 4], library, library))
    assert first.startswith("m0 ") and last == "not run: m1 m2, which libraries compute (docs/devices.md)"
    *_, only = lines(matrix(library))
    assert only.split() == ["m0", "1", "0", *["-"] * 4]


def test_overview_counts_failed_kernels():
    *_, line = lines(matrix([[PASS, PASS, FAIL, FAIL], [PASS, PASS, PASS, FAIL]]))
    assert line.endswith("ok       1 FAILED  2 FAILED")


STATES = {
    "a kernel is not judged": ([PASS, Cell(CellState.NOT_JUDGED)], "not judged"),
    "a kernel could not run": ([PASS, Cell(CellState.COULD_NOT_RUN)], "not run"),
    "a failure is known": ([PASS, Cell(CellState.KNOWN)], "known issue"),
    "an output is vacuous": ([PASS, replace(PASS, vacuous=("out",))], "vacuous"),
    "a kernel is not recorded": ([PASS, Cell(CellState.NOT_RECORDED)], "ok"),
    "everything is compiled only": ([Cell(CellState.COMPILED)] * 2, "compiled"),
    "a failure hides everything else": ([Cell(CellState.NOT_JUDGED), FAIL], "1 FAILED"),
}


@pytest.mark.parametrize(("cells", "word"), STATES.values(), ids=STATES)
def test_overview_shows_most_important_state(cells, word):
    *_, line = lines(matrix([[PASS, PASS, PASS, cell] for cell in cells]))
    assert line.endswith(f"  {word}")


AGREEMENTS = {
    "identical": ([compared(Conclusion.SAME)], "identical"),
    "rounding": ([compared(Conclusion.SAME), compared(Conclusion.RIGHT)], "within bounds"),
    "without a reference": ([compared(Conclusion.CLOSE)], "within bounds"),
    "rules": ([compared(Conclusion.RULES, divergences=("D14", "D5"))], "documented difference (D5, D14)"),
    "wrong": ([compared(Conclusion.SAME), compared(Conclusion.AMD)], "AMD is WRONG"),
    "no reference": ([compared(Conclusion.APART)], "WRONG"),
}


@pytest.mark.parametrize(("cells", "word"), AGREEMENTS.values(), ids=AGREEMENTS)
def test_overview_describes_agreement_with_cuda(cells, word):
    _, _, heads, line = lines(matrix([[PASS, PASS, PASS, cell] for cell in cells]))
    assert heads.endswith("vs CUDA") and line.endswith(f"  {word}")


def test_agreement_line_counts_results():
    found = matrix([[PASS, PASS, compared(Conclusion.SAME, Conclusion.RIGHT), compared(Conclusion.CLOSE)]])
    assert agreement_line(found) == "6 results compared with CUDA: 2 identical, 4 within bounds"
    assert agreement_line(matrix([[PASS] * 4])) == ""


def test_overview_merges_equal_targets_if_too_wide():
    wide = matrix([[PASS, PASS, PASS, FAIL]])
    needed = max(map(len, lines(wide)[2:]))
    assert len(lines(wide, needed)) == 4
    narrow = lines(wide, needed - 1)
    assert narrow[2].split() == ["gfx1030"] and narrow[3].endswith("  sm_90  gfx1100  gfx90a")
    assert narrow[4].endswith("1 FAILED") and max(map(len, narrow[2:])) < needed
