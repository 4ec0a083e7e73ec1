"""expert_counts.cu: one block of 1024 threads."""

from parity.op import Op

count_tokens = Op(
    "expert_counts.count_tokens",
    kernel="count_tokens",
    types=("u32",),
    args="expert counts tokens:i32",
    inputs={"expert": "T"},
    outputs={"counts": "i32"},
    shapes="expert: tokens; counts: 256",
    indices={"expert": 256},
    data={"expert": ("index", "ramp", "repeat")},
    grid=1,
    block=1024,
    grid_stride=False,
)
