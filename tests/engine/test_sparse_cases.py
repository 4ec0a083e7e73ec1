"""Cases with more than 2^33 elements, of which emulated GPUs compute a sample."""

import numpy as np
import pytest

from parity.cases.builtin import sparse_rows
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


def sparse_records(suite, tmp_path, *edits, kernel="uneg_f64"):
    worker = worker_for(suite, tmp_path, kernel, *edits, examples=20)
    (task,) = worker.plan.tasks
    drawn = worker.plan.draw(worker.suite, task, sparse=True)
    cases = tuple(
        (title, text) for title, text in drawn if worker.suite.op(task.op).is_sparse(worker.suite.parse(text))
    )
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


def test_sparse_case_of_updated_output_or_of_output_with_gaps_is_refused(suite):
    for text in (
        "indexing.index_add[u32,f32](ids=2~index@0 inp=1x2x65537~normal@0 out=1x65537x65537~normal@0 dim=1)",
        "fill.copy2d[f32](src=65537x65537~normal@0 out=65537x65537:65540,1 launch=4096x64)",
    ):
        case = suite.parse(text)
        with pytest.raises(UsageError, match="too many elements"):
            suite.entry(case).op.call(case)


def row_op(reference=neg, *, shapes="x: n l; out: n l", **more):
    given = {"kernel": "m_{T}", "types": ("f32",), "args": "numel num_dims info x out", "inputs": {"x": "T"}}
    return Op("m.m", shapes=shapes, reference=reference, **{**given, **more})


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (row_op(), "m.m[f32](x=1227134x7000:7001,1~normal@0 launch=67108864x32)"),
        (row_op(grid="n", grid_stride=False, block=64), "m.m[f32](x=1227134x7000:7001,1~normal@0)"),
        (
            row_op(grid="n", grid_stride=False, threads=(32,), block=64),
            "m.m[f32](x=1227134x7000:7001,1~normal@0 threads=32)",
        ),
        (row_op(strides="dense"), "m.m[f32](x=1227134x7000~normal@0 launch=67108864x32)"),
        (row_op(where="n < 1000"), ""),
        (row_op(args="n:i32 l:i32 x out"), ""),
        (row_op(args="l:i32 x out", large_rows=True), "m.m[f32](x=1227134x7000~normal@0 launch=67108864x32)"),
        (row_op(running_sum), ""),
        (row_op(lambda x: Expected(-x), shapes="x: n l; out: n l; m = 2*n"), None),
        (row_op(shapes="x: n l; out: n 2*n", reference=neg), ""),
        (row_op(shapes="x: n n; out: n n"), ""),
    ],
)
def test_op_with_independent_rows_has_sparse_case(op, expected):
    base = op.parse("m.m[f32](x=2x7000~normal@0)") if "n n" not in op.shapes else op.parse("m.m[f32](x=7x7~normal@0)")
    found = [str(case) for case in sparse_rows(op, [base], long=True)]
    assert found[:1] == [expected] * bool(expected) if expected is not None else found


@pytest.mark.parametrize(("columns", "rows"), [(5, "2863311530x5:6,1"), (3, "5726623061x3"), (2, "5726623061x2:3,1")])
def test_short_rows_have_gaps_unless_too_few_rows_would_remain(columns, rows):
    op = row_op()
    (case,) = sparse_rows(op, [op.parse(f"m.m[f32](x=2x{columns}~normal@0)")], long=False)
    assert str(case) == f"m.m[f32](x={rows}~normal@0 launch=67108864x32)"


ROW_FAULTS = (
    ("conv1d_f32", "elementwise.cuh", "if ((index | dim) >> 32 == 0)", "if (true)"),
    ("fast_max_f32", "elementwise.cuh", "if ((index | dim) >> 32 == 0)", "if (true)"),
    # Three divisions follow each other. Only short rows leave the last one more than 32 bits.
    ("max_pool2d_f32", "tensors.cuh", "batch = quotient(plane, channels)", "batch = quotient(u32(plane), channels)"),
    ("is_u8_f32", "indexing.cu", "const size_t row = quotient(i, right)", "const size_t row = quotient(u32(i), right)"),
    # Inputs that the kernel reads in their whole length.
    (
        "gather_u8_f16",
        "indexing.cu",
        "const size_t row = quotient(i, right)",
        "const size_t row = quotient(u32(i), right)",
    ),
    ("const_set_u8", "elementwise.cuh", "if ((index | dim) >> 32 == 0)", "if (true)"),
    ("copy2d_u8", "fill.cu", "= src[row * src_stride + column]", "= src[u32(row * src_stride + column)]"),
    ("softmax_f32", "reduce.cu", "size_t(blockIdx.x) * n_cols", "size_t(blockIdx.x * n_cols)"),
)


@pytest.mark.parametrize(("kernel", "file", "old", "new"), ROW_FAULTS)
def test_fault_in_large_indices_of_rows_is_caught(suite, tmp_path, kernel, file, old, new):
    assert any(verdict.failed for verdict in sparse_records(suite, tmp_path, (file, old, new), kernel=kernel))


# The largest allowed output has elements of 8 bytes. The launch decides which of several least values argmin finds.
KERNELS = ("conv1d_f32", "conv2d_f64", "fast_argmin_f32", "fast_argmin_u8", "fast_max_f32", "gather_i64_f64")


@pytest.mark.parametrize("kernel", KERNELS)
def test_sampled_rows_of_correct_kernel_pass(suite, tmp_path, kernel):
    verdicts = sparse_records(suite, tmp_path, kernel=kernel)
    assert verdicts and all(verdict.passed and verdict.total >= 128 for verdict in verdicts)
