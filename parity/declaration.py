"""What an op declares, and what follows from that without a case."""

from __future__ import annotations

import functools
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from parity.case import Case
from parity.dtypes import DType, dtype
from parity.errors import UsageError, nearest
from parity.generate.blocks import BLOCK_STREAMS
from parity.generate.data import STREAMS, streams_of
from parity.generate.layouts import Draw, broadcasting, dense
from parity.launch import Grid, elementwise
from parity.layout import Layout, contiguous
from parity.reference.expected import Expected

__all__ = ["Declaration", "Layouts", "Named", "Params", "Shape", "Work"]

BENCH_BYTES = 2**28
"""Size of the largest tensor of a contiguous case that is measured: 64 Mi elements of four bytes."""

_SIZES = re.compile(r"(\d+)\|(\d+)")

Layouts = Mapping[str, Layout]
Params = Mapping[str, float | int]
Shape = tuple[int, ...]


COUNTS = ("numel", "num_dims", "info")
"""Arguments that a kernel may take in any integer type."""

WALKS = (
    ("more elements than threads, and some left over", "2051", "launch=2x33"),
    ("many blocks: some may work for others", "2x1031", "launch=4096x1"),
    ("more elements than threads, transposed", "33x65:1,33", "launch=1x32"),
    ("more elements than threads, from the second one on", "1030+1", "launch=1x32"),
)
"""Title, layout and launch of what each kernel that walks over elements has to get right, fast ways and slow ones."""


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


def not_dense(layout: Layout) -> str:
    """What is wrong with a layout for a kernel that is told no strides."""
    return "" if layout.is_contiguous else "the kernel takes contiguous tensors only"


@dataclass(frozen=True)
class Named:
    """A case that every run includes: a title, the items of its text, and the dtypes it is for (None = all).

    A title may begin with the id of a known CUDA/AMD divergence ("D5: ...").
    """

    title: str
    items: str
    only: Callable[..., bool] | None = None


@dataclass(frozen=True)
class Work:
    """What a case asks of a device at least: ``bytes`` to read and to write, ``operations`` to compute.

    An addition, a comparison, a function is one operation; a fused multiply-add is two.
    """

    bytes: int
    operations: int


def one_per_element(layouts: Layouts, params: Params, shape: Shape) -> int:
    """The operations of an elementwise kernel."""
    return math.prod(shape)


