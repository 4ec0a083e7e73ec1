"""blend.cu: a product and a sum of vectors of four."""

import numpy as np

from parity import reference
from parity.op import Op

blend = Op(
    "blend.blend",
    kernel="blend<float4, 4>",
    types=("f32",),
    args="a b c out n:i32=n",
    inputs={"a": "f32", "b": "f32", "c": "f32"},
    shapes="a: n four; b: n four; c: n four; out: n four",
    choices={"four": (4,), "n": (1, 127, 128, 513)},
    grid="ceil(n/512)",
    block=128,
    shared=128 * 16,
    strides="aligned",  # vectors of four are loaded
    grid_stride=False,
    data=("unit",),
    reference=lambda a, b, c, to: reference.within(2, a.astype(np.float64) * b.astype(np.float64) + c, to),
)
