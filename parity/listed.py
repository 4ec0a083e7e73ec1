"""Cases that are not drawn: those that every run includes, and those that are measured."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from parity.case import Case
from parity.declaration import Declaration, Named
from parity.dtypes import DType
from parity.fitting import complaint_of, parsed
from parity.given import Given
from parity.layout import Layout, contiguous

__all__ = ["bench_cases", "divergences_of", "edge_cases", "named_cases", "own_launch"]

BENCH_BYTES = 2**28
"""Size of the largest tensor of a contiguous case that is measured: 64 Mi elements of four bytes."""


@dataclass(frozen=True)
class Walk:
    """A case of each kernel that walks over elements: all tensors have one layout, and the inputs data of one stream.

    Without ``data`` that is a usual stream. ``aliased`` is the layout of the second of two operands in the same memory.
    """

    title: str
    layout: str
    launch: str
    data: str = ""
    aliased: str = ""


WALKS = (
    Walk("more elements than threads, and some left over", "2051", "launch=2x33"),
    Walk("many blocks: some may work for others", "2x1031", "launch=4096x1"),
    Walk("more elements than threads, transposed", "33x65:1,33", "launch=1x32"),
    Walk("more elements than threads, from the second one on", "1030+1", "launch=1x32"),
    Walk("more elements than threads, in five dims, rows with gaps", "2x3x1x2x5:42,14,14,7,1", "launch=1x32"),
    Walk("one thread per block, rows with gaps, from the sixth element on", "4x7x1:29,4,2+5", "launch=4096x1"),
    Walk("more elements than threads, special values", "2051", "launch=2x33", data="special"),
    Walk("two operands in the same memory, one of them transposed", "33x65", "launch=1x32", aliased="33x65:1,33"),
)
"""The ways, fast and slow, that each kernel which walks over elements has to get right."""


@dataclass(frozen=True)
class Edge:
    """A case of each kernel that takes such data: a drawn one, with all inputs that take them from ``stream``.

    An input takes them if the op names one of these streams for its floating-point type, integer type, or blocks.
    """

    title: str
    stream: str = ""
    floats: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()

    def taken(self, kind: DType, streams: Collection[str]) -> bool:
        """True if an input of a type, with these streams, takes the data."""
        wanted = self.floats if kind.is_float else self.blocks if kind.is_block else self.integers
        return not set(wanted).isdisjoint(streams)


EDGES = (
    Edge("rows of one special value each", "runs", floats=("special",), integers=("special",)),
    Edge("halfway between numbers of fewer bits", "halfway", floats=("normal",), integers=("special", "bits")),
    Edge("subnormal scales", "subnormal", blocks=("special",)),
)
MANY_BLOCKS = (4096, 1)
"""Blocks and threads of a launch in which some blocks may work for others, and a thread is alone."""

MOST = 4096
"""Elements of the largest tensor of the drawn case that gets other data."""

SHIFT = 29
"""The distance of the data of one tensor and the next, so that special values meet others than themselves."""

_SIZES = re.compile(r"(\d+)\|(\d+)")
_LAUNCH = re.compile(r"\b(launch|threads)=")


def named_cases(op: Declaration, dtypes: Sequence[str], launches: str) -> list[tuple[str, Case]]:
    """Title and case of every named case for these dtypes; ``launches`` as for ``cases``."""
    types = op.bind(dtypes)
    found = [Named(walk.title, _items_of(op, walk, types)) for walk in _walks_of(op, dtypes)]
    chosen = _meant_for(op, dtypes, (*found, *op.named))
    if launches == "host":
        chosen = [each for each in chosen if not own_launch(each.items)]
    return [(each.title, parsed(op, _text(op, dtypes, each.items))) for each in chosen]


def edge_cases(op: Declaration, drawn: Sequence[Case], launches: str) -> list[tuple[str, Case]]:
    """Title and case of every edge that the op has: the largest of the drawn cases that is not too large, changed.

    ``launches`` as for ``cases``; a kernel that no walk fits has the launch of one.
    """
    sized = [(max((each.span for each in case.layouts.values()), default=0), case) for case in drawn]
    _, base = max((each for each in sized if each[0] <= MOST), key=lambda each: each[0], default=(0, None))
    if base is None:
        return []
    types, found = op.bind(base.dtypes), []
    for edge in EDGES:
        tensors = dict(base.tensors)
        for number, name in enumerate(name for name in op.filled if name in tensors and name not in op.indices):
            if edge.taken(op.dtype_of(op.tensors[name], types), op.data_of(name, types)):
                tensors[name] = replace(tensors[name], data=edge.stream, start=SHIFT * number)
        if op.aliased and "aliased" in base.flags:
            tensors[op.aliased[1]] = tensors[op.aliased[0]]
        case = base.with_tensors(tensors)
        if case != base and case not in drawn:
            found.append((edge.title, case))
    case = replace(base, launch=MANY_BLOCKS, threads=None)
    if launches != "host" and op.grid_stride and not op.then and not _walks_of(op, base.dtypes) and case not in drawn:
        found.append(("many blocks of one thread", case))
    return found


def own_launch(text: str) -> bool:
    """True if a case, or its items, has a launch that is not the host's own."""
    return _LAUNCH.search(text) is not None


