"""The bytes and operations of a case, bench cases, and the launches that ``bench`` times."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from parity.model.launch import Pointer
from parity.ops.lowering import Work


def work(suite, text):
    case = suite.parse(text)
    return suite.op(case.op).work(case)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unary.neg[f16](x=4x5~normal@0)", Work(20 * 2 + 20 * 2, 20)),
        ("unary.neg[f16](x=4x5~normal@0 in-place)", Work(20 * 2 + 20 * 2, 20)),
        ("unary.neg[f32](x=8x5:0,1~normal@0)", Work(5 * 4 + 40 * 4, 40)),
        ("unary.neg[f32](x=8x5:20,2~normal@0)", Work(40 * 4 + 40 * 4, 40)),
        ("unary.neg[f32](x=0x5~normal@0)", Work(0, 0)),
        ("binary.add[f64](lhs=10~normal@0 rhs=10:0~normal@0)", Work(10 * 8 + 8 + 10 * 8, 10)),
        ("binary.add[f64](lhs=10~normal@0 rhs=10~normal@0 aliased)", Work(10 * 8 + 10 * 8, 10)),
        ("binary.lt[f32](lhs=10~normal@0 rhs=10~normal@0)", Work(80 + 10, 10)),
        ("cast.convert[u8,f64](x=10~normal@0)", Work(10 + 80, 10)),
        ("ternary.where[u8,f16](condition=6~unit@0 on_true=6~unit@0 on_false=6~unit@0)", Work(6 + 3 * 12, 6)),
        ("fill.fill[f32](value=1.0 out=100+3)", Work(400, 100)),
        ("reduce.sum[f16](x=3x100~normal@0 reduced=1)", Work(600 + 6, 300)),
        ("reduce.argmax[f16](x=3x100~normal@0 reduced=1)", Work(600 + 12, 300)),
        ("reduce.sum_onto[f32](x=3x100~normal@0 out=3~normal@0 over=2)", Work(1200 + 24, 300)),
        ("reduce.rmsnorm[f32](x=2x8~normal@0 alpha=8~normal@0 eps=1e-05)", Work(64 + 32 + 64, 64)),
        ("reduce.rmsnorm[f32](x=2x8~normal@0 no-alpha eps=1e-05)", Work(64 + 64, 64)),
        ("sort.argsort_asc[f16](x=2x8~normal@0)", Work(32 + 64, 48)),
        ("indexing.index_select[u32,f32](ids=3~index@0 inp=100x4~normal@0 dim=0)", Work(12 + 48 + 48, 12)),
        ("indexing.gather[u8,f32](ids=3x4~index@0 inp=100x4~normal@0 dim=0)", Work(12 + 48 + 48, 12)),
        ("indexing.index_add[u32,f32](ids=3~index@0 inp=3x4~small@0 out=9x4~small@0 dim=0)", Work(12 + 48 + 96, 12)),
        ("indexing.scatter[u32,f32](ids=3x4~index@0 inp=3x4~small@0 out=9x4~small@0 dim=0)", Work(48 + 48 + 48, 12)),
        ("conv.conv1d[f32](src=1x2x5~small@0 weight=3x2x3~small@0 stride=1 padding=0 dilation=1)",
         Work(40 + 72 + 36, 2 * 3 * 2 * 3 * 3)),
        ("conv.conv1d[f32](src=1x1x3~small@0 weight=1x1x3~small@0 stride=1 padding=1 dilation=1)",
         Work(12 + 12 + 12, 2 * 7)),
    ],
)  # fmt: skip
def test_work_counts_bytes_and_operations(suite, text, expected):
    assert work(suite, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "conv.conv2d[f32](src=2x3x5x6~small@0 weight=4x3x3x2~small@0 stride=2 padding=2 dilation=2)",
        "conv.conv2d[f32](src=1x1x1x2~small@0 weight=2x1x3x5~small@0 stride=1 padding=3 dilation=1)",
        "conv.conv_transpose2d[f32](src=2x3x4x5~small@0 weight=3x2x3x2~small@0 stride=2 padding=1 out_padding=1 "
        "dilation=2)",
    ],
)
def test_work_of_convolution_counts_multiply_adds(suite, text):
    case = suite.parse(text)
    op, layouts, p = suite.op(case.op), case.layouts, dict(case.params)
    (batch, _, *size), (first, second, *taps) = layouts["src"].shape, layouts["weight"].shape
    out = op.view(case).shape[2:]
    outer, inner = (size, out) if "transpose" in op.name else (out, size)
    meetings = sum(
        all(
            0 <= o * p["stride"] - p["padding"] + k * p["dilation"] < n
            for o, k, n in zip(place, tap, inner, strict=True)
        )
        for place in itertools.product(*map(range, outer))
        for tap in itertools.product(*map(range, taps))
    )
    assert op.work(case).operations == 2 * batch * first * second * meetings


def test_bench_cases_exist_in_two_sizes_for_every_kernel(suite):
    for entry in suite.kernel_entries:
        large, small = (entry.op.bench_cases(entry.dtypes, small=each) for each in (False, True))
        assert [title for title, _ in large] == [title for title, _ in small]
        assert large, entry.name
        for (_, big), (_, little) in zip(large, small, strict=True):
            assert entry.op.work(big).bytes >= 4 * 2**20, big
            assert entry.op.work(little).bytes <= 2**21, little
            assert big.flags == little.flags
            kinds = [[each.is_contiguous for each in case.layouts.values()] for case in (big, little)]
            assert kinds[0] == kinds[1], big


def test_bench_cases_of_contiguous_tensors_have_equal_bytes_for_every_dtype(suite):
    for kernel, count in (("uneg_f16", 2**27), ("uneg_f32", 2**26), ("cast_u8_f64", 2**25), ("ucopy_u8", 2**28)):
        (entry,) = suite.select([kernel]).entries
        (_, case), *_ = entry.op.bench_cases(entry.dtypes)
        assert case.layouts["x"].numel == count


@pytest.mark.parametrize(
    "text",
    [
        "unary.neg[f32](x=3000~normal@7)",
        "unary.neg[f32](x=3000~normal@7 in-place)",
        "binary.add[f32](lhs=3000~normal@7 rhs=3000~normal@7 aliased)",
        "fill.const_set[f32](value=1.5 out=30:2+1)",
        "indexing.scatter_add[u8,f32](ids=30x4~index@0 inp=30x4~small@0 out=9x4~small@0 dim=0)",
        "reduce.rmsnorm[f32](x=2x8~normal@0 no-alpha eps=1e-05)",
    ],
)
def test_timed_launch_equals_compared_launch(suite, text):
    case = suite.parse(text)
    op = suite.op(case.op)
    call, (launch, memory) = op.call(case), op.timed(case)
    assert launch == call.launch
    assert list(memory) == list(call.buffers)
    for name, tiled in memory.items():
        buffer = call.buffers[name]
        assert (tiled.dtype, tiled.count, tiled.writable) == (buffer.dtype, len(buffer.data), buffer.writable)
        if tiled.data.size:
            assert tiled.data.tobytes() == buffer.data.tobytes()
        else:
            assert not buffer.defined.any()
    assert {arg.buffer for arg in launch.args if isinstance(arg, Pointer)} - {None} <= set(memory)


def test_timed_large_tensors_are_tiled_and_ids_are_in_range(suite):
    (entry,) = suite.select(["gather_u8_f32"]).entries
    ((_, case),) = entry.op.bench_cases(entry.dtypes)
    _, memory = entry.op.timed(case)
    assert memory["ids"].count == memory["out"].count == math.prod(case.layouts["ids"].shape)
    assert all(each.data.nbytes <= 2**24 for each in memory.values())
    assert memory["ids"].data.max() < 255
    assert len(np.unique(memory["ids"].data)) == 255


def test_parse_case_with_id_out_of_range_raises(suite):
    from parity.errors import UsageError

    with pytest.raises(UsageError, match="does not index one of 3 places"):
        suite.parse("indexing.gather[u8,f32](ids=4~bits@0 inp=3~normal@0 dim=0)")
    with pytest.raises(UsageError, match="does not index one of 0 places"):
        suite.parse("indexing.gather[u8,f32](ids=4~index@0 inp=0~normal@0 dim=0)")
