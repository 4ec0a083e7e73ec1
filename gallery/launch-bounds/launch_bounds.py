"""launch_bounds.cu: one thread for each element, in the largest blocks."""

from parity.op import Op

axpy = Op(
    "launch_bounds.axpy",
    kernel="axpy",
    types=("f32",),
    args="x y out a n:i32",
    inputs={"x": "T", "y": "T"},
    params={"a": "T"},
    shapes="x: n; y: n; out: n",
    grid="max(1, ceil(n/1024))",
    block=1024,
    grid_stride=False,
)
