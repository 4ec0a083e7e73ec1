"""Lowers a case to launches, the content of every buffer, and the expected values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.compilers.targets import target
from parity.data.buffers import Memory, RepeatedArray, blank
from parity.dsl.arguments import ArgumentSpec, in_range
from parity.dsl.expression import Scope, expression
from parity.dsl.shapes import words
from parity.errors import UsageError
from parity.model.case import Case, Tensor
from parity.model.code_object import CodeObject
from parity.model.dtypes import Array, dtype, resolve_dtype
from parity.model.launch import (
    PRINTF,
    WARP,
    WIDE,
    Buffer,
    Computation,
    Launch,
    Pointer,
    Scalar,
    Struct,
    Tiled,
    argument_bytes,
    poisoned,
    struct_parts,
)
from parity.model.layout import SPARSE, Layout, contiguous
from parity.model.texture import texture_of
from parity.ops.case_view import CaseView, view_case
from parity.ops.declaration import Declaration
from parity.ops.references import call_reference
from parity.ops.row_sampling import row_axes, take_elements, take_rows, with_rows
from parity.reference.expected import Expected
from parity.triton_kernels.kernel import symbol

MOST_SPARSE = 2**34
"""Most elements of a tensor: an emulated GPU has address space for so many elements of 8 bytes."""


@dataclass(frozen=True, eq=False)
class Observed:
    """What a launch did on an NVIDIA GPU: its outputs in logical shape, and the ``device``.

    ``missing`` says which memory of the launch is unknown, so that accesses to other memory are not faults; empty if
    all memory is known.
    """

    outputs: Mapping[str, Array]
    device: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Call:
    """A case lowered to launches, buffers and expected values.

    Attributes:
        launch: the launches, with kernel names as the declaration spells them (see ``on``).
        buffers: every buffer, by name.
        outputs: the layout of each compared tensor in the buffer of its name.
        inputs: logical inputs in the order of the reference's arguments, without inputs that the case leaves out.
        computation: the same call for runners that compute ops.
        references: computes the expected values of each output; None if the op has no reference.
        refer: computes the expected values for other inputs.
        sample: of a sparse case, returns the call that has only these elements of the output.
        observed: CUDA's results for exactly this launch, which judge it if there is no reference.
    """

    launch: Launch
    buffers: Mapping[str, Buffer]
    outputs: Mapping[str, Layout]
    inputs: Mapping[str, Array]
    computation: Computation
    references: Callable[[], Mapping[str, Expected]] | None
    refer: Callable[..., Mapping[str, Expected]] | None = None
    sample: Callable[[Array], Call] | None = None
    observed: Observed | None = None

    @property
    def output(self) -> str:
        """The name of the first output, and of its buffer."""
        return next(iter(self.outputs))

    @property
    def layout(self) -> Layout:
        """The layout of the first output."""
        return self.outputs[self.output]

    def expected(self) -> Expected:
        """Compute the expected values of the first output. The op must have a reference."""
        assert self.references is not None
        return self.references()[self.output]

    def on(self, code: CodeObject) -> Call:
        """Return the call with the kernels' symbols in a code object. Kernels with C++ linkage have mangled symbols."""
        return replace(self, launch=with_symbols(self.launch, code))

    def text_on(self, code: CodeObject) -> str:
        """Return the launches on the code object's target as text, with the kernels' names in the source."""
        return str(_on_target(self.launch, code.target))


@dataclass(frozen=True)
class Work:
    """The least work of a case: ``bytes`` to read and write, and ``operations`` to compute.

    An addition, a comparison or a function counts as one operation, a fused multiply-add as two.
    """

    bytes: int
    operations: int

    @property
    def most(self) -> int:
        return max(self.bytes, self.operations)


def _on_target(launch: Launch, name: str) -> Launch:
    """Return the launch for the wavefronts of a target."""
    if launch.wide is None or target(name).wavefront != WIDE:
        return launch
    return replace(launch.wide, constants=launch.constants, results=launch.results, ended=launch.ended)


def with_symbols(launch: Launch, code: CodeObject) -> Launch:
    """Return the launch on the code object's target, with its kernels' symbols there, and with what it defines."""
    launch = _on_target(launch, code.target)
    kernel, then = code.symbol(launch.kernel), tuple(with_symbols(each, code) for each in launch.then)
    if launch.by_code and kernel in code.kernels:
        found = code.kernels[kernel]
        scratch = (Pointer(None),) * (len(found.args) - len(launch.args))
        block, args = (found.max_threads, 1, 1), (*launch.args, *scratch)
        if found.dynamic_lds > (limit := target(code.target).lds_bytes):
            raise UsageError(
                f"{kernel} needs {found.dynamic_lds} bytes of shared memory, and {code.target} has {limit}; use smaller"
                " blocks or num_stages, or leave out this configuration of @triton.autotune (autotune= in triton)"
            )
        return replace(launch, block=block, shared_bytes=found.dynamic_lds, args=args, then=then, by_code=False)
    return launch if kernel == launch.kernel and then == launch.then else replace(launch, kernel=kernel, then=then)


