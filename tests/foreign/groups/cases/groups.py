"""groups.cu: cooperative groups of a block and of tiles."""

import numpy as np

from parity.op import Op
from parity.reference import Expected

row_sums = Op(
    "groups.row_sums",
    kernel="row_sums",
    types=("i32",),
    args="x out rows:i32 columns:i32",
    inputs={"x": "T"},
    shapes="x: rows columns; out: rows",
    where="rows > 0",
    grid="ceil(rows/4)",
    block=128,
    grid_stride=False,
    data=("normal", "bits"),
    reference=lambda x: Expected(x.sum(axis=1, dtype=np.int32)),
)


def each_block_reversed(x):
    return Expected(np.concatenate([x[first : first + 128][::-1] for first in range(0, len(x), 128)]))


reversed_ = Op(
    "groups.reversed",
    kernel="reversed",
    types=("i32",),
    args="x out n:i32",
    inputs={"x": "T"},
    shapes="x: n; out: n",
    where="n > 0",
    grid="ceil(n/128)",
    block=128,
    grid_stride=False,
    data=("normal",),
    reference=each_block_reversed,
)

scaled = Op(
    "groups.scaled",
    kernel="scaling::scaled<{T}, 3>",
    types=("i32", "f32"),
    spelling={"i32": "int", "f32": "float"},
    args="x out n:i32=numel",
    inputs={"x": "T"},
    block=64,
    grid_stride=False,
    data=("normal",),
    reference=lambda x: Expected((x * np.array(3, x.dtype)).astype(x.dtype)),
)
