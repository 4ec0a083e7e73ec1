"""offset.cu: one thread for each row."""

from parity.op import Op

row_maximum = Op(
    "offset.row_maximum",
    kernel="row_maximum",
    types=("f32",),
    args="x out columns:i32",
    inputs={"x": "T"},
    shapes="x: heads rows columns; out: heads rows",
    where="heads > 0 and rows > 0",
    grid="rows, heads",
    block=1,
    grid_stride=False,
)
