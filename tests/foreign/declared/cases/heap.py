"""heap.cu: memory that kernels allocate."""

import numpy as np

from parity.op import Op, Step
from parity.reference import Expected


def areas_of(sizes):
    squares = sizes * sizes
    return Expected(np.where(np.arange(len(sizes)) % 2, squares, (3 * sizes) * sizes))


areas = Op(
    "heap.areas",
    kernel="create_shapes",
    types=("f32",),
    args="shapes sizes n:i32",
    inputs={"sizes": "f32"},
    outputs={"areas": "f32"},
    workspace={"shapes": "i64"},
    shapes="sizes: n; shapes: n; areas: n",
    strides="aligned",
    then=(Step("find_areas", "shapes areas n:i32", grid="max(1, ceil(n/64))", block=64),),
    block=128,
    grid="max(1, ceil(n/128))",
    grid_stride=False,
    data=("small",),
    reference=areas_of,
)


def reversed_groups(x):
    return Expected(np.concatenate([x[i : i + 8][::-1] for i in range(0, len(x), 8)] or [x]))


reverse_groups = Op(
    "heap.reverse_groups",
    kernel="reverse_groups",
    types=("i32",),
    args="x y n:i32",
    inputs={"x": "i32"},
    outputs={"y": "i32"},
    shapes="x: n; y: n",
    strides="aligned",
    grid="max(1, ceil(n/(8*threads)))",
    block=32,
    grid_stride=False,
    data=("bits",),
    reference=reversed_groups,
)
