"""Ops: what a kernel computes, declared in a few lines; everything derivable is derived.

An op knows how to draw a case, how to turn a case into a launch with its buffers, and what to expect. Nothing here
knows a particular op: those are declared in the ``cases`` folder of a suite.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parity.case import Case, Tensor, split
from parity.codeobject import CodeObject
from parity.declaration import Declaration, Layouts, Named, Params, Shape
from parity.dtypes import DType, dtype
from parity.errors import UsageError, nearest
from parity.generate.buffers import Memory, filled
from parity.generate.data import streams_of, unknown_stream
from parity.generate.indices import INDEX_STREAMS, is_sentinel
from parity.generate.layouts import LAUNCHES, Draw, pick
from parity.generate.params import parameter
from parity.launch import BLOCK, Buffer, Computation, Launch, Pointer, Scalar, Tiled, poisoned
from parity.layout import Layout, contiguous
from parity.reference.expected import Expected

__all__ = ["Call", "Entry", "Layouts", "Named", "Op", "Params", "Shape", "wanted"]

Array = np.ndarray[Any, Any]

MAX_RANK = 8
"""More dims than any framework passes to these kernels."""
WINDOW = 96


@dataclass(frozen=True)
class Call:
    """A case made concrete: launch, buffers, the output's place, the logical inputs, and the expected value (lazy).

    ``inputs`` are in the order of the reference's arguments; an input that the case leaves out is missing. The shape of
    an input may differ from the output's.
    """

    launch: Launch
    buffers: Mapping[str, Buffer]
    output: str
    layout: Layout
    inputs: Mapping[str, Array]
    computation: Computation
    expected: Callable[[], Expected]

    def on(self, code: CodeObject) -> Call:
        """The call with the kernel's symbol in that code object, which is not its name if it has C++ linkage."""
        return replace(self, launch=replace(self.launch, kernel=code.symbol(self.launch.kernel)))


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
        params = {name: _number(values[name], self.dtype_of(kind, types), name) for name, kind in self.params.items()}
        case = Case(
            self.name, tuple(dtypes), tuple(tensors.items()), tuple(params.items()), tuple(flags),
            _launch(values["launch"]) if "launch" in values else None,
            self._threads(values["threads"]) if "threads" in values else None,
        )  # fmt: skip
        self.check(case)
        return case

    def _threads(self, text: str) -> int:
        if not (text.isdigit() and int(text) in self.threads):
            choice = f"with {' '.join(map(str, self.threads))}" if self.threads else "by its own rule only"
            raise UsageError(f"threads={text}: {self.name} may be launched {choice}")
        return int(text)

    def check(self, case: Case) -> None:
        """Refuse a case whose tensors do not fit together or to the kernel.

        Raises:
            UsageError: what does not fit.
        """
        tensors, layouts, params = dict(case.tensors), case.layouts, dict(case.params)
        types = self.bind(case.dtypes)
        for name, tensor in tensors.items():
            if len(tensor.layout.shape) > MAX_RANK:
                raise UsageError(f"{name}={tensor} has {len(tensor.layout.shape)} dims; kernels take up to {MAX_RANK}")
        if complaint := self.fits(layouts, params):
            raise UsageError(f"{case} does not fit together: {complaint}")
        for name, tensor in tensors.items():
            if complaint := self.refuses(tensor.layout):
                raise UsageError(f"{name}={tensor}: {complaint}")
            kind = self.dtype_of(self.tensors[name], types)
            streams = (*streams_of(kind), *(INDEX_STREAMS if name in self.indices else ()))
            if name in self.filled and not tensor.data:
                example = "index" if name in self.indices else "mixed"
                raise UsageError(f"{name}={tensor} needs data: write {tensor.layout}~{example}@0")
            if name not in self.filled and tensor.data:
                raise UsageError(f"{name}={tensor}: {name} is only written, so it holds no data; drop ~{tensor.data}")
            if tensor.data and tensor.data not in streams:
                raise UsageError(f"{name}={tensor}: {unknown_stream(tensor.data, kind, streams)}")
            if name == "out" and not tensor.layout.is_injective:
                raise UsageError(f"out={tensor}: two elements share a place, so the result would depend on the order")
            if name in self.indices:
                self._check_ids(name, case)
        if "null-info" in case.flags and not all(
            t.layout.is_contiguous for n, t in tensors.items() if n in self.with_strides
        ):
            raise UsageError(f"null-info says that every tensor is contiguous; in {case} one is not")
        self.grid(case)

    def _check_ids(self, name: str, case: Case) -> None:
        tensor, bound = case.tensor(name), self.indices[name](case.layouts, dict(case.params))
        if bound and tensor.data in self.index_data:  # whose ids are all right, and may be too many to look at
            return
        kind = self.dtype_of(self.inputs[name], self.bind(case.dtypes))
        ids = tensor.layout.view(filled(name, kind, tensor, self.points, bound).data)
        wrong = (ids < 0) | (ids.astype(np.uint64) >= np.uint64(bound))
        if "sentinel" in self.index_data:
            wrong &= ~is_sentinel(ids, kind)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise UsageError(
                f"{name}={tensor}: id {ids[place]} at {place} does not index one of {bound} places; "
                f"for right ids write ~{' or ~'.join(self.index_data)}"
            )

    def cases(self, dtypes: Sequence[str]) -> st.SearchStrategy[Case]:
        """Strategy for the cases of one kernel entry."""
        types = self.bind(dtypes)

        @st.composite
        def cases(draw: Draw) -> Case:
            drawn = self.layouts(draw, tuple(self.tensors))
            layouts = {name: drawn[name] for name in self.tensors}
            launch = pick(draw, LAUNCHES) if self.grid_stride else None
            threads = pick(draw, (None, None, *self.threads)) if self.threads and launch is None else None
            flags = []
            if "in-place" in self.flags and pick(draw, (False, False, False, True)):
                flags.append("in-place")
            if self.aliased and pick(draw, (False, False, False, True)):
                flags.append("aliased")
                layouts[self.aliased[1]] = layouts[self.aliased[0]]
            if (
                "null-info" in self.flags
                and all(layouts[n].is_contiguous for n in self.with_strides)
                and pick(draw, (True, False))
            ):
                flags.insert(0, "null-info")
            for name in self.optional:
                if pick(draw, (False, False, False, True)):
                    flags.append(f"no-{name}")
                    del layouts[name]
            tensors = {}
            for name, each in layouts.items():
                if name in self.filled:
                    start = sum(draw(st.integers(0, WINDOW - 1)) * WINDOW**k for k in range(2))
                    tensors[name] = Tensor(each, pick(draw, self.data_of(name, types)), start)
                else:
                    tensors[name] = Tensor(each)
            if "aliased" in flags and self.aliased:
                tensors[self.aliased[1]] = tensors[self.aliased[0]]
            params = {
                name: drawn[name] if name in drawn else parameter(draw, self.dtype_of(kind, types), self.values)
                for name, kind in self.params.items()
            }
            return Case(
                self.name, tuple(dtypes), tuple(tensors.items()), tuple(params.items()), tuple(flags), launch, threads
            )

        strategy: st.SearchStrategy[Case] = cases()
        return strategy

    def named_cases(self, dtypes: Sequence[str]) -> list[tuple[str, Case]]:
        """Title and case of every named case for these dtypes."""
        head = f"{self.name}[{','.join(dtypes)}]"
        return [(title, self.parse(f"{head}({items})")) for title, items in self.named_items(dtypes)]

    def bench_cases(self, dtypes: Sequence[str], *, small: bool = False) -> list[tuple[str, Case]]:
        """Title and case of everything that is measured for these dtypes, small enough for an emulator or not."""
        head = f"{self.name}[{','.join(dtypes)}]"
        return [(title, self.parse(f"{head}({items})")) for title, items in self.bench_items(dtypes, small)]

    def call(self, case: Case) -> Call:
        """Launch, buffers and expectation of a case.

        Raises:
            UsageError: no device can launch it, or an argument is too large for its type.
        """
        memory = self._memory(case)
        launch = self._launch(case)
        buffers = {name: each.buffer(self.points) for name, each in memory.items()}
        buffers |= self._info(case) | self._workspace(case)
        inputs = {}
        for name in self.filled:
            if name in case.layouts:
                place, layout = self._place(name, case), case.layouts[name]
                if place != name and place == "out":  # in place: what the kernel overwrites
                    inputs[name] = memory["out"].tensor.layout.view(buffers["out"].data).copy()
                else:
                    inputs[name] = layout.view(buffers[place].data)

        types, params = self.bind(case.dtypes), dict(case.params)
        scalars = {name: self.dtype_of(kind, types).convert(params[name])[()] for name, kind in self.params.items()}
        shape = self.shape(case.layouts, params)
        computation = Computation(self.name, case.dtypes, inputs, scalars, buffers["out"].dtype, shape)

        @functools.cache  # every column of a run asks for it
        def expected() -> Expected:
            arrays = [inputs.get(name) for name in self.filled]
            offered = {"to": computation.dtype, "shape": shape, "grid": self.grid(case)}
            with np.errstate(all="ignore"):  # NaN, infinities and overflow are what the data are for
                found = self.reference(*arrays, *scalars.values(), **wanted(self.reference, **offered))
            return replace(found, bounds=functools.cache(found.bounds)) if found.bounds else found

        return Call(launch, buffers, "out", memory["out"].tensor.layout, inputs, computation, expected)

    def timed(self, case: Case) -> tuple[Launch, Mapping[str, Tiled]]:
        """Launch and memory of a case whose result nobody looks at, however large it is.

        Raises:
            UsageError: no device can launch it, or an argument is too large for its type.
        """
        buffers = {name: each.tiled(self.points) for name, each in self._memory(case).items()}
        info = {name: Tiled(each.dtype, each.data, len(each.data)) for name, each in self._info(case).items()}
        scratch = {n: Tiled(w.dtype, w.data, len(w.data), writable=True) for n, w in self._workspace(case).items()}
        return self._launch(case), {**buffers, **info, **scratch}

    def _place(self, name: str, case: Case) -> str:
        """The name of the buffer that a tensor lies in."""
        if "in-place" in case.flags and name == self.in_place:
            return "out"
        if "aliased" in case.flags and self.aliased and name == self.aliased[1]:
            return self.aliased[0]
        return name

    def _memory(self, case: Case) -> dict[str, Memory]:
        """What every buffer of a case holds, but for ``info``; the output is the last."""
        types, tensors, layouts, params = self.bind(case.dtypes), dict(case.tensors), case.layouts, dict(case.params)
        memory = {}
        for name, kind in self.inputs.items():
            if name in tensors and self._place(name, case) == name:
                bound = self.indices[name](layouts, params) if name in self.indices else None
                memory[name] = Memory(name, self.dtype_of(kind, types), tensors[name], bound)
        name, out = "out", tensors.get("out", Tensor(contiguous(self.shape(layouts, params))))
        if "in-place" in case.flags and self.in_place:
            name = self.in_place
            out = replace(tensors[name], layout=out.layout)
        memory["out"] = Memory(name, self.dtype_of(self.output, types), out, writable=True)
        return memory

    def _info(self, case: Case) -> dict[str, Buffer]:
        """The buffer ``info``, if the case has one."""
        if "info" not in self.takes or "null-info" in case.flags:
            return {}
        layouts, params = case.layouts, dict(case.params)
        out = layouts.get("out") or contiguous(self.shape(layouts, params))
        info = (self.info or self.dims_and_strides)({"out": out, **layouts}, params)
        kind = dict(self.arguments)["info"]
        return {"info": Buffer(kind, np.array([_in_range(int(number), kind, "info") for number in info], kind.numpy))}

    def _workspace(self, case: Case) -> dict[str, Buffer]:
        """The buffers that the kernel writes and nobody looks at; it must not read what it has not written."""
        layouts, params = case.layouts, dict(case.params)
        found = {}
        for name, of in self.workspace.items():
            kind, count = of(layouts, params, self.shape(layouts, params))
            undefined = np.zeros(count, np.bool_)
            found[name] = Buffer(dtype(kind), poisoned(dtype(kind), count), undefined, writable=True)
        return found

    def _launch(self, case: Case) -> Launch:
        types, layouts, params = self.bind(case.dtypes), case.layouts, dict(case.params)
        shape, grid = self.shape(layouts, params), self.grid(case)
        args: list[Pointer | Scalar] = []
        for word, size in self.arguments:
            if word in self.inputs or word == "out":
                args.append(self._pointer(word, case))
            elif word in self.workspace:
                args.append(Pointer(word))
            elif word == "info":
                args.append(Pointer(None if "null-info" in case.flags else "info"))
            elif word in params:
                args.append(Scalar(self.dtype_of(self.params[word], types), params[word]))
            elif word in self.scalars:
                scalar = self.scalars[word]
                kind, value = scalar(layouts, params, shape, **wanted(scalar, grid=grid, types=types))
                args.append(Scalar(dtype(kind), _in_range(value, dtype(kind), word)))
            else:
                args.append(Scalar(size, _in_range(math.prod(shape) if word == "numel" else len(shape), size, word)))
        return Launch(self.kernel_name(case.dtypes), grid.grid, grid.block, tuple(args), grid.shared_bytes)

    def _pointer(self, name: str, case: Case) -> Pointer:
        """The argument for a tensor: null for one that is left out, or read from the output."""
        if name == "out":
            return Pointer("out", case.layouts["out"].offset if "out" in case.layouts else 0)
        place = self._place(name, case)
        return Pointer(place, case.layouts[place].offset) if name in case.layouts and place != "out" else Pointer(None)


