"""quantized.cu: weights in blocks, as floats and in products with vectors of f32 or of q8_1.

An element of a tensor of blocks is a block. Activations of q8_1 lie in rows that are padded to a multiple of 512
columns; weights may have more rows than are multiplied. Neither padding nor further rows may matter.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parity import reference
from parity.dtypes import DType
from parity.generate import Draw, pick
from parity.launch import Grid
from parity.layout import Layout, contiguous
from parity.op import Layouts, Named, Op, Params, Shape

Scalar = Callable[..., tuple[str, int]]
Launcher = Callable[[Layouts, Params, Shape, int | None], Grid]

PLAIN = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0")
"""Formats of 32 values per block; those of 256 are called K."""
K = ("q2_K", "q3_K", "q4_K", "q5_K", "q6_K")

DATA = ("small", "normal", "special", "bits", "patterns", "equal")
IDS = ("index", "ramp", "repeat")
OFFSETS = (0, 0, 1, 3)
LANES = 32
PADDED = 512 // LANES
"""Rows of activations are as long as a multiple of this, in blocks of q8_1."""
MAX_GRID_Y = 65535


def groups(count: int, size: int) -> int:
    """Groups of a size for all of ``count``."""
    return -(-count // size)


def padded(blocks: int) -> int:
    """Blocks of a row of activations with its padding."""
    return groups(blocks, PADDED) * PADDED


def activations(draw: Draw, leading: Shape, blocks: int) -> Layout:
    """Rows of blocks of q8_1, whose padding lies between the rows or belongs to them."""
    shape = (*leading, pick(draw, (blocks, padded(blocks))))
    return Layout(shape, contiguous((*leading, padded(blocks))).strides, pick(draw, OFFSETS))


def ranks(layouts: Layouts, **ranks: int) -> str:
    """What has another rank, or is empty."""
    for name, rank in ranks.items():
        each = layouts[name]
        if len(each.shape) != rank or not each.numel:
            return f"{name}={each} has to have {rank} dims and an element at least, for which the host launches a block"
    return ""


def dense(layouts: Layouts, *names: str) -> str:
    """What is not contiguous."""
    return next((f"{n}={layouts[n]} has to be contiguous" for n in names if not layouts[n].is_contiguous), "")


def in_rows(layouts: Layouts, *names: str) -> str:
    """What does not consist of contiguous rows at one distance."""
    for name in names:
        shape, strides = layouts[name].shape, layouts[name].strides
        if strides != contiguous((*shape[:-1], strides[-2])).strides or strides[-2] < shape[-1]:
            return f"{name}={layouts[name]} has to consist of contiguous rows at one distance, which do not overlap"
    return ""


def other_shape(layouts: Layouts, shape: Shape) -> str:
    """What is wrong with an output that has to be of that shape."""
    return "" if layouts["out"].shape == shape else f"out={layouts['out']} has to have shape {shape}"


def too_short(layouts: Layouts, blocks: int) -> str:
    """What is wrong with the length of activations that have to have as many blocks."""
    y = layouts["y"]
    return "" if y.shape[-1] >= blocks else f"y={y} has fewer blocks per row than the {blocks} that a row of w needs"


def extent(name: str, axis: int, times: int = 1) -> Scalar:
    """An argument that is an extent of a tensor."""
    return lambda layouts, params, shape: ("i32", layouts[name].shape[axis] * times)


def distance(name: str, times: int = 1) -> Scalar:
    """An argument that is the distance of the rows of a tensor."""
    return lambda layouts, params, shape: ("i32", layouts[name].strides[-2] * times)


# Blocks to floats.


@dataclass(frozen=True)
class Dequantized:
    """A row of blocks, each of as many values."""

    values: int

    def draw(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        few, many = (1, 2, 3, 5, 7, 8, 9, 17, 33), (15, 16, 31, 65, 130)
        count = pick(draw, (*few, *many) if self.values == LANES else few)
        return {
            "x": contiguous((count,), pick(draw, OFFSETS)),
            "out": contiguous((count * self.values,), pick(draw, OFFSETS)),
        }

    def fits(self, layouts: Layouts, params: Params) -> str:
        complaint = ranks(layouts, x=1, out=1) or dense(layouts, "x", "out")
        return complaint or other_shape(layouts, (layouts["x"].shape[0] * self.values,))

    def items(self, count: int, data: str, offset: int = 0) -> str:
        return f"x={contiguous((count,), offset)}~{data}@0 out={contiguous((count * self.values,), offset)}"


def dequantize(
    name: str, formats: tuple[str, ...], values: int, per_block: int, threads: int, count: str = "", unit: int = 1
) -> Op:
    """A kernel whose blocks of threads have ``per_block`` values each, and which may be told a count of ``unit``s."""
    rows = Dequantized(values)
    return Op(
        f"quantized.{name}",
        kernel="dequantize_block_{Q}_{T}",
        types=tuple(f"{q},{t}" for q in formats for t in ("f32", "f16")),
        args=f"x out {count}",
        inputs={"x": "Q"},
        writes=True,
        scalars={count: lambda layouts, params, shape: ("i32", shape[0] // unit)} if count else {},
        layouts=rows.draw,
        fits=rows.fits,
        launch=lambda layouts, params, shape, _: Grid((groups(shape[0], per_block), 1, 1), (threads, 1, 1)),
        grid_stride=False,
        reference=reference.dequantize,
        data=("normal", "mixed", "special", "bits", "patterns", "equal", "small"),
        named=(
            Named("every byte at every place", rows.items(256, "patterns")),
            Named("any bytes", rows.items(100, "bits")),
            Named("special scales", rows.items(110, "special")),
            Named("one block, not at the start", rows.items(1, "normal", 1)),
            Named("a block of threads with little to do", rows.items(33, "normal", 3)),
        ),
        bench=(Named("16 Mi values", f"x={2**24 // values}|{1024 // values}~normal@0 out={2**24}|1024"),),
    )


dequantize_32 = dequantize("dequantize", ("q4_0", "q4_1", "q8_0"), 32, 256, 32, "nb32", LANES)
dequantize_q5 = dequantize("dequantize_q5", ("q5_0", "q5_1"), 32, 512, 256, "k")
dequantize_k = dequantize("dequantize_k", ("q2_K", "q3_K", "q5_K", "q6_K"), 256, 256, 64)
dequantize_k_by_32 = dequantize("dequantize_k_by_32", ("q4_K", "q8_K"), 256, 256, 32)


# Rows of a table.


@dataclass(frozen=True)
class Table:
    """A table of blocks, or of floats, which have one value each; and ids of its rows."""

    values: int

    def draw(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        lengths = {
            1: (1, 2, 3, 31, 33, 255, 256, 257, 1000),
            LANES: (1, 2, 3, 15, 16, 17, 33),
        }.get(self.values, (1, 2, 3, 5))
        rows, length, ids = pick(draw, (1, 2, 3, 5, 7, 33)), pick(draw, lengths), pick(draw, (1, 2, 3, 7, 33))
        shapes = {"table": (rows, length), "ids": (ids,), "out": (ids, length * self.values)}
        return {name: contiguous(shape, pick(draw, OFFSETS)) for name, shape in shapes.items()}

    def fits(self, layouts: Layouts, params: Params) -> str:
        complaint = ranks(layouts, table=2, ids=1, out=2) or dense(layouts, "table", "ids", "out")
        return complaint or other_shape(layouts, (*layouts["ids"].shape, layouts["table"].shape[1] * self.values))

    def items(self, rows: int, length: int, ids: int, stream: str, data: str = "normal", offset: int = 0) -> str:
        table, out = contiguous((rows, length), offset), contiguous((ids, length * self.values), offset)
        return f"table={table}~{data}@0 ids={contiguous((ids,), offset)}~{stream}@0 out={out}"

    def bench(self, ids: int, few: int) -> Named:
        """Rows of 4096 values, of a table of 32000."""
        length, small = 4096 // self.values, max(1, 512 // self.values)
        out = f"{ids}|{few}x4096|{small * self.values}"
        items = f"table=32000|64x{length}|{small}~normal@0 ids={ids}|{few}~index@0 out={out}"
        return Named(f"{ids} rows of 4096", items)


def row_bytes(layouts: Layouts, params: Params, shape: Shape, types: Mapping[str, DType]) -> tuple[str, int]:
    return "u64", layouts["table"].shape[1] * types["Q"].itemsize


def get_rows(name: str, formats: tuple[str, ...], values: int, per_block: int, threads: int) -> Op:
    """A kernel whose blocks of threads have ``per_block`` values each of a row."""
    table = Table(values)

    def launch(layouts: Layouts, params: Params, shape: Shape, _: int | None) -> Grid:
        return Grid((shape[0], min(MAX_GRID_Y, groups(shape[1], per_block)), 1), (threads, 1, 1))

    return Op(
        f"quantized.{name}",
        kernel="get_rows_{Q}",
        types=formats,
        args="table ids out row_length row_bytes",
        inputs={"table": "Q", "ids": "u32"},
        output="f32",
        writes=True,
        scalars={"row_length": lambda layouts, params, shape: ("i64", shape[1]), "row_bytes": row_bytes},
        indices={"ids": lambda layouts, params: layouts["table"].shape[0]},
        index_data=IDS,
        layouts=table.draw,
        fits=table.fits,
        launch=launch,
        grid_stride=False,
        reference=reference.get_rows,
        data=("normal", "mixed", "special", "bits", "patterns", "equal", "small"),
        named=(
            Named("every row in turn", table.items(7, 3, 20, "ramp")),
            Named("the last row, over and over", table.items(5, 2, 9, "repeat")),
            Named("every bit pattern", table.items(64, 4, 64, "ramp", "patterns")),
            Named("special values", table.items(11, 10, 33, "index", "special")),
            Named("one row of one, not at the start", table.items(1, 1, 1, "ramp", offset=1)),
            Named("rows of several blocks of threads", table.items(3, max(5, 1100 // values), 5, "index")),
            Named("more rows than 16 bits number", table.items(65540, 1, 9, "repeat")),
        ),
        bench=(table.bench(4096, 16), table.bench(512, 2)),
        elements=lambda layouts, params, shape: {"table": shape[0] * layouts["table"].shape[1]},
    )


get_rows_of_floats = get_rows("get_rows_of_floats", ("f32", "f16", "bf16"), 1, 256, 256)
get_rows_32 = get_rows("get_rows", PLAIN, 32, 512, 256)
get_rows_k = get_rows("get_rows_k", ("q2_K", "q3_K", "q5_K", "q6_K"), 256, 256, 64)
get_rows_k_by_32 = get_rows("get_rows_k_by_32", ("q4_K",), 256, 256, 32)


# Products.

COLUMNS = (32, 64, 96, 256, 288, 512, 768, 1024, 1536)
EDGES = (31, 32, 33, 63, 64, 65, 127, 128, 129)


@dataclass(frozen=True)
class Sizes:
    """Options to draw from: rows of weights, their columns, and vectors."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    vectors: tuple[int, ...]

    def pick(self, draw: Draw, values: int) -> tuple[int, int, int]:
        """Rows, blocks of weights of so many values, and vectors."""
        columns = tuple(n for n in self.columns if n % values == 0)
        return pick(draw, self.rows), pick(draw, columns) // values, pick(draw, self.vectors)