def lower(op: Declaration, case: Case) -> Call:
    """Lower a case to launches, buffers and expected values.

    Raises:
        UsageError: no device can launch it, or an argument is too large for its type.
    """
    sparse = is_sparse(op, case)
    if sparse and not _can_be_sampled(op, case):
        raise UsageError(
            f"{case} has too many elements; a sample needs an elementwise op, or an op with independent rows, with a "
            f"reference, and tensors of up to {MOST_SPARSE} elements"
        )
    view = view_case(op, case)
    memory = _memory(op, case, view, sparse)
    launch = replace(_launches(op, case, view), constants=_constants(op, case, view, memory), results=op.results)
    buffers = {name: each.buffer(op.points) for name, each in memory.items()}
    if text := op.results.get(PRINTF):  # a kernel that prints nothing leaves it as it is
        buffers[text] = replace(buffers[text], data=np.zeros_like(buffers[text].data))
    buffers |= _info(op, view) | _workspace(op, view) | _structures(op, case, view) | _objects(op, case, view)
    inputs = _logical_inputs(op, case, memory, buffers)
    scalars = {name: view.dtypes[name].convert(view.params[name])[()] for name in op.params if name not in op.tuned}
    computation = Computation(op.name, case.dtypes, inputs, scalars, buffers[op.result].dtype, view.shape)
    outputs = {name: memory[name].tensor.layout for name in op.compared}
    if sparse:
        call = Call(launch, buffers, outputs, inputs, computation, dict)
        sample = _sample if op.may_be_sampled else _sample_rows
        return replace(call, sample=functools.partial(sample, op, case, call))
    if op.reference is None:
        return Call(launch, buffers, outputs, inputs, computation, None)
    refer = functools.partial(call_reference, op, case, view, scalars)
    references = functools.cache(lambda: refer(inputs))  # every column of a run needs them
    return Call(launch, buffers, outputs, inputs, computation, references, refer)


def is_sparse(op: Declaration, case: Case) -> bool:
    """Return whether a tensor of the case, or its output, has too many elements to run all blocks."""
    if case.is_sparse:
        return True
    return bool(op.shapes) and any(math.prod(shape) >= SPARSE for shape in view_case(op, case).shapes.values())


def _can_be_sampled(op: Declaration, case: Case) -> bool:
    written = [case.layouts[name] for name in op.compared if name in case.layouts]
    if any(each.span > MOST_SPARSE for each in case.layouts.values()):
        return False
    if any(each.span != each.numel or not each.is_injective for each in written):
        return False
    return op.may_be_sampled or row_axes(op, case) is not None


def is_pointwise(op: Declaration, case: Case) -> bool:
    """Return whether the reference gives each element of the output the same value if the others are left out."""
    call = lower(op, with_rows(case, {}, 0))
    places = np.arange(call.layout.numel)[::-2]
    whole, part = call.expected().value.reshape(-1)[places], _sample(op, case, call, places).expected().value
    return bool(places.size) and whole.tobytes() == part.tobytes()


def _sample(op: Declaration, case: Case, call: Call, places: Array) -> Call:
    """Return the call of a sparse case with the elements ``places`` of the output, in one dim."""
    flat = contiguous(places.shape)
    tensors = {name: replace(tensor, layout=flat) for name, tensor in case.tensors}
    small = lower(op, replace(case.with_tensors(tensors), launch=None, threads=None))
    index = call.layout.coordinates(places)
    inputs = {name: array[index] for name, array in call.inputs.items()}
    assert small.refer is not None
    buffers = {**call.buffers, call.output: small.buffers[call.output]}
    return replace(
        call, buffers=buffers, outputs={call.output: flat}, inputs=inputs,
        references=functools.partial(small.refer, inputs), sample=None,
    )  # fmt: skip


def has_independent_rows(op: Declaration, case: Case) -> bool:
    """Return whether the reference gives each row of the output the same values if other rows are left out."""
    call, rows = lower(op, case), np.arange(case_rows(op, case))[::-2]
    expected = call.expected()
    if not rows.size or expected.accepts or expected.bias or expected.value.size == 0:
        return False
    axes = row_axes(op, case) or {}
    part = lower(op, with_rows(case, axes, rows.size))
    assert part.refer is not None
    taken = part.refer(take_rows(call.inputs, axes, rows))[call.output]
    return expected.value[rows].tobytes() == taken.value.tobytes()


