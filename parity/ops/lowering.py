"""A case made concrete: its launches, what every buffer holds, and what is expected."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.data.buffers import Memory
from parity.data.streams import quiet
from parity.dsl.arguments import Word, in_range
from parity.dsl.expression import Scope, expression
from parity.dsl.shapes import words
from parity.errors import Unreferenced, UsageError
from parity.model.case import Case, Tensor
from parity.model.code_object import CodeObject
from parity.model.dtypes import Array, dtype
from parity.model.launch import Buffer, Computation, Launch, Pointer, Scalar, Struct, Tiled, poisoned
from parity.model.layout import Layout, contiguous
from parity.ops.callbacks import wanted
from parity.ops.case_view import CaseView, case_view
from parity.ops.declaration import Declaration
from parity.reference.expected import Bounds, Expected, Limits

__all__ = ["Call", "Work", "call_of", "spelled", "timed", "work_of"]


@dataclass(frozen=True)
class Call:
    """A case made concrete: launches, buffers, places of the outputs, logical inputs, and what is expected (lazy).

    ``outputs`` maps each tensor that is compared to its layout in the buffer of its name. ``inputs`` are in the order
    of the reference's arguments; an input that the case leaves out is missing. The shape of an input may differ from
    the output's. ``references`` gives what is expected of each output, ``refer`` likewise for other inputs; None if the
    op has no reference.
    """

    launch: Launch
    buffers: Mapping[str, Buffer]
    outputs: Mapping[str, Layout]
    inputs: Mapping[str, Array]
    computation: Computation
    references: Callable[[], Mapping[str, Expected]] | None
    refer: Callable[[Mapping[str, Array]], Mapping[str, Expected]] | None = None

    @property
    def output(self) -> str:
        """The name of the first output, and of its buffer."""
        return next(iter(self.outputs))

    @property
    def layout(self) -> Layout:
        """The layout of the first output."""
        return self.outputs[self.output]

    def expected(self) -> Expected:
        """The expected values of the first output; the op has a reference."""
        assert self.references is not None
        return self.references()[self.output]

    def on(self, code: CodeObject) -> Call:
        """The call with the kernels' symbols in that code object: of C++ linkage, these are not their names."""
        return replace(self, launch=spelled(self.launch, code))


@dataclass(frozen=True)
class Work:
    """The least work of a case: ``bytes`` to read and to write, ``operations`` to compute.

    An addition, a comparison, a function is one operation; a fused multiply-add is two.
    """

    bytes: int
    operations: int

    @property
    def most(self) -> int:
        return max(self.bytes, self.operations)


def spelled(launch: Launch, code: CodeObject) -> Launch:
    """The launch with the symbols of its kernels in a code object."""
    kernel, then = code.symbol(launch.kernel), tuple(spelled(each, code) for each in launch.then)
    return launch if kernel == launch.kernel and then == launch.then else replace(launch, kernel=kernel, then=then)


def call_of(op: Declaration, case: Case) -> Call:
    """Launches, buffers and expectation of a case.

    Raises:
        UsageError: no device can launch it, or an argument is too large for its type.
    """
    given = case_view(op, case)
    memory = _memory(op, case, given)
    launch = replace(_launches(op, case, given), constants=_constants(op, given, memory))
    buffers = {name: each.buffer(op.points) for name, each in memory.items()}
    if op.reference is None:  # the vendors' minimum and maximum of a signalling NaN differ (D7)
        buffers = {name: replace(each, data=quiet(each.data, each.dtype)) for name, each in buffers.items()}
    buffers |= _info(op, given) | _workspace(op, given)
    inputs = {}
    for name in op.filled:
        if name in case.layouts:
            buffer, layout = _buffer_of(op, name, case.flags), case.layouts[name]
            if buffer != name and buffer == op.result:  # in place: what the kernel overwrites
                layout = memory[buffer].tensor.layout
            read = layout.view(buffers[buffer].data)
            inputs[name] = read.copy() if buffers[buffer].writable else read
    types, params = given.types, given.params
    scalars = {name: op.dtype_of(kind, types).convert(params[name])[()] for name, kind in op.params.items()}
    computation = Computation(op.name, case.dtypes, inputs, scalars, buffers[op.result].dtype, given.shape)

    def refer(inputs: Mapping[str, Array]) -> Mapping[str, Expected]:
        assert op.reference is not None
        arrays = [inputs.get(name) for name in op.filled]
        offered = {"to": computation.dtype, "shape": given.shape, "grid": given.grid}
        with np.errstate(all="ignore"):  # NaN, infinities and overflow are what the data are for
            extra = wanted(op.reference, **offered)
            try:
                found = op.ask("the reference", op.reference, *arrays, *scalars.values(), **extra)
            except Unreferenced:
                raise
            except UsageError as error:
                raise op.mistake(f"{case}: {error}") from error
        each = _by_output(op, found)
        for name, expected in each.items():
            _has_form(op, name, expected.value, buffers[name].data.dtype, outputs[name].shape)
        return {n: replace(e, bounds=_sound(op, case, n, e)) if e.bounds else e for n, e in each.items()}

    outputs = {name: memory[name].tensor.layout for name in op.compared}
    if op.reference is None:
        return Call(launch, buffers, outputs, inputs, computation, None)
    references = functools.cache(lambda: refer(inputs))  # every column of a run asks for it
    return Call(launch, buffers, outputs, inputs, computation, references, refer)


