"""The table of used error bounds, from records."""

from __future__ import annotations

from benchmarks.budgets import table
from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import CaseRecord


def record(op, dtypes, share, **more):
    verdict = Verdict(Status.PASS, budget=share, **{"allowed": True, **more})
    return CaseRecord(f"{op}[{dtypes}](x=1~mixed@0)", op, "", op, "emulated", "gfx1100", "emulated", verdict)


def test_table_shows_median_of_cases_with_error_bound_per_family():
    cases = [record("unary.exp", "f32", 0.25), record("unary.log", "f64", 0.125), record("unary.sin", "f32", 0.5)]
    others = [
        record("unary.exp", "f16", 1.0),  # narrow types are left out
        record("unary.exp", "f32", 0.0, allowed=False),
        record("unary.neg", "f32", 1.0),
        record("quantized.mul_mat_vec_3", "q4_0", 0.03),
    ]
    *_, functions, quantized = table([*cases, *others]).splitlines()
    functions, quantized = (" ".join(line.split()) for line in (functions, quantized))
    assert functions == "| functions | gfx1100 emulated | 3 | 25.0 | 50 |"
    assert quantized == "| quantized times q8_1 | gfx1100 emulated | 1 | 3.0 | 3 |"