def case_rows(op: Declaration, case: Case) -> int:
    """Return the first extent of the output."""
    return view_case(op, case).shape[0]


def _sample_rows(op: Declaration, case: Case, call: Call, places: Array) -> Call:
    """Return the call of a sparse case with the elements ``places`` of the output, in one dim.

    The reference computes the rows that contain them.
    """
    axes = row_axes(op, case)
    assert axes is not None
    first, *rest = call.layout.coordinates(places)
    rows, number = np.unique(first, return_inverse=True)
    small, index = with_rows(case, axes, rows.size), (number, *rest)
    refer = functools.partial(call_reference, op, small, view_case(op, small), call.computation.params)
    refer = functools.partial(refer, grid=view_case(op, case).grid)  # the order of ties may depend on the launch

    @functools.cache
    def references() -> Mapping[str, Expected]:
        return {name: take_elements(each, index) for name, each in refer(take_rows(call.inputs, axes, rows)).items()}

    flat = contiguous(places.shape)
    buffers = {**call.buffers, call.output: blank(call.buffers[call.output].dtype, places.size)}
    return replace(call, buffers=buffers, outputs={call.output: flat}, inputs={}, references=references, sample=None)


def _logical_inputs(
    op: Declaration, case: Case, memory: Mapping[str, Memory], buffers: Mapping[str, Buffer]
) -> dict[str, Array]:
    """The reference's array arguments, in logical shape. Arrays in memory that the kernel writes are copies."""
    inputs: dict[str, Any] = {}
    for name in op.filled:
        if name in case.layouts:
            buffer, layout = _buffer_name(op, name, case.flags), case.layouts[name]
            if buffer != name and buffer == op.result:  # in place: the kernel overwrites the input
                layout = memory[buffer].tensor.layout
            if buffers[buffer].sparse:
                inputs[name] = RepeatedArray(buffers[buffer].data, layout)
                continue
            array = layout.view(buffers[buffer].data)
            inputs[name] = array.copy() if buffers[buffer].writable else array
    return inputs


def lower_for_timing(op: Declaration, case: Case) -> tuple[Launch, Mapping[str, Tiled]]:
    """Lower a case, of any size, whose result is measured but not compared.

    Raises:
        UsageError: no device can launch it, or an argument is too large for its type.
    """
    view = view_case(op, case)
    memory = _memory(op, case, view)
    tiles = {name: each.tiled(op.points) for name, each in memory.items()}
    whole = {**_info(op, view), **_workspace(op, view), **_structures(op, case, view), **_objects(op, case, view)}
    tiles |= {
        name: Tiled(each.dtype, each.data, len(each.data), each.writable, each.pointers, each.texture)
        for name, each in whole.items()
    }
    return replace(_launches(op, case, view), constants=_constants(op, case, view, memory)), tiles


def count_work(op: Declaration, case: Case) -> Work:
    """Count the bytes and operations of a case."""
    view = view_case(op, case)
    second = op.aliased[1] if op.aliased and "aliased" in case.flags else None
    elements = {name: view.layouts[name].distinct for name in op.inputs if name in view.layouts and name != second}
    for name, shape in view.shapes.items():
        elements[name] = math.prod(shape) * (2 if name in op.updates else 1)
    elements.update({name: view.number(rule, "elements") for name, rule in op.elements.items()})
    total = sum(count * view.dtypes[name].itemsize for name, count in elements.items())
    return Work(total, view.number(op.operations, "operations"))


def _buffer_name(op: Declaration, name: str, flags: tuple[str, ...]) -> str:
    """The buffer that holds a tensor."""
    if "in-place" in flags and name == op.in_place:
        return op.result
    if "aliased" in flags and op.aliased and name == op.aliased[1]:
        return op.aliased[0]
    return name


def _memory(op: Declaration, case: Case, view: CaseView, sparse: bool = False) -> dict[str, Memory]:
    """The content of every buffer except ``info`` and workspace, by name; outputs last."""
    tensors = dict(case.tensors)
    bounds = {name: view.index_bound(name) for name in op.indices}
    memory = {}
    for name in op.inputs:
        if name in tensors and _buffer_name(op, name, case.flags) == name:
            memory[name] = Memory(name, view.dtypes[name], tensors[name], bounds.get(name), sparse=sparse)
    for name in op.compared:
        source, tensor = name, tensors.get(name) or Tensor(contiguous(view.shapes[name]))
        if "in-place" in case.flags and op.in_place and name == op.result:
            source = op.in_place
            tensor = replace(tensors[source], layout=tensor.layout)
        bound = bounds.get(name)
        memory[name] = Memory(source, view.dtypes[name], tensor, bound, writable=True, sparse=sparse)
    return memory


