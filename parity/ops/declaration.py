"""The declaration of an op, and the properties that follow from it without a case."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from parity.data.extents import Choices, alternatives
from parity.data.layouts import STRIDES, Draw, Strides
from parity.data.streams import has_stream, streams_of
from parity.dsl.arguments import ArgumentSpec, parse_argument
from parity.dsl.expression import Expression, expression
from parity.dsl.shapes import Shapes, parse_shapes, words
from parity.errors import UsageError, nearest, parse_natural
from parity.model.divergences import divergence
from parity.model.dtypes import DTYPES, DType, dtype, resolve_dtype
from parity.model.launch import BLOCK, Grid
from parity.model.texture import TextureSpec, parse_texture
from parity.ops.callbacks import OpOrigin
from parity.ops.case_view import CaseView, Shape
from parity.ops.launch_rules import Number, Step
from parity.reference.expected import Expected
from parity.triton_kernels.kernel import TritonKernel, parameter_values

DATA = ("mixed", "normal", "special", "near", "bits")
"""Streams from which inputs are drawn by default."""

INDEX_DATA = ("index", "ramp", "repeat", "sentinel")
"""Streams from which inputs that hold indices are drawn by default."""

EXACT_STREAM = "small"
"""The stream of small whole numbers. Sums and products of them are exact, so two vendors must agree bit for bit.

Ops without a reference use it in addition to ``DATA``.
"""


@dataclass(frozen=True)
class NamedCase:
    """A case that every run includes.

    Raises:
        UsageError: no divergence has the given id.
    """

    title: str
    items: str
    """The items of the case's text: ``x=4~normal@0 alpha=1.5``."""
    only: Callable[..., bool] | None = None
    """Called with the dtypes; restricts the case to those for which it returns True."""
    divergence: str = ""
    """The id of the known CUDA/AMD divergence that the case covers: an id such as ``D25`` in
    ``parity/model/divergences.csv``, explained in ``docs/divergences.md``.
    """

    def __post_init__(self) -> None:
        if self.divergence:
            divergence(self.divergence)


