"""block.cu, block.hip: rows of 256 elements, one block of 256 threads for each."""

import numpy as np

from parity.op import Op
from parity.reference import Expected

ROWS = {
    "args": "x out",
    "grid": "rows",
    "block": 256,
    "grid_stride": False,
    "where": "rows > 0",
    "choices": {"rows": (1, 2, 3)},
    "data": ("normal",),
}

tree_sum = Op(
    "block.tree_sum",
    kernel="tree_sum",
    types=("i32",),
    inputs={"x": "T"},
    shapes="x: rows 256; out: rows",
    reference=lambda x: Expected(x.sum(axis=1, dtype=np.int32)),
    **ROWS,
)

backwards = Op(
    "block.backwards",
    kernel="backwards",
    types=("f32",),
    inputs={"x": "T"},
    shapes="x: rows 256; out: rows 256",
    shared="4*threads",
    reference=lambda x: Expected(x[:, ::-1].copy()),
    **ROWS,
)