def divergences_of(op: Declaration, dtypes: Sequence[str]) -> dict[str, str]:
    """The id of the known divergence that a named case for these dtypes is about, by the case's text."""
    about = _meant_for(op, dtypes, (each for each in op.named if each.divergence))
    return {str(parsed(op, _text(op, dtypes, each.items))): each.divergence for each in about}


def bench_cases(op: Declaration, dtypes: Sequence[str], small: bool) -> list[tuple[str, Case]]:
    """Title and case of everything that is measured for these dtypes, small enough for an emulator or not."""
    chosen = _meant_for(op, dtypes, (*_contiguous(op, dtypes), *op.bench))
    items = [(each.title, _SIZES.sub(r"\2" if small else r"\1", each.items)) for each in chosen]
    return [(title, parsed(op, _text(op, dtypes, each))) for title, each in items]


def _meant_for(op: Declaration, dtypes: Sequence[str], cases: Iterable[Named]) -> list[Named]:
    """The cases that are for these dtypes."""
    return [n for n in cases if n.only is None or op.ask(f"only of {n.title!r}", n.only, *dtypes)]


def _text(op: Declaration, dtypes: Sequence[str], items: str) -> str:
    return f"{op.name}[{','.join(dtypes)}]({items})"


def _contiguous(op: Declaration, dtypes: Sequence[str]) -> Sequence[Named]:
    types = op.bind(dtypes)
    count = BENCH_BYTES // max(op.dtype_of(kind, types).itemsize for kind in op.kinds.values())
    if not _all_may_be(op, contiguous((count,)), dtypes):
        return ()
    flags = " null-info" * ("null-info" in op.flags)
    return (Named("contiguous", _items(op, f"{count}|16384", types) + flags),)


def _all_may_be(op: Declaration, layout: Layout, dtypes: Sequence[str]) -> bool:
    """True if all tensors, the outputs among them, may have this layout."""
    if op.misfit or op.shape:
        return False
    types = op.bind(dtypes)
    params = {name: _usual(op.dtype_of(kind, types)) for name, kind in op.params.items()}
    given = Given(op, dict.fromkeys(op.tensors, layout), params, types)
    if complaint_of(given) or any(each != layout.shape for each in given.shapes.values()):
        return False
    return not any(op.strides_of(name).complaint(layout) for name in op.tensors)


def _walks_of(op: Declaration, dtypes: Sequence[str]) -> list[Walk]:
    """The walks that fit an op, and that are about something that it has."""
    if not op.grid_stride or op.then:
        return []
    streams = {stream for name in op.filled for stream in op.data_of(name, op.bind(dtypes))}
    return [
        walk
        for walk in WALKS
        if (not walk.data or walk.data in streams)
        and (not walk.aliased or op.aliased)
        and _all_may_be(op, Layout.parse(walk.layout), dtypes)
    ]


def _items_of(op: Declaration, walk: Walk, types: Mapping[str, DType]) -> str:
    """The items of a walk's case; the first of two operands in the same memory decides what is there."""
    items = _items(op, walk.layout, types, walk.data)
    if walk.aliased and op.aliased:
        first, second = op.aliased
        data = items.partition(f"{first}={walk.layout}")[2].split()[0]
        items = re.sub(rf"(?<!\S){second}=\S+", f"{second}={walk.aliased}{data}", items) + " aliased"
    return f"{items} {walk.launch}"


def _items(op: Declaration, layout: str, types: Mapping[str, DType], data: str = "") -> str:
    """The items of a case whose tensors have one layout, and data of a stream if they take it."""
    found = {}
    for number, name in enumerate(op.filled):
        streams = op.data_of(name, types)
        usual = "normal" if "normal" in streams else streams[0]
        found[name] = f"~{data}@{SHIFT * number}" if data and data in streams else f"~{usual}@0"
    items = [f"{name}={layout}{found.get(name, '')}" for name in op.tensors]
    items += [f"{n}={_usual(op.dtype_of(kind, types))}" for n, kind in op.params.items()]
    return " ".join(items)


def _usual(kind: DType) -> float | int:
    return 1.5 if kind.is_float else 3
