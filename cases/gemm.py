"""Matrix multiplication, which frameworks leave to a library of the vendor: libraries compute it, and no kernel."""

from collections.abc import Sequence
from typing import Any

from parity import reference
from parity.generate import Draw, pick
from parity.layout import Layout
from parity.op import Layouts, Named, Op, Params, Shape

SIZES = (1, 2, 3, 5, 8, 16, 17, 31, 32, 33)
DEPTHS = (*SIZES, 64, 65, 129, 0)


def draw_matrices(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    m, n, k = pick(draw, (*SIZES, 0)), pick(draw, (*SIZES, 0)), pick(draw, DEPTHS)
    return {"a": matrix(draw, m, k), "b": matrix(draw, k, n)}


def matrix(draw: Draw, rows: int, columns: int) -> Layout:
    """By rows or by columns, with room between them or not."""
    by_columns, gap, offset = pick(draw, (False, True)), pick(draw, (0, 0, 1, 7)), pick(draw, (0, 0, 1, 8))
    strides = (1, rows + gap) if by_columns else (columns + gap, 1)
    return Layout((rows, columns), strides, offset)


def multiplied(layouts: Layouts, params: Params) -> Shape:
    return layouts["a"].shape[0], layouts["b"].shape[1]


def matching(layouts: Layouts, params: Params) -> str:
    a, b = layouts["a"].shape, layouts["b"].shape
    if len(a) != 2 or len(b) != 2 or a[1] != b[0]:
        return f"a of shape {a} and b of shape {b} are not matrices with a[1] == b[0]"
    return ""


matmul = Op(
    "gemm.matmul",
    kernel="matmul_{T}",
    library=True,
    types=("f16", "bf16", "f32", "f64"),
    args="",
    inputs={"a": "T", "b": "T"},
    layouts=draw_matrices,
    shape=multiplied,
    fits=matching,
    grid_stride=False,
    reference=reference.matmul,
    # No subnormals, which matrix units of some GPUs flush (MI200's for halves).
    data=("small", "normal", "unit"),
    named=(
        Named("integer probe", "a=33x65~small@0 b=65x31~small@0"),
        Named("both transposed", "a=17x40:1,17~small@0 b=40x9:1,40~normal@0"),
        Named("rows apart", "a=16x16:24,1~small@0 b=16x16:1,17+3~normal@0"),
        Named("a dot product of 1000", "a=1x1000~normal@0 b=1000x1~normal@0"),
        Named("nothing to add", "a=3x0~small@0 b=0x2~small@0"),
        Named("NaN and infinities", "a=4x110~special@0 b=110x3~small@0"),
    ),
)
