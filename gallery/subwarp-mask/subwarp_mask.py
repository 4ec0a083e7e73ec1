"""subwarp_mask.cu: one thread for each child."""

from parity.op import Op

count_hits = Op(
    "subwarp_mask.count_hits",
    kernel="count_hits",
    types=("f32",),
    args="distance hits n:i32",
    inputs={"distance": "T"},
    outputs={"hits": "i32"},
    shapes="distance: n; hits: n",
    grid="max(1, ceil(n/128))",
    block=128,
    grid_stride=False,
)
