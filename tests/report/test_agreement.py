"""The agreement between CUDA and AMD in all formats of the matrix."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace

import pytest

from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import CaseRecord, Column, CrossVendorComparison
from parity.report.document import as_json
from parity.report.matrix import make_matrix
from parity.report.render import as_csv, markdown, plain

CUDA = Column("recorded", "sm_90", "recorded", "cuda", "recorded=h200.zip", "NVIDIA H200")
AMD = tuple(Column("emulated", target, "emulated") for target in ("gfx1030", "gfx1100", "gfx90a"))
COLUMNS = (CUDA, *AMD)
SAME = CrossVendorComparison(Conclusion.SAME, 0, 12, column=CUDA.known_as)
CLOSE = CrossVendorComparison(Conclusion.RIGHT, 3, 12, 2.0, column=CUDA.known_as)
WRONG = CrossVendorComparison(Conclusion.AMD, 1, 12, 9.0, column=CUDA.known_as)
RULES = CrossVendorComparison(Conclusion.RULES, 1, 12, 1e6, ("D5", "D14"), column=CUDA.known_as)


def record(entry, column, against=None, verdict=None):
    return CaseRecord.of(entry, column, "c", verdict or Verdict(Status.PASS, total=1, budget=0.25), against=against)


def matrix_of(entries, by_target):
    """Return a matrix with the given comparisons per kernel and target; all kernels pass on CUDA."""
    records = [record(entry, CUDA) for entry in entries]
    records += [record(e, c, against) for e in entries for c in AMD for against in by_target[c.target]]
    return make_matrix(entries, COLUMNS, records)


def everywhere(*against):
    return {column.target: against for column in AMD}


@pytest.fixture
def entries(suite):
    return suite.select(["uexp_f32"]).entries


def last_field(text):
    (line,) = [line for line in text.splitlines() if line.startswith("  ")]
    return line.rpartition("25 %")[2].strip()


@pytest.mark.parametrize(
    ("against", "text"),
    [
        ([SAME, SAME], "identical"),
        ([SAME, CLOSE], "2 ULP"),
        ([CLOSE, replace(CLOSE, ulps=0.0), RULES], "D5 D14 2 ULP"),
        ([replace(CLOSE, ulps=0.0)], "3 differ"),
        ([replace(CLOSE, ulps=0.0, zeros=3), SAME], "sign of zero"),
        ([replace(CLOSE, ulps=0.0, zeros=2)], "1 differ"),
        ([replace(CLOSE, ulps=0.0, zeros=3), CLOSE], "2 ULP"),
        ([replace(CLOSE, ulps=98304.0, share=0.113)], "12 % of bounds"),
        ([replace(CLOSE, ulps=98304.0)], "3 differ"),
        ([replace(CLOSE, ulps=math.inf)], "NaN or number"),
        ([SAME, RULES], "D5 D14"),
        ([WRONG, SAME, WRONG], "AMD wrong x2"),
        ([replace(WRONG, conclusion=Conclusion.CUDA), CLOSE], "CUDA wrong x1 2 ULP"),
        ([replace(WRONG, conclusion=Conclusion.REFERENCE)], "reference? x1"),
        ([replace(WRONG, conclusion=Conclusion.BOTH)], "both wrong x1"),
    ],
)
def test_equal_agreement_of_targets_is_shown_once(entries, against, text):
    assert last_field(plain(matrix_of(entries, everywhere(*against)))) == text


def test_different_agreement_shows_worst_distance_and_names_wrong_targets(entries):
    close = {"gfx1030": [SAME], "gfx1100": [CLOSE], "gfx90a": [replace(CLOSE, ulps=7.0)]}
    assert last_field(plain(matrix_of(entries, close))) == "7 ULP"
    assert "gfx1030 identical, gfx1100 2 ULP, gfx90a 7 ULP" in markdown(matrix_of(entries, close))
    assert last_field(plain(matrix_of(entries, {**close, "gfx90a": [WRONG]}))) == "gfx90a AMD wrong x1"


def test_matrix_of_four_columns_fits_160_characters(suite):
    def case(entry, column):
        ported, rules = column in AMD, entry.op.name == "unary.exp"
        verdict = Verdict(Status.PASS, total=1, budget=1.0, divergences=("D14",) if ported and rules else ())
        return record(entry, column, (RULES if rules else CLOSE) if ported else None, verdict)

    records = [case(e, c) for e in suite.entries for c in COLUMNS for _ in range(21 if c in AMD else 7)]
    text = plain(make_matrix(suite.entries, COLUMNS, records))
    assert [line for line in text.splitlines() if len(line) > 160] == []


def test_agreement_is_totalled_once(entries):
    matrix = matrix_of(entries, everywhere(SAME, CLOSE, WRONG))
    assert "compared with CUDA" not in plain(matrix)
    assert markdown(matrix).count("9 results compared with CUDA: 3 identical, 3 within bounds, 3 WRONG") == 1


def test_csv_and_json_contain_agreement_of_each_target(entries):
    matrix = matrix_of(entries, {**everywhere(SAME), "gfx90a": [CLOSE, RULES]})
    (row, *_) = csv.DictReader(as_csv(matrix).splitlines())
    assert row["gfx90a_emulated_against_cuda"] == "within bounds 1; documented difference 1 (D5 D14)"
    assert (row["gfx90a_emulated_against_cuda_ulps"], row["gfx90a_emulated_against_cuda_elements"]) == ("2", "3")
    assert row["gfx1100_emulated_against_cuda"] == "identical 1"
    assert "sm_90_recorded_against_cuda" not in row
    data = json.loads(as_json(matrix))
    assert data["against"]["gfx1100 emulated"]["conclusions"] == {"identical": 1}
    assert list(data["against"]) == ["gfx1030 emulated", "gfx1100 emulated", "gfx90a emulated"]
    assert data["kernels"][0]["cells"][3]["against"] == data["against"]["gfx90a emulated"]
    assert data["against"]["gfx90a emulated"] == {
        "witness": CUDA.known_as,
        "conclusions": {"within bounds": 1, "documented difference": 1},
        "ulps": 2.0,
        "elements": 3,
        "divergences": ["D5", "D14"],
        "zeros": 0,
        "share": 0.0,
    }


def test_agreement_without_comparison_is_omitted(entries):
    matrix = make_matrix(entries, AMD, [record(e, c) for e in entries for c in AMD])
    for text in (plain(matrix), markdown(matrix)):
        assert "vs CUDA" not in text.replace("known CUDA/AMD divergences", "")
    assert "against" not in as_csv(matrix)
