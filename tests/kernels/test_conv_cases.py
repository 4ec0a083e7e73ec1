"""Cases of the conv ops: drawn cases are small and varied, and invalid cases are rejected with a reason."""

import math

import pytest

from parity.data.sampling import sample
from parity.errors import UsageError
from parity.suite.loading import find_suite

SUITE = find_suite()
OPS = [op for op in SUITE.ops.values() if op.module == "conv"]
CONVOLUTIONS = [op for op in OPS if "weight" in op.inputs]
by_op = pytest.mark.parametrize


@by_op("op", OPS, ids=lambda op: op.name)
def test_drawn_cases_are_small_and_varied(op):
    cases = sample(op.cases(("f32",)), 11, 150)
    sizes = [math.prod(op.view(case).shape) for case in cases]
    assert max(sizes) <= 12000
    named = [math.prod(op.view(case).shape) for _, case in op.named_cases(("f32",))]
    assert max(sizes + named) > 1024  # more than one block
    assert sum(size < 33 for size in sizes) >= 10
    for case in cases:
        assert op.parse(str(case)) == case
    if op.name != "conv.col2im1d":
        sources = [case.layouts["src"] for case in cases]
        assert any(0 in src.strides for src in sources)
        assert any(src.offset for src in sources)
        assert any(0 not in src.strides and not src.is_contiguous for src in sources)


@by_op("op", CONVOLUTIONS, ids=lambda op: op.name)
def test_drawn_convolutions_cover_parameters(op):
    cases = sample(op.cases(("f32",)), 12, 150)
    params = [dict(case.params) for case in cases]
    assert {p["stride"] for p in params} == {p["dilation"] for p in params} == {1, 2, 3}
    assert {p["padding"] for p in params} == {0, 1, 2, 3}
    assert any(not case.layouts["weight"].is_contiguous for case in cases)
    taps = {n for case in cases for n in case.layouts["weight"].shape[2:]}
    assert taps == {1, 2, 3, 4, 5}
    for case, p in zip(cases, params, strict=True):
        src, weight = case.layouts["src"].shape, case.layouts["weight"].shape
        visited = math.prod(op.view(case).shape) * src[1] * math.prod(weight[2:])
        met = p["stride"] ** (len(src) - 2) if "out_padding" in p else 1
        assert visited / met <= 20000, case


@by_op(
    ("text", "reason"),
    [
        ("conv1d[f32](src=1x2x5~small@0 weight=1x3x2~small@0 stride=1 padding=0 dilation=1)", "c_in=2"),
        ("conv1d[f32](src=1x2x5~small@0 weight=1x2x2~small@0 stride=0 padding=0 dilation=1)", "stride=0"),
        ("conv1d[f32](src=1x2x5~small@0 weight=1x2x6~small@0 stride=1 padding=0 dilation=1)", "l_out=0"),
        ("conv1d[f32](src=2x5~small@0 weight=1x2x6~small@0 stride=1 padding=0 dilation=1)", "src has 2 dims"),
        ("im2col[u8](src=1x0x2x2~small@0 h_k=1 w_k=1 stride=1 padding=0 dilation=1)", "src.numel > 0 must hold"),
        ("col2im1d[f16](src=1x2x2x2:8,2,4,1~small@0 stride=1)", "contiguous"),
        ("max_pool2d[f16](src=1x1x2x3~small@0 w_k=3 h_k=2 w_stride=1 h_stride=1)", "w_out=0"),
        ("upsample_nearest2d[u8](src=1x1x2x3~small@0 w_out=3 h_out=2 w_scale=-1.0 h_scale=1.0)", "w_scale=-1.0"),
        (
            "upsample_bilinear2d[u8](src=1x1x2x3~small@0 w_out=3 h_out=2 align_corners=2 "
            "has_scale_h=0 scale_h=0.0 has_scale_w=0 scale_w=0.0)",
            "align_corners=2",
        ),
        (
            "upsample_bilinear2d[u8](src=1x1x2x3~small@0 w_out=3 h_out=2 align_corners=0 "
            "has_scale_h=0 scale_h=0.0 has_scale_w=1 scale_w=0.0)",
            "scale_w=0.0",
        ),
    ],
)
def test_parse_conv_case_with_invalid_arguments_raises(text, reason):
    with pytest.raises(UsageError, match=reason):
        SUITE.parse(f"conv.{text}")
