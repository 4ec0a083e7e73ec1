"""indexing.cu: rows of a tensor, selected or updated by ids along one dim."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from parity import reference
from parity.op import NamedCase, Op
from parity.reference import Expected

IDS = ("u8", "u32", "i64")
VALUES = ("u8", "u32", "i64", "f16", "bf16", "f32", "f64")
TYPES = tuple(f"{i},{t}" for i in IDS for t in VALUES)
F8 = tuple(f"{i},f8_e4m3" for i in ("u8", "u32", "i16", "i32", "i64"))


SMALL = {"left": ((), (2,), (3, 2), (1,)), "rows": (1, 2, 3, 5), "n": (1, 2, 3, 7), "right": ((), (3,), (1,), (2, 3))}
MANY_IDS = {"left": ((), (2,)), "rows": (2, 7, 300), "n": (31, 33, 64, 65, 129, 257), "right": ((), (2,))}
MANY_ROWS = {"left": ((), (3,)), "rows": (300, 70, 257), "n": (3, 7, 40), "right": ((), (2,))}
WIDE = {"left": ((), (2,)), "rows": (2, 5), "n": (1, 3), "right": ((31,), (33, 2), (65,), (1025,), (3, 129))}
DEEP = {"left": ((33,), (65, 2), (1025,), (2, 513)), "rows": (3,), "n": (2,), "right": ((), (2,), (5,))}
NO_IDS = {"left": ((2,), ()), "rows": (3, 0), "n": (0,), "right": ((3,), ())}
NO_COLUMNS = {"left": ((2,), (0,)), "rows": (3,), "n": (2,), "right": ((0,), (0, 2))}
SIZES = (SMALL, SMALL, SMALL, MANY_IDS, MANY_IDS, MANY_ROWS, MANY_ROWS, WIDE, WIDE, WIDE, DEEP, NO_IDS, NO_COLUMNS)


@dataclass(frozen=True)
class Probe:
    """A named case with the given numbers of rows and ids, and their data streams."""

    title: str
    rows: int
    ids: int
    index: str
    data: str
    launch: str = ""


MANY = Probe(
    "300 rows: 255 means none as u8, but is a row in wider types", rows=300, ids=40, index="sentinel", data="normal"
)


@dataclass(frozen=True)
class Rows:
    """The tensors of an op that selects from inp or updates out, with one id per row or per element.

    ``more`` are additional named cases.
    """

    one_id_per_row: bool = False
    updates: bool = False
    more: tuple[NamedCase, ...] = ()

    @property
    def shapes(self) -> str:
        """The shapes: ids select ``n`` of the ``rows`` along the dim ``dim``."""
        indexed, picked = (f"*left:dim {extent} *right" for extent in ("rows", "n"))
        ids, inp, out = "n" if self.one_id_per_row else picked, picked, indexed
        return f"ids: {ids}; inp: {inp}; out: {out}" if self.updates else f"ids: {ids}; inp: {out}; out: {inp}"

    def named(self, probe: Probe) -> NamedCase:
        indexed, picked = f"2x{probe.rows}x3", f"2x{probe.ids}x3"
        ids = str(probe.ids) if self.one_id_per_row else picked
        rest = f"inp={picked}~{probe.data}@0 out={indexed}~{probe.data}@0"
        rest = rest if self.updates else f"inp={indexed}~{probe.data}@0"
        return NamedCase(
            probe.title, f"ids={ids}~{probe.index}@0 {rest} dim=1{probe.launch and ' launch=' + probe.launch}"
        )

    def large(self) -> tuple[NamedCase, ...]:
        """Updates of more rows and of more columns than a block has threads, and of more than 65,536 elements."""
        many = self.named(Probe("700 ids for five rows", rows=5, ids=700, index="repeat", data="small"))
        ids = "3" if self.one_id_per_row else "3x33003"
        items = f"ids={ids}~repeat@0 inp=3x33003~small@0 out=2x33003~small@0 dim=0"
        large = NamedCase("more than 65,536 elements", items)
        return tuple(replace(each, only=lambda *types: types == ("u32", "f32")) for each in (many, large))

    def bench(self) -> tuple[NamedCase, ...]:
        """The cases to measure: columns of a stack of matrices, and whole rows if there is one id per row."""
        stack = "64|2x1024|16x1024|32"
        ids = "1024|16" if self.one_id_per_row else stack
        rest = f" out={stack}~small@0" if self.updates else ""
        columns = NamedCase("columns", f"ids={ids}~index@0 inp={stack}~small@0{rest} dim=1")
        rest = " out=65536|64x1024~small@0" if self.updates else ""
        rows = NamedCase("rows of 1024", f"ids=65536|64~index@0 inp=65536|64x1024~small@0{rest} dim=0")
        return (rows, columns) if self.one_id_per_row else (columns,)


def op(
    name: str, kernel: str, function: Callable[..., Expected], args: str, rows: Rows, *probes: Probe, **more: Any
) -> Op:
    updating = {
        "updates": {"out": "T"},
        "grid": "max(1, ceil(prod(left)*prod(right)/threads))",  # one thread per column
        "operations": "inp.numel",
        "elements": {"out": "2 * min(inp.numel, out.numel)"},  # only selected elements, each read and written
    }
    return Op(
        f"indexing.{name}",
        kernel=kernel + "_{I}_{T}",
        args=args,
        inputs={"ids": "I", "inp": "T"},
        params={"dim": "u32"},
        shapes=rows.shapes,
        choices=tuple({**sizes, "dim": ("len(left)",)} for sizes in SIZES),
        indices={"ids": "rows"},
        reference=function,
        named=(*map(rows.named, (MANY, *probes)), *rows.more, *(rows.large() if rows.updates else ())),
        bench=rows.bench(),
        **{"types": (*TYPES, *F8), **(updating if rows.updates else {"elements": {"inp": "numel"}}), **more},
    )


SUMS = ("small", "normal", "mixed", "special", "near", "bits")
INTEGER_PROBE = Probe("integer probe: many rows to few", rows=5, ids=65, index="repeat", data="small")
ROUNDINGS = Probe("every addition rounds", rows=3, ids=33, index="repeat", data="normal")
# A row of 8 elements consists of whole vectors for every type. In other cases, rows rarely do.
VECTORS = (
    NamedCase("rows of whole vectors", "ids=7~index@0 inp=2x5x8~normal@0 dim=1"),
    NamedCase("rows of whole vectors, by ids with gaps", "ids=40:2~sentinel@0 inp=2x300x8~normal@0 dim=1 launch=1x32"),
    NamedCase(
        "rows of whole vectors, blocks share their work", "ids=60~index@0 inp=3x5x8~normal@0 dim=1 launch=4100x1"
    ),
    NamedCase("rows of the first dim", "ids=40~sentinel@0 inp=7x3~normal@0 dim=0"),
    NamedCase("rows of two vectors, but not from the first element on", "ids=7~index@0 inp=2x5x16+1~normal@0 dim=1"),
)
SHARED = Probe("blocks share their work", rows=5, ids=700, index="sentinel", data="normal", launch="4100x1")
LAST_ONE = Probe("of equal ids the last one stays", rows=3, ids=33, index="repeat", data="normal")

LEFT, RIGHT = "left=prod(left)", "right=prod(right)"
PICKED = f"ids inp out {LEFT} src_dim=rows ids_dim=n {RIGHT}"
UPDATED = f"ids inp out {LEFT} src_dim=n dst_dim=rows {RIGHT}"

index_select = op(
    "index_select",
    "is",
    reference.index_select,
    f"numel ids_rank=len(ids.shape) info {PICKED}",
    Rows(one_id_per_row=True, more=VECTORS),
    SHARED,
    strides={"ids": "any", "inp": "dense"},
    info="ids.shape ids.strides",
)
gather = op("gather", "gather", reference.gather, f"numel {PICKED}", Rows(), SHARED)
index_add = op(
    "index_add",
    "ia",
    reference.index_add,
    UPDATED.replace("ids", "ids ids_dim=n", 1),
    Rows(one_id_per_row=True, updates=True),
    INTEGER_PROBE,
    ROUNDINGS,
    data=SUMS,
)
scatter_add = op(
    "scatter_add",
    "sa",
    reference.scatter_add,
    UPDATED,
    Rows(updates=True),
    INTEGER_PROBE,
    ROUNDINGS,
    data=SUMS,
)
scatter = op(
    "scatter",
    "s",
    reference.scatter,
    UPDATED,
    Rows(updates=True),
    LAST_ONE,
    types=TYPES,
    elements={"out": "min(inp.numel, out.numel)"},
)
