"""The kernels of src/activations: a template in a namespace, launched by host code beside it; two outputs."""

import numpy as np

from parity import reference
from parity.op import Op

FILE = "activations/swiglu-fused.v2.cu"


def swiglu_value(x, to):
    gate, up = np.split(x.astype(np.float64), 2, axis=1)
    return reference.within(8, gate / (1 + np.exp(-gate)) * up, to)


swiglu = Op(
    "activations.swiglu",
    source=FILE,
    kernel="ops::swiglu<{T}>",
    types=("f32", "f16"),
    spelling={"f32": "float", "f16": "__half"},
    args="out x rows:i32 cols:i32",
    inputs={"x": "T"},
    shapes="x: rows 2*cols; out: rows cols",
    grid="ceil(cols/256), rows",
    block=256,
    grid_stride=False,
    data=("normal",),
    reference=swiglu_value,
)


low = Op(
    "activations.low",
    source=FILE,
    kernel="minmax",
    types=("f32",),
    args="x out hi numel:i32",
    inputs={"x": "T"},
    workspace={"hi": "f32"},
    grid_stride=False,
    reference=lambda x, to: reference.within(0, np.where(x < 0, x, 0), to),
)

high = Op(
    "activations.high",
    source=FILE,
    kernel="minmax",
    types=("f32",),
    args="x lo out numel:i32",
    inputs={"x": "T"},
    workspace={"lo": "f32"},
    grid_stride=False,
    reference=lambda x, to: reference.within(0, np.where(x > 0, x, 0), to),
)
