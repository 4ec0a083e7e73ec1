"""signed_bytes.cu: one thread for each row of words of four bytes."""

from parity.op import Op

products = Op(
    "signed_bytes.products",
    kernel="products",
    types=("i32",),
    args="a b out rows:i32 words:i32",
    inputs={"a": "T", "b": "T"},
    outputs={"out": "T"},
    shapes="a: rows words; b: words; out: rows",
    grid="max(1, ceil(rows/64))",
    block=64,
    grid_stride=False,
)
