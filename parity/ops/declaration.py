"""The declaration of an op, and the properties that follow from it without a case."""

from __future__ import annotations

import functools
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from parity.data.extents import Choices
from parity.data.layouts import STRIDES, Draw, Strides
from parity.data.streams import has_stream, streams_of
from parity.dsl.arguments import Word, word_of
from parity.dsl.expression import Expression, expression
from parity.dsl.shapes import ShapeMismatch, Shapes, shapes, words
from parity.errors import ParityError, Unreferenced, UsageError, nearest
from parity.model.divergences import divergence
from parity.model.dtypes import DType, dtype
from parity.model.launch import BLOCK, Grid
from parity.ops.case_view import CaseView, Number, Params, Shape, Step
from parity.platform.version import PACKAGE
from parity.reference.expected import Expected

__all__ = ["CaseView", "Declaration", "NamedCase", "Params", "Shape", "Step"]

DATA = ("mixed", "normal", "special", "near", "bits")
INDEX_DATA = ("index", "ramp", "repeat", "sentinel")
"""Streams from which inputs are drawn, and streams for inputs whose elements are indices."""

WHOLE = "small"
"""The stream of numbers whose sums and products are exact, so that two sides have to agree to the last bit. Ops without
a reference have it beside the others.
"""


@dataclass(frozen=True)
class NamedCase:
    """A case that every run includes: a title, the items of its text, and the dtypes it is for (None = all).

    ``divergence`` is the id of the known CUDA/AMD divergence that the case is about (``model.divergences``), if any.

    Raises:
        UsageError: no divergence has that id.
    """

    title: str
    items: str
    only: Callable[..., bool] | None = None
    divergence: str = ""

    def __post_init__(self) -> None:
        if self.divergence:
            divergence(self.divergence)


