"""tile_size.cu: one block for each tile, with two tiles in shared memory: 128 KiB for width 128, 32 KiB for 64."""

from parity.op import Op


def with_tiles(size: int) -> Op:
    return Op(
        f"tile_size.tiles_of_{size}",
        kernel="transposed_sum",
        types=("f32",),
        args=f"x y out n:i32 tile:i32={size}",
        inputs={"x": "T", "y": "T"},
        shapes="x: n n; y: n n; out: n n",
        where="n > 0",
        choices={"n": (1, 30, 64, 130)},
        grid=f"ceil(n/{size}), ceil(n/{size})",
        block=256,
        shared=2 * 4 * size * size,
        grid_stride=False,
    )


large, small = with_tiles(128), with_tiles(64)
