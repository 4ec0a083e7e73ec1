"""ballot_type.cu: one thread for each number."""

from parity.op import Op

compact = Op(
    "ballot_type.compact",
    kernel="compact",
    types=("i32",),
    args="x out found n:i32",
    inputs={"x": "T"},
    outputs={"out": "T", "found": "T"},
    shapes="x: n; out: n; found: ceil(n/256)",
    where="n > 0",
    grid="ceil(n/256)",
    block=256,
    grid_stride=False,
)
