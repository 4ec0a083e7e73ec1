"""sort.cu: argsort of each row."""

from collections.abc import Callable

from parity import reference
from parity.op import NamedCase, Op
from parity.reference import Expected

COLUMNS = (1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 0, 255, 256, 257, 600)


def argsort(order: str, function: Callable[..., Expected]) -> Op:
    """Declare an argsort: one block per row, with a 4-byte index in shared memory for each padded column."""
    return Op(
        f"sort.argsort_{order}",
        kernel=f"asort_{order}_{{T}}",
        types=("u8", "u32", "i64", "f16", "bf16", "f32", "f64"),
        args="x out columns:i32 padded:i32",
        inputs={"x": "T"},
        outputs={"out": "u32"},
        shapes="x: rows columns; out: rows columns; padded = bit_ceil(columns)",
        choices={"rows": (1, 2, 3, 5), "columns": COLUMNS},
        grid="rows",
        block="min(padded, 1024)",
        shared="4*padded",
        threads=(32, 64, 100, 1024),
        grid_stride=False,
        operations="numel * max(1, bit_width(padded) - 1)",
        bench=(NamedCase("rows of 1024", "x=65536|4x1024~normal@0"),),
        reference=function,
        data=("normal", "mixed", "small", "special", "bits", "unit", "patterns"),
        named=(
            NamedCase("special values", "x=1x110~special@0"),
            NamedCase("1025 columns", "x=2x1025~normal@0"),
            NamedCase("more columns than the block holds in registers", "x=1x500~normal@0 threads=100"),
            NamedCase("8192 columns: 32 KiB of shared memory", "x=1x8192~normal@0", lambda t: t == "f32"),
            NamedCase("few different values", "x=3x100~small@0"),
            NamedCase("in order already, and reversed", "x=1x200~patterns@0"),
        ),
    )


argsort_asc = argsort("asc", reference.argsort_ascending)
argsort_desc = argsort("desc", reference.argsort_descending)
