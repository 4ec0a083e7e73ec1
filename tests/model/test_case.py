"""Texts of cases, errors in them, and the buffers of a call."""

from __future__ import annotations

import numpy as np
import pytest

from parity.data.sampling import sample
from parity.errors import UsageError
from parity.model.launch import POISON, Pointer, Scalar

OPS = [
    "unary.elu",
    "unary.copy",
    "binary.add",
    "ternary.where",
    "cast.convert",
    "fill.const_set",
    "fill.copy2d",
    "affine.affine",
    "indexing.index_select",
    "indexing.scatter_add",
]


@pytest.mark.parametrize("name", OPS)
def test_case_text_round_trips(suite, name):
    op = suite.op(name)
    for entry in op.entries()[::9]:
        for case in sample(op.cases(entry.dtypes), seed=3, count=20):
            assert str(suite.parse(str(case))) == str(case)


@pytest.mark.thorough
def test_call_of_every_named_case_launches_its_kernel(suite):
    for entry in suite.entries:
        for title, case in entry.op.named_cases(entry.dtypes):
            call = entry.op.call(case)
            assert title
            assert call.launch.kernel == entry.kernel


def test_case_text_of_documentation_parses(suite):
    text = "unary.elu[f16](x=4x5:1,4+3~mixed@17 alpha=-0.5 launch=2x64)"
    case = suite.parse(text)
    assert str(case) == text
    call = case and suite.op("unary.elu").call(case)
    assert str(call.launch) == "uelu_f16<<<2x1x1, 64x1x1>>>(u64(20), u64(2), &info, f16(-0.5), &x[3], &out)"
    assert call.buffers["info"].data.tolist() == [4, 5, 1, 4]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("unary.gelo[f16](x=3~mixed@0)", "did you mean unary.gelu"),
        ("unary.gelu[f17](x=3~mixed@0)", "unknown dtype 'f17'"),
        ("unary.gelu[u8](x=3~mixed@0)", "does not exist for"),
        ("unary.gelu[f16](y=3~mixed@0)", "has no 'y'"),
        ("unary.gelu[f16]()", "'x' is missing"),
        ("unary.gelu[f16](x=3)", "needs data"),
        ("unary.gelu[f16](x=3~mixd@0)", "did you mean mixed"),
        ("unary.gelu[f16](x=3~mixed@0 x=3~mixed@0)", "occurs twice"),
        ("unary.gelu[f16](x=3~mixed@0 nul-info)", "did you mean null-info"),
        ("unary.gelu[f16](x=4:2~mixed@0 null-info)", "contiguous"),
        ("unary.gelu[f16](x=3~mixed@0 launch=0x9999)", "launch"),
        ("unary.elu[f16](x=3~mixed@0 alpha=one)", "alpha=one is not a number"),
        ("affine.affine[u8](x=3~mixed@0 mul=256 add=0)", "outside of u8"),
        ("binary.add[f32](lhs=3~mixed@0 rhs=4~mixed@0)", "differ in shape"),
        ("fill.const_set[f32](out=3:0 value=1.0)", "share a place"),
        ("unary.gelu", "is not a case"),
    ],
)
def test_parse_invalid_case_names_reason(suite, text, says):
    with pytest.raises(UsageError, match=says):
        suite.entry(case := suite.parse(text)).op.call(case)


def test_call_input_gaps_are_poisoned_and_undefined(suite):
    call = suite.op("unary.neg").call(suite.parse("unary.neg[f32](x=3:2+1~normal@0)"))
    buffer = call.buffers["x"]
    assert buffer.defined.tolist() == [False, True, False, True, False, True]
    assert set(buffer.data[[0, 2, 4]].view(np.uint8).tolist()) == {POISON}


def test_call_output_is_poisoned_undefined_and_exact_size(suite):
    call = suite.op("unary.neg").call(suite.parse("unary.neg[f32](x=3x2:0,1~normal@0)"))
    out = call.buffers["out"]
    assert out.writable and len(out.data) == 6 and not out.defined.any()
    assert set(out.data.view(np.uint8).tolist()) == {POISON}


def test_call_in_place_passes_null_and_fills_output(suite):
    case = suite.parse("unary.neg[f32](x=2x3:1,2~normal@5 in-place)")
    call = suite.op("unary.neg").call(case)
    assert call.launch.args[3] == Pointer(None)
    assert "x" not in call.buffers
    assert np.array_equal(call.buffers["out"].data, call.inputs["x"].ravel())
    assert np.array_equal(call.expected().value, -call.inputs["x"])


def test_call_aliased_operands_share_buffer(suite):
    call = suite.op("binary.sub").call(suite.parse("binary.sub[f32](lhs=5~normal@1 rhs=5~normal@1 aliased)"))
    assert [a for a in call.launch.args if isinstance(a, Pointer)].count(Pointer("lhs")) == 2
    assert not call.expected().value.any()


def test_call_empty_tensor_launches_one_block(suite):
    call = suite.op("unary.neg").call(suite.parse("unary.neg[f32](x=0x3~normal@0)"))
    assert call.launch.grid == (1, 1, 1)
    assert call.launch.args[0] == Scalar(call.launch.args[0].dtype, 0)


def test_call_half_parameter_has_two_bytes(suite):
    call = suite.op("unary.elu").call(suite.parse("unary.elu[bf16](x=1~normal@0 alpha=1.5)"))
    assert call.launch.args[3].bytes == b"\xc0\x3f"
