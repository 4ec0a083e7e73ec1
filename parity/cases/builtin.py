"""Cases that are not drawn: those that every run includes, and those that are measured."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from parity.cases.parser import complaint_of, parsed
from parity.data.layouts import in_rows
from parity.model.case import Case
from parity.model.dtypes import DType
from parity.model.layout import Layout, contiguous
from parity.ops.case_view import CaseView, case_view
from parity.ops.declaration import Declaration, NamedCase

__all__ = ["bench_cases", "divergences_of", "edge_cases", "named_cases", "own_launch"]

BENCH_BYTES = 2**28
"""Size of the largest tensor of a contiguous case that is measured: 64 Mi elements of four bytes."""


@dataclass(frozen=True)
class StridedTemplate:
    """A case of each kernel that walks over elements: all tensors have one layout, and the inputs data of one stream.

    Without ``data`` that is a usual stream. ``aliased`` is the layout of the second of two operands in the same memory.
    ``narrowing``: of kernels with a result of a floating-point type that is smaller than an input's type.
    """

    title: str
    layout: str
    launch: str
    data: str = ""
    aliased: str = ""
    narrowing: bool = False


WALKS = (
    StridedTemplate("more elements than threads, and some left over", "2051", "launch=2x33"),
    StridedTemplate("many blocks: some may work for others", "2x1031", "launch=4096x1"),
    StridedTemplate("more elements than threads, transposed", "33x65:1,33", "launch=1x32"),
    StridedTemplate("more elements than threads, from the second one on", "1030+1", "launch=1x32"),
    StridedTemplate(
        "more elements than threads, in five dims, rows with gaps", "2x3x1x2x5:42,14,14,7,1", "launch=1x32"
    ),
    StridedTemplate(
        "one thread per block, rows with gaps, from the sixth element on", "4x7x1:29,4,2+5", "launch=4096x1"
    ),
    StridedTemplate("one element, without dims", "()", "launch=2x33"),
    StridedTemplate("more elements than threads, special values", "2051", "launch=2x33", data="special"),
    StridedTemplate(
        "more elements than threads, halfway between numbers of fewer bits",
        "2051",
        "launch=2x33",
        "halfway",
        narrowing=True,
    ),
    StridedTemplate(
        "two operands in the same memory, one of them transposed", "33x65", "launch=1x32", aliased="33x65:1,33"
    ),
)
"""The ways, fast and slow, that each kernel which walks over elements has to get right."""


@dataclass(frozen=True)
class EdgeTemplate:
    """A case of each kernel that takes such data: a drawn one, with all inputs that take them from ``stream``.

    An input takes them if the op names one of these streams for its floating-point type, integer type, or blocks.
    ``in_rows``: of kernels that no walk fits. ``gap``: with so many elements between the rows of tensors, of which one
    at least has several rows and may have gaps.
    """

    title: str
    stream: str = ""
    floats: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    in_rows: bool = False
    gap: int = 0

    def taken(self, kind: DType, streams: Collection[str]) -> bool:
        """True if an input of a type, with these streams, takes the data."""
        wanted = self.floats if kind.is_float else self.blocks if kind.is_block else self.integers
        return not set(wanted).isdisjoint(streams)


EDGES = (
    EdgeTemplate("rows of one special value each", "runs", floats=("special",), integers=("special",)),
    EdgeTemplate("halfway between numbers of fewer bits", "halfway", floats=("normal",), integers=("special", "bits")),
    EdgeTemplate("subnormal scales", "subnormal", blocks=("special",)),
    EdgeTemplate("rows of one extreme value each", "extreme", floats=("special",), integers=("special",), in_rows=True),
    EdgeTemplate(
        "rows with gaps", "small", floats=("normal", "small"), integers=("normal", "small"), in_rows=True, gap=5
    ),
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
    found = [NamedCase(walk.title, _items_of(op, walk, types)) for walk in _walks_of(op, dtypes)]
    chosen = _meant_for(op, dtypes, (*found, *op.named))
    if launches == "host":
        chosen = [each for each in chosen if not own_launch(each.items)]
    return [(each.title, parsed(op, _text(op, dtypes, each.items))) for each in chosen]


def edge_cases(op: Declaration, drawn: Sequence[Case], launches: str) -> list[tuple[str, Case]]:
    """Title and case of every edge that the op has: the largest of the drawn cases that is not too large, changed.

    ``launches`` as for ``cases``; a kernel that no walk fits has the launch of one.
    """
    sized = [(max((each.span for each in case.layouts.values()), default=0), case) for case in drawn]
    small = [case for size, case in sorted(sized, key=lambda each: each[0], reverse=True) if size <= MOST]
    if not small:
        return []
    base, found = small[0], []
    walked = bool(_walks_of(op, base.dtypes))
    for edge in EDGES:
        if edge.in_rows and walked:
            continue
        spaced = (_spaced(op, each, edge.gap) for each in small)
        of = next((new for old, new in zip(small, spaced, strict=True) if new != old), None) if edge.gap else base
        case = of and _with_data(op, of, edge)
        if case and case != base and case not in drawn and not complaint_of(case_view(op, case)):
            found.append((edge.title, case))
    case = replace(base, launch=MANY_BLOCKS, threads=None)
    if launches != "host" and op.grid_stride and not op.then and not walked and case not in drawn:
        found.append(("many blocks of one thread", case))
    return found


def _with_data(op: Declaration, case: Case, edge: EdgeTemplate) -> Case:
    """A case with the data of an edge in each input that takes them."""
    types, tensors = op.bind(case.dtypes), dict(case.tensors)
    for number, name in enumerate(name for name in op.filled if name in tensors and name not in op.indices):
        if edge.taken(op.dtype_of(op.tensors[name], types), op.data_of(name, types)):
            tensors[name] = replace(tensors[name], data=edge.stream, start=SHIFT * number)
    if op.aliased and "aliased" in case.flags:
        tensors[op.aliased[1]] = tensors[op.aliased[0]]
    return case.with_tensors(tensors)


def _spaced(op: Declaration, case: Case, gap: int) -> Case:
    """A case with so many elements between the rows of each tensor that has several of them and may have gaps."""
    tensors = dict(case.tensors)
    for name, tensor in case.tensors:
        of = tensor.layout
        if of.shape and of.shape[-1] < of.numel and 0 not in of.strides:
            spaced = in_rows(of.shape, of.shape[-1] + gap, of.offset)
            if not op.strides_of(name).complaint(spaced):
                tensors[name] = replace(tensor, layout=spaced)
    return case.with_tensors(tensors)


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


def _meant_for(op: Declaration, dtypes: Sequence[str], cases: Iterable[NamedCase]) -> list[NamedCase]:
    """The cases that are for these dtypes."""
    return [n for n in cases if n.only is None or op.ask(f"only of {n.title!r}", n.only, *dtypes)]


def _text(op: Declaration, dtypes: Sequence[str], items: str) -> str:
    return f"{op.name}[{','.join(dtypes)}]({items})"


def _contiguous(op: Declaration, dtypes: Sequence[str]) -> Sequence[NamedCase]:
    types = op.bind(dtypes)
    count = BENCH_BYTES // max(op.dtype_of(kind, types).itemsize for kind in op.kinds.values())
    if not _all_may_be(op, contiguous((count,)), dtypes):
        return ()
    flags = " null-info" * ("null-info" in op.flags)
    return (NamedCase("contiguous", _items(op, f"{count}|16384", types) + flags),)


def _all_may_be(op: Declaration, layout: Layout, dtypes: Sequence[str]) -> bool:
    """True if all tensors, the outputs among them, may have this layout."""
    if op.misfit or op.shape:
        return False
    types = op.bind(dtypes)
    params = {name: _usual(op.dtype_of(kind, types)) for name, kind in op.params.items()}
    given = CaseView(op, dict.fromkeys(op.tensors, layout), params, types)
    if complaint_of(given) or any(each != layout.shape for each in given.shapes.values()):
        return False
    return not any(op.strides_of(name).complaint(layout) for name in op.tensors)


def _walks_of(op: Declaration, dtypes: Sequence[str]) -> list[StridedTemplate]:
    """The walks that fit an op, and that are about something that it has."""
    if not op.grid_stride or op.then:
        return []
    types = op.bind(dtypes)
    return [
        walk
        for walk in WALKS
        if (not walk.data or any(_takes(op, name, types, walk.data) for name in op.filled))
        and (not walk.aliased or op.aliased)
        and (not walk.narrowing or _narrows(op, types))
        and _all_may_be(op, Layout.parse(walk.layout), dtypes)
    ]


def _items_of(op: Declaration, walk: StridedTemplate, types: Mapping[str, DType]) -> str:
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
        found[name] = f"~{data}@{SHIFT * number}" if data and _takes(op, name, types, data) else f"~{usual}@0"
    items = [f"{name}={layout}{found.get(name, '')}" for name in op.tensors]
    items += [f"{n}={_usual(op.dtype_of(kind, types))}" for n, kind in op.params.items()]
    return " ".join(items)


def _narrows(op: Declaration, types: Mapping[str, DType]) -> bool:
    results = [op.dtype_of(op.kinds[name], types) for name in op.compared]
    largest = max((op.dtype_of(op.kinds[name], types).itemsize for name in op.filled), default=0)
    return any(each.is_float and each.itemsize < largest for each in results)


def _takes(op: Declaration, name: str, types: Mapping[str, DType], data: str) -> bool:
    """True if an input takes data of a stream: the op names it, or what an edge of it goes by."""
    kind, streams = op.dtype_of(op.tensors[name], types), op.data_of(name, types)
    return data in streams or any(edge.stream == data and edge.taken(kind, streams) for edge in EDGES)


def _usual(kind: DType) -> float | int:
    return 1.5 if kind.is_float else 3
