"""The kernels of src/activations: a template in a namespace, launched by host code beside it; two outputs."""

import math

import numpy as np

from parity import reference
from parity.generate import pick
from parity.launch import Grid
from parity.layout import contiguous
from parity.op import Op

FILE = "activations/swiglu-fused.v2.cu"


def matrices(draw, names):
    rows, columns = pick(draw, (1, 2, 3, 7)), pick(draw, (1, 3, 31, 64, 65, 255, 257, 300))
    return {"x": contiguous((rows, 2 * columns))}


def two_halves(layouts, params):
    shape = layouts["x"].shape
    return "" if len(shape) == 2 and shape[1] % 2 == 0 else "x must be rows of two halves"


def half(layouts, params):
    rows, columns = layouts["x"].shape
    return rows, columns // 2


def launch(layouts, params, shape, threads):
    rows, columns = shape
    return Grid((max(1, -(-columns // 256)), max(1, rows), 1), (256, 1, 1))


def swiglu_value(x, to):
    gate, up = np.split(x.astype(np.float64), 2, axis=1)
    return reference.within(8, gate / (1 + np.exp(-gate)) * up, to)


swiglu = Op(
    "activations.swiglu",
    source=FILE,
    kernel="ops::swiglu<{T}>",
    types=("f32", "f16"),
    spelling={"f32": "float", "f16": "__half"},
    args="out x rows cols",
    inputs={"x": "T"},
    layouts=matrices,
    fits=two_halves,
    shape=half,
    launch=launch,
    grid_stride=False,
    scalars={
        "rows": lambda layouts, params, shape: ("i32", shape[0]),
        "cols": lambda layouts, params, shape: ("i32", shape[1]),
    },
    data=("normal",),
    reference=swiglu_value,
)


def as_many(layouts, params, shape):
    return "f32", math.prod(shape)


low = Op(
    "activations.low",
    source=FILE,
    kernel="minmax",
    types=("f32",),
    args="x out hi numel:i32",
    inputs={"x": "T"},
    workspace={"hi": as_many},
    grid_stride=False,
    reference=lambda x, to: reference.within(0, np.fmin(x, 0), to),
)

high = Op(
    "activations.high",
    source=FILE,
    kernel="minmax",
    types=("f32",),
    args="x lo out numel:i32",
    inputs={"x": "T"},
    workspace={"lo": as_many},
    grid_stride=False,
    reference=lambda x, to: reference.within(0, np.fmax(x, 0), to),
)