def _sound(op: Declaration, case: Case, name: str, expected: Expected) -> Callable[[Limits], Bounds]:
    """The bounds of an output that has some, each computed once, or a mistake of the op if one of them is none."""
    assert expected.bounds
    bounds = expected.bounds

    @functools.cache
    def checked(limits: Limits) -> Bounds:
        found = bounds(limits)
        if complaint := found.complaint(expected.unspecified):
            raise op.mistake(f"{case}: the budget of {name} is {complaint}")
        return found

    return checked


def _by_output(op: Declaration, found: Expected | Mapping[str, Expected]) -> Mapping[str, Expected]:
    """The expected values that a reference returned, by output.

    Raises:
        UsageError: it is not one Expected for each output.
    """
    names = list(op.compared)
    if isinstance(found, Expected) and len(names) == 1:
        return {names[0]: found}
    if isinstance(found, Mapping) and set(found) == set(names):
        return {name: found[name] for name in names}
    got = f"a mapping of {' '.join(found)}" if isinstance(found, Mapping) else f"one {type(found).__name__}"
    wanted_form = "an Expected" if len(names) == 1 else f"a mapping with an Expected for each of {' '.join(names)}"
    advice = (
        "; within(0.5, value, to) and Expected(value) of parity.reference give one" if got.endswith("ndarray") else ""
    )
    raise op.mistake(f"the reference returns {got}; it has to return {wanted_form}{advice}")


