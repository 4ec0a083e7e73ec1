"""scaled.cu: the columns of a matrix, each times a weight; numbers rounded to half and bfloat16."""

import numpy as np

from parity import reference
from parity.op import Op

scaled = Op(
    "scaled.scaled",
    kernel="ext::scaled<{T}>",
    types=("f32", "f16", "bf16"),
    spelling={"f32": "float", "f16": "c10::Half", "bf16": "c10::BFloat16"},
    args="matrix w out",
    inputs={"x": "T", "w": "T"},
    structs={"matrix": "x rows:i32=r columns:i32=c row_stride:i32=c column_stride:i32=1"},
    shapes="x: r c; w: c; out: r c",
    grid="ceil(c/256), r",
    block=256,
    grid_stride=False,
    data=("normal", "unit"),
    reference=lambda x, w, to: reference.within(1, x.astype(np.float64) * w.astype(np.float64), to),
)

rounded = Op(
    "scaled.rounded",
    kernel="ext::rounded<{T}>",
    types=("f16", "bf16"),
    spelling={"f16": "c10::Half", "bf16": "c10::BFloat16"},
    args="x out n:i64=n",
    inputs={"x": "f32"},
    shapes="x: n; out: n",
    grid="ceil(n/256)",
    block=256,
    data=("bits", "normal"),
    reference=lambda x, to: reference.within(0, x, to),
)
