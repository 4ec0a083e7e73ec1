"""rms_norm.cu: one block of 1024 threads for each row."""

from parity.op import Op

rms_norm = Op(
    "rms_norm.rms_norm",
    kernel="rms_norm",
    types=("f32",),
    args="x weight out columns:i32",
    inputs={"x": "T", "weight": "T"},
    shapes="x: rows columns; weight: columns; out: rows columns",
    where="rows > 0 and columns > 0",
    grid="rows",
    block=1024,
    grid_stride=False,
)
