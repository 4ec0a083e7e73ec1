"""Runs that pass every case and still do not prove that the kernels are right."""

from __future__ import annotations

import pytest

TARGET = ("--target", "gfx1100")


@pytest.mark.parametrize("limit", ["choices={'n': (0,)}", "where='n == 0'"])
def test_run_with_only_empty_cases_compares_nothing(parity, mine, edit, limit):
    case_file = mine / "cases" / "leaky_relu.py"
    edit(case_file, 'alpha numel:i32",', f'alpha n:i32", shapes="x: n; out: n", {limit},')
    result = parity("run", *TARGET)
    assert result.code == 3 and "nothing was compared" in result.err
    assert " 0 passed" in result.out and "23 not judged" in result.out