def _has_form(op: Declaration, name: str, value: Array, kind: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Refuse expected values of another type or shape than the output has."""
    if (value.dtype, value.shape) != (kind, shape):
        raise op.mistake(
            f"the reference gives {value.dtype} of shape {value.shape} for {name}, which is {kind} of shape {shape}"
        )


def timed(op: Declaration, case: Case) -> tuple[Launch, Mapping[str, Tiled]]:
    """Launch and memory of a case whose result is not compared, however large it is.

    Raises:
        UsageError: no device can launch it, or an argument is too large for its type.
    """
    given = case_view(op, case)
    memory = _memory(op, case, given)
    tiles = {name: each.tiled(op.points) for name, each in memory.items()}
    whole = {**_info(op, given), **_workspace(op, given)}
    tiles |= {name: Tiled(each.dtype, each.data, len(each.data), each.writable) for name, each in whole.items()}
    return replace(_launches(op, case, given), constants=_constants(op, given, memory)), tiles


def work_of(op: Declaration, case: Case) -> Work:
    """The bytes and operations of a case."""
    given, types = case_view(op, case), op.bind(case.dtypes)
    same = op.aliased[1] if op.aliased and "aliased" in case.flags else None
    elements = {name: given.layouts[name].distinct for name in op.inputs if name in given.layouts and name != same}
    for name, each in given.shapes.items():
        elements[name] = math.prod(each) * (2 if name in op.updates else 1)
    elements.update({name: given.number(rule, "elements") for name, rule in op.elements.items()})
    total = sum(count * op.dtype_of(op.kinds[name], types).itemsize for name, count in elements.items())
    return Work(total, given.number(op.operations, "operations"))


def _buffer_of(op: Declaration, name: str, flags: tuple[str, ...]) -> str:
    """The name of the buffer that a tensor lies in."""
    if "in-place" in flags and name == op.in_place:
        return op.result
    if "aliased" in flags and op.aliased and name == op.aliased[1]:
        return op.aliased[0]
    return name


def _memory(op: Declaration, case: Case, given: CaseView) -> dict[str, Memory]:
    """The content of every buffer of a case except ``info``, by name; the outputs come last."""
    types, tensors = given.types, dict(case.tensors)
    memory = {}
    for name, kind in op.inputs.items():
        if name in tensors and _buffer_of(op, name, case.flags) == name:
            bound = given.number(op.indices[name], "indices") if name in op.indices else None
            memory[name] = Memory(name, op.dtype_of(kind, types), tensors[name], bound)
    for name, kind in op.compared.items():
        source, tensor = name, tensors.get(name) or Tensor(contiguous(given.shapes[name]))
        if "in-place" in case.flags and op.in_place and name == op.result:
            source = op.in_place
            tensor = replace(tensors[source], layout=tensor.layout)
        memory[name] = Memory(source, op.dtype_of(kind, types), tensor, writable=True)
    return memory


def _info(op: Declaration, given: CaseView) -> dict[str, Buffer]:
    """The buffer ``info``, if the case has one."""
    if "info" not in op.takes or "null-info" in given.flags:
        return {}
    if callable(op.info):
        numbers = op.ask("info", lambda given: [int(number) for number in op.info(given)], given)  # type: ignore[operator]
    else:
        first, *_ = told = op.with_strides
        text = op.info or " ".join((f"{first}.shape", *(f"{name}.strides" for name in told)))
        with op.naming("info"):
            parts = (expression(word)(given.numbered) for word in words(text))
            numbers = [n for part in parts for n in (part if isinstance(part, tuple) else (part,))]
    kind = dtype(next(w.kind or "u64" for step in op.steps for w in step.words if w.name == "info"))
    return {"info": Buffer(kind, np.array([in_range(int(number), kind, "info") for number in numbers], kind.numpy))}


def _workspace(op: Declaration, given: CaseView) -> dict[str, Buffer]:
    """The buffers that the kernel writes and that are not compared; it must not read what it has not written."""
    found = {}
    for name, of in op.workspace.items():
        if callable(of):
            kind, count = op.ask(f"workspace: {name}", _pair(of), given)
        else:
            with op.naming("shapes"):
                shape = op.stated.shape(name, given.scope) if name in op.stated.tensors else given.shape
            kind, count = of, contiguous(shape).numel
        each = op.dtype_of(kind, given.types)
        undefined: Array = np.zeros(count, np.bool_)
        found[name] = Buffer(each, poisoned(each, count), undefined, writable=True)
    return found


def _pair(function: Callable[[CaseView], tuple[str, Any]]) -> Callable[[CaseView], tuple[str, Any]]:
    """The function, which has to return two things."""

    def asked(given: CaseView) -> tuple[str, Any]:
        kind, value = function(given)
        return kind, value

    return asked


def _constants(op: Declaration, given: CaseView, memory: Mapping[str, Memory]) -> dict[str, Array]:
    """The content of the variables that the host writes: inputs, and computed values."""
    found = {}
    for name, of in op.symbols.items():
        content = (
            memory[of].buffer(op.points).data
            if isinstance(of, str)
            else np.asarray(op.ask(f"symbols: {name}", of, given))
        )
        if content.dtype == object:
            raise op.mistake(f"symbols: the content of {name} is no array of numbers")
        found[name] = np.ascontiguousarray(content)
    return found


def _launches(op: Declaration, case: Case, given: CaseView) -> Launch:
    """The launch of the first kernel, and those that follow."""
    launches = []
    for number, step in enumerate(op.steps):
        grid = given.grid if number == 0 else given.geometry(number)
        scope = given.with_launch(grid)
        with op.naming("args"):
            args = tuple(_argument(op, word, case, given, scope) for word in step.words)
        name = op.kernel_name(case.dtypes, step.kernel)
        launches.append(Launch(name, grid.grid, grid.block, args, grid.shared_bytes))
    return replace(launches[0], then=tuple(launches[1:]))


def _argument(op: Declaration, word: Word, case: Case, given: CaseView, scope: Scope) -> Pointer | Scalar | Struct:
    if word.name in op.structs:
        fields = op.fields[word.name]
        return Struct(tuple((each.name, _field(op, each, case, given, scope)) for each in fields))
    found = _field(op, word, case, given, scope)
    if isinstance(found, tuple):
        raise UsageError(f"{word.name} is an array, which can only be part of a structure")
    return found


def _field(
    op: Declaration, word: Word, case: Case, given: CaseView, scope: Scope
) -> Pointer | Scalar | tuple[Scalar, ...]:
    """The value of an argument, or of a field."""
    if word.name in op.kinds:
        return _pointer(op, word.name, case)
    if word.name in op.workspace:
        return Pointer(word.name)
    if word.name == "info":
        return Pointer(None if "null-info" in case.flags else "info")
    if word.name in op.params and not word.value:
        return Scalar(op.dtype_of(op.params[word.name], given.types), given.params[word.name])
    if word.name in op.scalars:
        kind, value = op.ask(f"scalars: {word.name}", _pair(op.scalars[word.name]), given)
        return Scalar(dtype(kind), in_range(value, dtype(kind), word.name))
    return word.scalars(scope, given.types)


def _pointer(op: Declaration, name: str, case: Case) -> Pointer:
    """The argument for a tensor: null for one that is left out, or read from the output."""
    if name in op.compared:
        return Pointer(name, case.layouts[name].offset if name in case.layouts else 0)
    buffer = _buffer_of(op, name, case.flags)
    known = name in case.layouts and buffer != op.result
    return Pointer(buffer, case.layouts[buffer].offset) if known else Pointer(None)