def few_and_many_rows(*vectors: int) -> tuple[Sizes, ...]:
    return Sizes((1, 2, 3, 5), COLUMNS, vectors), Sizes(EDGES, (32, 64, 96, 256), vectors)


@dataclass(frozen=True)
class Products:
    """Weights w (rows or more, blocks) of ``values`` values times y (vectors, blocks of q8_1): out (vectors, rows).

    ``vectors`` is their number where a kernel is for one number only, else 0.
    """

    values: int
    sizes: tuple[Sizes, ...]
    vectors: int = 0

    def draw(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        rows, blocks, vectors = pick(draw, self.sizes).pick(draw, self.values)
        return {
            "w": contiguous((rows + pick(draw, (0, 0, 1, 3)), blocks), pick(draw, OFFSETS)),
            "y": activations(draw, (vectors,), self.of_activations(blocks)),
            "out": Layout((vectors, rows), (rows + pick(draw, (0, 0, 1, 7)), 1), pick(draw, OFFSETS)),
        }

    def of_activations(self, blocks: int) -> int:
        """Blocks of q8_1 for as many blocks of weights."""
        return blocks * self.values // LANES

    def fits(self, layouts: Layouts, params: Params) -> str:
        complaint = ranks(layouts, w=2, y=2, out=2) or dense(layouts, "w") or in_rows(layouts, "y", "out")
        if complaint:
            return complaint
        w, y, out = (layouts[name].shape for name in ("w", "y", "out"))
        if self.vectors and out[0] != self.vectors:
            return f"out={layouts['out']} has {out[0]} rows; the kernel is for {self.vectors}"
        if y[0] != out[0] or w[0] < out[1]:
            return f"out={layouts['out']} has to have a row for each of y, and no more columns than w has rows"
        return too_short(layouts, self.of_activations(w[1]))

    def operations(self, layouts: Layouts, params: Params, shape: Shape) -> int:
        return 2 * math.prod(shape) * layouts["w"].shape[1] * self.values

    def elements(self, layouts: Layouts, params: Params, shape: Shape) -> dict[str, int]:
        blocks = layouts["w"].shape[1]
        return {"w": shape[1] * blocks, "y": shape[0] * self.of_activations(blocks)}

    def case(
        self, title: str, rows: int, columns: int, vectors: int = 2, w: str = "small", y: str = "small", **more: int
    ) -> Named:
        """A named case with these streams; with ``more`` rows of weights, ``padding``, an ``offset``, a ``gap`` in out.

        The padding of y belongs to its shape if ``padding`` is set.
        """
        offset, blocks, vectors = more.get("offset", 0), columns // self.values, self.vectors or vectors
        used = self.of_activations(blocks)
        weights = contiguous((rows + more.get("more", 0), blocks), offset)
        inputs = Layout((vectors, padded(used) if more.get("padding") else used), (padded(used), 1), offset)
        out = Layout((vectors, rows), (rows + more.get("gap", 0), 1), offset)
        return Named(title, f"w={weights}~{w}@0 y={inputs}~{y}@7 out={out}")

    @property
    def named(self) -> tuple[Named, ...]:
        # With 288 columns of blocks of 32 values, a step through the columns ends beyond them whatever its length.
        unfinished = 256 + self.values % 256
        return (
            self.case("integers show every term", 33, 512),
            self.case("more columns than all threads take at a time", 3, 4352),
            self.case("one block only", 1, self.values),
            self.case("columns that are no multiple of 512", 5, 1280 if self.values == 256 else 544),
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

    def bench(self, *vectors: int) -> tuple[Named, ...]:
        """Products of as many vectors with 4096 rows, which are as long as those of models."""
        found = []
        for count in vectors:
            for columns, small in ((4096, 512), (11008, 768)):
                blocks, few = columns // self.values, small // self.values
                used, short = self.of_activations(blocks), self.of_activations(few)
                n = f"{count}|{self.vectors or min(count, 2)}"
                y = f"y={n}x{used}|{short}:{padded(used)}|{padded(short)},1~normal@7"
                title = f"4096 x {columns}, {count} vector{'s' * (count > 1)}"
                found.append(Named(title, f"w=4096|8x{blocks}|{few}~normal@0 {y} out={n}x4096|8"))
        return tuple(found)

    def op(self, name: str, kernel: str, formats: tuple[str, ...], args: str, **more: Any) -> Op:
        return Op(
            f"quantized.{name}",
            kernel=kernel,
            types=formats,
            args=args,
            inputs={"w": "Q", "y": "q8_1"},
            output="f32",
            writes=True,
            scalars={
                "ncols_x": extent("w", 1, self.values),
                "nrows_x": extent("out", 1),
                "ncols_y": extent("out", 0),
                "nrows_y": distance("y", LANES),
                "nrows_dst": distance("out"),
            },
            layouts=self.draw,
            fits=self.fits,
            grid_stride=False,
            data=DATA,
            operations=self.operations,
            elements=self.elements,
            **more,
        )


def mul_mat_vec(vectors: int, formats: tuple[str, ...], values: int) -> Op:
    """For one number of vectors; a block of threads has a row, or two rows of weights if there are several vectors."""
    rows, groups_of_lanes = 1 if vectors == 1 else 2, 4 if vectors <= 4 else 2
    products = Products(values, few_and_many_rows(vectors), vectors)

    def launch(layouts: Layouts, params: Params, shape: Shape, _: int | None) -> Grid:
        return Grid((groups(shape[1], rows), 1, 1), (LANES, groups_of_lanes, 1))

    return products.op(
        f"mul_mat_vec_{'k_' * (formats is K)}{vectors}",
        f"mul_mat_vec_{{Q}}_q8_1_cuda{vectors}",
        formats,
        "w y out ncols_x nrows_x nrows_y nrows_dst",
        launch=launch,
        reference=reference.matvec_q8_1,
        named=products.named,
        bench=products.bench(vectors),
    )


def mul_mat(name: str, formats: tuple[str, ...], values: int, columns: int, rows: int) -> Op:
    """Tiles of ``rows`` rows of weights and ``columns`` vectors."""
    products = Products(
        values,
        (
            *few_and_many_rows(1, 2, 3, 9),
            Sizes((1, 2, 3, 33), (32, 64, 96, 256), EDGES),
            Sizes((63, 64, 65), (32, 64, 256), (31, 33, 63, 64, 65)),
            Sizes((rows - 1, rows, rows + 1), (32, 64, 256), (1, 2)),
            Sizes((1, 2), (32, 96, 256, 512), (columns - 1, columns, columns + 1)),
        ),
    )

    def launch(layouts: Layouts, params: Params, shape: Shape, _: int | None) -> Grid:
        return Grid((groups(shape[1], rows), groups(shape[0], columns), 1), (LANES, 4, 1))

    return products.op(
        name,
        "mul_mat_{Q}",
        formats,
        "w y out ncols_x nrows_x ncols_y nrows_y nrows_dst",
        launch=launch,
        reference=reference.matmul_q8_1,
        named=(
            *products.named,
            products.case("one more than a tile, both ways", rows + 1, values, columns + 1, offset=1),
            products.case("one less than a tile, both ways", rows - 1, values, columns - 1, gap=1),
            products.case("more vectors than a tile has", 2, 512, columns + 2, w="normal", y="normal"),
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


@dataclass(frozen=True)
class FloatProducts:
    """Weights w (rows or more, blocks) of ``values`` values times one vector y of f32: out (rows)."""

    values: int

    def draw(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        rows, blocks, _ = pick(draw, few_and_many_rows(1)).pick(draw, max(64, self.values))
        columns = blocks * max(64, self.values)
        return {
            "w": contiguous((rows + pick(draw, (0, 0, 1, 3)), columns // self.values), pick(draw, OFFSETS)),
            "y": contiguous((columns,), pick(draw, OFFSETS)),
            "out": contiguous((rows,), pick(draw, OFFSETS)),
        }

    def fits(self, layouts: Layouts, params: Params) -> str:
        complaint = ranks(layouts, w=2, y=1, out=1) or dense(layouts, "w", "y", "out")
        if complaint:
            return complaint
        columns, rows = layouts["w"].shape[1] * self.values, layouts["out"].shape[0]
        if layouts["y"].shape[0] != columns or layouts["w"].shape[0] < rows:
            return f"w={layouts['w']} has {columns} columns; y has to have as many, and out no more than its rows"
        return f"{columns} columns are no multiple of 64" if columns % 64 else ""

    def items(self, rows: int, columns: int, w: str, y: str, more: int = 0, offset: str = "") -> str:
        tensors = f"w={rows + more}x{columns // self.values}{offset}~{w}@0 y={columns}{offset}~{y}@0"
        return f"{tensors} out={rows}{offset}"


def mul_vec(name: str, kernel: str, formats: tuple[str, ...], values: int, args: str = "w y out ncols nrows") -> Op:
    """One group of lanes for each row."""
    products = FloatProducts(values)
    return Op(
        f"quantized.{name}",
        kernel=kernel,
        types=formats,
        spelling={q: q.lower() for q in formats},
        args=args,
        inputs={"w": "Q", "y": "f32"},
        output="f32",
        writes=True,
        scalars={"ncols": extent("w", 1, values), "nrows": extent("out", 0)},
        layouts=products.draw,
        fits=products.fits,
        launch=lambda layouts, params, shape, _: Grid((shape[0], 1, 1), (LANES, 1, 1)),
        grid_stride=False,
        reference=reference.matvec,
        data=(*DATA, "mixed", "unit"),
        named=tuple(
            Named(title, products.items(*sizes))
            for title, *sizes in (
                ("integers show every term", 33, 512, "small", "small"),
                ("the least number of columns", 1, max(64, values), "small", "small"),
                ("columns that are no multiple of 512", 5, 1280, "small", "small"),
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
            Named(
                f"4096 x {columns}",
                f"w=4096|8x{columns // values}|{512 // values}~normal@0 y={columns}|512~normal@0 out=4096|8",
            )
            for columns in (4096, 11008)
        ),
        operations=lambda layouts, params, shape: 2 * shape[0] * layouts["y"].shape[0],
        elements=lambda layouts, params, shape: {"w": shape[0] * layouts["w"].shape[1]},
    )


mul_vec_32 = mul_vec("mul_vec", "dequantize_mul_mat_vec_{Q}_cuda", PLAIN, 32)
mul_vec_k = mul_vec("mul_vec_k", "dequantize_mul_mat_vec_{Q}", ("q2_K", "q3_K", "q4_K", "q6_K"), 256)
mul_vec_q5_k = mul_vec("mul_vec_q5_k", "dequantize_mul_mat_vec_{Q}", ("q5_K",), 256, "w y out ncols")


# Activations to q8_1.


def draw_floats(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    columns = (1, 2, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 511, 512, 513, 1000, 1024, 1025)
    return {"x": contiguous((pick(draw, (1, 2, 3, 5)), pick(draw, columns)), pick(draw, OFFSETS))}


def padded_rows(layouts: Layouts, params: Params) -> Shape:
    rows, columns = layouts["x"].shape
    return rows, padded(groups(columns, LANES))


TIES = (127.0, 2.5, -3.5, 0.5, -0.5, 1.5, 126.5, -126.5, 63.5, -64.5, 0.0, -0.0, 2.4999998, 1.0, 31.5, 30.5)
"""Two rounds of them are a block, whose ``d`` is 1."""

POINTS = (*TIES, *TIES, 127.06201934814453, *TIES[1:], *TIES)
"""In the second block, ``d`` is a tie of f16, and lies above it if 1 / 127 is rounded before the product."""

quantize_q8_1 = Op(
    "quantized.quantize_q8_1",
    kernel="quantize_q8_1",
    types=("f32",),
    args="x out kx kx_padded",
    inputs={"x": "T"},
    output="q8_1",
    scalars={"kx": extent("x", 1), "kx_padded": lambda layouts, params, shape: ("i32", shape[1] * LANES)},
    layouts=draw_floats,
    fits=lambda layouts, params: ranks(layouts, x=2) or dense(layouts, "x"),
    shape=padded_rows,
    launch=lambda layouts, params, shape, _: Grid((groups(shape[1] * LANES, 256), shape[0], 1), (256, 1, 1)),
    grid_stride=False,
    reference=reference.quantize_q8_1,
    points=POINTS,
    data=("normal", "small", "unit", "points", "near", "mixed", "special", "bits", "patterns"),
    named=(
        Named("halves away from zero, and quotients rather than products", "x=2x64~points@0"),
        Named("near the halves", "x=3x512~near@0"),
        Named("blocks of zeros beyond the columns", "x=3x33~normal@0"),
        Named("one column", "x=5x1+1~normal@0"),
        Named("special values", "x=1x110~special@0"),
        Named("values so small that a block has no scale", "x=1x1024~patterns@0"),
        Named("any floats", "x=4x1000~bits@0"),
        Named("rows of several blocks of threads", "x=2x1025~normal@0"),
    ),
    operations=lambda layouts, params, shape: 4 * layouts["x"].numel,  # maximum, quotient, rounding, sum
    bench=(
        Named("512 rows of 4096", "x=512|2x4096|512~normal@0"),
        Named("4096 rows of 4096", "x=4096|4x4096|512~normal@0"),
    ),
)


# Products with the weights of experts that are chosen by ids.


@dataclass(frozen=True)
class Experts:
    """Weights w (experts, n, blocks) of ``values`` values, ids (batch, topk), and y (batch, 1 or topk, blocks)."""

    values: int

    def draw(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        rows, blocks, _ = pick(draw, few_and_many_rows(1)).pick(draw, self.values)
        batch, topk = pick(draw, (1, 2, 3)), pick(draw, (1, 2, 4))
        return {
            "w": contiguous((pick(draw, (1, 2, 3, 5)), rows, blocks), pick(draw, OFFSETS)),
            "y": activations(draw, (batch, pick(draw, (1, topk))), self.of_activations(blocks)),
            "ids": contiguous((batch, topk), pick(draw, OFFSETS)),
        }

    def of_activations(self, blocks: int) -> int:
        """Blocks of q8_1 for as many blocks of weights."""
        return blocks * self.values // LANES

    def fits(self, layouts: Layouts, params: Params) -> str:
        complaint = ranks(layouts, w=3, y=3, ids=2) or dense(layouts, "w", "ids") or in_rows(layouts, "y")
        if complaint:
            return complaint
        y, (batch, topk) = layouts["y"].shape, layouts["ids"].shape
        if y[0] != batch or y[1] not in (1, topk):
            return f"y={layouts['y']} has to have {batch} inputs, or {topk} times as many"
        return too_short(layouts, self.of_activations(layouts["w"].shape[2]))

    def shape(self, layouts: Layouts, params: Params) -> Shape:
        return *layouts["ids"].shape, layouts["w"].shape[1]

    def named(self, title: str, w: str, inputs: str, ids: str, data: str = "small", columns: int = 512) -> Named:
        """``w`` and ``inputs`` without the last dim, which is one of so many columns."""
        blocks, padding = columns // self.values, padded(columns // LANES)
        return Named(title, f"w={w}x{blocks}~{data}@0 y={inputs}x{padding}~{data}@7 ids={ids}")


def indexed_moe_forward(name: str, formats: tuple[str, ...], values: int) -> Op:
    experts = Experts(values)

    def launch(layouts: Layouts, params: Params, shape: Shape, _: int | None) -> Grid:
        batch, topk, rows = shape
        return Grid((rows, batch, topk), (LANES, 4, 1))

    return Op(
        f"quantized.{name}",
        kernel="indexed_moe_forward_{Q}_q8_1",
        types=formats,
        spelling={q: q.replace("_K", "k") for q in formats},
        args="w y ids out n k batch topk k_padded input_dim1",
        inputs={"w": "Q", "y": "q8_1", "ids": "u32"},
        output="f32",
        scalars={
            "n": extent("w", 1),
            "k": extent("w", 2, values),
            "batch": extent("ids", 0),
            "topk": extent("ids", 1),
            "k_padded": distance("y", LANES),
            "input_dim1": extent("y", 1),
        },
        indices={"ids": lambda layouts, params: layouts["w"].shape[0]},
        index_data=IDS,
        layouts=experts.draw,
        fits=experts.fits,
        shape=experts.shape,
        launch=launch,
        grid_stride=False,
        reference=reference.moe_q8_1,
        data=DATA,
        named=(
            experts.named("the second expert has weights of its own", "2x3", "1x1", "1x1~ramp@1"),
            experts.named("every expert in turn", "4x5", "2x1", "2x4~ramp@0"),
            experts.named("an input for each expert", "3x2", "2x2", "2x2~index@0"),
            experts.named("one expert for all", "1x3", "3x1", "3x2~ramp@0"),
            experts.named("more experts than 8 bits number", "300x2", "2x1", "2x3~repeat@0"),
            experts.named("more columns than all threads take at a time", "2x3", "1x1", "1x2~ramp@0", columns=4352),
            experts.named("scales and quants of real models", "3x31", "2x1", "2x2~index@0", "normal"),
            experts.named("special scales", "5x7", "2x2", "2x2~ramp@1", "special"),
            experts.named("every byte at every place", "8x16", "1x4", "1x4~ramp@1", "patterns"),
        ),
        operations=lambda layouts, params, shape: 2 * math.prod(shape) * layouts["w"].shape[2] * values,
        elements=lambda layouts, params, shape: {"w": math.prod(shape) * layouts["w"].shape[2]},
        bench=(
            Named(
                "8 of 64 experts",
                f"w=64|4x1408|8x{2048 // values}|{512 // values}~normal@0 y=1x1x64|16~normal@7 ids=1x8|2~index@0",
            ),
        ),
    )


moe_k = indexed_moe_forward("indexed_moe_forward_k", K, 256)
moe_q8_0 = indexed_moe_forward("indexed_moe_forward", ("q8_0",), 32)
