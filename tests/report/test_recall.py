"""Recall: counting, tables, and the line below the matrix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.errors import UsageError
from parity.mutation.mutant import Mutant, MutantOutcome, MutantResult, Reason
from parity.mutation.recall import compute_recall, find_recall_file, read_recall
from parity.platform.serialization import json_text
from parity.report.recall import markdown, recall_line, recall_summary, terminal

MUTANT = Mutant(
    "mine.sum", ("f32",), "sum_f32", "mine", "gfx1100", "source", "boundary", "< to <=", "mine.cu", 7, 0, "<", "<=",
    "if (i < n)", "if (i <= n)",
)  # fmt: skip
OTHER = replace(MUTANT, kernel="mean_f32", module="other", level="instruction", kind="opcode", listed=12)
TRIED = [
    *(MutantResult(replace(MUTANT, at=i), MutantOutcome.CAUGHT, "mine.sum[f32](x=2)", "value", 3) for i in range(2)),
    MutantResult(replace(MUTANT, at=3), MutantOutcome.TIMED_OUT),
    MutantResult(replace(MUTANT, at=4), MutantOutcome.EQUAL),
    MutantResult(replace(MUTANT, at=5), MutantOutcome.UNCOMPILED),
    MutantResult(
        replace(MUTANT, at=6), MutantOutcome.SURVIVED, reason=Reason.WITHIN, budget=0.31, usual=0.25
    ),
    MutantResult(replace(MUTANT, at=9), MutantOutcome.SURVIVED, reason=Reason.MISSED, found="mine.sum[f32](x=9)"),
    MutantResult(replace(MUTANT, at=10), MutantOutcome.SURVIVED, reason=Reason.EQUIVALENT),
    MutantResult(replace(OTHER, at=7), MutantOutcome.SURVIVED, reason=Reason.NEVER_EXECUTED),
    MutantResult(replace(OTHER, at=8, kind="wait"), MutantOutcome.NOT_SHOWN),
]  # fmt: skip


@pytest.fixture
def recall():
    return compute_recall(TRIED, {"sum_f32": 0, "mean_f32": 1}, seed=3, examples=20, complete=True, budgets={})


def test_recall_counts_only_faults(recall):
    assert (recall.total.caught, recall.total.survived, recall.total.equivalent) == (3, 4, 1)
    assert (recall.total.planted, recall.total.effective) == (7, 6)  # without proof, a survivor counts
    assert recall.by_module() == {"mine": (3, 6), "other": (0, 1)}
    first = recall.kernels[0]
    assert (first.kernel, first.caught, first.survived, first.equivalent) == ("sum_f32", 3, 3, 1)
    assert (first.equal, first.uncompiled) == (1, 1)


def test_survivor_shows_edit_reason_and_case(recall):
    text = terminal(recall).plain
    assert "sum_f32 on gfx1100: boundary, at mine.cu:7\n  - if (i < n)\n  + if (i <= n)\n" in text
    assert "results change, and use 31 % of it (the unmutated kernel: 25 %)" in text
    assert "caught by: parity run 'mine.sum[f32](x=9)'" in text
    assert text.index("parity run") < text.index("31 %") and "equivalent as far" not in text.partition("recall:")[0]
    assert "all results are the same bits" in terminal(recall, full=True).plain
    assert "mean_f32 on gfx1100: opcode, at mine.cu:7, listing line 12" in text and "never executed" in text


def test_recall_summary_is_one_line(recall):
    said = recall_summary(recall, TRIED, 2.0)
    assert said.startswith("10 faults in 2 kernels on gfx1100, 2 caught, 1 timed out, 4 survived (1 missed, ")
    assert "1 equivalent as far as known), 1 equal code, " in said
    assert "recall 42.9 %, 50.0 % of the faults with a known effect, 2.0 s" in said


def test_incomplete_recall_is_below_100_percent():
    caught = [MutantResult(replace(MUTANT, at=i), MutantOutcome.CAUGHT) for i in range(9999)]
    recall = compute_recall([*caught, TRIED[-2]], {}, seed=0, examples=20, complete=True, budgets={})
    assert "99.9 % of 10000 faults" in recall_line(recall)


def test_recall_tables_fit_width(recall):
    assert max(map(len, terminal(recall, width=80).plain.splitlines())) <= 80


def test_matrix_shows_recall_of_its_kernels(recall):
    assert recall.of(["sum_f32"], ["gfx1100", "gfx90a"]).by_module() == {"mine": (3, 6)}
    assert recall.of(["sum_f32"], ["gfx90a"]) is None
    part = recall.of(["sum_f32", "mean_f32"], ["gfx1100"])
    assert recall_line(part) == (
        "recall: 42.9 % of 7 faults that were planted in these kernels on gfx1100 were caught: mine 50.0 %, other "
        "0.0 %; 50.0 % of the 6 with a known effect; 1 have none, and 0 are out of reach (parity mutate)"
    )


def test_recall_file_round_trips(recall, tmp_path):
    (tmp_path / "reports").mkdir()
    path = tmp_path / "reports" / "recall.json"
    path.write_bytes(json_text(recall, indent=1))
    assert find_recall_file(tmp_path) == path and read_recall(path) == recall
    assert "| mine     | `sum_f32`  | gfx1100  |" in markdown(recall)
    assert (
        find_recall_file(tmp_path / "reports" / "..") is not None and find_recall_file(tmp_path / "elsewhere") is None
    )


@pytest.mark.parametrize("text", ["{}", '{"format": "another"}', "nothing"])
def test_other_file_is_not_recall(text, tmp_path):
    path = tmp_path / "recall.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"recall\.json"):
        read_recall(path)


def test_unknown_recall_format_is_refused(recall, tmp_path):
    path = tmp_path / "recall.json"
    path.write_bytes(json_text(replace(recall, format="parity recall, version 9")))
    with pytest.raises(UsageError, match="version 9"):
        read_recall(path)
