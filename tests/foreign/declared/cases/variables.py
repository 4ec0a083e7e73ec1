"""variables.cu: a variable that a kernel updates, printed text, and tensors whose addresses are in variables."""

import numpy as np

from parity.op import Op
from parity.reference import Expected


def counted(x, above, limit):
    return Expected(above + np.bincount(np.arange(len(x))[x > limit] % 4, minlength=4).astype(np.uint32))


count = Op(
    "variables.count_above",
    kernel="count_above",
    types=("f32",),
    args="x limit n:i32",
    inputs={"x": "f32"},
    updates={"above": "u32"},
    params={"limit": "f32"},
    shapes="x: n; above: 4",
    symbols={"above": "above"},
    block=128,
    grid="max(1, ceil(n/threads))",
    grid_stride=False,
    data={"x": ("normal",)},
    reference=counted,
)


def printed(x, shape):
    text = "".join(f"{i}: {each}\n" for i, each in enumerate(x.tolist()) if each % 2)
    return Expected(np.frombuffer(text.encode().ljust(shape[0], b"\0")[: shape[0]], np.uint8))


list_odd = Op(
    "variables.list_odd",
    kernel="list_odd",
    types=("i32",),
    args="x n:i32",
    inputs={"x": "i32"},
    outputs={"printed": "u8"},
    shapes="x: n; printed: 8192",
    choices={"n": (1, 2, 33, 70, 200)},
    symbols={"printf": "printed"},
    block=64,
    grid="ceil(n/threads)",
    grid_stride=False,
    data={"x": ("-50..50", "bits")},
    reference=printed,
)


find_highest = Op(
    "variables.find_highest",
    kernel="find_highest",
    types=("f32",),
    args="",
    inputs={"heights": "f32"},
    outputs={"most": "f32"},
    structs={"scene": "heights width:i32 rows:i32", "highest": "most"},
    symbols={"scene": "scene", "highest": "highest"},
    shapes="heights: rows width; most: rows",
    where="rows > 0 and width > 0",
    strides="aligned",
    block=128,
    grid="ceil(rows/threads)",
    grid_stride=False,
    data={"heights": ("normal",)},
    reference=lambda heights: Expected(heights.max(1)),
)
