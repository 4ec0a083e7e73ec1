"""tables.cu: constant memory, a permutation, a search in sorted values."""

import numpy as np

from parity import reference
from parity.op import Op
from parity.reference import Expected

SQUARES = np.arange(8, dtype=np.int32) ** 2


def weighted_value(weights, x, to):
    i = np.arange(len(x))
    exact = x.astype(np.float64) * weights[i % 16].astype(np.float64) + SQUARES[i % 8]
    return reference.within(2, exact, to)


weighted = Op(
    "tables.weighted",
    kernel="ops::weighted",
    types=("f32",),
    args="x out n:i32",
    inputs={"weights": "f32", "x": "f32"},
    shapes="weights: 16; x: n; out: n",
    symbols={"weights": "weights", "ops::squares": lambda given: SQUARES},
    block=128,
    grid_stride=False,
    data={"weights": ("0..4",), "x": ("0..100",)},
    reference=weighted_value,
)


def permuted(x, order):
    out = np.empty_like(x)
    out[order] = x
    return Expected(out)


permute = Op(
    "tables.permute",
    kernel="permute",
    types=("f32",),
    args="x order out rows:i32 columns:i32",
    inputs={"x": "f32", "order": "u32"},
    shapes="x: rows columns; order: rows; out: rows columns",
    where="0 < columns <= 256",
    choices={"rows": (1, 2, 3, 7, 40), "columns": (1, 3, 31, 32, 65, 256)},
    grid="rows",
    block=256,
    grid_stride=False,
    indices={"order": "rows"},
    data={"order": ("permutation",)},
    reference=permuted,
)

bucket = Op(
    "tables.bucket",
    kernel="bucket",
    types=("f32",),
    args="edges x out m:i32 n:i32",
    inputs={"edges": "f32", "x": "f32"},
    outputs={"out": "u32"},
    shapes="edges: m; x: n; out: n",
    grid="max(1, ceil(n/threads))",
    block=64,
    grid_stride=False,
    data={"edges": ("sorted",), "x": ("-50..50",)},
    reference=lambda edges, x: Expected(np.searchsorted(edges, x, side="right").astype(np.uint32)),
)

add_volumes = Op(
    "tables.add_volumes",
    kernel="add_volumes",
    types=("f32",),
    args="x_planes y_planes out_rows planes:i32 rows:i32 columns:i32",
    inputs={"x": "f32", "y": "f32"},
    shapes="x: planes rows columns; y: planes rows columns; out: planes*rows columns",
    choices={"planes": (1, 2, 5), "rows": (1, 3, 8), "columns": (1, 31, 128, 300)},
    pointers={"x_planes": "x 2", "y_planes": "y 2", "out_rows": "out"},
    grid="ceil(columns/128), rows, planes",
    block=128,
    grid_stride=False,
    reference=lambda x, y, to, shape: reference.within(0.5, (x.astype(float) + y).reshape(shape), to),
)
