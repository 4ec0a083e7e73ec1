"""warp.cu, warp.hip: rows of 32 elements, one group of 32 threads for each."""

import numpy as np

from parity import reference
from parity.op import Op
from parity.reference import Expected

ROWS = {
    "args": "x out rows:i32",
    "grid": "max(1, ceil(rows/4))",
    "block": 128,
    "grid_stride": False,
    "choices": {"rows": (1, 2, 3, 5, 8)},
    "data": ("normal",),
}

from_first = Op(
    "warp.from_first",
    kernel="from_first",
    types=("f32",),
    inputs={"x": "T"},
    shapes="x: rows 32; out: rows 32",
    reference=lambda x, to: reference.within(0.5, x.astype(np.float64) - x[:, :1], to),
    **ROWS,
)

sum_everywhere = Op(
    "warp.sum_everywhere",
    kernel="sum_everywhere",
    types=("i32",),
    inputs={"x": "T"},
    shapes="x: rows 32; out: rows 32",
    reference=lambda x: Expected(np.repeat(x.sum(axis=1, keepdims=True, dtype=np.int32), 32, axis=1)),
    **ROWS,
)

count_positive = Op(
    "warp.count_positive",
    kernel="count_positive",
    types=("f32",),
    inputs={"x": "T"},
    outputs={"out": "i32"},
    shapes="x: rows 32; out: rows",
    reference=lambda x: Expected((x > 0).sum(axis=1).astype(np.int32)),
    **ROWS,
)
