"""Explanations of cases, as ``parity explain`` prints them."""

from __future__ import annotations

import pytest

import parity
from parity.cli import main
from parity.errors import UsageError

CASE = "affine.affine[u8](x=70~special@0 mul=127 add=100)"


def test_explain_returns_output_of_show_command(suite, capsys):
    text = parity.explain(CASE, suite=suite, elements=3)
    folders = ["--kernels", str(suite.kernels), "--cases", str(suite.cases)]
    assert main(["explain", CASE, "--elements", "3", *folders]) == 0
    assert capsys.readouterr().out == text + "\n"


def test_explanation_has_launch_inputs_and_expected_values(suite):
    lines = [line.split() for line in parity.explain(CASE, suite=suite, elements=3).splitlines()]
    assert next(line for line in lines if line[:1] == ["about"])[:2] == ["about", "D24:"]
    assert ["2", "2", "98"] in lines  # 2 * 127 + 100 in eight bits
    assert ["...", "and", "67", "more", "(--elements", "N)"] in lines


def test_explain_of_invalid_case_raises_usage_error(suite):
    with pytest.raises(UsageError, match="'softmax' is not a case"):
        parity.explain("softmax", suite=suite)
