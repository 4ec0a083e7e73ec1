"""fp8_cast.cu: one block for each group of 64 numbers."""

from parity.op import Op

quantized = Op(
    "fp8_cast.quantized",
    kernel="quantized",
    types=("f32",),
    args="x out",
    inputs={"x": "T"},
    shapes="x: groups 64; out: groups 64",
    where="groups > 0",
    choices={"groups": (1, 2, 5)},
    data=("normal", "small"),
    grid="groups",
    block=64,
    grid_stride=False,
)
