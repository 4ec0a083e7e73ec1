"""fill.cu: one value into a buffer or a strided view, and copies between row strides."""

from parity import reference
from parity.op import NamedCase, Op

TYPES = ("u8", "u32", "i64", "f16", "bf16", "f32", "f64", "f8_e4m3")

fill = Op(
    "fill.fill",
    kernel="fill_{T}",
    types=TYPES,
    args="out value numel",
    params={"value": "T"},
    shapes="out: n",
    writes=True,
    reference=reference.fill,
)

const_set = Op(
    "fill.const_set",
    kernel="const_set_{T}",
    types=TYPES,
    args="numel num_dims info value out",
    params={"value": "T"},
    writes=True,
    reference=reference.fill,
)

copy2d = Op(
    "fill.copy2d",
    kernel="copy2d_{T}",
    types=TYPES,
    args="src out d1:u32 d2:u32 src_stride:u32=src.strides[0] dst_stride:u32=out.strides[0]",
    inputs={"src": "T"},
    shapes="src: d1 d2; out: d1 d2",
    strides="rows",
    writes=True,
    large_rows=True,
    reference=reference.copy,
    bench=(NamedCase("padded rows of 1024", "src=65536|16x1024:1056,1~normal@0 out=65536|16x1024"),),
)