def _info(op: Declaration, view: CaseView) -> dict[str, Buffer]:
    """The buffer ``info``, if the kernel reads one in this case."""
    if "info" not in op.argument_names or "null-info" in view.flags:
        return {}
    if callable(op.info):
        numbers = op.origin.call("info", lambda view: [int(number) for number in op.info(view)], view)  # type: ignore[operator]
    else:
        first, *_ = names = op.tensors_in_info
        text = op.info or " ".join((f"{first}.shape", *(f"{name}.strides" for name in names)))
        with op.origin.naming("info"):
            parts = (expression(word)(view.output_scope) for word in words(text))
            numbers = [n for part in parts for n in (part if isinstance(part, tuple) else (part,))]
    kind = dtype(next(each.kind or "u64" for step in op.steps for each in step.arguments if each.name == "info"))
    return {"info": Buffer(kind, np.array([in_range(int(number), kind, "info") for number in numbers], kind.numpy))}


def _workspace(op: Declaration, view: CaseView) -> dict[str, Buffer]:
    """The buffers that the kernel writes and that are not compared. They are poisoned: reads must follow writes."""
    found = {}
    for name, of in op.workspace.items():
        if callable(of):
            kind, count = op.origin.call(f"workspace: {name}", _returning_pair(of), view)
            if not isinstance(count, int | np.integer) or count < 0:
                raise op.origin.error(
                    f"workspace: {name} has {count!r} elements, which is not a whole number of 0 or more"
                )
        else:
            with op.origin.naming("shapes"):
                shapes = op.parsed_shapes
                shape = shapes.shape(name, view.scope) if name in shapes.tensors else view.shape
            kind, count = of, contiguous(shape).numel
        each = resolve_dtype(kind, view.types)
        undefined: Array = np.zeros(count, np.bool_)
        found[name] = Buffer(each, poisoned(each, count), undefined, writable=True)
    return found


def _structures(op: Declaration, case: Case, view: CaseView) -> dict[str, Buffer]:
    """The buffers of structures that kernels get a pointer to."""
    found = {}
    for name in (each.removeprefix("*") for each in op.structs if each.startswith("*")):
        struct = _structure(op, name, case, view, view.launch_scope(view.grid))
        pointers = tuple((at, part) for at, part in struct_parts(struct) if isinstance(part, Pointer))
        found[name] = Buffer(dtype("u8"), np.frombuffer(argument_bytes(struct), np.uint8).copy(), pointers=pointers)
    return found


def _objects(op: Declaration, case: Case, view: CaseView) -> dict[str, Buffer]:
    """The buffers of texture and surface objects, and of arrays of pointers."""
    found = dict[str, Buffer]()
    for name, (tensor, levels) in op.pointer_levels.items():
        with op.origin.naming("pointers"):
            found |= _rows(name, levels, _pointer(op, tensor, case), _layout(tensor, case, view))
    for name, spec in op.texture_specs.items():
        with op.origin.naming("textures"):
            texture = texture_of(spec, view.dtypes[spec.tensor], _layout(spec.tensor, case, view).shape)
        content = np.frombuffer(texture.record(), np.uint8).copy()
        pointers = ((0, _pointer(op, spec.tensor, case)),)
        found[name] = Buffer(dtype("u8"), content, pointers=pointers, texture=texture)
    return found


def _layout(tensor: str, case: Case, view: CaseView) -> Layout:
    return case.layouts.get(tensor) or contiguous(view.shapes[tensor])


def _rows(name: str, levels: int, start: Pointer, layout: Layout) -> dict[str, Buffer]:
    """The arrays of pointers to the rows of a tensor, and, with several levels, the arrays of pointers to arrays."""
    if not 0 < levels < len(layout.shape):
        raise UsageError(f"{name} has {levels} levels of pointers, and its tensor has the shape {layout.shape}")
    found, kind = dict[str, Buffer](), dtype("u64")
    for level in range(1, levels + 1):
        places = np.ndindex(layout.shape[:level])
        if level < levels:
            targets = [Pointer(f"{name} {level + 1}", k * layout.shape[level]) for k, _ in enumerate(places)]
        else:
            steps = (sum(k * step for k, step in zip(place, layout.strides, strict=False)) for place in places)
            targets = [replace(start, offset=start.offset + step) for step in steps]
        data = np.zeros(len(targets), kind.numpy)
        pointers = tuple((k * kind.itemsize, each) for k, each in enumerate(targets))
        found[name if level == 1 else f"{name} {level}"] = Buffer(kind, data, pointers=pointers)
    return found


