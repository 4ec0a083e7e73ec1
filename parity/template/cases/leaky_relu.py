"""Declares the kernels of leaky_relu.cu: how to call them, and what they compute."""

import numpy as np

from parity import reference
from parity.op import Op


def leaky_relu(x, alpha, to):
    """Return the value in float64; a float32 multiplication differs by at most half a unit in the last place."""
    wide = x.astype(np.float64)
    return reference.within(0.5, np.where(wide > 0, wide, alpha * wide), to)


leaky_relu_op = Op(
    "leaky_relu.leaky_relu",  # module (file name) and name
    kernel="leaky_relu_{T}",
    types=("f32",),
    args="x out alpha numel:i32",  # the arguments of the kernel, in order
    inputs={"x": "T"},
    params={"alpha": "T"},
    grid_stride=False,  # one thread per element: the kernel needs exactly the launch of the host
    reference=leaky_relu,
)
