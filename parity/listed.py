"""Cases that are not drawn: those that every run includes, and those that are measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from parity.case import Case
from parity.declaration import Declaration, Named
from parity.dtypes import DType
from parity.fitting import complaint_of, parsed
from parity.given import Given
from parity.layout import Layout, contiguous

__all__ = ["bench_cases", "divergences_of", "named_cases", "own_launch"]

BENCH_BYTES = 2**28
"""Size of the largest tensor of a contiguous case that is measured: 64 Mi elements of four bytes."""

WALKS = (
    ("more elements than threads, and some left over", "2051", "launch=2x33"),
    ("many blocks: some may work for others", "2x1031", "launch=4096x1"),
    ("more elements than threads, transposed", "33x65:1,33", "launch=1x32"),
    ("more elements than threads, from the second one on", "1030+1", "launch=1x32"),
    ("more elements than threads, in five dims, rows with gaps", "2x3x1x2x5:42,14,14,7,1", "launch=1x32"),
)
"""Title, layout and launch of what each kernel that walks over elements has to get right, fast ways and slow ones."""

_SIZES = re.compile(r"(\d+)\|(\d+)")
_LAUNCH = re.compile(r"\b(launch|threads)=")


def named_cases(op: Declaration, dtypes: Sequence[str], launches: str) -> list[tuple[str, Case]]:
    """Title and case of every named case for these dtypes; ``launches`` as for ``cases``."""
    types = op.bind(dtypes)
    found = [
        Named(title, f"{_items(op, layout, types)} {launch}")
        for title, layout, launch in (WALKS if op.grid_stride and not op.then else ())
        if _all_may_be(op, Layout.parse(layout), dtypes)
    ]
    chosen = _meant_for(op, dtypes, (*found, *op.named))
    if launches == "host":
        chosen = [each for each in chosen if not own_launch(each.items)]
    return [(each.title, parsed(op, _text(op, dtypes, each.items))) for each in chosen]


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


def _items(op: Declaration, layout: str, types: Mapping[str, DType]) -> str:
    """The items of a case whose tensors have one layout."""
    data = {name: op.data_of(name, types) for name in op.filled}
    usual = {name: f"~{'normal' if 'normal' in streams else streams[0]}@0" for name, streams in data.items()}
    items = [f"{name}={layout}{usual.get(name, '')}" for name in op.tensors]
    items += [f"{n}={_usual(op.dtype_of(kind, types))}" for n, kind in op.params.items()]
    return " ".join(items)


def _usual(kind: DType) -> float | int:
    return 1.5 if kind.is_float else 3
