"""block_sum.cu: one block for each row."""

from parity.op import Op

mean_square = Op(
    "block_sum.mean_square",
    kernel="mean_square",
    types=("f32",),
    args="x out columns:i32",
    inputs={"x": "T"},
    shapes="x: rows columns; out: rows",
    where="rows > 0 and columns > 0",
    grid="rows",
    block=512,
    grid_stride=False,
)
