"""Formulas for dims, fitted to the number of elements that launches accessed."""

from __future__ import annotations

import pytest

from parity.inference.shape_formulas import Fit, fit_dims, fit_positions

SCOPES = [
    {"rows": 7, "cols": 5, "ldx": 19},
    {"rows": 11, "cols": 2, "ldx": 23},
    {"rows": 4, "cols": 300, "ldx": 601},
]
NAMES = ["rows", "cols", "ldx"]

FITS = {
    "product": (lambda n: n["rows"] * n["cols"], Fit(("rows", "cols"))),
    "constant factor": (lambda n: 3 * n["rows"], Fit(("3*rows",))),
    "large factor": (lambda n: 57 * n["rows"], Fit(("57*rows",))),
    "one more": (lambda n: n["rows"] + 1, Fit(("rows+1",))),
    "sum": (lambda n: n["rows"] + n["cols"] - 1, Fit(("rows+cols-1",))),
    "added constant": (lambda n: n["cols"] + 37, Fit(("cols+37",))),
    "pitched rows": (lambda n: (n["rows"] - 1) * n["ldx"] + n["cols"], Fit(("rows", "ldx"), where="cols <= ldx")),
    "part per warp": (lambda n: n["rows"] * -(-n["cols"] // 32), Fit(("rows", "ceil(cols/32)"))),
    "constant": (lambda n: 300, Fit(("300",))),
}


@pytest.mark.parametrize("case", FITS)
def test_fit_dims_of_exact_size_returns_its_formula(case):
    size, fit = FITS[case]
    assert fit_dims([size(each) for each in SCOPES], SCOPES, NAMES, is_exact=True) == fit


def test_fit_dims_of_half_of_an_even_number_returns_quotient():
    scopes = [{"rows": 7, "cols": 10}, {"rows": 11, "cols": 2}, {"rows": 4, "cols": 300}]
    ends = [each["rows"] * each["cols"] // 2 for each in scopes]
    assert fit_dims(ends, scopes, ["rows", "cols"], is_exact=True) == Fit(("rows", "cols//2"))


def test_fit_dims_without_exact_size_returns_loose_upper_bound():
    ends = [each["rows"] * each["cols"] - 1 for each in SCOPES]
    assert fit_dims(ends, SCOPES, ["rows", "cols"]) == Fit(("rows", "cols"), loose=True)
    assert fit_dims(ends, SCOPES, ["rows", "cols"], is_exact=True) is None


def test_fit_dims_of_unused_tensor_returns_none():
    assert fit_dims([0, 0, 0], SCOPES, NAMES) is None


def test_fit_positions_along_dim_returns_dim():
    firsts = [each["cols"] for each in SCOPES]
    assert fit_positions(firsts, firsts, SCOPES, ["rows", "cols"]) == ("", ("cols",))
    starts = [(each["rows"] - 1) * each["cols"] + 1 for each in SCOPES]
    assert fit_positions(starts, [1, 1, 1], SCOPES, ["rows", "cols"]) == ("cols", ("rows", "cols"))
    points = [3 * each for each in starts]
    assert fit_positions(points, [3, 3, 3], SCOPES, ["rows", "cols"]) == ("cols", ("rows", "cols", "3"))
