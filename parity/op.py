"""Ops: what a kernel computes, declared in a few lines; everything derivable is derived.

An op knows how to draw a case, how to turn a case into a launch with its buffers, and what to expect. Nothing here
knows a particular op: those are declared in the ``cases`` folder of a suite.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from parity.call import Call, call_of, number_of, timed
from parity.case import Case, Tensor, split
from parity.declaration import Declaration, Given, Named, Params, Shape, Step, Work
from parity.drawing import cases_of
from parity.dtypes import DType
from parity.errors import UsageError, natural, nearest
from parity.generate.buffers import filled
from parity.generate.data import has_stream, streams_of, unknown_stream
from parity.generate.indices import INDEX_STREAMS, is_sentinel
from parity.launch import BLOCK, Launch, Tiled
from parity.layout import Layout, contiguous
from parity.shapes import Misfit

__all__ = ["Call", "Entry", "Given", "Named", "Op", "Params", "Shape", "Step", "Work"]

MAX_RANK = 8
"""More dims than any framework passes to these kernels."""

BENCH_BYTES = 2**28
"""Size of the largest tensor of a contiguous case that is measured: 64 Mi elements of four bytes."""

WALKS = (
    ("more elements than threads, and some left over", "2051", "launch=2x33"),
    ("many blocks: some may work for others", "2x1031", "launch=4096x1"),
    ("more elements than threads, transposed", "33x65:1,33", "launch=1x32"),
    ("more elements than threads, from the second one on", "1030+1", "launch=1x32"),
)
"""Title, layout and launch of what each kernel that walks over elements has to get right, fast ways and slow ones."""

_SIZES = re.compile(r"(\d+)\|(\d+)")
_LAUNCH = re.compile(r"\b(launch|threads)=")


@dataclass(frozen=True, eq=False)
class Op(Declaration):
    """An op: its declaration, and its cases as text, as draws and as calls."""

    def entries(self) -> list[Entry]:
        """The kernel entries of this op."""
        return [Entry(self, tuple(types.split(","))) for types in self.types]

    def parse(self, text: str) -> Case:
        """The case with that text.

        Raises:
            UsageError: a name, value or flag does not fit this op.
        """
        _, dtypes, values, flags = split(text)
        types = self.bind(dtypes)
        known = {*self.tensors, *self.params, "launch", "threads"}
        for name in values:
            if name not in known:
                raise UsageError(f"{self.name} has no {name!r}{nearest(name, known)}")
        for flag in flags:
            if flag not in self.flags:
                known_flags = nearest(flag, self.flags) or f"; it has {' '.join(self.flags) or 'none'}"
                raise UsageError(f"{self.name} has no flag {flag!r}{known_flags}")
        left_out = {name for name in self.optional if f"no-{name}" in flags}
        for name in (*self.tensors, *self.params):
            if name in left_out and name in values:
                raise UsageError(f"no-{name} leaves {name} out, but {text!r} has {name}={values[name]}")
            if name not in values and name not in left_out:
                raise UsageError(f"{name!r} is missing in {text!r}")
        if "launch" in values and "threads" in values:
            raise UsageError(f"{text!r} has launch and threads; launch={values['launch']} says both")
        tensors = {name: Tensor.parse(values[name]) for name in self.tensors if name not in left_out}
        params = {name: number_of(values[name], self.dtype_of(kind, types), name) for name, kind in self.params.items()}
        case = Case(
            self.name, tuple(dtypes), tuple(tensors.items()), tuple(params.items()), tuple(flags),
            _launch(values["launch"]) if "launch" in values else None,
            self._threads(values["threads"]) if "threads" in values else None,
        )  # fmt: skip
        self.check(case)
        return case

    def _threads(self, text: str) -> int:
        if natural(text, "threads") not in self.threads:
            choice = f"with {' '.join(map(str, self.threads))}" if self.threads else "by its own rule only"
            raise UsageError(f"threads={text}: {self.name} may be launched {choice}")
        return int(text)

    def check(self, case: Case) -> None:
        """Refuse a case whose tensors do not fit together or to the kernel.

        Raises:
            UsageError: what does not fit.
        """
        tensors, types = dict(case.tensors), self.bind(case.dtypes)
        for name, tensor in tensors.items():
            if len(tensor.layout.shape) > MAX_RANK:
                raise UsageError(f"{name}={tensor} has {len(tensor.layout.shape)} dims; kernels take up to {MAX_RANK}")
        given = self.given(case)
        if complaint := self.complaint(given):
            raise Misfit(f"{case} does not fit together: {complaint}")
        for name, tensor in tensors.items():
            if complaint := self.strides_of(name).refuses(tensor.layout):
                raise Misfit(f"{name}={tensor}: {complaint}")
            kind = self.dtype_of(self.tensors[name], types)
            streams = (*streams_of(kind), *(INDEX_STREAMS if name in self.indices else ()))
            if name in self.filled and not tensor.data:
                example = "index" if name in self.indices else "mixed"
                raise UsageError(f"{name}={tensor} needs data: write {tensor.layout}~{example}@0")
            if name not in self.filled and tensor.data:
                raise UsageError(f"{name}={tensor}: {name} is only written, so it holds no data; drop ~{tensor.data}")
            if tensor.data and tensor.data not in streams and not has_stream(kind, tensor.data):
                raise UsageError(f"{name}={tensor}: {unknown_stream(tensor.data, kind, streams)}")
            if name in self.compared and not tensor.layout.is_injective:
                raise UsageError(
                    f"{name}={tensor}: two elements share a place, so the result would depend on the order"
                )
            if name in self.indices:
                self._check_ids(name, case, given)
        if "null-info" in case.flags and not all(
            t.layout.is_contiguous for n, t in tensors.items() if n in self.with_strides
        ):
            raise UsageError(f"null-info says that every tensor is contiguous; in {case} one is not")
        self.geometry(given)
        if case.launch and (not self.grid_stride or self.then):
            rule = self.geometry(Given(self, given.layouts, given.params, given.types, given.flags))
            raise UsageError(f"{case}: the kernel of {self.name} needs the launch of its own rule, which is {rule}")

    def complaint(self, given: Given) -> str:
        """What of a case does not fit together, or an empty string."""
        try:
            with self.naming("shapes"):
                scope = given.scope
            if broken := self.broken(scope):
                return broken
            if self.one_shape and (complaint := _different(given.layouts)):
                return complaint
            if self.fits and (complaint := self.ask("fits", self.fits, given)):
                return str(complaint)
            with self.naming("shapes"):
                given.shapes  # noqa: B018 - no extent of an output may be negative
            if not self.launch:
                self.geometry(given)
        except Misfit as misfit:
            return str(misfit)
        return ""

    def _check_ids(self, name: str, case: Case, given: Given) -> None:
        tensor, bound = case.tensor(name), self.number(self.indices[name], given, "indices")
        streams = self.streams_for(name)
        if bound and tensor.data in streams:  # whose ids are all right, and may be too many to look at
            return
        kind = self.dtype_of(self.inputs[name], given.types)
        ids = tensor.layout.view(filled(name, kind, tensor, self.points, bound).data)
        wrong = (ids < 0) | (ids.astype(np.uint64) >= np.uint64(bound))
        if "sentinel" in streams:
            wrong &= ~is_sentinel(ids, kind)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise UsageError(
                f"{name}={tensor}: id {ids[place]} at {place} does not index one of {bound} places; "
                f"for right ids write ~{' or ~'.join(streams)}"
            )

    def cases(self, dtypes: Sequence[str], *, launches: str = "any") -> st.SearchStrategy[Case]:
        """Strategy for the cases of one kernel entry; ``launches`` is "any", or "host" for the host's own rule only."""
        return cases_of(self, dtypes, self.complaint, launches)

    def named_cases(self, dtypes: Sequence[str], *, launches: str = "any") -> list[tuple[str, Case]]:
        """Title and case of every named case for these dtypes; ``launches`` as for ``cases``."""
        types = self.bind(dtypes)
        found = [
            Named(title, f"{self._items(layout, types)} {launch}")
            for title, layout, launch in (WALKS if self.grid_stride and not self.then else ())
            if self._all_may_be(Layout.parse(layout), dtypes)
        ]
        chosen = self._meant_for(dtypes, (*found, *self.named))
        if launches == "host":
            chosen = [each for each in chosen if not _LAUNCH.search(each.items)]
        return [(each.title, self.parse(self._text(dtypes, each.items))) for each in chosen]

    def divergences(self, dtypes: Sequence[str]) -> dict[str, str]:
        """The id of the known divergence that a named case for these dtypes is about, by the case's text."""
        about = self._meant_for(dtypes, (each for each in self.named if each.divergence))
        return {str(self.parse(self._text(dtypes, each.items))): each.divergence for each in about}

    def bench_cases(self, dtypes: Sequence[str], *, small: bool = False) -> list[tuple[str, Case]]:
        """Title and case of everything that is measured for these dtypes, small enough for an emulator or not."""
        chosen = self._meant_for(dtypes, (*self._contiguous(dtypes), *self.bench))
        items = [(each.title, _SIZES.sub(r"\2" if small else r"\1", each.items)) for each in chosen]
        return [(title, self.parse(self._text(dtypes, each))) for title, each in items]

    def _meant_for(self, dtypes: Sequence[str], cases: Iterable[Named]) -> list[Named]:
        """The cases that are for these dtypes."""
        return [n for n in cases if n.only is None or self.ask(f"only of {n.title!r}", n.only, *dtypes)]

    def _text(self, dtypes: Sequence[str], items: str) -> str:
        return f"{self.name}[{','.join(dtypes)}]({items})"

    def _contiguous(self, dtypes: Sequence[str]) -> Sequence[Named]:
        types = self.bind(dtypes)
        count = BENCH_BYTES // max(self.dtype_of(kind, types).itemsize for kind in self.kinds.values())
        if not self._all_may_be(contiguous((count,)), dtypes):
            return ()
        flags = " null-info" * ("null-info" in self.flags)
        return (Named("contiguous", self._items(f"{count}|16384", types) + flags),)

    def _all_may_be(self, layout: Layout, dtypes: Sequence[str]) -> bool:
        """Whether all tensors, the outputs among them, may have this layout."""
        if self.fits or self.shape:
            return False
        types = self.bind(dtypes)
        params = {name: _usual(self.dtype_of(kind, types)) for name, kind in self.params.items()}
        given = Given(self, dict.fromkeys(self.tensors, layout), params, types)
        if self.complaint(given) or any(each != layout.shape for each in given.shapes.values()):
            return False
        return not any(self.strides_of(name).refuses(layout) for name in self.tensors)

    def _items(self, layout: str, types: Mapping[str, DType]) -> str:
        """The items of a case whose tensors have one layout."""
        data = {name: self.data_of(name, types) for name in self.filled}
        usual = {name: f"~{'normal' if 'normal' in streams else streams[0]}@0" for name, streams in data.items()}
        items = [f"{name}={layout}{usual.get(name, '')}" for name in self.tensors]
        items += [f"{n}={_usual(self.dtype_of(kind, types))}" for n, kind in self.params.items()]
        return " ".join(items)

    def work(self, case: Case) -> Work:
        """The bytes and operations of a case."""
        given, types = self.given(case), self.bind(case.dtypes)
        same = self.aliased[1] if self.aliased and "aliased" in case.flags else None
        elements = {
            name: given.layouts[name].distinct for name in self.inputs if name in given.layouts and name != same
        }
        for name, each in given.shapes.items():
            elements[name] = math.prod(each) * (2 if name in self.updates else 1)
        elements.update({name: self.number(rule, given, "elements") for name, rule in self.elements.items()})
        total = sum(count * self.dtype_of(self.kinds[name], types).itemsize for name, count in elements.items())
        return Work(total, self.number(self.operations, given, "operations"))

    def call(self, case: Case) -> Call:
        """Launch, buffers and expectation of a case.

        Raises:
            UsageError: no device can launch it, or an argument is too large for its type.
        """
        return call_of(self, case, self.given(case))

    def timed(self, case: Case) -> tuple[Launch, Mapping[str, Tiled]]:
        """Launch and memory of a case whose result nobody looks at, however large it is.

        Raises:
            UsageError: no device can launch it, or an argument is too large for its type.
        """
        return timed(self, case, self.given(case))


