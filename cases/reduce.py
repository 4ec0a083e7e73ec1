"""reduce.cu: sums, extrema and their places, softmax, norms, rotary position embedding."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from parity import reference
from parity.generate import Draw, pick
from parity.generate.layouts import layout
from parity.launch import Grid, elementwise
from parity.layout import contiguous
from parity.op import Layouts, Named, Op, Params, Shape
from parity.reference import Expected

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("u8", "u32", "i64")
ANY_LAYOUT = ("contiguous", "contiguous", "transposed", "sliced", "broadcast", "any")
Scalar = Callable[..., tuple[str, int]]

# Long enough for a tail beside the block of 1024, and around the wavefronts; the numbers of outputs stay small, because
# every one takes a block.
EDGES = (31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 2049)
KEPT = ((), (1,), (2,), (3,), (2, 3), (1, 2, 1))
MANY = ((31,), (33,), (65,), (5, 13))


def integer(value: Callable[[Layouts, Params], int], kind: str = "u64") -> Scalar:
    """A by-value argument that follows from layouts and parameters."""
    return lambda layouts, params, shape: (kind, value(layouts, params))


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


# fast_*: a case spells the permuted layout, kept dims first, so that any choice of dims is a matter of strides.


def kept(layouts: Layouts, params: Params) -> Shape:
    shape = layouts["x"].shape
    return shape[: len(shape) - int(params["reduced"])]


def terms(layouts: Layouts, params: Params) -> int:
    """Elements per output."""
    shape = layouts["x"].shape
    return math.prod(shape[len(shape) - int(params["reduced"]) :])


def one_per_term(layouts: Layouts, params: Params, shape: Shape) -> int:
    return layouts["x"].numel


def draw_sum(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    return draw_reduction(draw, ((3,), (2, 3), (3, 1, 4), (5, 13), (33, 31), (0,), (2, 0), ()))


def draw_extremum(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    return draw_reduction(draw, ((3,), (2, 3), (3, 1, 4), (5, 13), (33, 31), ()))


def draw_place(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    return draw_reduction(draw, ((3,),))


def draw_reduction(draw: Draw, shapes: tuple[Shape, ...]) -> dict[str, Any]:
    kind = pick(draw, ("small", "small", "edge", "edge", "many"))
    if kind == "small":
        before, after = pick(draw, KEPT), pick(draw, (*((n,) for n in (1, 2, 3, 4, 5, 7)), *shapes))
    elif kind == "edge":
        before, after = pick(draw, KEPT[:4]), pick(draw, (*((n,) for n in EDGES), *shapes))
    else:
        before, after = pick(draw, MANY), pick(draw, ((1,), (2,), (3,), (8,), shapes[-1]))
    return {"x": layout(draw, (*before, *after), ANY_LAYOUT), "reduced": len(after)}


def reducible(layouts: Layouts, params: Params) -> str:
    rank, reduced = len(layouts["x"].shape), int(params["reduced"])
    if reduced > rank:
        return f"reduced={reduced}, but x has only {rank} dims"
    return "" if math.prod(kept(layouts, params)) else "there is no output, and the host launches nothing"


def not_empty(layouts: Layouts, params: Params) -> str:
    return reducible(layouts, params) or ("" if terms(layouts, params) else "the host refuses an extremum of nothing")


def single_dim(layouts: Layouts, params: Params) -> str:
    return not_empty(layouts, params) or ("" if params["reduced"] == 1 else "one dim has to be reduced, the last one")


def block_per_output(layouts: Layouts, params: Params, shape: Shape, threads: int | None) -> Grid:
    """As many threads as there are terms, up to 1024, rounded up to a power of two."""
    power = 1 << max(0, min(1024, terms(layouts, params)) - 1).bit_length()
    return Grid((math.prod(shape), 1, 1), (threads or power, 1, 1))


def fast(
    name: str,
    function: Callable[..., Expected],
    draw: Callable[..., dict[str, Any]],
    fits: Callable[[Layouts, Params], str],
    *named: Named,
    output: str = "T",
    **more: Any,
) -> Op:
    """A reduction of the last dims by one block per output."""
    return Op(
        f"reduce.{name}",
        kernel=f"fast_{name}_{{T}}",
        types=(*INTEGERS, *FLOATS),
        args="src_numel terms rank info x out",
        inputs={"x": "T"},
        output=output,
        params={"reduced": "u32"},
        scalars={
            "src_numel": integer(lambda layouts, params: layouts["x"].numel),
            "terms": integer(terms),
            "rank": integer(lambda layouts, params: len(layouts["x"].shape)),
        },
        layouts=draw,
        shape=kept,
        fits=fits,
        launch=block_per_output,
        threads=(32, 64, 256, 1024),
        grid_stride=False,
        null_info=False,
        reference=function,
        named=(
            Named("special values", "x=3x110~special@0 reduced=1"),
            Named("8192 columns", "x=2x8192~small@0 reduced=1"),
            Named(
                "more outputs than are worth a block each",
                "x=4097x37+1~normal@0 reduced=1 threads=64",
                lambda t: t in ("u8", "i64", "f16", "f32"),
            ),
            Named("as many, with gaps", "x=4097x3:5,1~small@0 reduced=1 threads=32", lambda t: t in ("i64", "f32")),
            Named("ties among as many", "x=4130x100~small@0 reduced=1", lambda t: t in ("u8", "f32")),
            Named("the reduced dim is the slowest in memory", "x=3x70:1,3~normal@0 reduced=1"),
            *named,
        ),
        operations=one_per_term,
        bench=(
            Named("rows of 1024", "x=65536|8x1024~normal@0 reduced=1"),
            Named("rows of 8192", "x=8192|2x8192~normal@0 reduced=1"),
            Named("long rows", "x=1024|1x65536|16384~normal@0 reduced=1"),
            Named("columns", "x=65536|32x1024:1,65536|32~normal@0 reduced=1"),
        ),
        **more,
    )


# Whole numbers whose sums fit the significand (8 bits of bf16, 11 of f16): not a single rounding, so every term counts.
PROBES = (
    Named("integer probe", "x=3x90~small@0 reduced=1"),
    Named("integer probe over two dims", "x=2x3x5x6~small@0 reduced=2"),
    Named("integer probe in several rounds", "x=3x700~small@0 reduced=1 threads=64", lambda t: t != "bf16"),
)
TIES = (
    Named(
        "ties go to the slot that is first in bit-reversed order", "x=60x4:4,1~unit@0 reduced=1", lambda t: t[0] in "ui"
    ),
    Named("ties among few values", "x=3x1025~small@0 reduced=1"),
    Named("all equal", "x=2x600:0,0~normal@0 reduced=1"),
    Named("a NaN that comes first stays", "x=5x33~points@0 reduced=1", is_float),
)
ORDER = (0.0, 5.0, 5.0, 0.0, math.nan, 1.0, -math.inf, math.nan, 9.0, -0.0, math.inf, 3.0, -9.0)
FEW = ("small", "normal", "mixed", "special", "points", "near", "bits", "unit")

sum_ = fast(
    "sum",
    reference.reduce_sum,
    draw_sum,
    reducible,
    *PROBES,
    Named("nothing sums to 0", "x=3x0~normal@0 reduced=1"),
    Named("D16: positive numbers, whose sum errs most", "x=2x1025~near@0 reduced=1", is_float),
    Named("D24: integers wrap", "x=2x300~bits@0 reduced=1", lambda t: not is_float(t)),
    data=("small", "normal", "near", "unit", "mixed", "special"),
    points=(1.0, 0.75, 0.1, 1.5),
)
max_ = fast("max", reference.reduce_max, draw_extremum, not_empty, data=FEW, points=ORDER)
min_ = fast("min", reference.reduce_min, draw_extremum, not_empty, data=FEW, points=ORDER)
argmax = fast("argmax", reference.argmax, draw_place, single_dim, *TIES, output="u32", data=FEW, points=ORDER)
argmin = fast("argmin", reference.argmin, draw_place, single_dim, *TIES, output="u32", data=FEW, points=ORDER)


# sum_*: the summed dims are the bits of `over`.


def is_summed(axis: int, params: Params) -> bool:
    return bool(int(params["over"]) >> axis & 1)


def draw_sum_over(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    shapes = ((3,), (2, 3), (4, 2, 3), (2, 3, 1, 4), (2, 1, 3, 2, 2), (), (0,), (2, 0, 3), (65, 3), (3, 129), (1025,))
    more = ((33, 2, 5), (1, 2049), (7, 31, 4), (255,), (2, 513))
    shape = pick(draw, (*shapes, *more))
    over = sum(pick(draw, (1, 0)) << axis for axis in range(len(shape)))
    rest = tuple(n for axis, n in enumerate(shape) if not over >> axis & 1)
    return {"x": layout(draw, shape, ANY_LAYOUT), "out": contiguous(rest, pick(draw, (0, 1, 3))), "over": over}


def summable(layouts: Layouts, params: Params) -> str:
    x, out = layouts["x"], layouts["out"]
    if int(params["over"]) >> len(x.shape):
        return f"over={params['over']} has a bit beyond the {len(x.shape)} dims of x"
    rest = tuple(n for axis, n in enumerate(x.shape) if not is_summed(axis, params))
    if out.shape != rest or not out.is_contiguous:
        return f"out={out} has to be a contiguous tensor of the other dims, {contiguous(rest)}"
    return ""


def dims_and_summed_dims(layouts: Layouts, params: Params) -> list[int]:
    x = layouts["x"]
    axes = [axis for axis in range(len(x.shape)) if is_summed(axis, params)]
    lengths, strides = [x.shape[a] for a in axes], [math.prod(x.shape[a + 1 :]) for a in axes]
    return [*x.shape, *x.strides, *lengths, *strides]


sum_onto = Op(
    "reduce.sum_onto",
    kernel="sum_{T}",
    types=("u32", *FLOATS),
    args="numel_of_x rank num_sum_dims info x out",
    inputs={"x": "T"},
    updates=True,
    params={"over": "u32"},
    scalars={
        "numel_of_x": integer(lambda layouts, params: layouts["x"].numel),
        "rank": integer(lambda layouts, params: len(layouts["x"].shape)),
        "num_sum_dims": integer(lambda layouts, params: int(params["over"]).bit_count()),
    },
    layouts=draw_sum_over,
    fits=summable,
    info=dims_and_summed_dims,
    launch=lambda layouts, params, shape, threads: elementwise(layouts["x"].numel, threads),
    reference=reference.sum_onto,
    data=("small", "normal", "near", "unit", "mixed", "special"),
    points=(1.0, 0.75, 0.1, 1.5, 1e-40, 3e-41),
    named=(
        Named("integer probe over all", "x=9x10~small@0 out=()~small@7 over=3"),
        Named("integer probe over the middle", "x=3x20x4~small@0 out=3x4~small@7 over=2"),
        Named("integer probe over first and last", "x=5x3x7:1,35,5~small@0 out=3~small@7 over=5"),
        Named("integer probe, more terms than threads", "x=2x1500~small@0 out=2~small@7 over=2", lambda t: t[0] != "b"),
        Named("nothing is added", "x=3x0~normal@0 out=3~normal@7 over=2"),
        Named("D15: sums of subnormals", "x=2x7:0,0~points@4 out=2~points@4 over=2", lambda t: t in ("f32", "bf16")),
    ),
    operations=one_per_term,
    bench=(
        Named("rows of 1024", "x=65536|8x1024~normal@0 out=65536|8~normal@7 over=2"),
        Named("columns", "x=65536|512x1024|32~normal@0 out=1024|32~normal@7 over=1"),
    ),
)


# One row of a matrix per block.


def draw_rows(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    shape = pick(draw, (1, 2, 3)), pick(draw, (1, 2, 3, 4, 7, *EDGES, 0))
    shapes = {"x": shape, "alpha": shape[1:], "beta": shape[1:]}
    layouts = {name: contiguous(shapes[name], pick(draw, (0, 1, 3))) for name in names}
    return {**layouts, "eps": pick(draw, (1e-5, 1e-6, 1e-12, 0.0, 1.0))}


def rows(layouts: Layouts, params: Params) -> str:
    shape = layouts["x"].shape
    if len(shape) != 2 or not shape[0]:
        return f"x={layouts['x']} has to be a matrix with a row at least, for which the host launches a block"
    for name, each in layouts.items():
        if each.shape != shape[-len(each.shape) :] or (each.numel and not each.is_contiguous):
            return f"{name}={each} has to be contiguous, as long as a row of x={layouts['x']}"
    return ""


def columns(layouts: Layouts, params: Params) -> int:
    return layouts["x"].shape[1]


def group_per_row(layouts: Layouts, params: Params, shape: Shape, threads: int | None) -> Grid:
    return Grid((shape[0], 1, 1), (1, 32, 1))


def block_per_row(layouts: Layouts, params: Params, shape: Shape, threads: int | None) -> Grid:
    return Grid((shape[0], 1, 1), (threads or (32 if shape[1] < 1024 else 1024), 1, 1))


def block_size(layouts: Layouts, params: Params, shape: Shape, grid: Grid) -> tuple[str, int]:
    return "i32", grid.threads


SPECIAL_ROWS = tuple(
    Named(title, f"x=1x9~points@{first}{{more}}")
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
    *extra: Named,
    per_element: int,
    weights: str = "",
    **more: Any,
) -> Op:
    """An op of the rows of a contiguous matrix, with weights as long as a row, and operations for each element."""
    inputs = ("x", *weights.split())
    rest = " eps=1e-05" if weights else ""
    tails = {n: "".join(f" {w}={n}~normal@0" for w in weights.split()) + rest for n in (1, 9, 1024, 1025, 8192)}
    special = tuple(Named(n.title, n.items.format(more=tails[9])) for n in SPECIAL_ROWS)
    return Op(
        f"reduce.{name}",
        kernel=kernel,
        types=FLOATS,
        args=args,
        inputs=dict.fromkeys(inputs, "T"),
        params={"eps": "f32"} if weights else {},
        scalars={"n_cols": integer(columns, "i32"), **({"block_size": block_size} if weights else {})},
        layouts=draw_rows,
        fits=rows,
        optional=inputs[1:],
        grid_stride=False,
        reference=function,
        data=("normal", "normal", "unit", "small", "near", "mixed", "special", "bits"),
        points=ROWS,
        named=(
            Named("special values", f"x=110x1~special@0{tails[1]}"),
            Named("1025 columns", f"x=2x1025~normal@0{tails[1025]}"),
            Named("1024 columns: a block may have several rows", f"x=17x1024~normal@0{tails[1024]}"),
            Named("8192 columns", f"x=1x8192~unit@0{tails[8192]}"),
            *special,
            *extra,
        ),
        operations=lambda layouts, params, shape: per_element * math.prod(shape),
        bench=(Named("rows of 1024", f"x=65536|4x1024~normal@0{tails[1024]}"),),
        **more,
    )


softmax = per_row(
    "softmax",
    "softmax_{T}",
    reference.softmax,
    "x out n_cols",
    Named("D14: exponents for which exp vanishes", "x=1x300~bits@0"),
    per_element=5,  # maximum, difference, exp, sum, quotient
    launch=group_per_row,
)
rmsnorm = per_row(
    "rmsnorm",
    "rmsnorm_{T}",
    reference.rms_norm,
    "x out alpha n_cols block_size eps",
    Named("squares overflow in f32", "x=2x40~special@60 alpha=40~unit@0 eps=1e-05"),
    Named("without weights", "x=3x65~normal@0 no-alpha eps=1e-06"),
    per_element=4,  # square, sum, and two products
    weights="alpha",
    launch=block_per_row,
    threads=(32, 64, 96, 256, 1024),
)
layernorm = per_row(
    "layernorm",
    "layernorm_{T}",
    reference.layer_norm,
    "x out alpha beta n_cols block_size eps",
    Named("a mean far larger than the deviations", "x=2x9~points@45 alpha=9~normal@0 beta=9~normal@0 eps=1e-05"),
    Named("without weights", "x=3x65~normal@0 no-alpha no-beta eps=1e-06"),
    per_element=7,  # sum, square, sum, difference, two products, sum
    weights="alpha beta",
    launch=block_per_row,
    threads=(32, 64, 96, 256, 1024),
)


# Rotary position embedding: x has four dims, its last is d; the tables have two, or three with one for the batch.


def draw_rope(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    shapes = ((1, 1, 1, 2), (1, 2, 3, 4), (2, 1, 3, 4), (2, 3, 2, 6), (3, 2, 5, 2), (1, 2, 7, 66), (2, 3, 5, 64))
    return draw_rope_of(draw, pick(draw, (*shapes, (2, 5, 4, 32), (1, 33, 31, 2), (2, 0, 3, 4))), time=2)


def draw_rope_thd(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    shapes = ((1, 1, 1, 2), (1, 3, 2, 4), (2, 3, 1, 4), (2, 2, 3, 6), (3, 5, 2, 2), (1, 7, 2, 66), (2, 5, 3, 64))
    return draw_rope_of(draw, pick(draw, (*shapes, (2, 4, 5, 32), (1, 31, 33, 2), (2, 3, 0, 4))), time=1)


def draw_rope_of(draw: Draw, shape: Shape, time: int) -> dict[str, Any]:
    angles = (shape[time], shape[3] // 2)
    table: Shape = pick(draw, (angles, (shape[0], *angles)))
    shapes = {"x": shape, "cos": table, "sin": table}
    return {name: contiguous(each, pick(draw, (0, 1, 3))) for name, each in shapes.items()}


def turnable(time: int) -> Callable[[Layouts, Params], str]:
    def fits(layouts: Layouts, params: Params) -> str:
        x, tables = layouts["x"].shape, {layouts[name].shape for name in ("cos", "sin")}
        if len(x) != 4 or not x[3] or x[3] % 2:
            return f"x={layouts['x']} has to have four dims, the last of even length"
        table = (x[time], x[3] // 2)
        if tables not in ({table}, {(x[0], *table)}):
            return f"cos and sin have to have the shape {table} or {(x[0], *table)}"
        strided = [name for name, each in layouts.items() if each.numel and not each.is_contiguous]
        return f"{strided[0]}={layouts[strided[0]]} has to be contiguous" if strided else ""

    return fits


def extent(*axes: int) -> Scalar:
    return lambda layouts, params, shape: ("u32", math.prod(shape[axis] for axis in axes))


def stride_b(layouts: Layouts, params: Params, shape: Shape) -> tuple[str, int]:
    return "u32", math.prod(shape[1:]) if len(layouts["cos"].shape) == 3 else 0


def rope(name: str, function: Callable[..., Expected], args: str, draw: Any, time: int, **scalars: Scalar) -> Op:
    """One thread per pair of elements."""
    shape = "2x3x5x8" if time == 2 else "2x5x3x8"
    large = "8|1x32|2x2048|16x128" if time == 2 else "8|1x2048|16x32|2x128"
    return Op(
        f"reduce.{name}",
        kernel=name + "_{T}",
        types=FLOATS,
        args=f"x cos sin out {args} stride_b",
        inputs={"x": "T", "cos": "T", "sin": "T"},
        scalars={**scalars, "stride_b": stride_b},
        layouts=draw,
        fits=turnable(time),
        launch=lambda layouts, params, shape, threads: elementwise(math.prod(shape) // 2, threads),
        reference=function,
        data=("normal", "unit", "small", "mixed", "special", "bits"),
        named=(
            Named("one table for all batches", f"x={shape}~normal@0 cos=5x4~unit@0 sin=5x4~unit@0"),
            Named("a table for every batch", f"x={shape}~normal@0 cos=2x5x4~unit@0 sin=2x5x4~unit@0"),
            Named("D10: products cancel", f"x={shape}~small@0 cos=2x5x4~near@0 sin=2x5x4~near@0"),
        ),
        points=(1.0, 0.70710678, 1 / 3, 0.1),
        operations=lambda layouts, params, shape: 3 * math.prod(shape),
        bench=(Named("heads of 128", f"x={large}~normal@0 cos=2048|16x64~unit@0 sin=2048|16x64~unit@0"),),
    )


rope_i = rope("rope_i", reference.rope_interleaved, "bh td", draw_rope, 2, bh=extent(0, 1), td=extent(2, 3))
rope_ = rope("rope", reference.rope, "bh td d", draw_rope, 2, bh=extent(0, 1), td=extent(2, 3), d=extent(3))
rope_thd = rope(
    "rope_thd", reference.rope_thd, "b t h d", draw_rope_thd, 1, b=extent(0), t=extent(1), h=extent(2), d=extent(3)
)
