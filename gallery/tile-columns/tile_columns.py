"""tile_columns.cu: each block has eight rows of 256 columns, or four with wavefronts of 64 lanes."""

from parity.op import Op

add = Op(
    "tile_columns.add",
    kernel="add",
    types=("f32",),
    args="x y out rows:i32 columns:i32",
    inputs={"x": "T", "y": "T"},
    shapes="x: rows columns; y: rows columns; out: rows columns",
    where="rows > 0 and columns > 0 and columns % 256 == 0",
    choices={"rows": (1, 3, 8, 9), "columns": (256, 512)},
    grid="columns // 256, ceil(rows/4)",
    block=256,
    grid_stride=False,
)