@dataclass(frozen=True, eq=False)
class Declaration:
    """The declaration of an op.

    Values that depend on the case are expressions of the names in ``shapes`` and of parameters (``dsl.expression``), or
    functions of one ``CaseView``.
    """

    # Kernel ------------------------------------------------------------------------------------------------------
    name: str
    """``module.op``. The module names the ``.cu`` file."""
    kernel: str | TritonKernel
    """Name of the kernel entry, with type variables in braces: ``cast_{S}_{D}``. Or a Triton function:
    ``triton("softmax.py:softmax_kernel", BLOCK="bit_ceil(c)")`` (docs/triton.md).
    """
    types: tuple[str, ...]
    """Dtype combinations, in the order of the type variables: ``"f32"`` or ``"f32,u8"``."""
    args: str
    """Arguments of the kernel, in order, separated by blanks.

    An argument is a tensor, a parameter, a structure, a name of ``workspace`` or ``scalars``, ``info``, or a value. A
    value is written ``n:i32=rows*columns``: a type (default: u64) and an expression without blanks outside brackets.
    ``rows:i32`` is the value of the name ``rows``. Expressions may use the names of ``shapes``, the parameters,
    ``numel`` and ``num_dims`` of the output, ``threads`` of a block and ``blocks`` of the grid.
    """

    spelling: Mapping[str, str] = field(default_factory=dict)
    """How the kernel's name spells a dtype, where it differs from the dtype's name."""
    source: str = ""
    """File of the kernel below the kernels folder. Default: ``module.cu``."""
    # Not "triton": the digest of the code that draws cases would follow the function of that name in ``parity.op``.
    triton_kernel: TritonKernel | None = None
    """The Triton function. Set by the constructor if ``kernel`` is one."""
    library: bool = False
    """True if the op has no kernel and judges what libraries compute. ``kernel`` is then only the name of its rows."""

    # Result ------------------------------------------------------------------------------------------------------
    reference: Callable[..., Expected | Mapping[str, Expected]] | None = None
    """Computes the expected values: an ``Expected``, or a mapping from each output's name to one.

    It gets the inputs as arrays in logical shape (None for an input that the case leaves out; the previous content of
    updated tensors last), then the parameters, all by position. Parameters named ``to`` (DType of the output),
    ``shape`` (of the output) and ``grid`` (``Grid`` of the launch) are passed by keyword. Without a reference, CUDA's
    results judge AMD's.
    """
    # Tensors and parameters --------------------------------------------------------------------------------------
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name and type (type variable or dtype) of the tensors that the kernel reads."""
    outputs: Mapping[str, str] | None = None
    """Name and type of the tensors that the kernel writes. Each is a new contiguous tensor, unless ``writes`` is set.

    Default: ``{"out": "T"}``, or none if ``updates`` is given.
    """
    updates: Mapping[str, str] = field(default_factory=dict)
    """Name and type of the tensors that the kernel reads and writes. Cases give their layouts and data."""
    params: Mapping[str, str] = field(default_factory=dict)
    """Name and type of the parameters. A parameter need not be an argument of the kernel."""

    # Shapes and layouts ------------------------------------------------------------------------------------------
    shapes: str = ""
    """Shapes of the tensors, for example ``"x: rows 2*c; out: rows c"`` (``parity.dsl.shapes``).

    Default: all tensors have the same shape.
    """
    where: str = ""
    """Condition on cases: ``"c % 4 == 0 and rows > 0"``. Other cases are refused and never drawn."""
    strides: str | Strides | Mapping[str, str | Strides] = ""
    """Layouts that the kernel accepts, for all tensors or by name: a name of ``parity.data.layouts.STRIDES``, or a
    ``Strides``.

    Default: ``dense`` if the kernel takes no ``info`` and ``layouts`` is not set; otherwise ``any`` for tensors that
    are read and ``distinct`` for tensors that are written.
    """
    choices: Choices = field(default_factory=dict)
    """Values to draw for names of ``shapes`` and for parameters: numbers, tuples for a starred name, or expressions of
    other names. A sequence of mappings lists alternatives.

    Default: small extents and extents at the edges of wavefronts, blocks and grids; usual values for parameters.
    """
    layouts: Callable[[Draw, Sequence[str]], Mapping[str, Any]] | None = None
    """Draws the layouts, and values of parameters, where ``shapes`` cannot describe them."""
    shape: Callable[[CaseView], Shape] | None = None
    """Computes the shape of the output, where ``shapes`` cannot describe it."""
    mismatch: Callable[[CaseView], str] | None = None
    """Says why a case does not fit together, or returns an empty string, where ``shapes`` cannot describe it.

    It must find everything that would make the kernel or another function of the declaration fail.
    """

    # Launch ------------------------------------------------------------------------------------------------------
    grid: str | int = ""
    """Blocks of the launch, as one to three expressions: ``"ceil(columns/256), rows"``. They may use ``threads``.

    Default: one thread per element of the output.
    """
    block: str | int = BLOCK
    """Threads of a block, as one to three expressions. ``warpSize`` is 32, and 64 for targets with wavefronts of 64."""
    shared: str | int = 0
    """Bytes of dynamic shared memory. The expression may use ``threads``."""
    launch: Callable[[CaseView], Grid] | None = None
    """Computes the ``Grid``, in place of ``grid``, ``block`` and ``shared``."""
    then: tuple[Step, ...] = ()
    """Kernels that follow on the same buffers. The content after the last kernel is compared."""
    threads: tuple[int, ...] = ()
    """Further numbers of threads per block that cases may request."""
    grid_stride: bool = True
    """True if the kernel must work for any number of blocks and threads."""
    large_rows: bool = False
    """True if all rows together may have more than 2^32 elements although no argument of a launch has 64 bits."""

    # Special arguments -------------------------------------------------------------------------------------------
    info: str | Callable[[CaseView], Sequence[int]] = ""
    """Content of the argument ``info`` (integers in device memory), as tuples: ``"x.shape x.strides"``.

    Default: the dims of the first input, then the strides of every input; of the output, if there are no inputs.
    """
    null_info: bool = True
    """True if the kernel accepts a null ``info`` for contiguous tensors. Not with a custom ``info``."""
    writes: bool = False
    """True if cases give the layouts of ``outputs``."""
    in_place: str | None = None
    """The input that may be null; the kernel then reads it from the output."""
    optional: tuple[str, ...] = ()
    """Inputs that may be null. The flag ``no-<name>`` leaves the input out of a case."""
    aliased: tuple[str, str] | None = None
    """Two inputs that may share memory."""
    workspace: Mapping[str, str | Callable[[CaseView], tuple[str, int]]] = field(default_factory=dict)
    """Name and type of further arguments that the kernel writes and that are not compared, such as scratch memory.

    They have a shape in ``shapes``, or the shape of the output. A function returns type and number of elements.
    """
    structs: Mapping[str, str] = field(default_factory=dict)
    """Structures that are passed by value. The fields have the form of ``args``; a tensor stands for a pointer:
    ``"lr:f32 step:i32=t n:i32[4]=x.shape x"``. With the key ``"*name"``, ``name`` is a pointer to the structure.
    """
    textures: Mapping[str, str] = field(default_factory=dict)
    """Arguments and fields that are texture or surface objects, with the tensor and its texture:
    ``{"tex": "image 2d linear normalized"}`` (``parity.model.texture.parse_texture``). The tensor's last axis may be
    the channels. Written tensors need the word ``surface``.
    """
    pointers: Mapping[str, str] = field(default_factory=dict)
    """Arguments and fields that are arrays of pointers, with the tensor to whose rows they point: ``{"rows": "x"}``
    for ``T**``. A number of levels may follow: ``"x 2"`` for ``T***``, whose pointers lead to arrays of pointers.
    """
    symbols: Mapping[str, str | Callable[[CaseView], Any]] = field(default_factory=dict)
    """``__constant__`` and ``__device__`` variables that the host fills: the name of the tensor that they hold, which
    is then not an argument, the name of a structure, or a function that returns the content as an array. Outputs and
    updated tensors in variables are compared.

    With the key ``printf``, an output of ``u8`` is the text that the kernel prints, in the order of threads. The rest
    of the tensor is 0.
    """
    scalars: Mapping[str, Callable[[CaseView], tuple[str, float | int]]] = field(default_factory=dict)
    """Arguments that no expression can describe, each with a function that returns type and value."""

    # Data --------------------------------------------------------------------------------------------------------
    indices: Mapping[str, Number[CaseView]] = field(default_factory=dict)
    """Inputs and updated tensors that hold indices, with the number of valid positions.

    The largest value of the type is valid only if the input's ``data`` include ``sentinel``. The stream ``offsets``
    holds row starts: ascending values from 0 to that number minus one. ``consecutive`` holds 0, 1, 2 and so on.
    """
    data: tuple[str, ...] | Mapping[str, tuple[str, ...]] = DATA
    """Data streams to draw inputs from, for all inputs or by name.

    Without a reference, the default includes ``small``, and a quarter of the cases use it for all inputs.
    """
    points: tuple[float, ...] = ()
    """Values that matter for this op. The streams ``points`` and ``near`` use them."""
    values: tuple[float, ...] = ()
    """Values for parameters, in addition to the usual values."""

    # Cases -------------------------------------------------------------------------------------------------------
    named: tuple[NamedCase, ...] = ()
    """Cases that every run includes."""
    # Cost --------------------------------------------------------------------------------------------------------
    bench: tuple[NamedCase, ...] = ()
    """Cases to measure. ``big|small`` in the items stands for a size on hardware and a size on an emulator.

    If all tensors have one shape that may be of rank 1, contiguous tensors of 256 MiB (of the widest type) are measured
    as well.
    """
    operations: Number[CaseView] = "numel"
    """Operations of a call. Default: one per element of the output."""
    elements: Mapping[str, Number[CaseView]] = field(default_factory=dict)
    """Elements read or written, for tensors where this is not every element once (twice if it is updated)."""

    declared: str = field(init=False, default="")
    """Place of the declaration, ``file:line``. Set by the constructor."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "declared", _caller())
        if self.outputs is None:
            object.__setattr__(self, "outputs", {} if self.updates else {"out": "T"})
        if isinstance(self.kernel, TritonKernel):
            for name, value in _with_triton(self, self.kernel).items():
                object.__setattr__(self, name, value)

    @property
    def module(self) -> str:
        return self.name.partition(".")[0]

    @property
    def file(self) -> str:
        """The source file of the kernel, below the kernels folder."""
        return self.source or (self.triton_kernel.file if self.triton_kernel else f"{self.module}.cu")

    @property
    def tuned(self) -> tuple[str, ...]:
        """The parameters that choose a specialization of a Triton kernel. References get them by keyword only."""
        return tuple(self.triton_kernel.choices) if self.triton_kernel else ()

    @functools.cached_property
    def origin(self) -> OpOrigin:
        """Name and place of the declaration, for errors."""
        return OpOrigin(self.declared, self.name)

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        """The kernels that a call launches, in order."""
        return (Step(self.pattern, self.args, self.grid, self.block, self.shared, self.launch), *self.then)

    @property
    def pattern(self) -> str:
        """The name of the kernel entry with type variables in braces."""
        assert isinstance(self.kernel, str)  # the constructor replaces a Triton function
        return self.kernel

    @functools.cached_property
    def parsed_shapes(self) -> Shapes:
        """The parsed ``shapes``; empty if the op declares none."""
        found = parse_shapes(self.shapes) if self.shapes else Shapes("", {}, {})
        if not self.triton_kernel:
            return found
        known = {*found.free, *found.defined, *self.params}
        numbers = {name: each for name, each in self.triton_kernel.numbers.items() if name not in known}
        return replace(found, defined={**found.defined, **numbers})

    @functools.cached_property
    def struct_fields(self) -> Mapping[str, tuple[ArgumentSpec, ...]]:
        """The parsed fields of each structure, by name."""
        return {name.removeprefix("*"): tuple(map(parse_argument, words(text))) for name, text in self.structs.items()}

    @functools.cached_property
    def texture_specs(self) -> Mapping[str, TextureSpec]:
        """The parsed textures and surfaces, by name."""
        return {name: parse_texture(text) for name, text in self.textures.items()}

    @functools.cached_property
    def pointer_levels(self) -> Mapping[str, tuple[str, int]]:
        """The tensor and the number of levels of each array of pointers.

        Raises:
            UsageError: a text is not a tensor and a number of levels.
        """
        found = {}
        for name, text in self.pointers.items():
            tensor, *levels = text.split() or [""]
            if len(levels) > 1:
                raise UsageError(f"{text!r} is not a tensor and a number of levels")
            found[name] = tensor, parse_natural(levels[0], f"the levels of {name}") if levels else 1
        return found

    @functools.cached_property
    def argument_names(self) -> tuple[str, ...]:
        """The names in the arguments of all kernels and in structures."""
        lists = [*(step.arguments for step in self.steps), *self.struct_fields.values()]
        return tuple(dict.fromkeys(argument.name for each in lists for argument in each))

    @functools.cached_property
    def variables(self) -> tuple[str, ...]:
        """Names of the type variables, in the order of ``types``."""
        return tuple(part.partition("}")[0] for part in self.pattern.split("{")[1:]) or ("T",)

    @property
    def compared(self) -> dict[str, str]:
        """Types of the tensors whose content is compared: the outputs, then the updated tensors."""
        return {**(self.outputs or {}), **self.updates}

    @property
    def results(self) -> dict[str, str]:
        """The compared tensors that variables hold, by the variable's name."""
        return {name: of for name, of in self.symbols.items() if isinstance(of, str) and of in self.compared}

    @property
    def may_be_sampled(self) -> bool:
        """True if the declaration allows comparing some elements of the output without the others."""
        return self.may_be_elementwise and self.grid_stride and self.reference is not None

    @property
    def may_be_elementwise(self) -> bool:
        """True if the declaration allows that each element of the output depends on the same element of the inputs."""
        tensors = not (self.shapes or self.shape or self.indices or self.optional or self.updates)
        return tensors and not self.then and len(self.compared) == 1

    @property
    def result(self) -> str:
        """The first output, to which ``shape``, ``numel`` and ``to`` refer."""
        return next(iter(self.compared))

    @property
    def kinds(self) -> dict[str, str]:
        """The type (type variable or dtype) of every tensor."""
        return {**self.inputs, **self.compared}

    @property
    def tensors(self) -> dict[str, str]:
        """Types of the tensors that a case spells out."""
        return {**self.inputs, **self.updates, **((self.outputs or {}) if self.writes else {})}

    @property
    def filled(self) -> tuple[str, ...]:
        """Tensors that hold data before the launch."""
        return (*self.inputs, *self.updates)

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags that a case may have."""
        allowed = {
            "null-info": "info" in self.argument_names and self.null_info and not self.info,
            "in-place": self.in_place is not None,
            "aliased": self.aliased is not None,
            **{f"no-{name}": True for name in self.optional},
        }
        return tuple(name for name, yes in allowed.items() if yes)

    @property
    def one_shape(self) -> bool:
        """True if all tensors have the same shape, because the declaration does not describe shapes."""
        return not (self.shapes or self.shape or self.mismatch)

    def accepted_strides(self, name: str) -> Strides:
        """The layouts that the kernel accepts for a tensor."""
        fixed = {*self.symbols.values(), *(each.tensor for each in self.texture_specs.values())}
        usual = "aligned" if name in fixed or self.triton_kernel else "dense"
        if "info" in self.argument_names or self.library or self.layouts:
            usual = "distinct" if name in self.compared else "any"
        kind = self.strides.get(name, usual) if isinstance(self.strides, Mapping) else self.strides or usual
        return STRIDES[kind] if isinstance(kind, str) else kind

    def kernel_name(self, dtypes: Sequence[str], kernel: str = "") -> str:
        """Return the kernel entry's name for these dtypes; ``kernel`` is the pattern (default: the first kernel)."""
        spelled = (self.spelling.get(name, name) for name in dtypes)
        return (kernel or self.pattern).format(**dict(zip(self.variables, spelled, strict=True)))

    def bind(self, dtypes: Sequence[str]) -> dict[str, DType]:
        """Return the dtype of every type variable.

        Raises:
            UsageError: the op does not exist for these dtypes.
        """
        if (text := ",".join(dtypes)) not in self.types:
            for name in dtypes:
                dtype(name)
            near = nearest(text, self.types)
            raise UsageError(f"{self.name} does not exist for [{text}]; it does for {' '.join(self.types)}{near}")
        return dict(zip(self.variables, map(dtype, dtypes), strict=True))

    @functools.cached_property
    def conditions(self) -> tuple[Expression, ...]:
        """The conditions of ``where``, one expression each. Tensors of textures are not empty."""
        own = expression(self.where).conjuncts if self.where else ()
        tensors = dict.fromkeys(each.tensor for each in self.texture_specs.values())
        return (*own, *(expression(f"{name}.numel > 0") for name in tensors))

    def conditions_on(self, name: str) -> tuple[Expression, ...]:
        """Return the conditions that depend on this name alone."""
        return tuple(rule for rule in self.conditions if rule.names == {name} and not rule.tensors)

    @property
    def tensors_in_info(self) -> tuple[str, ...]:
        """Tensors whose strides the default ``info`` holds."""
        return tuple(self.inputs) or (self.result,)

    def declared_streams(self, name: str) -> tuple[str, ...]:
        """Return the streams declared for a tensor, including streams that its type does not have."""
        usual = INDEX_DATA if name in self.indices else DATA if self.reference else (*DATA, EXACT_STREAM)
        if isinstance(self.data, Mapping):
            return self.data.get(name, usual)
        return usual if name in self.indices or self.data is DATA else self.data

    def available_streams(self, name: str, types: Mapping[str, DType]) -> tuple[str, ...]:
        """Return the streams from which the data of a tensor are drawn.

        Raises:
            UsageError: the tensor's type does not have any of the declared streams.
        """
        if name in self.indices:
            return self.declared_streams(name)
        kind = resolve_dtype(self.tensors[name], types)
        known, wanted = streams_of(kind), self.declared_streams(name)
        found = tuple(stream for stream in wanted if has_stream(kind, stream))
        if not found:
            raise UsageError(f"op {self.name}: {name} has type {kind}, which has only the data {' '.join(known)}")
        return found


