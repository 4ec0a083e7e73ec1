"""Ops: what a kernel computes, declared in a few lines; everything derivable is derived.

An op knows how to draw a case, how to turn a case into a launch with its buffers, and what to expect. Nothing here
knows a particular op: those are declared in the ``cases`` folder of a suite.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parity.case import Case, Tensor, split
from parity.dtypes import DTYPES, DType, dtype
from parity.errors import UsageError, nearest
from parity.generate.data import STREAMS, elements, special_values
from parity.generate.layouts import LAUNCHES, Draw, broadcasting, pick
from parity.launch import Buffer, Launch, Pointer, Scalar, poisoned
from parity.layout import Layout, contiguous
from parity.reference.expected import Expected

__all__ = ["Call", "Entry", "Named", "Op"]

Array = np.ndarray[Any, Any]
SIZE_T = DTYPES["u64"]
BLOCK = 1024
WINDOW = 96


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
    """A case made concrete: launch, buffers, the output's place, the logical inputs, and the expected value (lazy)."""

    launch: Launch
    buffers: Mapping[str, Buffer]
    output: str
    layout: Layout
    inputs: Mapping[str, Array]
    expected: Callable[[], Expected]


@dataclass(frozen=True, eq=False)
class Op:
    """The declaration of an op.

    Args:
        name: ``module.op``; the module names the ``.cu`` file.
        kernel: entry name with the type variables in braces: ``cast_{S}_{D}``.
        types: the dtype combinations, each as text: ``"f32"`` or ``"f32,u8"``, in the order of the variables.
        args: the kernel's arguments in order, words separated by blanks: a tensor, a parameter, ``numel``,
            ``num_dims``, ``info`` (dims, then the strides of each tensor of ``strided``; u64), or a name of
            ``scalars``.
        reference: called with the inputs (logical arrays) and the parameters, positionally; ``to`` (the output's DType)
            and ``shape`` are passed by keyword to a reference that names them.
        inputs: name and type (variable or dtype) of the tensors read.
        output: type of the output. It is a fresh contiguous tensor called ``out``, or, if ``writes`` is set, a tensor
            with a layout of its own that is updated in place.
        params: name and type of the by-value parameters.
        layouts: draws the layouts.
        refuses: says what is wrong with a layout that the kernel cannot take, or an empty string.
        strided: the tensors whose strides ``info`` carries (default: the inputs, or ``out`` if there are none).
        null_info: the kernel takes a null ``info`` for "contiguous".
        in_place: the input that may be null, to be read from ``out``.
        aliased: two inputs that may be the same memory.
        grid_stride: the kernel must work for any number of threads.
        data: the streams that inputs are drawn from. ``points``: values that matter for this op.
        values: values for the parameters beside the usual ones.
        named: cases that every run includes.
        scalars: further by-value arguments, computed from the case.
    """

    name: str
    kernel: str
    types: tuple[str, ...]
    args: str
    reference: Callable[..., Expected]
    inputs: Mapping[str, str] = field(default_factory=dict)
    output: str = "T"
    params: Mapping[str, str] = field(default_factory=dict)
    layouts: Callable[[Draw, Sequence[str]], dict[str, Layout]] = broadcasting
    strided: tuple[str, ...] = ()
    writes: bool = False
    refuses: Callable[[Layout], str] = lambda layout: ""
    null_info: bool = True
    in_place: str | None = None
    aliased: tuple[str, str] | None = None
    grid_stride: bool = True
    data: tuple[str, ...] = ("mixed", "normal", "special", "near", "bits")
    points: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    named: tuple[Named, ...] = ()
    scalars: Mapping[str, Callable[[Case], tuple[str, int]]] = field(default_factory=dict)

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
        return {**self.inputs, **({"out": self.output} if self.writes else {})}

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags that a case may carry."""
        allowed = {
            "null-info": "info" in self.args.split() and self.null_info,
            "in-place": self.in_place is not None,
            "aliased": self.aliased is not None,
        }
        return tuple(name for name, yes in allowed.items() if yes)

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
        known = {*self.tensors, *self.params, "launch"}
        for name in values:
            if name not in known:
                raise UsageError(f"{self.name} has no {name!r}{nearest(name, known)}")
        for flag in flags:
            if flag not in self.flags:
                known_flags = nearest(flag, self.flags) or f"; it has {' '.join(self.flags) or 'none'}"
                raise UsageError(f"{self.name} has no flag {flag!r}{known_flags}")
        for name in (*self.tensors, *self.params):
            if name not in values:
                raise UsageError(f"{name!r} is missing in {text!r}")
        tensors = {name: Tensor.parse(values[name]) for name in self.tensors}
        params = {name: _number(values[name], self._dtype(kind, types), name) for name, kind in self.params.items()}
        launch = None
        if "launch" in values:
            blocks, _, threads = values["launch"].partition("x")
            if not (blocks.isdigit() and threads.isdigit() and int(blocks) >= 1 and 1 <= int(threads) <= BLOCK):
                raise UsageError(f"launch={values['launch']} is not BLOCKSxTHREADS with 1 to {BLOCK} threads")
            launch = int(blocks), int(threads)
        case = Case(self.name, tuple(dtypes), tuple(tensors.items()), tuple(params.items()), tuple(flags), launch)
        self.check(case)
        return case

    def check(self, case: Case) -> None:
        """Refuse a case whose tensors do not fit together or to the kernel.

        Raises:
            UsageError: what does not fit.
        """
        tensors = dict(case.tensors)
        shapes = {name: tensor.layout.shape for name, tensor in tensors.items()}
        if len(set(shapes.values())) > 1:
            raise UsageError(
                f"the tensors of {case} differ in shape: {', '.join(f'{n} {s}' for n, s in shapes.items())}"
            )
        for name, tensor in tensors.items():
            if complaint := self.refuses(tensor.layout):
                raise UsageError(f"{name}={tensor}: {complaint}")
            if name in self.inputs and not tensor.data:
                raise UsageError(f"{name}={tensor} needs data: write {tensor.layout}~mixed@0")
            if tensor.data and tensor.data not in STREAMS:
                near = nearest(tensor.data, STREAMS)
                raise UsageError(f"{name}={tensor}: unknown data {tensor.data!r}; known: {' '.join(STREAMS)}{near}")
            if self.writes and name == "out" and not tensor.layout.is_injective:
                raise UsageError(f"out={tensor}: two elements share a place, so the result would depend on the order")
        if "null-info" in case.flags and not all(
            t.layout.is_contiguous for n, t in tensors.items() if n in self._strided
        ):
            raise UsageError(f"null-info says that every tensor is contiguous; in {case} one is not")

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
            layouts = self.layouts(draw, tuple(self.tensors))
            launch = pick(draw, LAUNCHES) if self.grid_stride else None
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
            tensors = {}
            for name, each in layouts.items():
                if name in self.inputs:
                    start = sum(draw(st.integers(0, WINDOW - 1)) * WINDOW**k for k in range(2))
                    tensors[name] = Tensor(each, pick(draw, self.data), start)
                else:
                    tensors[name] = Tensor(each)
            if "aliased" in flags and self.aliased:
                tensors[self.aliased[1]] = tensors[self.aliased[0]]
            params = {name: self._param(draw, self._dtype(kind, types)) for name, kind in self.params.items()}
            return Case(self.name, tuple(dtypes), tuple(tensors.items()), tuple(params.items()), tuple(flags), launch)

        strategy: st.SearchStrategy[Case] = cases()
        return strategy

    def _param(self, draw: Draw, kind: DType) -> float | int:
        usual: tuple[float, ...] = (1.0, 0.0, -1.0, 0.5, 2.0, -0.0, 3.0, *self.values)
        if kind.is_float:
            usual += (
                math.nan,
                math.inf,
                -math.inf,
                float(kind.max),
                -float(kind.max),
                2.0 ** (kind.emin - kind.precision + 1),
            )
            index = draw(st.integers(0, len(usual) + 11))
            drawn = usual[index] if index < len(usual) else float(elements("normal", kind, index, 1)[0])
            with np.errstate(all="ignore"):
                return float(np.float64(drawn).astype(kind.numpy))
        table = special_values(kind)
        return int(table[draw(st.integers(0, len(table) - 1))])

    def named_cases(self, dtypes: Sequence[str]) -> list[tuple[str, Case]]:
        """Title and case of every named case for these dtypes."""
        head = f"{self.name}[{','.join(dtypes)}]"
        return [(n.title, self.parse(f"{head}({n.items})")) for n in self.named if n.only is None or n.only(*dtypes)]

    def call(self, case: Case) -> Call:
        """Launch, buffers and expectation of a case."""
        types = self.bind(case.dtypes)
        tensors = dict(case.tensors)
        shape = next(iter(tensors.values())).layout.shape
        in_place = self.in_place if "in-place" in case.flags else None
        buffers: dict[str, Buffer] = {}
        inputs: dict[str, Array] = {}
        for name, kind in self.inputs.items():
            tensor = tensors[name]
            if name == in_place:
                tensor = Tensor(contiguous(shape), tensor.data, tensor.start)
            buffers[name] = _filled(name, self._dtype(kind, types), tensor, self.points)
            inputs[name] = tensor.layout.view(buffers[name].data)
        out_type = self._dtype(self.output, types)
        out = tensors["out"].layout if self.writes else contiguous(shape)
        pointers = {name: Pointer(name, tensors[name].layout.offset) for name in self.inputs}
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
        else:
            size = out.span
            buffers["out"] = Buffer(out_type, poisoned(out_type, size), np.zeros(size, np.bool_), writable=True)
        pointers["out"] = Pointer("out", out.offset)
        numel = math.prod(shape)
        if "info" in self.args.split() and "null-info" not in case.flags:
            info = [
                *shape,
                *(s for name in self._strided for s in (tensors[name].layout if name in tensors else out).strides),
            ]
            buffers["info"] = Buffer(SIZE_T, np.array(info, np.uint64))
        params = dict(case.params)
        args: list[Pointer | Scalar] = []
        for word in self.args.split():
            if word in pointers:
                args.append(pointers[word])
            elif word == "info":
                args.append(Pointer("info" if "info" in buffers else None))
            elif word in params:
                args.append(Scalar(self._dtype(self.params[word], types), params[word]))
            elif word in self.scalars:
                kind, value = self.scalars[word](case)
                args.append(Scalar(dtype(kind), value))
            else:
                args.append(Scalar(SIZE_T, numel if word == "numel" else len(shape)))
        blocks, threads = case.launch or (max(1, -(-numel // BLOCK)), BLOCK)
        launch = Launch(
            self.kernel.format(**{k: v.name for k, v in types.items()}), (blocks, 1, 1), (threads, 1, 1), tuple(args)
        )

        def expected() -> Expected:
            with np.errstate(all="ignore"):
                scalars = [np.array(params[n]).astype(self._dtype(k, types).numpy)[()] for n, k in self.params.items()]
            wanted = {"to": out_type, "shape": shape}
            named = inspect.signature(self.reference).parameters
            return self.reference(*inputs.values(), *scalars, **{k: v for k, v in wanted.items() if k in named})

        return Call(launch, buffers, "out", out, inputs, expected)


@dataclass(frozen=True)
class Entry:
    """One op for one dtype combination: a kernel entry."""

    op: Op
    dtypes: tuple[str, ...]

    @property
    def kernel(self) -> str:
        return self.op.kernel.format(**dict(zip(self.op.variables, self.dtypes, strict=True)))

    @property
    def name(self) -> str:
        return f"{self.op.name}[{','.join(self.dtypes)}]"


def _filled(name: str, kind: DType, tensor: Tensor, points: tuple[float, ...]) -> Buffer:
    """The buffer of an input: its stream where the layout has elements, poison in the gaps, which nothing may read."""
    layout = tensor.layout
    data = poisoned(kind, layout.span)
    stream = elements(tensor.data, kind, tensor.start, layout.span - layout.offset, name, points)
    if layout.offset == 0 and layout.is_contiguous:
        return Buffer(kind, stream)
    defined = np.zeros(layout.span, np.bool_)
    defined[layout.indices().ravel()] = True
    data[layout.offset :] = stream
    data[~defined] = poisoned(kind, int((~defined).sum()))
    return Buffer(kind, data, defined)


def _number(text: str, kind: DType, name: str) -> float | int:
    try:
        value = float(text) if kind.is_float else int(text)
    except ValueError:
        raise UsageError(f"{name}={text} is not a number of type {kind}") from None
    if not kind.is_float and not kind.min <= value <= kind.max:
        raise UsageError(f"{name}={text} is outside of {kind}: {kind.min} to {kind.max}")
    return value