def _structure(op: Declaration, name: str, case: Case, view: CaseView, scope: Scope) -> Struct:
    fields = op.struct_fields[name]
    with op.origin.naming("structs"):
        return Struct(tuple((each.name, _field(op, each, case, view, scope)) for each in fields))


def _returning_pair(function: Callable[[CaseView], tuple[str, Any]]) -> Callable[[CaseView], tuple[str, Any]]:
    """Wrap a function so that a result other than a pair raises inside the call."""

    def call(view: CaseView) -> tuple[str, Any]:
        kind, value = function(view)
        return kind, value

    return call


def _constants(op: Declaration, case: Case, view: CaseView, memory: Mapping[str, Memory]) -> dict[str, Array | Struct]:
    """The content of the variables that the host fills."""
    found: dict[str, Array | Struct] = {}
    for name, of in op.symbols.items():
        if name == PRINTF:
            continue
        if of in op.struct_fields:
            found[name] = _structure(op, str(of), case, view, view.launch_scope(view.grid))
            continue
        content = (
            memory[of].buffer(op.points).data
            if isinstance(of, str)
            else np.asarray(op.origin.call(f"symbols: {name}", of, view))
        )
        if content.dtype == object:
            raise op.origin.error(f"symbols: the content of {name} is not an array of numbers")
        found[name] = np.ascontiguousarray(content)
    return found


def _launches(op: Declaration, case: Case, view: CaseView, wavefront: int = WARP) -> Launch:
    """The launch of the first kernel, with the launches that follow."""
    launches = []
    for number, step in enumerate(op.steps):
        grid = view.grid_of_step(number, wavefront=wavefront) if number or wavefront != WARP else view.grid
        scope = view.launch_scope(grid)
        with op.origin.naming("args"):
            args = tuple(_argument(op, each, case, view, scope) for each in step.arguments)
        name = op.kernel_name(case.dtypes, step.kernel)
        if op.triton_kernel:
            with op.origin.naming("kernel"):
                name = symbol(name, op.triton_kernel.case_values(view.params, view.scope))
        launches.append(Launch(name, grid.grid, grid.block, args, grid.shared_bytes, by_code=bool(op.triton_kernel)))
    differs = wavefront == WARP and any(step.by_wavefront for step in op.steps)
    wide = _launches(op, case, view, WIDE) if differs else None
    return replace(launches[0], then=tuple(launches[1:]), wide=wide)


def _argument(
    op: Declaration, spec: ArgumentSpec, case: Case, view: CaseView, scope: Scope
) -> Pointer | Scalar | Struct:
    if f"*{spec.name}" in op.structs:
        return Pointer(spec.name)
    if spec.name in op.structs:
        return _structure(op, spec.name, case, view, scope)
    found = _field(op, spec, case, view, scope)
    if isinstance(found, tuple):
        raise UsageError(f"{spec.name} is an array; only a structure can contain one")
    return found


def _field(
    op: Declaration, spec: ArgumentSpec, case: Case, view: CaseView, scope: Scope
) -> Pointer | Scalar | tuple[Scalar, ...]:
    """The value of an argument or of a structure's field."""
    if spec.name in op.kinds:
        return _pointer(op, spec.name, case)
    if spec.name in op.workspace or spec.name in op.textures or spec.name in op.pointers:
        return Pointer(spec.name)
    if spec.name == "info":
        return Pointer(None if "null-info" in case.flags else "info")
    if spec.name in op.params and not spec.value:
        return Scalar(view.dtypes[spec.name], view.params[spec.name])
    if spec.name in op.scalars:
        kind, value = op.origin.call(f"scalars: {spec.name}", _returning_pair(op.scalars[spec.name]), view)
        return Scalar(dtype(kind), in_range(value, dtype(kind), spec.name))
    return spec.scalars(scope, view.types)


def _pointer(op: Declaration, name: str, case: Case) -> Pointer:
    """The argument for a tensor: null if the case leaves it out or the kernel reads it from the output."""
    if name in op.compared:
        return Pointer(name, case.layouts[name].offset if name in case.layouts else 0)
    buffer = _buffer_name(op, name, case.flags)
    known = name in case.layouts and buffer != op.result
    return Pointer(buffer, case.layouts[buffer].offset) if known else Pointer(None)
