"""sums.cu: a sum per warp of 32."""

import numpy as np

from parity.op import Op
from parity.reference import Expected

sums = Op(
    "sums.sums",
    kernel="sums",
    types=("i32",),
    args="x out rows:i32=r",
    inputs={"x": "i32"},
    outputs={"out": "i32"},
    shapes="x: r c; out: r",
    where="r > 0",
    choices={"r": (1, 3, 4, 9), "c": (32,)},
    grid="ceil(r/4)",
    block=128,
    grid_stride=False,
    reference=lambda x: Expected(x.sum(axis=1, dtype=np.int32)),
)