@dataclass(frozen=True)
class Entry:
    """One op for one dtype combination: a kernel entry."""

    op: Op
    dtypes: tuple[str, ...]

    @property
    def kernel(self) -> str:
        return self.op.kernel_name(self.dtypes)

    @property
    def name(self) -> str:
        return f"{self.op.name}[{','.join(self.dtypes)}]"


def wanted(function: Callable[..., Any], **offered: Any) -> dict[str, Any]:
    """Those of the offered arguments that the function names."""
    try:
        names = inspect.signature(function).parameters
    except ValueError:  # a function of C that does not say
        return {}
    return {name: value for name, value in offered.items() if name in names}


def _launch(text: str) -> tuple[int, int]:
    blocks, _, threads = text.partition("x")
    if not (blocks.isdigit() and threads.isdigit() and int(blocks) >= 1 and 1 <= int(threads) <= BLOCK):
        raise UsageError(f"launch={text} is not BLOCKSxTHREADS with 1 to {BLOCK} threads")
    return int(blocks), int(threads)


def _number(text: str, kind: DType, name: str) -> float | int:
    try:
        value = float(text) if kind.is_float else int(text)
    except ValueError:
        raise UsageError(f"{name}={text} is not a number of type {kind}") from None
    return _in_range(value, kind, name)


def _in_range(value: float | int, kind: DType, name: str) -> float | int:
    if not kind.is_float and not kind.min <= value <= kind.max:
        raise UsageError(f"{name}={value} is outside of {kind}: {kind.min} to {kind.max}")
    return value
