"""shuffle_width.cu: one block for each row."""

from parity.op import Op

normalize = Op(
    "shuffle_width.normalize",
    kernel="normalize",
    types=("f32",),
    args="x out columns:i32",
    inputs={"x": "T"},
    shapes="x: rows columns; out: rows columns",
    where="rows > 0 and columns > 0",
    data=("probability",),
    grid="rows",
    block=256,
    grid_stride=False,
)
