"""Ops with custom layouts, shapes, launches, indices, updates and optional inputs."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from parity.compare.comparison import compare
from parity.data.layouts import pick
from parity.data.sampling import sample
from parity.errors import UsageError
from parity.model.launch import Grid, Pointer, Scalar
from parity.model.layout import Layout, contiguous
from parity.op import Op
from parity.reference import Bounds, Expected

SEEN: dict[str, object] = {}


def reference(*arguments, **named):
    SEEN.update(arguments=arguments, **named)
    return Expected(np.zeros(named.get("shape", np.shape(arguments[-1])), np.float32))


def reference_with_names(x, alpha, keep, to, shape, grid):
    return reference(x, alpha, keep, to=to, shape=shape, grid=grid)


def matrix(draw, names):
    rows, columns = pick(draw, (1, 2, 5)), pick(draw, (1, 3, 40, 2000))
    layouts = {"x": contiguous((rows, columns)), "alpha": contiguous((columns,)), "keep": pick(draw, (1, 2))}
    return {name: layouts[name] for name in (*names, "keep")}


def mismatch(given):
    layouts = given.layouts
    if len(layouts["x"].shape) != 2:
        return "x must be a matrix"
    columns = layouts["x"].shape[1]
    if "alpha" in layouts and layouts["alpha"].shape != (columns,):
        return f"alpha has {layouts['alpha'].shape} where x has {columns} columns"
    return ""


norm = Op(
    "toy.norm",
    kernel="norm_{T}",
    types=("f32", "f16"),
    spelling={"f16": "half"},
    args="x out alpha columns block numel num_dims info",
    inputs={"x": "T", "alpha": "T"},
    params={"keep": "i32"},
    layouts=matrix,
    shape=lambda given: (given.layouts["x"].shape[0],),
    mismatch=mismatch,
    launch=lambda given: Grid((*given.shape, 1, 1), (1, given.threads or 32, 1), shared_bytes=4),
    threads=(64, 256),
    grid_stride=False,
    info=lambda given: [*given.layouts["x"].strides, given["keep"]],
    optional=("alpha",),
    scalars={
        "columns": lambda given: ("i32", given.layouts["x"].shape[1]),
        "block": lambda given: ("i32", given.grid.threads),
    },
    reference=reference_with_names,
)

put = Op(
    "toy.put",
    kernel="put_{I}_{T}",
    types=("u8,f32", "i64,f32"),
    args="ids x out",
    inputs={"ids": "I", "x": "T"},
    layouts=lambda draw, names: {"ids": contiguous((4,)), "x": contiguous((4,)), "out": contiguous((6,))},
    mismatch=lambda given: "" if given.layouts["ids"] == given.layouts["x"] else "ids and x differ in shape",
    updates={"out": "T"},
    indices={"ids": lambda given: given.layouts["out"].shape[0]},
    reference=reference,
)


@pytest.mark.parametrize("op", [norm, put], ids=lambda op: op.name)
def test_drawn_cases_parse(op):
    for entry in op.entries():
        cases = sample(op.cases(entry.dtypes), 0, 60)
        for case in cases:
            assert op.parse(str(case)) == case
            op.call(case)
    assert len(cases) > 20


def test_layouts_determine_parameter():
    assert {dict(case.params)["keep"] for case in sample(norm.cases(("f32",)), 0, 60)} == {1, 2}


def test_launch_function_determines_arguments():
    call = norm.call(norm.parse("toy.norm[f16](x=3x5~normal@0 alpha=5~normal@0 keep=2)"))
    text = "norm_half<<<3x1x1, 1x32x1, 4 B shared>>>(&x, &out, &alpha, i32(5), i32(32), u64(3), u64(1), &info)"
    assert str(call.launch) == text
    assert call.buffers["info"].data.tolist() == [5, 1, 2]
    assert call.layout == contiguous((3,))
    other = norm.call(norm.parse("toy.norm[f16](x=3x5~normal@0 alpha=5~normal@0 keep=2 threads=256)"))
    assert other.launch.block == (1, 256, 1) and other.launch.args[4] == Scalar(call.launch.args[4].dtype, 256)


def test_reference_receives_named_keywords():
    call = norm.call(norm.parse("toy.norm[f32](x=3x5~normal@0 alpha=5~normal@0 keep=2 threads=64)"))
    call.expected()
    x, alpha, keep = SEEN["arguments"]
    assert (x.shape, alpha.shape, keep) == ((3, 5), (5,), 2)
    assert (str(SEEN["to"]), SEEN["shape"], SEEN["grid"]) == ("f32", (3,), Grid((3, 1, 1), (1, 64, 1), 4))


def test_optional_input_is_null():
    case = norm.parse("toy.norm[f32](x=3x5~normal@0 keep=2 no-alpha)")
    call = norm.call(case)
    assert call.launch.args[2] == Pointer(None)
    assert "alpha" not in call.buffers and "alpha" not in call.inputs
    call.expected()
    assert SEEN["arguments"][1] is None
    assert any("no-alpha" in case.flags for case in sample(norm.cases(("f32",)), 0, 60))


def test_updated_output_is_last_input():
    case = put.parse("toy.put[u8,f32](ids=4~ramp@0 x=4~normal@0 out=6:2+1~normal@7)")
    call = put.call(case)
    out = call.buffers["out"]
    assert out.writable and out.defined.tolist() == [False, *[True, False] * 5, True]
    call.expected()
    ids, x, before = SEEN["arguments"]
    assert ids.tolist() == [0, 1, 2, 3] and x.shape == (4,)
    assert np.array_equal(before, out.data[1::2])
    assert list(call.inputs) == ["ids", "x", "out"]


@pytest.mark.parametrize(
    ("op", "text", "says"),
    [
        (norm, "toy.norm[f32](x=3x5~normal@0 alpha=4~normal@0 keep=1)", "alpha has .4,. where x has 5 columns"),
        (norm, "toy.norm[f32](x=3x5~normal@0 keep=1)", "'alpha' is missing"),
        (norm, "toy.norm[f32](x=3x5~normal@0 alpha=5~normal@0 keep=1 no-alpha)", "no-alpha leaves alpha out"),
        (norm, "toy.norm[f32](x=3x5~normal@0 keep=1 no-x)", "did you mean no-alpha"),
        (norm, "toy.norm[f32](x=3x5~normal@0 keep=1 no-alpha threads=128)", "may be launched with 64 256"),
        (norm, "toy.norm[f32](x=3x5~normal@0 keep=1 no-alpha launch=1x64)", "must have the launch of its rule"),
        (norm, "toy.norm[f32](x=0x5~normal@0 keep=1 no-alpha)", "has no threads"),
        (norm, "toy.norm[f32](x=1x1x1x1x1x1x1x1x1~normal@0 keep=1 no-alpha)", "9 dims; kernels take up to 8"),
        (put, "toy.put[u8,f32](ids=4~index@0 x=4~index@0 out=6~normal@0)", "unknown data 'index'"),
        (put, "toy.put[u8,f32](ids=4~index@0 x=4~normal@0 out=6)", "write 6~mixed@0"),
        (put, "toy.put[u8,f32](ids=4 x=4~normal@0 out=6~normal@0)", "write 4~index@0"),
        (put, "toy.put[u8,f32](ids=4~index@0 x=4~normal@0 out=6~normal@0 threads=32)", "by its own rule only"),
        (put, "toy.put[u8,f32](ids=4~index@0 x=4~normal@0 out=6:0~normal@0)", "share a place"),
        (put, "toy.put[u8,f32](ids=4~index@0 x=4~normal@0 out=0~normal@0)", "id 0 at .0,. does not index one of 0"),
    ],
)
def test_parse_invalid_case_names_reason(op, text, says):
    with pytest.raises(UsageError, match=says):
        op.parse(text)


def test_parse_id_out_of_range_names_index():
    text = "toy.put[i64,f32](ids=4~special@0 x=4~normal@0 out=3~normal@0)"  # 0, 1, -1, 2
    with pytest.raises(UsageError, match=r"ids=4~special@0: id -1 at \(2,\) does not index one of 3 places; .*~index"):
        put.parse(text)
    assert put.parse(text.replace("ids=4~special", "ids=2~special").replace("x=4", "x=2"))


def test_parse_sentinel_without_support_raises():
    text = "toy.put[u8,f32](ids=40~sentinel@0 x=40~normal@0 out=6~normal@0)"
    assert put.parse(text)
    with pytest.raises(UsageError, match="id 255 at "):
        replace(put, data={"ids": ("index",)}).parse(text)


@pytest.mark.parametrize(
    ("geometry", "says"),
    [
        (((1, 1, 1), (1025, 1, 1), 0), "1025 threads per block; the limit is 1024"),
        (((1, 1, 1), (64, 32, 1), 0), "2048 threads per block"),
        (((1, 1, 1), (64, 1, 1), 227 * 1024 + 1), "beyond the 232448 B that a block can have"),
        (((0, 1, 1), (64, 1, 1), 0), "no threads"),
        (((2**22, 1, 1), (1024, 1, 1), 0), "2\\^32 threads"),
    ],
)
def test_grid_beyond_limits_raises(geometry, says):
    with pytest.raises(UsageError, match=says):
        Grid(*geometry)


def test_call_argument_too_large_raises():
    op = replace(norm, scalars={**norm.scalars, "columns": lambda given: ("u8", 300)})
    with pytest.raises(UsageError, match="columns=300 is outside of u8: 0 to 255"):
        op.call(op.parse("toy.norm[f32](x=3x5~normal@0 keep=1 no-alpha)"))


def test_case_launch_keeps_shared_memory_of_rule():
    op = replace(norm, grid_stride=True)
    case = op.parse("toy.norm[f32](x=3x5~normal@0 keep=1 no-alpha launch=7x128)")
    assert op.call(case).launch.shared_bytes == 4
    assert math.prod(op.view(case).grid.grid) == 7


def test_elementwise_output_is_contiguous(suite):
    call = suite.op("binary.add").call(suite.parse("binary.add[f32](lhs=2x3:1,2~normal@0 rhs=2x3~normal@0)"))
    assert call.layout == Layout((2, 3), (3, 1))


def test_cases_without_reference_include_exact_data(suite):
    op = suite.op("binary.add")
    without = replace(op, reference=None)

    def whole(op):
        drawn = sample(op.cases(("f32",)), 0, 80)
        return sum(all(tensor.data == "small" for _, tensor in case.tensors) for case in drawn)

    assert whole(op) == 0
    assert 10 <= whole(without) <= 40
    affine = replace(suite.op("affine.affine"), reference=None)
    exact = [case for case in sample(affine.cases(("f32",)), 0, 80) if case.tensors[0][1].data == "small"]
    assert sum({abs(value) for _, value in case.params} <= {0.5, 1, 2, 4} for case in exact) >= len(exact) // 2


def test_library_op_without_reference_raises(suite):
    with pytest.raises(UsageError, match="a reference judges what libraries compute"):
        replace(suite.op("gemm.matmul"), reference=None)


ONES = np.ones(3, np.float32)
WIDE = ONES.astype(np.float64)


def room(limits):
    return Bounds(WIDE, 0.0, WIDE, WIDE)


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        (lambda: Expected([1.0]), "the reference gives a list for out; Expected takes an array without a mask"),
        (lambda: Expected(np.ma.masked_all(3, np.float32)), "gives a MaskedArray for out"),
        (lambda: Expected(ONES.view(np.recarray)), "gives a recarray for out"),
        (lambda: Expected(ONES, alternatives=(ONES.view(np.matrix),)), "alternatives[0] of type matrix instead of"),
        (lambda: Expected(ONES, nan_allowed=np.ma.masked_all(3, bool)), "nan_allowed, which is of type MaskedArray"),
        (lambda: Expected(ONES, unspecified=ONES), "unspecified, which is of type float32 instead of bool"),
        (lambda: Expected(ONES, nan_allowed=np.ones(2, bool)), r"nan_allowed, which has shape (2,) instead of (3,)"),
        (lambda: Expected(ONES, sign_of_zero=np.ones((3, 1), bool)), "sign_of_zero, which has shape (3, 1)"),
        (lambda: Expected(ONES, alternatives=ONES), "alternatives of type ndarray; write a tuple of arrays: (value,)"),
        (lambda: Expected(ONES, alternatives=(WIDE,)), "alternatives[0] of float64 and shape (3,), unlike the value"),
        (lambda: Expected(ONES, divergences={"D7": ONES[:2]}), "divergences['D7'] of float32 and shape (2,), unlike"),
        (lambda: Expected(ONES, lambda _: 3), "the budget of out is of type int, not Bounds"),
        (lambda: Expected(ONES, lambda _: Bounds(WIDE[:2], 0.0, WIDE, WIDE)), "whose centre has shape (2,)"),
        (lambda: Expected(ONES, lambda _: Bounds(WIDE, 0.0, WIDE[:, None], WIDE)), "whose below has shape (3, 1)"),
        (lambda: Expected(ONES, lambda _: Bounds(WIDE, 0.0, WIDE, WIDE + 1j)), "whose above is of type complex128"),
        (lambda: Expected(2 * ONES, room, bias=lambda got: 1), "bias of out returned a value of type int, not a text"),
        (lambda: Expected(2 * ONES, room, bias=lambda got: 1 / 0), "bias of out raised ZeroDivisionError"),
    ],
)
def test_expectation_that_does_not_fit_output_names_field(expected, says):
    op = Op("toy.ones", kernel="ones", types=("f32",), args="x out", inputs={"x": "T"}, reference=lambda x: expected())
    with pytest.raises(UsageError, match=re.escape(says)):
        compare(op.call(op.parse("toy.ones[f32](x=3~normal@0)")).expected(), ONES, vendor="amd")
