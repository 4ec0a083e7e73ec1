"""radix_select.cu: one block for each row."""

from parity.op import Op

kth = Op(
    "radix_select.kth",
    kernel="kth",
    types=("u32",),
    args="x out columns:i32 k",
    inputs={"x": "T"},
    params={"k": "u32"},
    shapes="x: rows columns; out: rows",
    where="rows > 0 and k < columns",
    choices={"k": (0, 1, 5), "columns": (1, 6, 31, 64, 300), "rows": (1, 2, 3)},
    grid="rows",
    block=256,
    grid_stride=False,
)
