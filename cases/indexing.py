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
SIZES = (
    SMALL,
    SMALL,
    Sizes(((), (2,)), extent=(1, 3, 300), ids=(31, 32, 33, 64, 65, 129, 257), after=((), (2,))),
    Sizes(((), (2,), (33,), (65, 2)), extent=(2, 5), ids=(1, 3), after=((31,), (33, 2), (65,), (1025,), (3, 129))),
    Sizes(((1025,), (2, 513)), extent=(3,), ids=(2,), after=((), (2,))),
    Sizes(((2,), (0,)), extent=(0, 3), ids=(0,), after=((3,), ())),
    Sizes(((2,), (0,)), extent=(3,), ids=(2,), after=((0,), (0, 2))),
)


def drawn(one_id_per_row: bool, updates: bool) -> Callable[[Draw, Sequence[str]], dict[str, Any]]:
    def layouts(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
        sizes = pick(draw, SIZES)
        before, extent, count, after = (
            pick(draw, sizes.before), pick(draw, sizes.extent), pick(draw, sizes.ids), pick(draw, sizes.after)
        )  # fmt: skip
        indexed, picked = (*before, extent, *after), (*before, count, *after)
        shapes = {
            "ids": (count,) if one_id_per_row else picked,
            "inp": picked if updates else indexed,
            "out": indexed,
        }
        layouts = {name: contiguous(shapes[name], pick(draw, (0, 1, 3))) for name in names}
        if one_id_per_row and not updates:
            layouts["ids"] = replace(layouts["ids"], strides=(pick(draw, (1, 1, 2, 0)),))
        return {**layouts, "dim": len(before)}

    return layouts


def fits(one_id_per_row: bool, updates: bool) -> Callable[[Layouts, Params], str]:
    def complaint(layouts: Layouts, params: Params) -> str:
        ids, inp, dim = layouts["ids"].shape, layouts["inp"].shape, int(params["dim"])
        if dim >= len(inp):
            return f"dim={dim} of inp, which has {len(inp)} dims"
        for name, layout in layouts.items():
            if layout.numel and not layout.is_contiguous and not (name == "ids" and one_id_per_row and not updates):
                return f"{name}={layout} has to be contiguous"
        if one_id_per_row and len(ids) != 1:
            return f"ids of shape {ids} have to be of rank 1"
        if one_id_per_row and updates and ids[0] != inp[dim]:
            return f"{ids[0]} ids for the {inp[dim]} rows of inp"
        if not one_id_per_row and updates and ids != inp:
            return f"ids of shape {ids} for inp of shape {inp}"
        other = layouts["out"].shape if updates else inp if one_id_per_row else ids
        if (*other[:dim], *other[dim + 1 :]) != (*inp[:dim], *inp[dim + 1 :]) or len(other) != len(inp):
            return f"shapes {inp} and {other} differ in another dim than {dim}"
        return ""

    return complaint


def selected(layouts: Layouts, params: Params) -> Shape:
    shape, dim = layouts["inp"].shape, int(params["dim"])
    return (*shape[:dim], layouts["ids"].numel, *shape[dim + 1 :])


def extent(name: str) -> Callable[[Layouts, Params], int]:
    return lambda layouts, params: layouts[name].shape[int(params["dim"])]


def left(layouts: Layouts, params: Params) -> int:
    return math.prod(layouts["inp"].shape[: int(params["dim"])])


def right(layouts: Layouts, params: Params) -> int:
    return math.prod(layouts["inp"].shape[int(params["dim"]) + 1 :])


def one_thread_per_column(layouts: Layouts, params: Params, shape: Shape, threads: int | None) -> Grid:
    return elementwise(left(layouts, params) * right(layouts, params), threads)


def size(function: Callable[[Layouts, Params], int]) -> Callable[[Layouts, Params, Shape], tuple[str, int]]:
    return lambda layouts, params, shape: ("u64", function(layouts, params))


def op(
    name: str,
    kernel: str,
    function: Callable[..., Expected],
    args: str,
    *,
    one_id_per_row: bool = False,
    updates: bool = False,
    **more: Any,
) -> Op:
    """An op with one id for each row, or for each element, of what it picks or updates."""
    return Op(
        f"indexing.{name}",
        kernel=kernel + "_{I}_{T}",
        args=args,
        inputs={"ids": "I", "inp": "T"},
        params={"dim": "u32"},
        layouts=drawn(one_id_per_row, updates),
        fits=fits(one_id_per_row, updates),
        indices={"ids": extent("out" if updates else "inp")},
        updates=updates,
        reference=function,
        scalars={
            "left": size(left),
            "right": size(right),
            "src_dim": size(extent("inp")),
            "dst_dim": size(extent("out")),
            "ids_dim": size(lambda layouts, params: layouts["ids"].shape[0 if one_id_per_row else int(params["dim"])]),
            "ids_rank": lambda layouts, params, shape: ("u64", len(layouts["ids"].shape)),
        },
        **{"types": (*TYPES, *F8), **more},
    )


def named(title: str, ids: str, inp: str, out: str = "", only: Callable[..., bool] | None = None) -> Named:
    return Named(title, f"ids={ids} inp={inp}" + (f" out={out}" if out else "") + " dim=1", only)


def is_byte(index: str, value: str) -> bool:
    return index == "u8"


def rounds(index: str, value: str) -> bool:
    return value in ("f16", "bf16", "f8_e4m3", "f32", "f64")


SUMS = ("small", "normal", "mixed", "special", "near", "bits")

index_select = op(
    "index_select",
    "is",
    reference.index_select,
    "numel ids_rank info ids inp out left src_dim ids_dim right",
    one_id_per_row=True,
    shape=selected,
    strided=("ids",),
    null_info=False,
    named=(
        named("an id of 255 is none, even of 300 rows", "40~sentinel@0", "2x300x2~normal@0", only=is_byte),
        named("ids with a stride", "7:2+1~index@0", "2x5x3~normal@0"),
    ),
)
gather = op(
    "gather",
    "gather",
    reference.gather,
    "numel ids inp out left src_dim ids_dim right",
    shape=lambda layouts, params: layouts["ids"].shape,
    named=(named("an id of 255 is none, even of 300 rows", "2x40x2~sentinel@0", "2x300x2~normal@0", only=is_byte),),
)
index_add = op(
    "index_add",
    "ia",
    reference.index_add,
    "ids ids_dim inp out left src_dim dst_dim right",
    one_id_per_row=True,
    updates=True,
    launch=one_thread_per_column,
    data=SUMS,
    named=(
        named("integer probe: many rows to few", "65~repeat@0", "2x65x3~small@0", "2x5x3~small@0"),
        named("every addition rounds", "33~repeat@0", "2x33x3~normal@0", "2x3x3~normal@0", rounds),
        named("an id of 255 is none, even of 300 rows", "40~sentinel@0", "2x40x2~small@0", "2x300x2~small@0", is_byte),
    ),
)
scatter_add = op(
    "scatter_add",
    "sa",
    reference.scatter_add,
    "ids inp out left src_dim dst_dim right",
    updates=True,
    launch=one_thread_per_column,
    data=SUMS,
    named=(
        named("integer probe: many rows to few", "2x65x3~repeat@0", "2x65x3~small@0", "2x5x3~small@0"),
        named("every addition rounds", "2x33x3~repeat@0", "2x33x3~normal@0", "2x3x3~normal@0", rounds),
    ),
)
scatter = op(
    "scatter",
    "s",
    reference.scatter,
    "ids inp out left src_dim dst_dim right",
    types=TYPES,
    updates=True,
    launch=one_thread_per_column,
    named=(named("of equal ids the last one stays", "2x33x3~repeat@0", "2x33x3~normal@0", "2x3x3~normal@0"),),
)