@dataclass(frozen=True)
class Entry:
    """One op for one dtype combination: a kernel entry."""

    op: Op
    dtypes: tuple[str, ...]

    @property
    def kernel(self) -> str:
        return self.op.kernel_name(self.dtypes)

    @property
    def kernels(self) -> tuple[str, ...]:
        """All kernels that a call launches."""
        return self.op.kernel_names(self.dtypes)

    @property
    def name(self) -> str:
        return f"{self.op.name}[{','.join(self.dtypes)}]"


def _different(layouts: Mapping[str, Layout]) -> str:
    """What does not fit together where all tensors have one shape."""
    shapes = {name: layout.shape for name, layout in layouts.items()}
    different = len(set(shapes.values())) > 1
    return f"the tensors differ in shape: {', '.join(f'{n} {s}' for n, s in shapes.items())}" if different else ""


def _usual(kind: DType) -> float | int:
    return 1.5 if kind.is_float else 3


def _launch(text: str) -> tuple[int, int]:
    blocks, _, threads = text.partition("x")
    if not re.fullmatch("[0-9]{1,10}x[0-9]{1,4}", text) or not (int(blocks) >= 1 and 1 <= int(threads) <= BLOCK):
        raise UsageError(f"launch={text} is not BLOCKSxTHREADS with 1 to {BLOCK} threads")
    return int(blocks), int(threads)
