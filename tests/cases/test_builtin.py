"""Built-in cases of every run: strided templates, and drawn cases with edge data."""

from __future__ import annotations

import numpy as np
import pytest

from parity.cases.builtin import EDGE_TEMPLATES
from parity.cases.strategies import structure
from parity.data.sampling import sample
from parity.data.streams import elements
from parity.op import Op
from parity.reference import within
from parity.suite.sample_cache import drawn_cases

NOT_GAPS = ("runs", "halfway", "extreme", "lowest", "bits", "limits")
"""The edge data of kernels that accept special values but no gaps."""


def named(op, *dtypes):
    return {title: str(case) for title, case in op.named_cases(dtypes)}


def declared(args="x out", **more):
    return Op("m.m", kernel="m_{T}", types=("f32",), args=args, inputs={"x": "T"}, **more)


def edges(op, *dtypes, launches="any"):
    drawn = [op.parse(text) for text in drawn_cases(op, dtypes, "any", 0, 20)]
    return dict(op.edge_cases(drawn, launches=launches))


def test_strided_templates_include_block_per_element(suite):
    for name in ("unary.gelu", "cast.convert", "binary.add"):
        op = suite.op(name)
        text = named(op, *op.entries()[0].dtypes)["one thread per block, rows with gaps, from the sixth element on"]
        assert "=4x7x1:29,4,2+5~normal@0" in text and text.endswith(" launch=4096x1)")


def test_special_values_of_operands_are_shifted(suite):
    text = named(suite.op("binary.add"), "f32")["more elements than threads, special values"]
    assert text == "binary.add[f32](lhs=2051~special@0 rhs=2051~special@29 launch=2x33)"


def test_aliased_operands_have_different_layouts(suite):
    op = suite.op("binary.sub")
    text = named(op, "f32")["two operands in the same memory, one of them transposed"]
    assert text == "binary.sub[f32](lhs=33x65~normal@0 rhs=33x65:1,33~normal@0 aliased launch=1x32)"
    call = op.call(op.parse(text))
    lhs, rhs = call.inputs.values()
    assert "rhs" not in call.buffers
    assert np.array_equal(lhs.ravel(), rhs.T.ravel()) and not np.array_equal(lhs, rhs)


def test_edge_case_is_largest_drawn_case_with_other_data(suite):
    op = suite.op("binary.add")
    found = {title: case for title, case in edges(op, "f16").items() if not case.is_sparse}
    assert [case.tensor("lhs").data for case in found.values()] == ["runs", "halfway"]
    assert len({tuple(case.layouts.items()) for case in found.values()}) == 1
    assert max(layout.span for case in found.values() for layout in case.layouts.values()) > 1000
    assert all(op.parse(str(case)) == case for case in found.values())


@pytest.mark.parametrize(
    ("name", "dtypes", "streams"),
    [
        ("quantized.dequantize_k", None, ["subnormal"]),
        ("matmul.matmul", ("f16", "f32"), ["halfway", "100..101", "small"]),  # whose data exclude NaN
        (
            "indexing.gather",
            ("u32", "u8"),
            ["runs", "halfway", "extreme", "lowest", "bits", "limits"],
        ),  # not for its ids; it does not accept gaps
    ],
)
def test_edge_cases_require_accepted_data(suite, name, dtypes, streams):
    op = suite.op(name)
    found = edges(op, *(dtypes or op.entries()[0].dtypes))
    assert [edge.stream for edge in EDGE_TEMPLATES if edge.title in found] == streams
    for case in found.values():
        assert all(tensor.data not in ("runs", "halfway", "extreme") for n, tensor in case.tensors if n in op.indices)


def test_edge_case_gaps_require_accepted_strides(suite):
    op = suite.op("reduce.sum")
    case = edges(op, "f32")["rows with gaps"]
    (_, x), *_ = case.tensors
    assert x.layout.strides[-2:] == (x.layout.shape[-1] + 5, 1) and x.data == "small"
    assert "rows with gaps" not in edges(
        suite.op("quantized.dequantize"), *suite.op("quantized.dequantize").entries()[0].dtypes
    )
    assert "rows with gaps" not in edges(suite.op("unary.neg"), "f32")  # its strided templates cover gaps


def test_narrowing_op_has_halfway_template(suite):
    op = suite.op("cast.convert")
    title = "more elements than threads, halfway between numbers of fewer bits"
    assert named(op, "f64", "f16")[title] == "cast.convert[f64,f16](x=2051~halfway@0 launch=2x33)"
    assert title not in named(op, "f16", "f64") and title not in named(op, "f64", "u8")


def test_op_without_strided_templates_has_many_blocks_case(suite):
    op = suite.op("conv.conv1d")
    title = "many blocks of one thread"
    assert edges(op, "f32")[title].launch == (4096, 1)
    assert title not in edges(op, "f32", launches="host")
    assert title not in edges(suite.op("binary.add"), "f32")
    assert title not in edges(suite.op("reduce.sum"), "f32")


