"""reduce.cu: sums, extrema and their indices, softmax, normalization, rotary position embedding."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from parity import reference
from parity.data.layouts import Draw, layout, pick
from parity.model.layout import contiguous
from parity.op import CaseView, NamedCase, Op, Shape
from parity.reference import Expected

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("u8", "u32", "i64")
ANY_LAYOUT = ("contiguous", "contiguous", "transposed", "sliced", "broadcast", "any")

# Around the widths of wavefronts, and long enough for a tail after a block of 1024.
EDGES = (31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 2049)
KEPT = ((), (1,), (2,), (3,), (2, 3), (1, 2, 1))
MANY = ((31,), (33,), (65,), (5, 13))


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


# fast_*: the layout of a case is permuted, kept dims first, so that strides express any choice of reduced dims. The
# number of outputs is small, because each output takes a block.

SUMS = ((3,), (2, 3), (3, 1, 4), (5, 13), (33, 31), (0,), (2, 0), ())
EXTREMA = ((3,), (2, 3), (3, 1, 4), (5, 13), (33, 31), ())
SOME = "prod(kept) > 0 and prod(terms) > 0"  # the host rejects an empty extremum, and does not launch for zero outputs
# Data in which any slot can be the extremum, for types whose 4 Mi elements are fast to process.
ANY_SLOT = (("unit", lambda t: t in ("f16", "bf16", "f32")), ("bits", lambda t: t in ("u8", "u32")))
SUMMED_SLOTS = (("small", lambda t: t not in ("i64", "f64")),)
ONE_DIM = f"reduced == 1 and {SOME}"


def fast(
    name: str,
    function: Callable[..., Expected],
    shapes: tuple[Shape, ...],
    where: str,
    *named: NamedCase,
    output: str = "T",
    **more: Any,
) -> Op:
    """Declare a reduction of the last dims with one block per output. Terms have one of these shapes, or one dim."""
    return Op(
        f"reduce.{name}",
        kernel=f"fast_{name}_{{T}}",
        types=(*INTEGERS, *FLOATS),
        args="src_numel=x.numel n_terms=prod(terms) rank=len(x.shape) info x out",
        inputs={"x": "T"},
        outputs={"out": output},
        params={"reduced": "u32"},
        shapes="x: *kept *terms:reduced; out: *kept",
        where=where,
        choices=tuple(
            {"kept": kept, "terms": (*((n,) for n in lines), *shapes), "reduced": ("len(terms)",)}
            for kept, lines in ((KEPT, (1, 2, 3, 4, 5, 7)), (KEPT[:4], EDGES), (KEPT[:4], EDGES), (MANY, (1, 2, 3, 8)))
        ),
        grid="prod(kept)",
        block="bit_ceil(min(1024, prod(terms)))",
        threads=(32, 64, 256, 1024),
        grid_stride=False,
        null_info=False,
        reference=function,
        named=(
            NamedCase("special values", "x=3x110~special@0 reduced=1"),
            NamedCase("8192 columns", "x=2x8192~small@0 reduced=1"),
            NamedCase(
                "more outputs than are worth a block each",
                "x=4097x37+1~normal@0 reduced=1 threads=64",
                lambda t: t in ("u8", "i64", "f16", "f32"),
            ),
            NamedCase(
                "as many, of a few elements each",
                "x=4097x9+1~normal@0 reduced=1 threads=64",
                lambda t: t in ("u32", "bf16", "f64"),
            ),
            NamedCase("as many, with gaps", "x=4097x3:5,1~small@0 reduced=1 threads=32"),
            *(
                NamedCase("as many, of rows for all slots", f"x=4096x897~{data}@0 reduced=1 threads=1024", only)
                for data, only in (SUMMED_SLOTS if name == "sum" else ANY_SLOT)
            ),
            NamedCase("long rows, few threads", "x=2x2050~unit@0 reduced=1 threads=32"),
            NamedCase("long columns, many threads", "x=2x2050:1,2~unit@0 reduced=1 threads=1024"),
            NamedCase("ties among as many", "x=4130x100~small@0 reduced=1", lambda t: t in ("u8", "f32")),
            NamedCase("the reduced dim is the slowest in memory", "x=3x70:1,3~normal@0 reduced=1"),
            *named,
        ),
        operations="x.numel",
        bench=(
            NamedCase("rows of 1024", "x=65536|8x1024~normal@0 reduced=1"),
            NamedCase("rows of 8192", "x=8192|2x8192~normal@0 reduced=1"),
            NamedCase("long rows", "x=1024|1x65536|16384~normal@0 reduced=1"),
            NamedCase("columns", "x=65536|32x1024:1,65536|32~normal@0 reduced=1"),
        ),
        **more,
    )


# Integers whose sums fit the significand (8 bits of bf16, 11 of f16): nothing rounds, so every term counts.
PROBES = (
    NamedCase("integer probe", "x=3x90~small@0 reduced=1"),
    NamedCase("integer probe over two dims", "x=2x3x5x6~small@0 reduced=2"),
    NamedCase("integer probe in several rounds", "x=3x700~small@0 reduced=1 threads=64", lambda t: t != "bf16"),
)
TIES = (
    NamedCase(
        "ties go to the slot that is first in bit-reversed order", "x=60x4:4,1~unit@0 reduced=1", lambda t: t[0] in "ui"
    ),
    NamedCase("ties among few values", "x=3x1025~small@0 reduced=1"),
    NamedCase("all equal", "x=2x600:0,0~normal@0 reduced=1"),
    NamedCase("a NaN that comes first stays", "x=5x33~points@0 reduced=1", is_float),
)
ORDER = (0.0, 5.0, 5.0, 0.0, math.nan, 1.0, -math.inf, math.nan, 9.0, -0.0, math.inf, 3.0, -9.0)
FEW = ("small", "normal", "mixed", "special", "points", "near", "bits", "unit")

sum_ = fast(
    "sum",
    reference.reduce_sum,
    SUMS,
    "prod(kept) > 0",
    *PROBES,
    NamedCase("nothing sums to 0", "x=3x0~normal@0 reduced=1"),
    NamedCase("positive numbers, whose sum errs most", "x=2x1025~near@0 reduced=1", is_float, "D16"),
    NamedCase("integers wrap", "x=2x300~bits@0 reduced=1", lambda t: not is_float(t), "D24"),
    data=("small", "normal", "near", "unit", "mixed", "special"),
    points=(1.0, 0.75, 0.1, 1.5),
)
max_ = fast("max", reference.reduce_max, EXTREMA, SOME, data=FEW, points=ORDER)
min_ = fast("min", reference.reduce_min, EXTREMA, SOME, data=FEW, points=ORDER)
argmax = fast("argmax", reference.argmax, ((3,),), ONE_DIM, *TIES, output="u32", data=FEW, points=ORDER)
argmin = fast("argmin", reference.argmin, ((3,),), ONE_DIM, *TIES, output="u32", data=FEW, points=ORDER)


# sum_*: the bits of `over` select the summed dims.


def summed(given: CaseView) -> list[int]:
    """Return the summed axes."""
    return [axis for axis in range(len(given.layouts["x"].shape)) if int(given["over"]) >> axis & 1]


def draw_sum_over(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    shapes = ((3,), (2, 3), (4, 2, 3), (2, 3, 1, 4), (2, 1, 3, 2, 2), (), (0,), (2, 0, 3), (65, 3), (3, 129), (1025,))
    more = ((33, 2, 5), (1, 2049), (7, 31, 4), (255,), (2, 513))
    shape = pick(draw, (*shapes, *more))
    over = sum(pick(draw, (1, 0)) << axis for axis in range(len(shape)))
    rest = tuple(n for axis, n in enumerate(shape) if not over >> axis & 1)
    return {"x": layout(draw, shape, ANY_LAYOUT), "out": contiguous(rest, pick(draw, (0, 1, 3))), "over": over}


def unsummable(given: CaseView) -> str:
    x, out = given.layouts["x"], given.layouts["out"]
    if int(given["over"]) >> len(x.shape):
        return f"over={given['over']} has a bit beyond the {len(x.shape)} dims of x"
    axes = summed(given)
    rest = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
    if out.shape != rest or not out.is_contiguous:
        return f"out={out} must be a contiguous tensor of the remaining dims, {contiguous(rest)}"
    return ""


def dims_and_summed_dims(given: CaseView) -> list[int]:
    x = given.layouts["x"]
    axes = summed(given)
    return [*x.shape, *x.strides, *(x.shape[a] for a in axes), *(math.prod(x.shape[a + 1 :]) for a in axes)]


sum_onto = Op(
    "reduce.sum_onto",
    kernel="sum_{T}",
    types=("u32", *FLOATS),
    args="numel_of_x=x.numel rank=len(x.shape) num_sum_dims info x out",
    inputs={"x": "T"},
    updates={"out": "T"},
    params={"over": "u32"},
    scalars={"num_sum_dims": lambda given: ("u64", len(summed(given)))},
    layouts=draw_sum_over,
    mismatch=unsummable,
    info=dims_and_summed_dims,
    grid="max(1, ceil(x.numel/threads))",
    reference=reference.sum_onto,
    data=("small", "normal", "near", "unit", "mixed", "special"),
    points=(1.0, 0.75, 0.1, 1.5, 1e-40, 3e-41),
    named=(
        NamedCase("integer probe over all", "x=9x10~small@0 out=()~small@7 over=3"),
        NamedCase("integer probe over the middle", "x=3x20x4~small@0 out=3x4~small@7 over=2"),
        NamedCase("integer probe over first and last", "x=5x3x7:1,35,5~small@0 out=3~small@7 over=5"),
        NamedCase(
            "integer probe, more terms than threads", "x=2x1500~small@0 out=2~small@7 over=2", lambda t: t[0] != "b"
        ),
        NamedCase("nothing is added", "x=3x0~normal@0 out=3~normal@7 over=2"),
        NamedCase(
            "more than 65,536 elements", "x=33x2003~small@0 out=2003~small@7 over=1", lambda t: t in ("f32", "u32")
        ),
        NamedCase(
            "sums of subnormals", "x=2x7:0,0~points@4 out=2~points@4 over=2", lambda t: t in ("f32", "bf16"), "D15"
        ),
    ),
    operations="x.numel",
    bench=(
        NamedCase("rows of 1024", "x=65536|8x1024~normal@0 out=65536|8~normal@7 over=2"),
        NamedCase("columns", "x=65536|512x1024|32~normal@0 out=1024|32~normal@7 over=1"),
    ),
)


# One block per row of a matrix.


SPECIAL_ROWS = tuple(
    NamedCase(title, f"x=1x9~points@{first}{{more}}")
    for title, first in (("only -Inf", 0), ("-Inf and numbers", 9), ("Inf", 18), ("NaN", 27), ("no spread", 36))
)
ROWS = (
    *(-math.inf,) * 9,
    *(-math.inf, 1.0, -math.inf, 2.0, 0.5, -1.0, -math.inf, 3.0, -math.inf),
    *(math.inf, 1.0, 2.0, -math.inf, 0.5, -1.0, 0.0, 3.0, 1e4),
    *(1.0, 2.0, math.nan, 0.5, -1.0, 0.0, 3.0, 4.0, -0.0),
    *(1000.0,) * 9,
    *(1000.0, 1001.0, 999.5, 1000.0, 998.0, 1000.0, 1003.0, 1000.0, 1001.5),
)


def per_row(
    name: str,
    kernel: str,
    function: Callable[..., Expected],
    args: str,
    *extra: NamedCase,
    per_element: int,
    weights: str = "",
    **more: Any,
) -> Op:
    """Declare an op on the rows of a contiguous matrix, with weights as long as a row and operations per element."""
    inputs = ("x", *weights.split())
    eps = {"eps": (1e-5, 1e-6, 1e-12, 0.0, 1.0)} if weights else {}
    rest = " eps=1e-05" if weights else ""
    tails = {n: "".join(f" {w}={n}~normal@0" for w in weights.split()) + rest for n in (1, 9, 1024, 1025, 8192)}
    unweighted = tuple(
        NamedCase(
            f"{n} columns without {left_out}",
            f"x={rows}x{n}~normal@0{tails[n].replace(f' {left_out}={n}~normal@0', '')} no-{left_out}",
        )
        for rows, n in ((17, 1024), (2, 1025), (1, 8192))
        for left_out in weights.split()
    )
    special = tuple(NamedCase(n.title, n.items.format(more=tails[9])) for n in SPECIAL_ROWS)
    return Op(
        f"reduce.{name}",
        kernel=kernel,
        types=FLOATS,
        args=args,
        inputs=dict.fromkeys(inputs, "T"),
        params=dict.fromkeys(eps, "f32"),
        shapes="x: rows n_cols; out: rows n_cols" + "".join(f"; {w}: n_cols" for w in weights.split()),
        choices={"rows": (1, 2, 3), "n_cols": (1, 2, 3, 4, 7, *EDGES, 0), **eps},
        grid="rows",
        optional=inputs[1:],
        grid_stride=False,
        large_rows=True,
        reference=function,
        data=("normal", "normal", "unit", "small", "near", "mixed", "special", "bits"),
        points=ROWS,
        named=(
            NamedCase("special values", f"x=110x1~special@0{tails[1]}"),
            NamedCase("1025 columns", f"x=2x1025~normal@0{tails[1025]}"),
            NamedCase("1024 columns: a block may have several rows", f"x=17x1024~normal@0{tails[1024]}"),
            NamedCase("8192 columns", f"x=1x8192~unit@0{tails[8192]}"),
            *unweighted,
            *special,
            *extra,
        ),
        operations=f"{per_element} * numel",
        bench=(NamedCase("rows of 1024", f"x=65536|4x1024~normal@0{tails[1024]}"),),
        **more,
    )


softmax = per_row(
    "softmax",
    "softmax_{T}",
    reference.softmax,
    "x out n_cols:i32",
    NamedCase("exponents for which exp vanishes", "x=1x300~bits@0", divergence="D14"),
    per_element=5,  # maximum, difference, exp, sum, quotient
    block="1, 32",
)
rmsnorm = per_row(
    "rmsnorm",
    "rmsnorm_{T}",
    reference.rms_norm,
    "x out alpha n_cols:i32 block_size:i32=threads eps",
    NamedCase("squares overflow in f32", "x=2x40~special@60 alpha=40~unit@0 eps=1e-05"),
    NamedCase("without weights", "x=3x65~normal@0 no-alpha eps=1e-06"),
    per_element=4,  # square, sum, and two products
    weights="alpha",
    block="32 if n_cols < 1024 else 1024",
    threads=(32, 64, 96, 256, 1024),
)
layernorm = per_row(
    "layernorm",
    "layernorm_{T}",
    reference.layer_norm,
    "x out alpha beta n_cols:i32 block_size:i32=threads eps",
    NamedCase("a mean far larger than the deviations", "x=2x9~points@45 alpha=9~normal@0 beta=9~normal@0 eps=1e-05"),
    NamedCase("without weights", "x=3x65~normal@0 no-alpha no-beta eps=1e-06"),
    per_element=7,  # sum, square, sum, difference, two products, sum
    weights="alpha beta",
    block="32 if n_cols < 1024 else 1024",
    threads=(32, 64, 96, 256, 1024),
)


# Rotary position embedding: one thread per pair of elements, and one table per batch or a shared table.


def rope(name: str, function: Callable[..., Expected], args: str, dims: str) -> Op:
    """Declare a rotary embedding. ``dims`` names batches, time and heads in the order of the kernel."""
    shape = "2x3x5x8" if dims == "b h t" else "2x5x3x8"
    large = "8|1x32|2x2048|16x128" if dims == "b h t" else "8|1x2048|16x32|2x128"
    return Op(
        f"reduce.{name}",
        kernel=name + "_{T}",
        types=FLOATS,
        args=f"x cos sin out {args} stride_b:u32=len(tables)*h*t*d",
        inputs={"x": "T", "cos": "T", "sin": "T"},
        shapes=f"x: {dims} d; cos: *tables t d//2; sin: *tables t d//2; out: {dims} d",
        where="d % 2 == 0 and d > 0 and tables in ((), (b,))",
        choices=(
            {"b": (1, 2, 3), "h": (1, 2, 3, 0), "t": (1, 2, 3, 4, 5, 7), "d": (2, 4, 6, 32, 64, 66), "tables": TABLES},
            {"b": (1, 2), "h": (31, 33), "t": (33, 31), "d": (2,), "tables": TABLES},
        ),
        grid="max(1, ceil(numel/2/threads))",
        large_rows=True,
        reference=function,
        data=("normal", "unit", "small", "mixed", "special", "bits"),
        named=(
            NamedCase("one table for all batches", f"x={shape}~normal@0 cos=5x4~unit@0 sin=5x4~unit@0"),
            NamedCase("a table for every batch", f"x={shape}~normal@0 cos=2x5x4~unit@0 sin=2x5x4~unit@0"),
            NamedCase("products cancel", f"x={shape}~small@0 cos=2x5x4~near@0 sin=2x5x4~near@0", divergence="D10"),
        ),
        points=(1.0, 0.70710678, 1 / 3, 0.1),
        operations="3 * numel",
        bench=(NamedCase("heads of 128", f"x={large}~normal@0 cos=2048|16x64~unit@0 sin=2048|16x64~unit@0"),),
    )


TABLES = ((), ("b",))
rope_i = rope("rope_i", reference.rope_interleaved, "bh:u32=b*h td:u32=t*d", "b h t")
rope_ = rope("rope", reference.rope, "bh:u32=b*h td:u32=t*d d:u32", "b h t")
rope_thd = rope("rope_thd", reference.rope_thd, "b:u32 t:u32 h:u32 d:u32", "b t h")
