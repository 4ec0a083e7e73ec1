"""Cases with more than 2^33 elements, of which emulated GPUs compute a sample."""

import numpy as np
import pytest

from parity.engine.case_records import Task
from parity.engine.plan import Plan
from parity.errors import UsageError
from parity.op import Op
from parity.reference import Expected, neg
from tests.test_planted_faults import worker_for

FAULTS = (
    ("if ((index | dim) >> 32 == 0)", "if (true)", {"value", "out-of-bounds read"}),
    (
        "const size_t near = size_t(f64(index) * inverse);",
        "const u32 near = u32(f64(index) * inverse);",
        {"out-of-bounds read"},
    ),
    ("out[i] = element(i)", "out[u32(i)] = element(i)", {"value"}),
    ("out[i] = element(i)", "out[i + numel] = element(i)", {"out-of-bounds write"}),
    ("out[i] = element(i)", "if (i < 0) out[i] = element(i)", {"unwritten"}),
)


def sparse_records(suite, tmp_path, *edits):
    worker = worker_for(suite, tmp_path, "uneg_f64", *edits, examples=20)
    (task,) = worker.plan.tasks
    drawn = worker.plan.draw(worker.suite, task, sparse=True)
    cases = tuple((title, text) for title, text in drawn if worker.suite.parse(text).is_sparse)
    return [record.verdict for record in worker.run(Task(task.op, task.dtypes, task.columns, cases))]


def test_sampled_elements_of_correct_kernel_pass(suite, tmp_path):
    (verdict,) = sparse_records(suite, tmp_path)
    assert verdict.passed and verdict.total > 2_000


@pytest.mark.parametrize(("old", "new", "kinds"), FAULTS)
def test_fault_in_large_indices_is_caught(suite, tmp_path, old, new, kinds):
    (verdict,) = sparse_records(suite, tmp_path, ("elementwise.cuh", old, new))
    assert verdict.kind in kinds
    if verdict.first:
        assert len(verdict.first.coordinates) == 3  # not the place in the sample


def op_of(reference=neg, *, args="numel num_dims info x out", **more):
    return Op("m.m", kernel="m_{T}", types=("f32",), args=args, inputs={"x": "T"}, reference=reference, **more)


def has_sparse_case(op, launches="any"):
    base = op.parse("m.m[f32](x=5x7~normal@0)")
    return any(case.is_sparse for _, case in op.edge_cases([base], launches=launches))


def running_sum(x):
    return Expected(np.cumsum(x, dtype=np.float32).reshape(x.shape))


@pytest.mark.parametrize(
    ("op", "launches", "expected"),
    [
        (op_of(), "any", True),
        (op_of(), "host", False),
        (op_of(args="numel:u32 num_dims info x out"), "any", False),
        (op_of(where="x.numel < 2147483648"), "any", False),
        (op_of(reference=None), "any", False),
        (op_of(reference=running_sum), "any", False),
        (op_of(grid_stride=False), "any", False),
    ],
)
def test_elementwise_op_with_reference_and_64_bit_arguments_has_sparse_case(op, launches, expected):
    assert has_sparse_case(op, launches) is expected


def test_sparse_case_is_drawn_only_on_request(suite):
    (entry,) = suite.select(["uneg_f64"]).entries
    plan, task = Plan.of(suite, [], {}, examples=20), Task(entry.op.name, entry.dtypes, ())
    drawn = [entry.op.parse(text) for _, text in plan.draw(suite, task)]
    more = [entry.op.parse(text) for _, text in plan.draw(suite, task, sparse=True)]
    assert not any(case.is_sparse for case in drawn) and sum(case.is_sparse for case in more) == 1


def test_sparse_case_of_other_op_is_refused(suite):
    for text in (
        "reduce.softmax[f32](x=65537x65537~normal@0)",
        "unary.neg[f32](x=65537x65537~normal@0 launch=4096x64)",
    ):
        case = suite.parse(text)
        with pytest.raises(UsageError, match="too many elements"):
            suite.entry(case).op.call(case)
