"""The comparisons with other timers and libraries, without a GPU."""

from __future__ import annotations

import inspect

import pytest

from benchmarks.libraries import OPERATIONS, Result
from benchmarks.timers import CASES, Row, agree, table
from parity.runners.timing import Timing, Timings


@pytest.mark.parametrize("text", [*CASES, *(operation.case for operation in OPERATIONS)])
def test_comparison_case_has_launch_that_fits_in_memory(suite, text):
    case = suite.parse(text)
    launch, memory = suite.op(case.op).timed(case)
    assert launch.kernel in {entry.kernel for entry in suite.entries}
    assert sum(each.nbytes for each in memory.values()) < 24 * 2**30


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.title)
def test_library_call_takes_tensors_of_its_case(suite, operation):
    case = suite.parse(operation.case)
    tensors = {*suite.op(case.op).inputs, "out"} & set(case.layouts) | {"out"}
    for call in (operation.torch, operation.cupy):
        if call:
            assert set(list(inspect.signature(call).parameters)[1:]) == tensors


def row(triton=5e-6, cupy=4e-6):
    return Row("case", (5e-6, 5e-6), triton, (4e-6, 4e-6), cupy, 400)


def test_agree_accepts_differences_up_to_three_percent():
    assert agree([row(), row(5.1e-6), row(cupy=3.9e-6)])
    assert not agree([row(), row(5.2e-6)])
    assert not agree([row(cupy=3.8e-6)])
    line = " ".join(table([row(5.1e-6)]).splitlines()[2].split())
    assert line == "| `case` | 5.00 us / 5.00 us | 5.10 us | 0.980 | 4.00 us / 4.00 us | 4.00 us | 400 | 1.000 |"


def test_result_ratio_above_one_means_kernel_is_faster():
    ours, theirs = (Timings(Timing(s, s, s, 0.0, 50)) for s in (1e-4, 2e-4))
    cells = Result(OPERATIONS[0], 9e-5, {"parity": ours, "PyTorch": theirs, "CuPy": "TypeError: no"}).cells()
    assert cells[2:] == ["100 us", "90 %", "200 us", "45 %", "2.00", "TypeError: no", "", ""]
