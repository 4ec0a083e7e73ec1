"""Ops: what a kernel computes, declared in a few lines; everything derivable is derived.

An op knows how to draw a case, how to turn a case into a launch with its buffers, and what to expect. Nothing here
knows a particular op: those are declared in the ``cases`` folder of a suite.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parity.case import Case, Tensor, split
from parity.dtypes import DTYPES, DType, dtype
from parity.errors import UsageError, nearest
from parity.generate.buffers import blank, filled
from parity.generate.data import STREAMS
from parity.generate.indices import INDEX_STREAMS, is_sentinel
from parity.generate.layouts import LAUNCHES, Draw, broadcasting, pick
from parity.generate.params import parameter
from parity.launch import BLOCK, Buffer, Grid, Launch, Pointer, Scalar, elementwise
from parity.layout import Layout, contiguous
from parity.reference.expected import Expected

__all__ = ["Call", "Entry", "Layouts", "Named", "Op", "Params", "Shape"]

Array = np.ndarray[Any, Any]
Layouts = Mapping[str, Layout]
Params = Mapping[str, float | int]
Shape = tuple[int, ...]

SIZE_T = DTYPES["u64"]
MAX_RANK = 8
"""More dims than any framework passes to these kernels."""
WINDOW = 96


def output_shape(layouts: Layouts, params: Params) -> Shape:
    """The shape of the output of an op whose tensors all have one shape."""
    return layouts["out"].shape if "out" in layouts else next(iter(layouts.values())).shape


def same_shapes(layouts: Layouts, params: Params) -> str:
    """What does not fit together where all tensors have one shape."""
    shapes = {name: layout.shape for name, layout in layouts.items()}
    different = len(set(shapes.values())) > 1
    return f"the tensors differ in shape: {', '.join(f'{n} {s}' for n, s in shapes.items())}" if different else ""


def one_thread_per_element(layouts: Layouts, params: Params, shape: Shape, threads: int | None) -> Grid:
    """The launch of an elementwise kernel."""
    return elementwise(math.prod(shape), threads)


@dataclass(frozen=True)
class Named:
    """A case that every run includes: a title, the items of its text, and the dtypes it is for (None = all).

    A title may begin with the id of a known CUDA/AMD divergence ("D5: ...").
    """

    title: str
    items: str
    only: Callable[..., bool] | None = None


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
    expected: Callable[[], Expected]


@dataclass(frozen=True, eq=False)
class Op:
    """The declaration of an op.

    What depends on the case is a function of its layouts (by tensor, ``out`` among them if it has one of its own) and
    parameters (by name), and of the output's shape where that is known already.

    Args:
        name: ``module.op``; the module names the ``.cu`` file.
        kernel: entry name with the type variables in braces: ``cast_{S}_{D}``. ``spelling``: how it spells a dtype, if
            not by its name.
        types: the dtype combinations, each as text: ``"f32"`` or ``"f32,u8"``, in the order of the variables.
        args: the kernel's arguments in order, words separated by blanks: a tensor, a parameter, a name of ``scalars``,
            ``numel`` or ``num_dims`` of the output, or ``info`` (dims, then the strides of each tensor of ``strided``;
            u64).
        reference: called with the inputs (logical arrays; None for one that is left out; last the former content of an
            output that is updated) and the parameters, positionally; ``to`` (the output's DType), ``shape`` (of the
            output) and ``grid`` (the launch's Grid) are passed by keyword to a reference that names them.
        inputs: name and type (variable or dtype) of the tensors read.
        output: type of the output. It is a fresh contiguous tensor called ``out``, or, if ``writes`` is set, a tensor
            with a layout of its own that is written in place, or, if ``updates`` is set, one with data of its own that
            the kernel changes.
        params: name and type of the parameters. One that is no argument of the kernel is only part of the case.
        layouts: draws the layouts, and the values of those parameters that have to fit them.
        shape: the output's logical shape (default: the common shape).
        fits: says what of the layouts and parameters does not fit together, or returns an empty string (default: all
            shapes have to be equal). It must find everything that would make the kernel or another function here fail.
        refuses: says what is wrong with a layout that the kernel cannot take, or returns an empty string.
        launch: the host's launch rule, of layouts, parameters, output shape, and the threads per block if not the
            host's own (default: one thread per element of the output, in blocks of 1024). ``threads``: the numbers that
            may be used instead.
        grid_stride: the kernel must work for any number of blocks and threads.
        strided: the tensors whose strides ``info`` carries (default: the inputs, or ``out`` if there are none).
        info: what ``info`` holds, if something else.
        null_info: the kernel takes a null ``info`` for "contiguous" (never with an ``info`` of its own).
        in_place: the input that may be null, to be read from ``out``.
        optional: inputs that may be null and are then left out of the case; ``no-<name>`` is the flag.
        aliased: two inputs that may be the same memory.
        indices: inputs whose elements index something, with the number of places that has. ``index_data``: the streams
            they are drawn from; an id that is the maximum of its type is right only where ``sentinel`` is one of them.
        data: the streams that the other inputs are drawn from. ``points``: values that matter for this op.
        values: values for the parameters beside the usual ones.
        named: cases that every run includes.
        scalars: further by-value arguments, type and value, computed from layouts, parameters and output shape;
            ``grid`` is passed by keyword to a function that names it.
    """

    name: str
    kernel: str
    types: tuple[str, ...]
    args: str
    reference: Callable[..., Expected]
    inputs: Mapping[str, str] = field(default_factory=dict)
    output: str = "T"
    params: Mapping[str, str] = field(default_factory=dict)
    layouts: Callable[[Draw, Sequence[str]], Mapping[str, Any]] = broadcasting
    shape: Callable[[Layouts, Params], Shape] = output_shape
    fits: Callable[[Layouts, Params], str] = same_shapes
    refuses: Callable[[Layout], str] = lambda layout: ""
    launch: Callable[[Layouts, Params, Shape, int | None], Grid] = one_thread_per_element
    threads: tuple[int, ...] = ()
    grid_stride: bool = True
    strided: tuple[str, ...] = ()
    info: Callable[[Layouts, Params], Sequence[int]] | None = None
    null_info: bool = True
    writes: bool = False
    updates: bool = False
    in_place: str | None = None
    optional: tuple[str, ...] = ()
    aliased: tuple[str, str] | None = None
    indices: Mapping[str, Callable[[Layouts, Params], int]] = field(default_factory=dict)
    index_data: tuple[str, ...] = ("index", "ramp", "repeat", "sentinel")
    data: tuple[str, ...] = ("mixed", "normal", "special", "near", "bits")
    points: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    named: tuple[Named, ...] = ()
    scalars: Mapping[str, Callable[..., tuple[str, float | int]]] = field(default_factory=dict)
    spelling: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {"numel", "num_dims", "info", "out", *self.inputs, *self.params, *self.scalars}
        for word in self.args.split():
            if word not in known:
                raise UsageError(f"op {self.name}: unknown argument {word!r}{nearest(word, known)}")

    @property
    def module(self) -> str:
        return self.name.partition(".")[0]

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the type variables, in the order of ``types``."""
        return tuple(part.partition("}")[0] for part in self.kernel.split("{")[1:]) or ("T",)

    @property
    def tensors(self) -> dict[str, str]:
        """Tensors that a case spells out, with their types."""
        return {**self.inputs, **({"out": self.output} if self.writes or self.updates else {})}

    @property
    def filled(self) -> tuple[str, ...]:
        """Tensors that hold data before the launch."""
        return (*self.inputs, *(("out",) if self.updates else ()))

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags that a case may carry."""
        allowed = {
            "null-info": "info" in self.args.split() and self.null_info and self.info is None,
            "in-place": self.in_place is not None,
            "aliased": self.aliased is not None,
            **{f"no-{name}": True for name in self.optional},
        }
        return tuple(name for name, yes in allowed.items() if yes)

    def kernel_name(self, dtypes: Sequence[str]) -> str:
        """The name of the kernel entry for these dtypes."""
        spelled = (self.spelling.get(name, name) for name in dtypes)
        return self.kernel.format(**dict(zip(self.variables, spelled, strict=True)))

    def entries(self) -> list[Entry]:
        """The kernel entries of this op."""
        return [Entry(self, tuple(types.split(","))) for types in self.types]

    def bind(self, dtypes: Sequence[str]) -> dict[str, DType]:
        """The dtype of every type variable.

        Raises:
            UsageError: the op does not exist for these dtypes.
        """
        if ",".join(dtypes) not in self.types:
            for name in dtypes:
                dtype(name)
            text = ",".join(dtypes)
            near = nearest(text, self.types)
            raise UsageError(f"{self.name} does not exist for [{text}]; it does for {' '.join(self.types)}{near}")
        return dict(zip(self.variables, map(dtype, dtypes), strict=True))

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
        params = {name: _number(values[name], self._dtype(kind, types), name) for name, kind in self.params.items()}
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
        for name, tensor in tensors.items():
            if len(tensor.layout.shape) > MAX_RANK:
                raise UsageError(f"{name}={tensor} has {len(tensor.layout.shape)} dims; kernels take up to {MAX_RANK}")
        if complaint := self.fits(layouts, params):
            raise UsageError(f"{case} does not fit together: {complaint}")
        for name, tensor in tensors.items():
            if complaint := self.refuses(tensor.layout):
                raise UsageError(f"{name}={tensor}: {complaint}")
            streams = {**STREAMS, **(INDEX_STREAMS if name in self.indices else {})}
            if name in self.filled and not tensor.data:
                example = "index" if name in self.indices else "mixed"
                raise UsageError(f"{name}={tensor} needs data: write {tensor.layout}~{example}@0")
            if name not in self.filled and tensor.data:
                raise UsageError(f"{name}={tensor}: {name} is only written, so it holds no data; drop ~{tensor.data}")
            if tensor.data and tensor.data not in streams:
                near = nearest(tensor.data, streams)
                raise UsageError(f"{name}={tensor}: unknown data {tensor.data!r}; known: {' '.join(streams)}{near}")
            if name == "out" and not tensor.layout.is_injective:
                raise UsageError(f"out={tensor}: two elements share a place, so the result would depend on the order")
            if name in self.indices:
                self._check_ids(name, case)
        if "null-info" in case.flags and not all(
            t.layout.is_contiguous for n, t in tensors.items() if n in self._strided
        ):
            raise UsageError(f"null-info says that every tensor is contiguous; in {case} one is not")
        self.grid(case)

    def _check_ids(self, name: str, case: Case) -> None:
        tensor, bound = case.tensor(name), self.indices[name](case.layouts, dict(case.params))
        kind = self._dtype(self.inputs[name], self.bind(case.dtypes))
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

    def grid(self, case: Case) -> Grid:
        """The geometry of a case's launch.

        Raises:
            UsageError: no device can launch it.
        """
        layouts, params = case.layouts, dict(case.params)
        rule = self.launch(layouts, params, self.shape(layouts, params), case.threads)
        if case.launch is None:
            return rule
        if not self.grid_stride:
            raise UsageError(f"{case}: the kernel of {self.name} needs the launch of its own rule, which is {rule}")
        blocks, threads = case.launch
        return replace(rule, grid=(blocks, 1, 1), block=(threads, 1, 1))

    @property
    def _strided(self) -> tuple[str, ...]:
        return self.strided or tuple(self.inputs) or ("out",)

    @staticmethod
    def _dtype(kind: str, types: Mapping[str, DType]) -> DType:
        return types.get(kind) or dtype(kind)

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
                and all(layouts[n].is_contiguous for n in self._strided)
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
                    streams = self.index_data if name in self.indices else self.data
                    tensors[name] = Tensor(each, pick(draw, streams), start)
                else:
                    tensors[name] = Tensor(each)
            if "aliased" in flags and self.aliased:
                tensors[self.aliased[1]] = tensors[self.aliased[0]]
            params = {
                name: drawn[name] if name in drawn else parameter(draw, self._dtype(kind, types), self.values)
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
        return [(n.title, self.parse(f"{head}({n.items})")) for n in self.named if n.only is None or n.only(*dtypes)]

    def call(self, case: Case) -> Call:
        """Launch, buffers and expectation of a case."""
        types = self.bind(case.dtypes)
        tensors, layouts, params = dict(case.tensors), case.layouts, dict(case.params)
        shape = self.shape(layouts, params)
        grid = self.grid(case)
        in_place = self.in_place if "in-place" in case.flags else None
        buffers: dict[str, Buffer] = {}
        inputs: dict[str, Array] = {}
        pointers = {name: Pointer(None) for name in self.inputs}
        for name, kind in self.inputs.items():
            if name not in tensors:
                continue
            tensor = tensors[name]
            if name == in_place:
                tensor = Tensor(contiguous(shape), tensor.data, tensor.start)
            bound = self.indices[name](layouts, params) if name in self.indices else None
            buffers[name] = filled(name, self._dtype(kind, types), tensor, self.points, bound)
            inputs[name] = tensor.layout.view(buffers[name].data)
            pointers[name] = Pointer(name, tensors[name].layout.offset)
        out_type = self._dtype(self.output, types)
        out = layouts.get("out") or contiguous(shape)
        if "aliased" in case.flags and self.aliased:
            first, second = self.aliased
            pointers[second] = pointers[first]
            inputs[second] = inputs[first]
            del buffers[second]
        if in_place:
            pointers[in_place] = Pointer(None)
            source = buffers.pop(in_place)
            inputs[in_place] = inputs[in_place].copy()
            buffers["out"] = Buffer(out_type, source.data, None, writable=True)
        elif self.updates:
            buffers["out"] = filled("out", out_type, tensors["out"], self.points, writable=True)
            inputs["out"] = out.view(buffers["out"].data)
        else:
            buffers["out"] = blank(out_type, out.span)
        pointers["out"] = Pointer("out", out.offset)
        if "info" in self.args.split() and "null-info" not in case.flags:
            info = self.info or self._dims_and_strides
            buffers["info"] = Buffer(SIZE_T, np.array(info({"out": out, **layouts}, params), np.uint64))
        args: list[Pointer | Scalar] = []
        for word in self.args.split():
            if word in pointers:
                args.append(pointers[word])
            elif word == "info":
                args.append(Pointer("info" if "info" in buffers else None))
            elif word in params:
                args.append(Scalar(self._dtype(self.params[word], types), params[word]))
            elif word in self.scalars:
                scalar = self.scalars[word]
                kind, value = scalar(layouts, params, shape, **_named(scalar, grid=grid))
                args.append(Scalar(dtype(kind), value))
            else:
                args.append(Scalar(SIZE_T, math.prod(shape) if word == "numel" else len(shape)))
        launch = Launch(self.kernel_name(case.dtypes), grid.grid, grid.block, tuple(args), grid.shared_bytes)

        def expected() -> Expected:
            scalars = [self._dtype(k, types).convert(params[n])[()] for n, k in self.params.items()]
            arrays = [inputs.get(name) for name in self.filled]
            wanted = _named(self.reference, to=out_type, shape=shape, grid=grid)
            return self.reference(*arrays, *scalars, **wanted)

        return Call(launch, buffers, "out", out, inputs, expected)

    def _dims_and_strides(self, layouts: Layouts, params: Params) -> list[int]:
        strided = [layouts[name] for name in self._strided]
        return [*strided[0].shape, *(stride for layout in strided for stride in layout.strides)]


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


def _named(function: Callable[..., Any], **offered: Any) -> dict[str, Any]:
    """Those of the offered arguments that the function names."""
    return {name: value for name, value in offered.items() if name in inspect.signature(function).parameters}


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
    if not kind.is_float and not kind.min <= value <= kind.max:
        raise UsageError(f"{name}={text} is outside of {kind}: {kind.min} to {kind.max}")
    return value
