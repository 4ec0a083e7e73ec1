"""sort.cu: the order of every row."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from parity import reference
from parity.generate import Draw, pick
from parity.launch import Grid
from parity.layout import contiguous
from parity.op import Layouts, Named, Op, Params, Shape
from parity.reference import Expected

COLUMNS = (1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 0, 255, 256, 257, 600)


def padded(columns: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << max(0, columns - 1).bit_length()


def draw_rows(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    return {"x": contiguous((pick(draw, (1, 2, 3, 5)), pick(draw, COLUMNS)), pick(draw, (0, 1, 3)))}


def rows(layouts: Layouts, params: Params) -> str:
    x = layouts["x"]
    if len(x.shape) != 2 or not x.shape[0] or (x.numel and not x.is_contiguous):
        return f"x={x} has to be a contiguous matrix with a row at least, for which the host launches a block"
    return ""


def block_per_row(layouts: Layouts, params: Params, shape: Shape, threads: int | None) -> Grid:
    """One index of 4 bytes in shared memory for every padded column."""
    pad = padded(shape[1])
    return Grid((shape[0], 1, 1), (threads or min(pad, 1024), 1, 1), 4 * pad)


def argsort(order: str, function: Callable[..., Expected]) -> Op:
    return Op(
        f"sort.argsort_{order}",
        kernel=f"asort_{order}_{{T}}",
        types=("u8", "u32", "i64", "f16", "bf16", "f32", "f64"),
        args="x out ncols ncols_pad",
        inputs={"x": "T"},
        output="u32",
        scalars={
            "ncols": lambda layouts, params, shape: ("i32", shape[1]),
            "ncols_pad": lambda layouts, params, shape: ("i32", padded(shape[1])),
        },
        layouts=draw_rows,
        fits=rows,
        operations=lambda layouts, params, shape: math.prod(shape) * max(1, padded(shape[1]).bit_length() - 1),
        bench=(Named("rows of 1024", "x=65536|4x1024~normal@0"),),
        launch=block_per_row,
        threads=(32, 64, 100, 1024),
        grid_stride=False,
        reference=function,
        data=("normal", "mixed", "small", "special", "bits", "unit", "patterns"),
        named=(
            Named("special values", "x=1x110~special@0"),
            Named("1025 columns", "x=2x1025~normal@0"),
            Named("more columns than the block holds in registers", "x=1x500~normal@0 threads=100"),
            Named("8192 columns: 32 KiB of shared memory", "x=1x8192~normal@0", lambda t: t == "f32"),
            Named("few different values", "x=3x100~small@0"),
            Named("in order already, and reversed", "x=1x200~patterns@0"),
        ),
    )


argsort_asc = argsort("asc", reference.argsort_ascending)
argsort_desc = argsort("desc", reference.argsort_descending)
