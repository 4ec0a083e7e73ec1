"""indexing.cu: rows of a tensor, picked or updated by ids along one dim."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from parity import reference
from parity.generate import Draw, pick
from parity.launch import Grid, elementwise
from parity.layout import contiguous
from parity.op import Layouts, Named, Op, Params, Shape
from parity.reference import Expected

IDS = ("u8", "u32", "i64")
VALUES = ("u8", "u32", "i64", "f16", "bf16", "f32", "f64")
TYPES = tuple(f"{i},{t}" for i in IDS for t in VALUES)
F8 = tuple(f"{i},f8_e4m3" for i in ("u8", "u32", "i16", "i32", "i64"))


@dataclass(frozen=True)
class Sizes:
    """What to draw from: the dims before the indexed one and after it, its extent where ids point, how many ids."""

    before: tuple[Shape, ...]
    extent: tuple[int, ...]
    ids: tuple[int, ...]
    after: tuple[Shape, ...]


SMALL = Sizes(before=((), (2,), (3, 2), (1,)), extent=(1, 2, 3, 5), ids=(1, 2, 3, 4, 7), after=((), (3,), (1,), (2, 3)))
MANY_IDS = Sizes(((), (2,)), extent=(2, 7, 300), ids=(31, 33, 64, 65, 129, 257), after=((), (2,)))
MANY_ROWS = Sizes(((), (3,)), extent=(300, 70, 257), ids=(3, 7, 40), after=((), (2,)))
WIDE = Sizes(((), (2,)), extent=(2, 5), ids=(1, 3), after=((31,), (33, 2), (65,), (1025,), (3, 129)))
DEEP = Sizes(((33,), (65, 2), (1025,), (2, 513)), extent=(3,), ids=(2,), after=((), (2,), (5,)))
NO_IDS = Sizes(((2,), ()), extent=(3, 0), ids=(0,), after=((3,), ()))
NO_COLUMNS = Sizes(((2,), (0,)), extent=(3,), ids=(2,), after=((0,), (0, 2)))
SIZES = (SMALL, SMALL, SMALL, MANY_IDS, MANY_IDS, MANY_ROWS, MANY_ROWS, WIDE, WIDE, WIDE, DEEP, NO_IDS, NO_COLUMNS)


@dataclass(frozen=True)
class Probe:
    """A case of every run: so many rows, so many ids for them, and their data streams."""

    title: str
    rows: int
    ids: int
    index: str
    data: str
    launch: str = ""


MANY = Probe("300 rows: 255 is none to u8, and a row to wider ids", rows=300, ids=40, index="sentinel", data="normal")


@dataclass(frozen=True)
class Rows:
    """The tensors of an op: one id for each row, or for each element, of what it picks from inp or updates in out."""

    one_id_per_row: bool = False
    updates: bool = False

    def shapes(self, before: Shape, extent: int, ids: int, after: Shape) -> dict[str, Shape]:
        """The shape of each tensor; the output is a tensor of the case only if it is updated."""
        indexed, picked = (*before, extent, *after), (*before, ids, *after)
        lengths = {"ids": (ids,) if self.one_id_per_row else picked}
        return {**lengths, "inp": picked, "out": indexed} if self.updates else {**lengths, "inp": indexed}

    def draw(self, draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        sizes = pick(draw, SIZES)
        before, extent, ids = pick(draw, sizes.before), pick(draw, sizes.extent), pick(draw, sizes.ids)
        shapes = self.shapes(before, extent, ids, pick(draw, sizes.after))
        layouts = {name: contiguous(shapes[name], pick(draw, (0, 1, 3))) for name in names}
        if self.strided_ids:
            layouts["ids"] = replace(layouts["ids"], strides=(pick(draw, (1, 1, 2, 0)),))
        return {**layouts, "dim": len(before)}

    def fits(self, layouts: Layouts, params: Params) -> str:
        inp, dim = layouts["inp"].shape, int(params["dim"])
        if dim >= len(inp) or self.axis(params) >= len(layouts["ids"].shape):
            return f"there is no dim {dim} in inp of shape {inp} with ids of shape {layouts['ids'].shape}"
        if self.updates and dim >= len(layouts["out"].shape):
            return f"there is no dim {dim} in out of shape {layouts['out'].shape}"
        shapes = self.shapes(inp[:dim], self.extent(layouts, params), self.count(layouts, params), inp[dim + 1 :])
        for name, layout in layouts.items():
            if layout.shape != shapes[name]:
                return f"{name} has shape {layout.shape}; for dim={dim} and the other tensors {shapes[name]} is right"
            if not layout.is_contiguous and not (name == "ids" and self.strided_ids):
                return f"{name}={layout} has to be contiguous"
        return ""

    def named(self, probe: Probe) -> Named:
        shapes = self.shapes((2,), probe.rows, probe.ids, (3,))
        streams = {name: probe.index if name == "ids" else probe.data for name in shapes}
        tensors = (f"{name}={contiguous(shape)}~{streams[name]}@0" for name, shape in shapes.items())
        return Named(probe.title, f"{' '.join(tensors)} dim=1{probe.launch and ' launch=' + probe.launch}")

    def bench(self) -> tuple[Named, ...]:
        """Whole rows in any order, if there is one id for each; columns of a stack of matrices."""
        stack = "64|2x1024|16x1024|32"
        ids = "1024|16" if self.one_id_per_row else stack
        rest = f" out={stack}~small@0" if self.updates else ""
        columns = Named("columns", f"ids={ids}~index@0 inp={stack}~small@0{rest} dim=1")
        rest = " out=65536|64x1024~small@0" if self.updates else ""
        rows = Named("rows of 1024", f"ids=65536|64~index@0 inp=65536|64x1024~small@0{rest} dim=0")
        return (rows, columns) if self.one_id_per_row else (columns,)

    def elements(self, layouts: Layouts, params: Params, shape: Shape) -> dict[str, int]:
        """Of what the ids point into, those that they pick, each id on its own; both ways if they are updated."""
        if not self.updates:
            return {"inp": math.prod(shape)}
        return {"out": 2 * min(layouts["inp"].numel, layouts["out"].numel)}

    @property
    def strided_ids(self) -> bool:
        """Only index_select is told strides."""
        return self.one_id_per_row and not self.updates

    def axis(self, params: Params) -> int:
        return 0 if self.one_id_per_row else int(params["dim"])

    def count(self, layouts: Layouts, params: Params) -> int:
        """Ids along the dim."""
        return layouts["ids"].shape[self.axis(params)]

    def extent(self, layouts: Layouts, params: Params) -> int:
        """Rows to choose from."""
        return layouts["out" if self.updates else "inp"].shape[int(params["dim"])]

    def picked(self, layouts: Layouts, params: Params) -> Shape:
        """The shape of an output that is not updated."""
        shape, dim = layouts["inp"].shape, int(params["dim"])
        return (*shape[:dim], self.count(layouts, params), *shape[dim + 1 :])


def left(layouts: Layouts, params: Params) -> int:
    return math.prod(layouts["inp"].shape[: int(params["dim"])])


def right(layouts: Layouts, params: Params) -> int:
    return math.prod(layouts["inp"].shape[int(params["dim"]) + 1 :])


def extent(name: str) -> Callable[[Layouts, Params], int]:
    return lambda layouts, params: layouts[name].shape[int(params["dim"])]


def size(function: Callable[[Layouts, Params], int]) -> Callable[[Layouts, Params, Shape], tuple[str, int]]:
    return lambda layouts, params, shape: ("u64", function(layouts, params))


def one_thread_per_column(layouts: Layouts, params: Params, shape: Shape, threads: int | None) -> Grid:
    return elementwise(left(layouts, params) * right(layouts, params), threads)


def op(
    name: str, kernel: str, function: Callable[..., Expected], args: str, rows: Rows, *probes: Probe, **more: Any
) -> Op:
    return Op(
        f"indexing.{name}",
        kernel=kernel + "_{I}_{T}",
        args=args,
        inputs={"ids": "I", "inp": "T"},
        params={"dim": "u32"},
        layouts=rows.draw,
        fits=rows.fits,
        indices={"ids": rows.extent},
        reference=function,
        named=tuple(map(rows.named, (MANY, *probes))),
        bench=rows.bench(),
        scalars={
            "left": size(left),
            "right": size(right),
            "src_dim": size(extent("inp")),
            "dst_dim": size(extent("out")),
            "ids_dim": size(rows.count),
            "ids_rank": size(lambda layouts, params: len(layouts["ids"].shape)),
        },
        **{"updates": True, "launch": one_thread_per_column} if rows.updates else {"shape": rows.picked},
        operations=lambda layouts, params, shape: layouts["inp"].numel if rows.updates else math.prod(shape),
        **{"types": (*TYPES, *F8), "elements": rows.elements, **more},
    )


SUMS = ("small", "normal", "mixed", "special", "near", "bits")
INTEGER_PROBE = Probe("integer probe: many rows to few", rows=5, ids=65, index="repeat", data="small")
ROUNDINGS = Probe("every addition rounds", rows=3, ids=33, index="repeat", data="normal")
SHARED = Probe("blocks share their work", rows=5, ids=700, index="sentinel", data="normal", launch="4100x1")
LAST_ONE = Probe("of equal ids the last one stays", rows=3, ids=33, index="repeat", data="normal")

index_select = op(
    "index_select",
    "is",
    reference.index_select,
    "numel ids_rank info ids inp out left src_dim ids_dim right",
    Rows(one_id_per_row=True),
    SHARED,
    strided=("ids",),
    null_info=False,
)
gather = op("gather", "gather", reference.gather, "numel ids inp out left src_dim ids_dim right", Rows(), SHARED)
index_add = op(
    "index_add",
    "ia",
    reference.index_add,
    "ids ids_dim inp out left src_dim dst_dim right",
    Rows(one_id_per_row=True, updates=True),
    INTEGER_PROBE,
    ROUNDINGS,
    data=SUMS,
)
scatter_add = op(
    "scatter_add",
    "sa",
    reference.scatter_add,
    "ids inp out left src_dim dst_dim right",
    Rows(updates=True),
    INTEGER_PROBE,
    ROUNDINGS,
    data=SUMS,
)
scatter = op(
    "scatter",
    "s",
    reference.scatter,
    "ids inp out left src_dim dst_dim right",
    Rows(updates=True),
    LAST_ONE,
    types=TYPES,
    elements=lambda layouts, params, shape: {"out": min(layouts["inp"].numel, layouts["out"].numel)},
)
