"""fill.cu: one value into a buffer or a strided view, and copies between row strides."""

from collections.abc import Callable

from parity import reference
from parity.generate import destination, line, rows
from parity.layout import Layout
from parity.op import Layouts, Named, Op, Params, Shape

Scalar = Callable[[Layouts, Params, Shape], tuple[str, int]]

TYPES = ("u8", "u32", "i64", "f16", "bf16", "f32", "f64", "f8_e4m3")


def not_a_line(layout: Layout) -> str:
    return "" if len(layout.shape) == 1 and layout.is_contiguous else "fill takes a contiguous tensor of rank 1"


def not_rows(layout: Layout) -> str:
    fits = len(layout.shape) == 2 and (layout.strides[1] == 1 or layout.shape[1] == 1)
    return "" if fits else "copy2d takes a matrix with contiguous rows, like 4x5:7,1"


def extent(axis: int) -> Scalar:
    return lambda layouts, params, shape: ("u32", shape[axis])


def row_stride(name: str) -> Scalar:
    return lambda layouts, params, shape: ("u32", layouts[name].strides[0])


fill = Op(
    "fill.fill",
    kernel="fill_{T}",
    types=TYPES,
    args="out value numel",
    params={"value": "T"},
    writes=True,
    layouts=line,
    refuses=not_a_line,
    reference=reference.fill,
)

const_set = Op(
    "fill.const_set",
    kernel="const_set_{T}",
    types=TYPES,
    args="numel num_dims info value out",
    params={"value": "T"},
    writes=True,
    layouts=destination,
    reference=reference.fill,
)


copy2d = Op(
    "fill.copy2d",
    kernel="copy2d_{T}",
    types=TYPES,
    args="src out d1 d2 src_stride dst_stride",
    inputs={"src": "T"},
    writes=True,
    layouts=rows,
    refuses=not_rows,
    reference=reference.copy,
    bench=(Named("padded rows of 1024", "src=65536|16x1024:1056,1~normal@0 out=65536|16x1024"),),
    scalars={"d1": extent(0), "d2": extent(1), "src_stride": row_stride("src"), "dst_stride": row_stride("out")},
)