def test_edge_cases_without_drawn_cases_are_empty(suite):
    assert suite.op("binary.add").edge_cases([]) == []


def test_halfway_sums_are_ties(suite):
    f32 = suite.op("binary.add").bind(("f32",))["T"]
    values = elements("halfway", f32, 0, 400)
    assert (np.abs(values) == 2.0**-24).sum() > 20


@pytest.mark.parametrize(
    ("more", "values"),
    [
        ({"where": "k % 512 == 0 and k <= 8192"}, {512, 8192}),
        ({"where": "k % 2 == 1 and 5 <= k and k < 7000"}, {5, 6999}),
        ({"choices": {"k": (3, 700, 40), "rows": (1, 2)}}, {3, 700}),
        ({"choices": ({"k": (3, 4), "rows": (1,)}, {"k": (9000,), "rows": (5,)})}, {3, 9000}),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_limits_that_op_allows_are_cases(more, values, seed):
    op = declared("x out k:i32", shapes="x: rows k; out: rows", **more)
    drawn = sample(op.cases(("f32",)), seed, 20, structure)
    extents = {case.layouts["x"].shape[1] for case in (*drawn, *(case for _, case in op.edge_cases(drawn)))}
    assert values <= extents
    for title, case in op.edge_cases(drawn):
        assert op.parse(str(case)) == case, title


@pytest.mark.parametrize(
    ("more", "size", "title"),
    [
        ({}, lambda rows, cols: rows * cols % 1024, "whole blocks"),
        ({"block": 192}, lambda rows, cols: rows * cols % 192, "whole blocks"),
        ({"grid": "ceil(rows*cols/448)"}, lambda rows, cols: rows * cols % 448, "whole blocks along rows*cols"),
        ({"grid": "ceil(cols/704), rows"}, lambda rows, cols: cols % 704, "whole blocks along cols"),
        ({"grid": "rows", "block": 224}, lambda rows, cols: cols % 224, "whole blocks along cols"),
    ],
)
def test_rule_of_grid_without_full_blocks_gets_case_with_them(more, size, title):
    op = declared(shapes="x: rows cols; out: rows cols", grid_stride=False, **more)
    drawn = [op.parse("m.m[f32](x=3x5~normal@0)")]
    case = dict(op.edge_cases(drawn))[title]
    assert size(*case.layouts["x"].shape) == 0
    assert title not in dict(op.edge_cases([*drawn, case]))


def test_op_without_shapes_gets_case_with_full_blocks():
    op = declared("x out numel:i32", grid_stride=False, block=256)
    found = dict(op.edge_cases([op.parse("m.m[f32](x=3x5~normal@0)")]))
    assert str(found["whole blocks"]) == "m.m[f32](x=512~normal@0)"


@pytest.mark.parametrize(
    ("reference", "grid", "is_large"),
    [
        (lambda x, to: within(1, x * 2.0, to), "", True),
        (lambda x, to: within(1, x - x.sum(dtype=float), to), "", False),
        (None, "", True),
        (None, "ceil(numel/256)", True),
        (None, "1", False),
    ],
    ids=["elementwise", "sum of all elements", "no reference", "rule of the grid", "a block for all elements"],
)
def test_large_case_only_for_elementwise_op(reference, grid, is_large):
    op = declared("x out numel:i32", grid_stride=False, grid=grid, block=256, reference=reference)
    found = edges(op, "f32")
    assert ("more than 65,536 elements" in found) == is_large
    if is_large:
        assert str(found["more than 65,536 elements"]) == "m.m[f32](x=66051~normal@0)"


def test_limits_of_drawn_cases_are_not_repeated():
    op = declared(shapes="x: k; out: k", choices={"k": (2, 9)})
    drawn = sample(op.cases(("f32",)), 0, 20, structure)
    assert not [title for title, _ in op.edge_cases(drawn) if "limit of" in title]


def test_standing_cases_of_elementwise_op_cover_known_gaps(suite):
    found = named(suite.op("affine.affine"), *suite.op("affine.affine").entries()[0].dtypes)
    assert "in-place" in found["in place, several blocks"] and "launch" not in found["in place, several blocks"]
    assert "x=66051~normal@0" in found["more than 65,536 elements"]
    assert "more than 65,536 elements" not in named(suite.op("affine.affine"), "f64")
    both = named(suite.op("binary.add"), "f32")["more elements than threads, every other one"]
    assert "lhs=515:2~" in both and "rhs=515:2~" in both
    assert "~bits@" in named(suite.op("binary.add"), "f32")["more elements than threads, and some left over"]


def test_rows_of_lowest_value_for_reductions(suite):
    case = edges(suite.op("reduce.softmax"), "f32")["only the lowest value"]
    x = suite.op("reduce.softmax").call(case).inputs["x"]
    assert np.isneginf(x).all() and x.shape[-1] > 64