@dataclass(frozen=True, eq=False)
class Declaration:
    """The declaration of an op.

    What depends on the case is a function of its layouts (by tensor, ``out`` among them if it has one of its own) and
    parameters (by name), and of the output's shape where that is known already.

    Args:
        name: ``module.op``; the module names the ``.cu`` file.
        kernel: entry name with the type variables in braces: ``cast_{S}_{D}``. ``spelling``: how it spells a dtype, if
            not by its name.
        library: there is no kernel; what libraries compute is judged, and ``kernel`` is only the name of its rows.
        types: the dtype combinations, each as text: ``"f32"`` or ``"f32,u8"``, in the order of the variables.
        args: the kernel's arguments in order, words separated by blanks: a tensor, a parameter, a name of ``scalars``,
            ``numel`` or ``num_dims`` of the output, or ``info`` (dims, then the strides of each tensor of
            ``strided``). The last three are u64, or what follows a colon: ``numel:i32``. None where there is no kernel.
        source: the file of the kernel below the folder of kernels, if it is not ``module.cu`` there.
        reference: called with the inputs (logical arrays; None for one that is left out; last the former content of an
            output that is updated) and the parameters, positionally; ``to`` (the output's DType), ``shape`` (of the
            output) and ``grid`` (the launch's Grid) are passed by keyword to a reference that names them.
        inputs: name and type (variable or dtype) of the tensors read.
        output: type of the output. It is a fresh contiguous tensor called ``out``, or, if ``writes`` is set, a tensor
            with a layout of its own that is written in place, or, if ``updates`` is set, one with data of its own that
            the kernel changes.
        params: name and type of the parameters. One that is no argument of the kernel is only part of the case.
        layouts: draws the layouts, and the values of those parameters that have to fit them (default: of one shape, and
            contiguous if the kernel takes no ``info``).
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
        data: the streams that the other inputs are drawn from, each from those that its type has. ``points``: values
            that matter for this op.
        values: values for the parameters beside the usual ones.
        named: cases that every run includes.
        workspace: further arguments that the kernel writes and nobody looks at (scratch memory, or an output that is an
            op of its own): name, and a function of layouts, parameters and output shape to type and number of elements.
        scalars: further by-value arguments, type and value, computed from layouts, parameters and output shape;
            ``grid`` and ``types`` (by variable) are passed by keyword to a function that names them.
        bench: cases to measure, of which each number written ``big|small`` is big on hardware and small in an emulator.
            If all tensors have one shape and may be of rank 1, they come beside one of contiguous tensors, 256 MiB of
            the widest type.
        operations: operations of a call (default: one per element of the output).
        elements: elements read or written of those tensors (``out`` among them) for which that is not each element once
            (twice for an output that is updated).
    """

    name: str
    kernel: str
    types: tuple[str, ...]
    args: str
    reference: Callable[..., Expected]
    library: bool = False
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
    workspace: Mapping[str, Callable[[Layouts, Params, Shape], tuple[str, int]]] = field(default_factory=dict)
    spelling: Mapping[str, str] = field(default_factory=dict)
    bench: tuple[Named, ...] = ()
    operations: Callable[[Layouts, Params, Shape], int] = one_per_element
    elements: Callable[[Layouts, Params, Shape], Mapping[str, int]] = lambda layouts, params, shape: {}
    source: str = ""
    where: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", _caller())
        # A kernel that is told no strides can use none.
        if "info" not in self.takes and self.layouts is broadcasting and not self.library:
            object.__setattr__(self, "layouts", dense)
            object.__setattr__(self, "refuses", not_dense)
        words = {"numel", "num_dims", "info", "out", *self.inputs, *self.params, *self.scalars, *self.workspace}
        in_place = (self.in_place,) if self.in_place else ()
        for what, names, known in (
            ("argument", self.takes, words),
            ("strided tensor", self.strided, {*self.inputs, "out"}),
            ("input", (*self.optional, *self.indices, *(self.aliased or ()), *in_place), self.inputs),
            ("data", self.data, {**STREAMS, **BLOCK_STREAMS}),
        ):
            for name in names:
                if name not in known:
                    raise UsageError(f"op {self.name}: unknown {what} {name!r}{nearest(name, known)}")
        for word in self.args.split():
            name, colon, kind = word.partition(":")
            if colon and (name not in COUNTS or dtype(kind).is_float):
                raise UsageError(f"op {self.name}: {word!r}: only {', '.join(COUNTS)} take a type, one of integers")

    @property
    def module(self) -> str:
        return self.name.partition(".")[0]

    @property
    def file(self) -> str:
        """The file of the kernel, below the folder of kernels."""
        return self.source or f"{self.module}.cu"

    @functools.cached_property
    def arguments(self) -> tuple[tuple[str, DType], ...]:
        """The words of ``args``; those that count something with the type that they have."""
        return tuple((name, dtype(kind or "u64")) for name, _, kind in (w.partition(":") for w in self.args.split()))

    @property
    def takes(self) -> tuple[str, ...]:
        """The names in ``args``."""
        return tuple(name for name, _ in self.arguments)

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
            "null-info": "info" in self.takes and self.null_info and self.info is None,
            "in-place": self.in_place is not None,
            "aliased": self.aliased is not None,
            **{f"no-{name}": True for name in self.optional},
        }
        return tuple(name for name, yes in allowed.items() if yes)

    def kernel_name(self, dtypes: Sequence[str]) -> str:
        """The name of the kernel entry for these dtypes."""
        spelled = (self.spelling.get(name, name) for name in dtypes)
        return self.kernel.format(**dict(zip(self.variables, spelled, strict=True)))

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

    @property
    def with_strides(self) -> tuple[str, ...]:
        """Tensors whose strides the kernel is told."""
        return self.strided or tuple(self.inputs) or ("out",)

    @staticmethod
    def dtype_of(kind: str, types: Mapping[str, DType]) -> DType:
        """The dtype that a type variable is bound to, or that a name means."""
        return types.get(kind) or dtype(kind)

    def data_of(self, name: str, types: Mapping[str, DType]) -> tuple[str, ...]:
        """The streams that a tensor's data are drawn from.

        Raises:
            UsageError: its type has none of those that the op names.
        """
        if name in self.indices:
            return self.index_data
        kind = self.dtype_of(self.tensors[name], types)
        known = streams_of(kind)
        if not any(stream in known for stream in self.data):
            raise UsageError(f"op {self.name}: {name} is of {kind}, which has no data but {' '.join(known)}")
        return tuple(stream for stream in self.data if stream in known)

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

    def work(self, case: Case) -> Work:
        """The bytes and operations of a case."""
        layouts, params, types = case.layouts, dict(case.params), self.bind(case.dtypes)
        shape = self.shape(layouts, params)
        same = self.aliased[1] if self.aliased and "aliased" in case.flags else None
        elements = {name: layouts[name].distinct for name in self.inputs if name in layouts and name != same}
        elements["out"] = math.prod(shape) * (2 if self.updates else 1)
        elements.update(self.elements(layouts, params, shape))
        kinds = {**self.inputs, "out": self.output}
        total = sum(count * self.dtype_of(kinds[name], types).itemsize for name, count in elements.items())
        return Work(total, self.operations(layouts, params, shape))

    def bench_items(self, dtypes: Sequence[str], small: bool = False) -> list[tuple[str, str]]:
        """Title and items of the cases to measure; ``small`` ones have the same form."""
        types = self.bind(dtypes)
        chosen = [n for n in (*self._contiguous(types), *self.bench) if n.only is None or n.only(*dtypes)]
        return [(each.title, _SIZES.sub(r"\2" if small else r"\1", each.items)) for each in chosen]

    def named_items(self, dtypes: Sequence[str]) -> list[tuple[str, str]]:
        """Title and items of the cases that every run includes."""
        types = self.bind(dtypes)
        walks = WALKS if self.grid_stride else ()
        found = [
            Named(title, f"{self._items(layout, types)} {launch}")
            for title, layout, launch in walks
            if self._one_shape(Layout.parse(layout))
        ]
        return [(each.title, each.items) for each in (*found, *self.named) if each.only is None or each.only(*dtypes)]

    def _contiguous(self, types: Mapping[str, DType]) -> Sequence[Named]:
        kinds = {**self.inputs, "out": self.output}
        count = BENCH_BYTES // max(self.dtype_of(kind, types).itemsize for kind in kinds.values())
        if not self._one_shape(contiguous((count,))):
            return ()
        flags = " null-info" * ("null-info" in self.flags)
        return (Named("contiguous", self._items(f"{count}|16384", types) + flags),)

    def _one_shape(self, layout: Layout) -> bool:
        """Whether all tensors may have this layout."""
        return self.shape is output_shape and self.fits is same_shapes and not self.refuses(layout)

    def _items(self, layout: str, types: Mapping[str, DType]) -> str:
        """The items of a case whose tensors have one layout."""
        data = {name: self.data_of(name, types) for name in self.filled}
        usual = {name: f"~{'normal' if 'normal' in streams else streams[0]}@0" for name, streams in data.items()}
        items = [f"{name}={layout}{usual.get(name, '')}" for name in self.tensors]
        items += [f"{n}={1.5 if self.dtype_of(kind, types).is_float else 3}" for n, kind in self.params.items()]
        return " ".join(items)

    def dims_and_strides(self, layouts: Layouts, params: Params) -> list[int]:
        """What ``info`` holds unless the op says something else."""
        strided = [layouts[name] for name in self.with_strides]
        return [*strided[0].shape, *(stride for layout in strided for stride in layout.strides)]


def _caller() -> str:
    """File and line of the declaration: the nearest place in the stack that is none of the classes themselves."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__") in ("parity.declaration", "parity.op", "dataclasses"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
