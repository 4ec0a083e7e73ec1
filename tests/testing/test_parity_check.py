"""The fixture ``parity_check``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parity import reference
from parity.engine.plan import Plan, make_tasks, runner_columns
from parity.engine.worker import Worker
from parity.errors import UsageError
from parity.runners import OpRunner, Unsupported
from parity.testing.checking import ParityCheck
from parity.testing.failure import ParityFailure


@pytest.fixture
def parity_check():
    """Provide the fixture of the plugin, which is missing if parity is on the path but not installed."""
    return ParityCheck()


NEG = {"op": "unary.neg", "dtype": "f32", "examples": 3}


def test_check_right_function_returns_records(parity_check, suite):
    records = parity_check(np.negative, **NEG, suite=suite)
    assert len(records) > 3
    assert {record.runner for record in records} == {"negative"}


def test_check_without_dtype_covers_all_and_passes_parameters_last(parity_check, suite):
    def elu(x, alpha):
        return reference.elu(x, alpha).value

    records = parity_check(elu, op="unary.elu", examples=2, suite=suite)
    assert len({record.kernel for record in records}) == 5


def test_check_passes_shape_and_dtype_by_keyword(parity_check, suite):
    asked = []

    def zeros(x, *, shape, to):
        asked.append((shape, to.name))
        return np.zeros(shape, to.numpy)

    with pytest.raises(ParityFailure, match="value"):
        parity_check(zeros, cases=["unary.neg[f32](x=2x3~normal@0)"], suite=suite)
    assert asked[0] == ((2, 3), "f32")


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: x * 2, "unary.neg[f32] by <lambda> on python: value"),
        (lambda x: -x.astype(np.float64), "because   the output has the dtype float64 instead of float32"),
        (lambda x: np.negative(x).reshape(-1)[:1], "has the shape (1,) instead of"),
        (lambda x: np.negative(x, out=x), "the library wrote to the memory of x, which must not change"),
        (lambda x: x.nothing, "AttributeError: 'numpy.ndarray' object has no attribute 'nothing'"),
    ],
)
def test_check_wrong_function_fails_with_simplest_case(parity_check, suite, function, says):
    with pytest.raises(ParityFailure) as error:
        parity_check(function, **NEG, suite=suite)
    assert says in str(error.value)
    assert "again     parity_check(<lambda>, cases=['unary.neg[f32](" in str(error.value)


def test_check_without_judged_case_fails(parity_check, suite):
    def never(x):
        raise Unsupported("not today")

    with pytest.raises(ParityFailure, match="nothing was checked: not today"):
        parity_check(never, **NEG, suite=suite)
    with pytest.raises(UsageError, match=r"did you mean unary\.neg"):
        parity_check(never, op="unary.nge", suite=suite)
    with pytest.raises(UsageError, match="does not exist for"):
        parity_check(never, op="unary.neg", dtype="u8", suite=suite)


def test_check_without_function_runs_kernel(parity_check, suite):
    records = parity_check(cases=["unary.neg[f32](x=3~mixed@0)"], target="gfx1100", suite=suite)
    assert [(r.kernel, r.target, r.verdict.passed) for r in records] == [("uneg_f32", "gfx1100", True)]


def test_check_library_op_requires_function(parity_check, suite):
    with pytest.raises(UsageError, match="the op has no kernel with a source; pass a function to parity_check"):
        parity_check(op="gemm.matmul", dtype="f64", suite=suite)

    def multiply(a, b):
        return np.matmul(a, b)

    assert parity_check(multiply, op="gemm.matmul", dtype="f64", examples=5, suite=suite)


def test_check_mistake_shows_only_line_of_test(suite):
    with pytest.raises(UsageError) as raised:
        ParityCheck()(op="unary.nag", suite=suite)
    hidden = [bool(frame.frame.f_locals.get("__tracebackhide__")) for frame in raised.traceback]
    assert hidden == [False, True] and raised.value.__cause__ is None


def test_documented_backend_passes_check(suite):
    page = (Path(__file__).parents[2] / "docs" / "backends.md").read_text()
    (text,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(text, names)
    tiny = names["TinyRunner"]()
    assert isinstance(tiny, OpRunner) and tiny.probe().available
    selection = suite.select(["unary.exp", "unary.log", "binary.add"], ["f32"])
    column = runner_columns(tiny, tiny.targets())
    plan = Plan.of(suite, make_tasks(selection, column), {}, examples=2)
    worker = Worker(plan, suite, runners={tiny.name: tiny})
    records = [record for task in plan.tasks for record in worker.run(task)]
    states = {record.op: str(record.verdict.status) for record in records}
    assert states == {"unary.exp": "pass", "unary.log": "unsupported", "binary.add": "pass"}
