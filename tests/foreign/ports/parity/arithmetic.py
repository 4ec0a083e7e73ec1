"""arithmetic.cu, arithmetic.hip: one thread for each element."""

import numpy as np

from parity import reference
from parity.op import Op
from parity.reference import Expected

ELEMENTS = {"types": ("f32",), "block": 256, "grid": "max(1, ceil(n/256))", "grid_stride": False}

exponential = Op(
    "arithmetic.exponential",
    kernel="exponential",
    args="x out n:i32",
    inputs={"x": "f32"},
    shapes="x: n; out: n",
    data=("normal", "-80..80"),
    # CUDA documents 2 ULP of expf, OCML 1.
    reference=lambda x, to: reference.within(2.5, np.exp(x.astype(np.float64)), to),
    **ELEMENTS,
)

squares_apart = Op(
    "arithmetic.squares_apart",
    kernel="squares_apart",
    args="x y out n:i32",
    inputs={"x": "f32", "y": "f32"},
    shapes="x: n; y: n; out: n",
    data=("normal",),
    # Each operation is rounded to float32, and the result is exact.
    reference=lambda x, y: Expected(x * x - y * y),
    **ELEMENTS,
)
