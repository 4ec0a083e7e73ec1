"""What the kernels of hidden.cu should compute, whatever the size, the rank and the values."""

import numpy as np

from parity import reference
from parity.op import Op

one_size = Op(
    "hidden.one_size",
    kernel="one_size_{T}",
    types=("f32",),
    args="x out numel:i32",
    inputs={"x": "T"},
    grid_stride=False,
    reference=lambda x, to: reference.within(0.5, 2 * x.astype(np.float64), to),
)

one_rank = Op(
    "hidden.one_rank",
    kernel="one_rank_{T}",
    types=("f32",),
    args="numel num_dims info x out",
    inputs={"x": "T"},
    null_info=False,
    grid_stride=False,
    reference=lambda x, to: reference.within(0, x, to),
)

one_value = Op(
    "hidden.one_value",
    kernel="one_value_{T}",
    types=("f32",),
    args="x out numel:i32",
    inputs={"x": "T"},
    grid_stride=False,
    data=("normal",),
    reference=lambda x, to: reference.within(4, np.sin(x.astype(np.float64)), to),
)
