"""odd_rows.cu: one block for each row."""

from parity.op import Op

scale_rows = Op(
    "odd_rows.scale_rows",
    kernel="scale_rows",
    types=("f16",),
    args="x factor out columns:i32",
    inputs={"x": "T", "factor": "T"},
    shapes="x: rows columns; factor: rows; out: rows columns",
    strides={"x": "aligned"},
    where="rows > 0 and columns > 0",
    grid="rows",
    block=64,
    grid_stride=False,
)
