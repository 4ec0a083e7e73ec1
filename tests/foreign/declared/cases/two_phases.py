"""two_phases.cu: two kernels, one after the other."""

import numpy as np

from parity.op import Op, Step
from parity.reference import Expected

total = Op(
    "two_phases.sum",
    kernel="sum_blocks",
    types=("i32",),
    args="x partial n:i32",
    inputs={"x": "i32"},
    outputs={"out": "i32"},
    workspace={"partial": "i32"},
    shapes="x: n; out: 1; partial: parts; parts = ceil(n/256)",
    where="n > 0",
    grid="parts",
    block=256,
    then=(Step("sum_partial", "partial out parts:i32", grid=1, block=256),),
    data=("normal", "bits"),
    reference=lambda x: Expected(np.array([x.sum(dtype=np.int32)])),
)