def _with_triton(op: Declaration, kernel: TritonKernel) -> dict[str, Any]:
    """Return the fields of a declaration whose kernel is a Triton function.

    Keywords with several values become parameters. Whole numbers are i32, Triton's type of an argument that fits.
    """
    arguments = [parse_argument(word) for word in words(op.args)]
    kernel = kernel.with_arguments([str(each.value or each.name) for each in arguments])
    chosen = {name: parameter_values(values) for name, values in kernel.choices.items()}
    kinds = [*op.inputs.values(), *(op.outputs or {}).values(), *op.updates.values(), *op.params.values()]
    variables = [kind for kind in dict.fromkeys(kinds) if kind.isidentifier() and kind not in DTYPES]
    tensors = {*op.inputs, *(op.outputs or {}), *op.updates, *op.workspace}
    given = {*tensors, *op.params, *op.scalars, *(each.removeprefix("*") for each in op.structs), "info"}

    def with_type(word: str) -> str:
        name, equals, value = word.partition("=")
        return word if ":" in name or name in given else f"{name}:i32{equals}{value}"

    return {
        "kernel": f"{kernel.name}{''.join(f'_{{{name}}}' for name in variables)}",
        "triton_kernel": kernel,
        "args": " ".join(map(with_type, words(op.args))),
        "params": {**op.params, **dict.fromkeys(chosen, "i32")},
        "choices": [{**each, **chosen} for each in (alternatives(op.choices) or [{}])] if chosen else op.choices,
        "grid_stride": False,
        "block": 32 * int(kernel.constants.get("num_warps") or 4),
    }


def _caller() -> str:
    """Return file and line of the nearest stack frame outside the constructors of the declaration."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__") in ("parity.ops.declaration", "parity.op", "dataclasses"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
