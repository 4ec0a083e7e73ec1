"""quantized.cu: weights in blocks, converted to floats and multiplied by vectors of f32 or q8_1.

Each element of a tensor of blocks is a block. Rows of q8_1 activations are padded to a multiple of 512 columns, and
weights may have more rows than the product uses. Neither padding nor unused rows may affect the result.
"""

from dataclasses import dataclass
from typing import Any

from parity import reference
from parity.data.layouts import STRIDES, Draw, Strides, in_rows, pick
from parity.model.layout import Layout, contiguous
from parity.op import NamedCase, Op, Shape

PLAIN = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0")
"""Formats with 32 values per block; K formats have 256."""
K = ("q2_K", "q3_K", "q4_K", "q5_K", "q6_K")

DATA = ("small", "normal", "special", "bits", "patterns", "equal")
FLOATS = ("normal", "mixed", "special", "bits", "patterns", "equal", "small")
IDS = ("index", "ramp", "repeat")
LANES = 32
PADDED = 512 // LANES
"""Hosts pad rows of activations to a multiple of this number of q8_1 blocks."""
MAX_GRID_Y = 65535


def padded(blocks: int) -> int:
    """Return the number of blocks in a row of activations, including the padding."""
    return -(-blocks // PADDED) * PADDED


def padded_rows(draw: Draw, shape: Shape) -> Layout:
    """Draw a layout of rows of q8_1 blocks. The padding is part of the rows or lies between them."""
    return in_rows(shape, padded(shape[-1]), pick(draw, (0, 0, 1, 3)))


ACTIVATIONS = Strides(padded_rows, STRIDES["rows"].complaint)
LENGTHS = ("used", f"ceil(used/{PADDED})*{PADDED}")


# Conversion of blocks to floats.


def dequantize(name: str, formats: tuple[str, ...], values: int, per_block: int, threads: int, count: str = "") -> Op:
    """Declare a kernel whose thread blocks convert ``per_block`` values each, with an optional argument ``count``."""

    def items(count: int, data: str, offset: int = 0) -> str:
        return f"x={contiguous((count,), offset)}~{data}@0 out={contiguous((count * values,), offset)}"

    few, many = (1, 2, 3, 5, 7, 8, 9, 17, 33), (15, 16, 31, 65, 130)
    return Op(
        f"quantized.{name}",
        kernel="dequantize_block_{Q}_{T}",
        types=tuple(f"{q},{t}" for q in formats for t in ("f32", "f16")),
        args=f"x out {count}",
        inputs={"x": "Q"},
        writes=True,
        shapes=f"x: n; out: {values}*n",
        choices={"n": (*few, *many) if values == LANES else few},
        grid=f"ceil(numel/{per_block})",
        block=threads,
        grid_stride=False,
        reference=reference.dequantize,
        data=FLOATS,
        named=(
            NamedCase("every byte at every place", items(256, "patterns")),
            NamedCase("any bytes", items(100, "bits")),
            NamedCase("special scales", items(110, "special")),
            NamedCase("one block, not at the start", items(1, "normal", 1)),
            NamedCase("a block of threads with little to do", items(33, "normal", 3)),
        ),
        bench=(NamedCase("16 Mi values", f"x={2**24 // values}|{1024 // values}~normal@0 out={2**24}|1024"),),
    )


dequantize_32 = dequantize("dequantize", ("q4_0", "q4_1", "q8_0"), 32, 256, 32, "nb32:i32=n")
dequantize_q5 = dequantize("dequantize_q5", ("q5_0", "q5_1"), 32, 512, 256, "k:i32=numel")
dequantize_k = dequantize("dequantize_k", ("q2_K", "q3_K", "q5_K", "q6_K"), 256, 256, 64)
dequantize_k_by_32 = dequantize("dequantize_k_by_32", ("q4_K", "q8_K"), 256, 256, 32)


# Selection of rows of a table.


def get_rows(name: str, formats: tuple[str, ...], values: int, per_block: int, threads: int) -> Op:
    """Declare a selection of rows of a table of blocks, or of floats (one value each)."""
    lengths = {1: (1, 2, 3, 31, 33, 255, 256, 257, 1000), LANES: (1, 2, 3, 15, 16, 17, 33)}.get(values, (1, 2, 3, 5))

    def items(rows: int, length: int, ids: int, stream: str, data: str = "normal", offset: int = 0) -> str:
        table, out = contiguous((rows, length), offset), contiguous((ids, length * values), offset)
        return f"table={table}~{data}@0 ids={contiguous((ids,), offset)}~{stream}@0 out={out}"

    def bench(ids: int, few: int) -> NamedCase:
        """Return a case that selects rows of 4096 values from a table of 32,000 rows."""
        length, small = 4096 // values, max(1, 512 // values)
        out = f"{ids}|{few}x4096|{small * values}"
        return NamedCase(
            f"{ids} rows of 4096", f"table=32000|64x{length}|{small}~normal@0 ids={ids}|{few}~index@0 out={out}"
        )

    return Op(
        f"quantized.{name}",
        kernel="get_rows_{Q}",
        types=formats,
        args="table ids out row_length:i64=length row_bytes=blocks_of_row*table.itemsize",
        inputs={"table": "Q", "ids": "u32"},
        outputs={"out": "f32"},
        writes=True,
        shapes=f"table: rows blocks_of_row; ids: n; out: n length; length = {values}*blocks_of_row",
        where="rows > 0",
        choices={"rows": (1, 2, 3, 5, 7, 33), "blocks_of_row": lengths, "n": (1, 2, 3, 7, 33)},
        indices={"ids": "rows"},
        grid=f"n, min({MAX_GRID_Y}, ceil(length/{per_block}))",
        block=threads,
        grid_stride=False,
        reference=reference.get_rows,
        data={"table": FLOATS, "ids": IDS},
        named=(
            NamedCase("every row in turn", items(7, 3, 20, "ramp")),
            NamedCase("the last row, over and over", items(5, 2, 9, "repeat")),
            NamedCase("every bit pattern", items(64, 4, 64, "ramp", "patterns")),
            NamedCase("special values", items(11, 10, 33, "index", "special")),
            NamedCase("one row of one, not at the start", items(1, 1, 1, "ramp", offset=1)),
            NamedCase("rows of several blocks of threads", items(3, max(5, 1100 // values), 5, "index")),
            NamedCase("more rows than 16 bits number", items(65540, 1, 9, "repeat")),
        ),
        bench=(bench(4096, 16), bench(512, 2)),
        elements={"table": "n*blocks_of_row"},
    )


get_rows_of_floats = get_rows("get_rows_of_floats", ("f32", "f16", "bf16"), 1, 256, 256)
get_rows_32 = get_rows("get_rows", PLAIN, 32, 512, 256)
get_rows_k = get_rows("get_rows_k", ("q2_K", "q3_K", "q5_K", "q6_K"), 256, 256, 64)
get_rows_k_by_32 = get_rows("get_rows_k_by_32", ("q4_K",), 256, 256, 32)


# Products.

COLUMNS = (32, 64, 96, 256, 288, 512, 768, 1024, 1536)
EDGES = (31, 32, 33, 63, 64, 65, 127, 128, 129)


def sizes(values: int, *options: tuple[Any, Any, Any], least: int = 1) -> tuple[dict[str, Any], ...]:
    """Return choices for rows of weights, blocks per row (from columns that ``values`` divides), and vectors."""
    return tuple(
        {"rows": rows, "k": tuple(n // values for n in columns if n % max(values, least) == 0), "vectors": vectors}
        for rows, columns, vectors in options
    )


def few_and_many_rows(*vectors: int) -> tuple[tuple[Any, Any, Any], ...]:
    return ((1, 2, 3, 5), COLUMNS, vectors), (EDGES, (32, 64, 96, 256), vectors)


@dataclass(frozen=True)
class Products:
    """Products of weights w (rows or more, blocks) with y (vectors, q8_1 blocks), stored in out (vectors, rows).

    A block of weights has ``values`` values. ``vectors`` is not 0 if the kernel supports only this number of vectors.
    """

    values: int
    sizes: tuple[dict[str, Any], ...]
    vectors: int = 0

    def of_activations(self, blocks: int) -> int:
        """Return the number of q8_1 blocks that match this number of blocks of weights."""
        return blocks * self.values // LANES

    def case(
        self, title: str, rows: int, columns: int, vectors: int = 2, w: str = "small", y: str = "small", **more: int
    ) -> NamedCase:
        """Return a named case with these data streams.

        Options: ``more`` unused rows of weights, an ``offset`` of all tensors, a ``gap`` between the rows of out, and
        ``padding``, which makes the padding of y part of its shape.
        """
        offset, blocks, vectors = more.get("offset", 0), columns // self.values, self.vectors or vectors
        used = self.of_activations(blocks)
        weights = contiguous((rows + more.get("more", 0), blocks), offset)
        inputs = Layout((vectors, padded(used) if more.get("padding") else used), (padded(used), 1), offset)
        out = Layout((vectors, rows), (rows + more.get("gap", 0), 1), offset)
        return NamedCase(title, f"w={weights}~{w}@0 y={inputs}~{y}@7 out={out}")

    @property
    def named(self) -> tuple[NamedCase, ...]:
        # 288 columns in blocks of 32 values: every possible step size runs past the last column.
        unfinished = 256 + self.values % 256
        return (
            self.case("integers show every term", 33, 512),
            self.case("more columns than all threads take at a time", 3, 4352),
            self.case("one block only", 1, self.values),
            self.case("columns that are not a multiple of 512", 5, 1280 if self.values == 256 else 544),
            self.case("an odd number of rows: nothing is stored past the last one", 5, 256, 3),
            self.case("weights beyond the last row do not matter", 33, unfinished, w="bits", more=3),
            self.case("padding of the activations does not matter", 3, unfinished, 33, y="bits", padding=1),
            self.case("every byte at every place of the weights", 32, 8 * self.values, w="patterns"),
            self.case("every byte at every place of the activations", 3, 2048, 4, y="patterns"),
            self.case("one byte at all places: the largest sums", 64, 8 * self.values, w="equal", y="equal"),
            self.case("special scales", 37, 768, w="special", y="special"),
            self.case("special scales of the weights", 110, 256, w="special"),
            self.case("special scales of the activations", 3, 256, 33, y="special"),
            self.case("any scales", 31, 256, w="bits", y="bits"),
            self.case("scales and quants of real models", 9, 1536, w="normal", y="normal"),
            self.case("pointers that are aligned to a block's fields only", 3, 256, offset=1, gap=3),
        )

    def bench(self, *vectors: int) -> tuple[NamedCase, ...]:
        """Return cases to measure: 4096 rows with lengths that models use."""
        found = []
        for count in vectors:
            for columns, small in ((4096, 512), (11008, 768)):
                blocks, few = columns // self.values, small // self.values
                used, short = self.of_activations(blocks), self.of_activations(few)
                n = f"{count}|{self.vectors or min(count, 2)}"
                y = f"y={n}x{used}|{short}:{padded(used)}|{padded(short)},1~normal@7"
                title = f"4096 x {columns}, {count} vector{'s' * (count > 1)}"
                found.append(NamedCase(title, f"w=4096|8x{blocks}|{few}~normal@0 {y} out={n}x4096|8"))
        return tuple(found)

    def op(self, name: str, kernel: str, formats: tuple[str, ...], args: str, **more: Any) -> Op:
        blocks = f"columns = k*{self.values}; used = columns//{LANES}"
        only = f" and vectors == {self.vectors}" * bool(self.vectors)
        return Op(
            f"quantized.{name}",
            kernel=kernel,
            types=formats,
            args=args,
            inputs={"w": "Q", "y": "q8_1"},
            outputs={"out": "f32"},
            writes=True,
            shapes=f"w: w_rows k; y: vectors k_y; out: vectors rows; {blocks}",
            where="columns > 0 and rows <= w_rows and used <= k_y" + only,
            strides={"y": ACTIVATIONS, "out": "rows"},
            choices=tuple(
                {
                    **each,
                    "w_rows": ("rows", "rows", "rows+1", "rows+3"),
                    "k_y": ("used", f"ceil(used/{PADDED})*{PADDED}"),
                }
                for each in self.sizes
            ),
            grid_stride=False,
            data=DATA,
            operations="2*numel*columns",
            elements={"w": "rows*k", "y": "vectors*used"},
            **more,
        )


DISTANCES = f"nrows_y:i32=y.strides[0]*{LANES} nrows_dst:i32=out.strides[0]"


def mul_mat_vec(vectors: int, formats: tuple[str, ...], values: int) -> Op:
    """Declare the kernel for one number of vectors. A thread block has one row, or two rows for several vectors."""
    products = Products(values, sizes(values, *few_and_many_rows(vectors)), vectors)
    return products.op(
        f"mul_mat_vec_{'k_' * (formats is K)}{vectors}",
        f"mul_mat_vec_{{Q}}_q8_1_cuda{vectors}",
        formats,
        f"w y out ncols_x:i32=columns nrows_x:i32=rows {DISTANCES}",
        grid="rows" if vectors == 1 else "ceil(rows/2)",
        block=f"{LANES}, {4 if vectors <= 4 else 2}",
        reference=reference.matvec_q8_1,
        named=products.named,
        bench=products.bench(vectors),
    )


def mul_mat(name: str, formats: tuple[str, ...], values: int, columns: int, rows: int) -> Op:
    """Declare a kernel that computes tiles of ``rows`` rows of weights and ``columns`` vectors."""
    options = (
        *few_and_many_rows(1, 2, 3, 9),
        ((1, 2, 3, 33), (32, 64, 96, 256), EDGES),
        ((63, 64, 65), (32, 64, 256), (31, 33, 63, 64, 65)),
        ((rows - 1, rows, rows + 1), (32, 64, 256), (1, 2)),
        ((1, 2), (32, 96, 256, 512), (columns - 1, columns, columns + 1)),
    )
    products = Products(values, sizes(values, *options))
    return products.op(
        name,
        "mul_mat_{Q}",
        formats,
        f"w y out ncols_x:i32=columns nrows_x:i32=rows ncols_y:i32=vectors {DISTANCES}",
        grid=f"ceil(rows/{rows}), ceil(vectors/{columns})",
        block=f"{LANES}, 4",
        reference=reference.matmul_q8_1,
        named=(
            *products.named,
            products.case("one more than a tile, both ways", rows + 1, values, columns + 1, offset=1),
            products.case("one less than a tile, both ways", rows - 1, values, columns - 1, gap=1),
            products.case("more vectors than a tile has", 2, 512, columns + 2, w="normal", y="normal"),
            # Each of these numbers ends in a different part of a tile, with separate code.
            *(
                products.case(f"{vectors} vectors, which do not fill a tile", 63, values, vectors, w="normal")
                for vectors in (17, 29, 41, 55, *((76, 109) if columns == 128 else ()))
            ),
        ),
        bench=products.bench(1, 32),
    )


(
    mul_mat_vec_1,
    mul_mat_vec_2,
    mul_mat_vec_3,
    mul_mat_vec_4,
    mul_mat_vec_5,
    mul_mat_vec_6,
    mul_mat_vec_7,
    mul_mat_vec_8,
) = (mul_mat_vec(vectors, PLAIN, 32) for vectors in range(1, 9))
(
    mul_mat_vec_k_1,
    mul_mat_vec_k_2,
    mul_mat_vec_k_3,
    mul_mat_vec_k_4,
    mul_mat_vec_k_5,
    mul_mat_vec_k_6,
    mul_mat_vec_k_7,
    mul_mat_vec_k_8,
) = (mul_mat_vec(vectors, K, 256) for vectors in range(1, 9))
mul_mat_q4 = mul_mat("mul_mat_q4", ("q4_0", "q4_1"), 32, columns=64, rows=128)
mul_mat_q5_q8 = mul_mat("mul_mat_q5_q8", ("q5_0", "q5_1", "q8_0"), 32, columns=128, rows=64)
mul_mat_k = mul_mat("mul_mat_k", ("q2_K", "q4_K", "q5_K"), 256, columns=64, rows=128)
mul_mat_q3_k = mul_mat("mul_mat_q3_k", ("q3_K",), 256, columns=128, rows=128)
mul_mat_q6_k = mul_mat("mul_mat_q6_k", ("q6_K",), 256, columns=64, rows=64)


def mul_vec(name: str, kernel: str, formats: tuple[str, ...], values: int, args: str = "nrows:i32=rows") -> Op:
    """Declare a product of weights w (rows or more, blocks) with one f32 vector y. A group of lanes has a row."""

    def items(rows: int, columns: int, w: str, y: str, more: int = 0, offset: str = "") -> str:
        tensors = f"w={rows + more}x{columns // values}{offset}~{w}@0 y={columns}{offset}~{y}@0"
        return f"{tensors} out={rows}{offset}"

    return Op(
        f"quantized.{name}",
        kernel=kernel,
        types=formats,
        spelling={q: q.lower() for q in formats},
        args=f"w y out ncols:i32=columns {args}",
        inputs={"w": "Q", "y": "f32"},
        outputs={"out": "f32"},
        writes=True,
        shapes=f"w: w_rows k; y: columns; out: rows; columns = {values}*k",
        where="rows <= w_rows and columns > 0 and columns % 64 == 0",
        choices=tuple(
            {"rows": each["rows"], "k": each["k"], "w_rows": ("rows", "rows", "rows+1", "rows+3")}
            for each in sizes(values, *few_and_many_rows(1), least=64)
        ),
        grid="rows",
        block=LANES,
        grid_stride=False,
        reference=reference.matvec,
        data=(*DATA, "mixed", "unit"),
        named=tuple(
            NamedCase(title, items(*options))
            for title, *options in (
                ("integers show every term", 33, 512, "small", "small"),
                ("the least number of columns", 1, max(64, values), "small", "small"),
                ("columns that are not a multiple of 512", 5, 1280, "small", "small"),
                ("weights beyond the last row do not matter", 3, 256, "bits", "small", 3),
                ("every byte at every place of the weights", 32, 8 * values, "patterns", "small"),
                ("special scales", 110, 256, "special", "small"),
                ("special activations", 3, 256, "small", "special"),
                ("scales and quants of real models", 9, 1536, "normal", "normal"),
                ("activations so small that products are subnormal", 3, 256, "normal", "patterns"),
                ("pointers that are aligned to one element only", 3, 256, "small", "small", 0, "+1"),
            )
        ),
        bench=tuple(
            NamedCase(
                f"4096 x {columns}",
                f"w=4096|8x{columns // values}|{512 // values}~normal@0 y={columns}|512~normal@0 out=4096|8",
            )
            for columns in (4096, 11008)
        ),
        operations="2*numel*columns",
        elements={"w": "rows*k"},
    )


mul_vec_32 = mul_vec("mul_vec", "dequantize_mul_mat_vec_{Q}_cuda", PLAIN, 32)
mul_vec_k = mul_vec("mul_vec_k", "dequantize_mul_mat_vec_{Q}", ("q2_K", "q3_K", "q4_K", "q6_K"), 256)
mul_vec_q5_k = mul_vec("mul_vec_q5_k", "dequantize_mul_mat_vec_{Q}", ("q5_K",), 256, "")


# Quantization of activations to q8_1.


TIES = (127.0, 2.5, -3.5, 0.5, -0.5, 1.5, 126.5, -126.5, 63.5, -64.5, 0.0, -0.0, 2.4999998, 1.0, 31.5, 30.5)
"""Two copies form a block whose ``d`` is 1."""

POINTS = (*TIES, *TIES, 127.06201934814453, *TIES[1:], *TIES)
"""In the second block, ``d`` is a tie in f16. It is above the tie if 1 / 127 is rounded before the product."""

quantize_q8_1 = Op(
    "quantized.quantize_q8_1",
    kernel="quantize_q8_1",
    types=("f32",),
    args="x out kx:i32=columns kx_padded:i32=columns_padded",
    inputs={"x": "T"},
    outputs={"out": "q8_1"},
    shapes=f"x: rows columns; out: rows columns_padded//{LANES}; columns_padded = ceil(columns/512)*512",
    choices={
        "rows": (1, 2, 3, 5),
        "columns": (1, 2, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 511, 512, 513, 1000, 1024, 1025),
    },
    grid="ceil(columns_padded/256), rows",
    block=256,
    grid_stride=False,
    reference=reference.quantize_q8_1,
    points=POINTS,
    data=("normal", "small", "unit", "points", "near", "mixed", "special", "bits", "patterns"),
    named=(
        NamedCase("halves away from zero, and quotients rather than products", "x=2x64~points@0"),
        NamedCase("near the halves", "x=3x512~near@0"),
        NamedCase("blocks of zeros beyond the columns", "x=3x33~normal@0"),
        NamedCase("one column", "x=5x1+1~normal@0"),
        NamedCase("special values", "x=1x110~special@0"),
        NamedCase("values so small that a block has no scale", "x=1x1024~patterns@0"),
        NamedCase("any floats", "x=4x1000~bits@0"),
        NamedCase("rows of several blocks of threads", "x=2x1025~normal@0"),
    ),
    operations="4 * x.numel",  # maximum, quotient, rounding, sum
    bench=(
        NamedCase("512 rows of 4096", "x=512|2x4096|512~normal@0"),
        NamedCase("4096 rows of 4096", "x=4096|4x4096|512~normal@0"),
    ),
)


# Products with the weights of experts that ids select.


def indexed_moe_forward(name: str, formats: tuple[str, ...], values: int) -> Op:
    """Declare products of weights w (experts, n, blocks) with y (batch, 1 or topk, blocks), for ids (batch, topk)."""

    def case(title: str, w: str, inputs: str, ids: str, data: str = "small", columns: int = 512) -> NamedCase:
        """Return a named case. ``w`` and ``inputs`` omit the last dim, which has ``columns`` columns."""
        padding = padded(columns // LANES)
        return NamedCase(title, f"w={w}x{columns // values}~{data}@0 y={inputs}x{padding}~{data}@7 ids={ids}")

    few = {"experts": (1, 2, 3, 5), "batch": (1, 2, 3), "topk": (1, 2, 4), "inputs": (1, "topk")}
    return Op(
        f"quantized.{name}",
        kernel="indexed_moe_forward_{Q}_q8_1",
        types=formats,
        spelling={q: q.replace("_K", "k") for q in formats},
        args="w y ids out n:i32=rows columns:i32 batch:i32 topk:i32"
        f" k_padded:i32=y.strides[1]*{LANES} input_dim1:i32=inputs",
        inputs={"w": "Q", "y": "q8_1", "ids": "u32"},
        outputs={"out": "f32"},
        shapes=f"w: experts rows k; y: batch inputs k_y; ids: batch topk; out: batch topk rows; columns = k*{values}; "
        f"used = columns//{LANES}",
        where="experts > 0 and columns > 0 and inputs in (1, topk) and used <= k_y",
        strides={"y": ACTIVATIONS},
        choices=tuple(
            {"rows": each["rows"], "k": each["k"], **few, "k_y": LENGTHS}
            for each in sizes(values, *few_and_many_rows(1))
        ),
        indices={"ids": "experts"},
        grid="rows, batch, topk",
        block=f"{LANES}, 4",
        grid_stride=False,
        reference=reference.moe_q8_1,
        data={"w": DATA, "y": DATA, "ids": IDS},
        named=(
            case("the second expert has different weights", "2x3", "1x1", "1x1~ramp@1"),
            case("every expert in turn", "4x5", "2x1", "2x4~ramp@0"),
            case("an input for each expert", "3x2", "2x2", "2x2~index@0"),
            case("one expert for all", "1x3", "3x1", "3x2~ramp@0"),
            case("more experts than 8 bits number", "300x2", "2x1", "2x3~repeat@0"),
            case("more columns than all threads take at a time", "2x3", "1x1", "1x2~ramp@0", columns=4352),
            case("scales and quants of real models", "3x31", "2x1", "2x2~index@0", "normal"),
            case("special scales", "5x7", "2x2", "2x2~ramp@1", "special"),
            case("every byte at every place", "8x16", "1x4", "1x4~ramp@1", "patterns"),
        ),
        operations="2*numel*columns",
        elements={"w": "numel*k"},
        bench=(
            NamedCase(
                "8 of 64 experts",
                f"w=64|4x1408|8x{2048 // values}|{512 // values}~normal@0 y=1x1x64|16~normal@7 ids=1x8|2~index@0",
            ),
        ),
    )


moe_k = indexed_moe_forward("indexed_moe_forward_k", K, 256)
moe_q8_0 = indexed_moe_forward("indexed_moe_forward", ("q8_0",), 32)