@dataclass(frozen=True, eq=False)
class Declaration:
    """The declaration of an op.

    What depends on the case is an expression of the names in ``shapes`` and of parameters (``dsl.expression``), or a
    function of one object, ``CaseView``, that has the case's layouts, parameters, shape, types and grid.

    Args:
        name: ``module.op``; the module names the ``.cu`` file.
        kernel: entry name with the type variables in braces: ``cast_{S}_{D}``. ``spelling``: how it spells a dtype, if
            not by its name.
        library: there is no kernel; what libraries compute is judged, and ``kernel`` is only the name of its rows.
        types: the dtype combinations, each as text: ``"f32"`` or ``"f32,u8"``, in the order of the variables.
        args: the kernel's arguments in order, words separated by blanks: a tensor, a parameter, a structure, a name of
            ``workspace`` or ``scalars``, ``info`` (dims, then strides, in memory), or a value: ``n:i32=rows*columns``
            is a type and an expression without blanks (or with blanks in brackets). The type is u64 if none is given;
            ``rows:i32`` is the value of that name. Beside the names of ``shapes`` there are ``numel`` and ``num_dims``
            of the output, ``threads`` of a block and ``blocks`` of the grid.
        reference: called with the inputs (logical arrays; None for one that is left out; last the former content of
            what is updated) and the parameters, positionally; ``to`` (the output's DType), ``shape`` (of the output)
            and ``grid`` (the launch's Grid) are passed by keyword to a reference that names them. It returns what is
            expected of the output, or, if there are several, a mapping from each one's name to that. Without a
            reference AMD's results are judged by what CUDA's side of the run computes.
        inputs: name and type (variable or dtype) of the tensors read.
        outputs: name and type of the tensors written (default: ``out`` of type ``T``; none if some are updated). Each
            is a fresh contiguous tensor, or, if ``writes`` is set, one with a layout of its own.
        updates: name and type of the tensors read and written, with data and layouts of their own; each is compared.
        params: name and type of the parameters. One that is no argument of the kernel is only part of the case.
        shapes: the shapes of the tensors, as ``"x: rows 2*c; out: rows c"`` (``parity.dsl.shapes``). Layouts are drawn,
            cases are checked and outputs are shaped by it (default: all tensors have one shape).
        where: what must hold, as ``"c % 4 == 0 and rows > 0"``; other cases are refused, and not drawn.
        strides: by tensor (or one for all), which layouts the kernel takes: a name of
            ``parity.data.layouts.STRIDES``, or a ``Strides`` (default: ``dense`` if the kernel takes no ``info``,
            else ``any`` of what is read and ``distinct`` of what is written; with ``layouts``, likewise).
        choices: what names of ``shapes`` and parameters are drawn from: numbers, tuples for a starred name, expressions
            of other names as text; a sequence of mappings is alternatives (default: small extents, and some on the
            edges of wavefronts, blocks and grids; usual values of a parameter).
        layouts: a function that draws the layouts, and values of parameters, where ``shapes`` cannot say it.
        shape: a function to the output's shape, and ``misfit`` one that says what does not fit together, or returns an
            empty string, likewise. It must find everything that would make the kernel or another function here fail.
        grid: blocks of a launch, one to three expressions: ``"ceil(columns/256), rows"``. ``block``: the threads of
            one, likewise; ``shared``: bytes of dynamic shared memory. All may use ``numel`` and, but for ``block``,
            ``threads`` (default: a thread per element of the output, in blocks of 1024).
        launch: a function to the ``Grid`` instead. ``threads``: the numbers of threads per block that may be used
            beside the host's own.
        grid_stride: the kernel must work for any number of blocks and threads.
        then: kernels that follow, on the same buffers (``Step``); what the last one leaves is compared.
        info: what ``info`` holds, as tuples: ``"x.shape x.strides"``, or a function (default: the dims of the first
            input, then the strides of each; of the output, if there is no input).
        null_info: the kernel takes a null ``info`` for "contiguous" (never with an ``info`` of its own).
        in_place: the input that may be null, to be read from the output.
        optional: inputs that may be null and are then left out of the case; ``no-<name>`` is the flag.
        aliased: two inputs that may be the same memory.
        indices: inputs whose elements index something, with the number of places that has. An id that is the maximum of
            its type is right only where ``sentinel`` is among the input's ``data``. ``offsets`` are where rows begin:
            from 0 to one less than that number, never back.
        data: the streams that inputs are drawn from, each from those that its type has; a mapping says it by input.
            Without a reference ``small`` is among those by default, and all inputs have it in a quarter of the cases.
            ``points``: values that matter for this op.
        values: values for the parameters beside the usual ones.
        named: cases that every run includes.
        workspace: name and type of further arguments that the kernel writes and that are not compared (scratch memory,
            or an output that is an op of its own). They have a shape in ``shapes``, or that of the output; a function
            gives type and number of elements.
        structs: structures passed by value: the fields of each, in order, as words like those of ``args``
            (``"lr:f32 step:i32=t n:i32[4]=x.shape x"``), a tensor for a pointer.
        symbols: ``__constant__`` and ``__device__`` variables that the host fills: name, and the input that lies there
            (which then is no argument), or a function that computes the content, an array.
        scalars: arguments that no expression says: name, and a function to type and value.
        bench: cases to measure, of which each number written ``big|small`` is big on hardware and small in an emulator.
            If all tensors have one shape and may be of rank 1, they come beside one of contiguous tensors, 256 MiB of
            the widest type.
        operations: operations of a call (default: one per element of the output).
        elements: elements read or written of those tensors for which that is not each element once (twice for one that
            is updated).
        source: the file of the kernel below the folder of kernels, if it is not ``module.cu`` there.
    """

    name: str
    kernel: str
    types: tuple[str, ...]
    args: str
    reference: Callable[..., Expected | Mapping[str, Expected]] | None = None
    library: bool = False
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] | None = None
    updates: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    shapes: str = ""
    where: str = ""
    strides: str | Strides | Mapping[str, str | Strides] = ""
    choices: Choices = field(default_factory=dict)
    layouts: Callable[[Draw, Sequence[str]], Mapping[str, Any]] | None = None
    shape: Callable[[CaseView], Shape] | None = None
    misfit: Callable[[CaseView], str] | None = None
    grid: str | int = ""
    block: str | int = BLOCK
    shared: str | int = 0
    launch: Callable[[CaseView], Grid] | None = None
    then: tuple[Step, ...] = ()
    threads: tuple[int, ...] = ()
    grid_stride: bool = True
    info: str | Callable[[CaseView], Sequence[int]] = ""
    null_info: bool = True
    writes: bool = False
    in_place: str | None = None
    optional: tuple[str, ...] = ()
    aliased: tuple[str, str] | None = None
    indices: Mapping[str, Number] = field(default_factory=dict)
    data: tuple[str, ...] | Mapping[str, tuple[str, ...]] = DATA
    points: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    named: tuple[NamedCase, ...] = ()
    scalars: Mapping[str, Callable[[CaseView], tuple[str, float | int]]] = field(default_factory=dict)
    workspace: Mapping[str, str | Callable[[CaseView], tuple[str, int]]] = field(default_factory=dict)
    structs: Mapping[str, str] = field(default_factory=dict)
    symbols: Mapping[str, str | Callable[[CaseView], Any]] = field(default_factory=dict)
    spelling: Mapping[str, str] = field(default_factory=dict)
    bench: tuple[NamedCase, ...] = ()
    operations: Number = "numel"
    elements: Mapping[str, Number] = field(default_factory=dict)
    source: str = ""
    declared: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "declared", _caller())
        if self.outputs is None:
            object.__setattr__(self, "outputs", {} if self.updates else {"out": "T"})

    @property
    def module(self) -> str:
        return self.name.partition(".")[0]

    @property
    def file(self) -> str:
        """The file of the kernel, below the folder of kernels."""
        return self.source or f"{self.module}.cu"

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        """The kernels that are launched, in order."""
        return (Step(self.kernel, self.args, self.grid, self.block, self.shared, self.launch), *self.then)

    @functools.cached_property
    def stated(self) -> Shapes:
        """The parsed statement of shapes; without one, it says nothing of any tensor."""
        return shapes(self.shapes) if self.shapes else Shapes("", {}, {})

    @functools.cached_property
    def fields(self) -> Mapping[str, tuple[Word, ...]]:
        """The fields of each structure."""
        return {name: tuple(map(word_of, words(text))) for name, text in self.structs.items()}

    @functools.cached_property
    def takes(self) -> tuple[str, ...]:
        """The names in ``args`` of all kernels, and in structures."""
        lists = [*(step.words for step in self.steps), *self.fields.values()]
        return tuple(dict.fromkeys(word.name for each in lists for word in each))

    @functools.cached_property
    def variables(self) -> tuple[str, ...]:
        """Names of the type variables, in the order of ``types``."""
        return tuple(part.partition("}")[0] for part in self.kernel.split("{")[1:]) or ("T",)

    @property
    def compared(self) -> dict[str, str]:
        """Tensors whose content is compared, with their types: the outputs, then those that are updated."""
        return {**(self.outputs or {}), **self.updates}

    @property
    def result(self) -> str:
        """The first of them, which ``shape``, ``numel`` and ``to`` are about."""
        return next(iter(self.compared))

    @property
    def kinds(self) -> dict[str, str]:
        """The type of every tensor, variable or dtype."""
        return {**self.inputs, **self.compared}

    @property
    def tensors(self) -> dict[str, str]:
        """Tensors that a case spells out, with their types."""
        return {**self.inputs, **self.updates, **((self.outputs or {}) if self.writes else {})}

    @property
    def filled(self) -> tuple[str, ...]:
        """Tensors that hold data before the launch."""
        return (*self.inputs, *self.updates)

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags that a case may carry."""
        allowed = {
            "null-info": "info" in self.takes and self.null_info and not self.info,
            "in-place": self.in_place is not None,
            "aliased": self.aliased is not None,
            **{f"no-{name}": True for name in self.optional},
        }
        return tuple(name for name, yes in allowed.items() if yes)

    @property
    def one_shape(self) -> bool:
        """True if all tensors have one shape because the declaration names no shapes."""
        return not (self.shapes or self.shape or self.misfit)

    def strides_of(self, name: str) -> Strides:
        """The layouts that the kernel takes of a tensor."""
        usual = "aligned" if name in self.symbols.values() else "dense"
        if "info" in self.takes or self.library or self.layouts:
            usual = "distinct" if name in self.compared else "any"
        kind = self.strides.get(name, usual) if isinstance(self.strides, Mapping) else self.strides or usual
        return STRIDES[kind] if isinstance(kind, str) else kind

    def kernel_name(self, dtypes: Sequence[str], kernel: str = "") -> str:
        """The name of the kernel entry for these dtypes; of the first one, unless another ``kernel`` is given."""
        spelled = (self.spelling.get(name, name) for name in dtypes)
        return (kernel or self.kernel).format(**dict(zip(self.variables, spelled, strict=True)))

    def kernel_names(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """The names of all entries that a call launches."""
        return tuple(self.kernel_name(dtypes, step.kernel) for step in self.steps)

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

    @functools.cached_property
    def conditions(self) -> tuple[Expression, ...]:
        """The conditions that a case must meet, each on its own."""
        return expression(self.where).conjuncts if self.where else ()

    @property
    def with_strides(self) -> tuple[str, ...]:
        """Tensors whose strides the kernel is told, unless ``info`` says something else."""
        return tuple(self.inputs) or (self.result,)

    @staticmethod
    def dtype_of(kind: str, types: Mapping[str, DType]) -> DType:
        """The dtype that a type variable is bound to, or that a name means."""
        return types.get(kind) or dtype(kind)

    def streams_for(self, name: str) -> tuple[str, ...]:
        """The streams that the op names for a tensor, whether its type has them or not."""
        usual = INDEX_DATA if name in self.indices else DATA if self.reference else (*DATA, WHOLE)
        if isinstance(self.data, Mapping):
            return self.data.get(name, usual)
        return usual if name in self.indices or self.data is DATA else self.data

    def data_of(self, name: str, types: Mapping[str, DType]) -> tuple[str, ...]:
        """The streams that a tensor's data are drawn from.

        Raises:
            UsageError: its type has none of those that the op names.
        """
        if name in self.indices:
            return self.streams_for(name)
        kind = self.dtype_of(self.tensors[name], types)
        known, wanted = streams_of(kind), self.streams_for(name)
        found = tuple(stream for stream in wanted if has_stream(kind, stream))
        if not found:
            raise UsageError(f"op {self.name}: {name} is of {kind}, which has no data but {' '.join(known)}")
        return found

    @contextmanager
    def naming(self, what: str) -> Iterator[None]:
        """Put the place of the declaration before what an expression does wrong; a misfit is the case's own."""
        try:
            yield
        except ShapeMismatch:
            raise
        except UsageError as error:
            raise self.mistake(f"{what}: {error}") from None

    def ask(self, what: str, function: Callable[..., Any], *arguments: Any, **offered: Any) -> Any:
        """The value that a function of the declaration returns; no such function can end the process.

        Raises:
            UsageError: it raised something else; ``Unreferenced``, if it is the reference.
        """
        try:
            return function(*arguments, **offered)
        except (ParityError, MemoryError):
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            from hypothesis.errors import HypothesisException

            if isinstance(error, HypothesisException):
                raise
            # Where Ctrl-C is ignored, as in a worker, the function itself has raised it.
            if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                raise
            ends = "" if isinstance(error, Exception) else "; that ends nothing here, raise another exception"
            problem = self.mistake(f"{what} raised {type(error).__name__}: {error}{_place(error)}{ends}")
            raise (Unreferenced(str(problem)) if function is self.reference else problem) from error

    def mistake(self, text: str) -> UsageError:
        """An error of the declaration, with its place."""
        return UsageError(f"{self.declared}: op {self.name}: {text}")


def _place(error: BaseException) -> str:
    """The place at which a function of a declaration raised an error: the last that is none of parity's or NumPy's.

    Nor of Python's ``exit``, which is frozen into it.
    """
    own = ("<frozen ", *(str(folder) + os.sep for folder in (PACKAGE, Path(np.__file__).parent)))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(own)]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def _caller() -> str:
    """File and line of the declaration: the nearest place in the stack that is none of the classes themselves."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__") in ("parity.ops.declaration", "parity.op", "dataclasses"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
