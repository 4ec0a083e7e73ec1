"""leaky_relu.cu: what its kernels compute, and how they are called."""

import numpy as np

from parity import reference
from parity.op import Op


def leaky_relu(x, alpha, to):
    """The value in float64; one multiplication in float32 is at most half a unit in the last place away from it."""
    wide = x.astype(np.float64)
    return reference.within(0.5, np.where(wide > 0, wide, alpha * wide), to)


leaky_relu_op = Op(
    "leaky_relu.leaky_relu",  # the file, and a name
    kernel="leaky_relu_{T}",
    types=("f32",),
    args="x out alpha numel:i32",  # the arguments of the kernel, in order
    inputs={"x": "T"},
    params={"alpha": "T"},
    grid_stride=False,  # one thread per element: the kernel needs the launch that the host gives it
    reference=leaky_relu,
)
