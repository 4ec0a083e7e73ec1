"""Failures tell all that is needed to debug them."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace

import pytest

from parity.compare import Mismatch, Status, Verdict
from parity.engine import CaseRecord
from parity.errors import UsageError
from parity.report import Reproduction, check_folder, failure_text, failures_file, shown_failures

VERDICT = Verdict(
    Status.FAIL,
    "value",
    budget=31.0,
    wrong=4,
    total=12,
    first=Mismatch((1, 0), "1.5", "1.25", 2097152.0, 31.0),
    pattern="every 3rd element (from 0)",
)
RECORD = CaseRecord(
    "unary.exp[f32](x=4x3~mixed@3)",
    "unary.exp",
    "uexp_f32",
    "unary",
    "emulated",
    "gfx1100",
    "emulated",
    VERDICT,
    launch="uexp_f32<<<1x1x1, 1024x1x1>>>(u64(12))",
    inputs={"x": "0.4"},
)


def test_a_failure_tells_everything():
    minimal = replace(RECORD, case="unary.exp[f32](x=1~mixed@9)")
    text = failure_text(replace(RECORD, minimal=minimal), Reproduction(), "kernels/unary.cu")
    for part in (
        *("uexp_f32", "gfx1100", "emulated", "value", "x=1~mixed@9", "x=4x3~mixed@3", "<<<1x1x1", "(1, 0)", "x = 0.4"),
        *("1.5", "1.25", "2.09715e+06 ULP", "31 times", "4 of 12", "every 3rd", "kernels/unary.cu"),
        "parity run 'unary.exp[f32](x=1~mixed@9)'",
    ):
        assert part in text


def test_where_no_distance_makes_sense_none_is_told():
    nan = replace(VERDICT, first=Mismatch((0,), "1.5", "nan", math.inf, math.inf))
    assert "ULP" not in failure_text(replace(RECORD, verdict=nan), Reproduction())


def test_a_fault_shows_its_whole_message():
    fault = Verdict(Status.FAIL, "out-of-bounds read", detail="line one\n  line two")
    lines = failure_text(replace(RECORD, verdict=fault), Reproduction()).splitlines()
    assert any("line one" in line for line in lines)
    assert any("line two" in line for line in lines)
    assert not any("expected" in line for line in lines)


def test_the_command_is_quoted_for_a_shell():
    command = Reproduction(options=("--kernels", "my kernels", "--target", "gfx1100")).of(RECORD)
    assert shlex.split(command) == ["parity", "run", RECORD.case, "--kernels", "my kernels", "--target", "gfx1100"]


def test_a_few_failures_per_kernel_are_shown_and_the_rest_counted():
    plain = [replace(RECORD, case=f"unary.exp[f32](x={n}~mixed@0)") for n in range(1, 6)]
    small = replace(RECORD, minimal=RECORD)
    crash = replace(RECORD, verdict=Verdict(Status.CRASH, "crash"))
    shown = shown_failures([*plain, small, crash, replace(RECORD, verdict=Verdict(Status.PASS))])
    assert [(record, more) for record, more in shown] == [(small, 0), (crash, 5)]


def test_the_file_names_every_failing_case():
    records = [replace(RECORD, case=f"unary.exp[f32](x={n}~mixed@0)") for n in range(1, 6)]
    text = failures_file(records, Reproduction())
    assert all(record.case in text for record in records)
    assert failures_file([], Reproduction()) == "no failures\n"


def test_an_output_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="--output"):
        check_folder(tmp_path / "file" / "out")
