"""half_nan.cu: one thread for each element."""

from parity.op import Op

at_most = Op(
    "half_nan.at_most",
    kernel="at_most",
    types=("f16",),
    args="x y out n:i32",
    inputs={"x": "T", "y": "T"},
    outputs={"out": "u8"},
    shapes="x: n; y: n; out: n",
    grid="max(1, ceil(n/256))",
    block=256,
    grid_stride=False,
)
