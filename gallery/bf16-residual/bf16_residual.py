"""bf16_residual.cu: one block for each row."""

from parity.op import Op

add_rms_norm = Op(
    "bf16_residual.add_rms_norm",
    kernel="add_rms_norm",
    types=("bf16",),
    args="x residual sum out columns:i32",
    inputs={"x": "T", "residual": "T"},
    outputs={"sum": "T", "out": "T"},
    shapes="x: rows columns; residual: rows columns; sum: rows columns; out: rows columns",
    where="rows > 0 and columns > 0",
    grid="rows",
    block=128,
    grid_stride=False,
)
