"""Checks a declaration before any case exists: types of fields, names, data streams, expressions, the reference."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from string import Formatter
from types import UnionType
from typing import Any, Union, get_args, get_origin

from parity.data.blocks import BLOCK_STREAMS
from parity.data.extents import alternatives
from parity.data.indices import INDEX_STREAMS
from parity.data.layouts import STRIDES
from parity.data.streams import STREAMS, is_stream
from parity.dsl.arguments import ArgumentSpec
from parity.dsl.expression import Expression, expression
from parity.dsl.shapes import parse_shapes, words
from parity.errors import UsageError, nearest
from parity.model.dtypes import dtype
from parity.model.launch import BLOCK, PRINTF, WARP_SIZE
from parity.ops import declaration
from parity.ops.declaration import Declaration

COUNTS = ("numel", "num_dims")
LAUNCH_COUNTS = ("threads", "blocks")
RESERVED = (*COUNTS, *LAUNCH_COUNTS, "info", "launch")
"""Names that parity defines."""


def check_declaration(op: Declaration) -> None:
    """Check a declaration.

    Raises:
        UsageError: a field is wrong; the message names the op, the field, the value and the place in it.
    """
    _check_types(op)
    if not op.compared:
        raise _error(op, "outputs= and updates= have no tensor, so nothing could be compared")
    _check_kernel_names(op)
    _check_dtypes(op)
    _check_triton(op)
    if op.library and op.reference is None:
        raise _error(op, "a reference judges what libraries compute; name one in reference=")
    _check_names(op)
    _check_outputs(op)
    _check_shapes(op)
    _check_expressions(op)
    _check_arguments(op)
    _check_reference(op)


def _error(op: Declaration, message: str) -> UsageError:
    return UsageError(f"op {op.name}: {message}")


_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", type(None): "None"}


@functools.cache
def _field_types() -> Mapping[str, tuple[Any, Any]]:
    """The declared type and the default of every field of ``Declaration``."""
    scope = vars(declaration)
    return {field.name: (eval(str(field.type), scope), field.default) for field in dataclasses.fields(Declaration)}


def _case_names(op: Declaration) -> set[str]:
    """The names of ``shapes``, of numbers of a Triton kernel, and of parameters."""
    return {*op.parsed_shapes.free, *op.parsed_shapes.defined, *op.params}


def _check_types(op: Declaration) -> None:
    """Check the value of every field against its declared type."""
    for name, (kind, default) in _field_types().items():
        value = getattr(op, name)
        if value is not default and (mismatch := _mismatch(value, kind, name)):
            place, value, wanted = mismatch
            is_dims = place in ("grid", "block") and isinstance(value, list | tuple)
            form = f'; write {place}="{", ".join(map(str, value))}"' if is_dims else ""
            raise _error(op, f"{place} is {value!r}, not {wanted}{form}")
    for name in ("named", "bench"):
        for case in getattr(op, name):
            if not (isinstance(case.title, str) and isinstance(case.items, str)):
                raise _error(op, f"{name} has {case!r}; title and items of a NamedCase are texts")
            if not case.title.isprintable():
                raise _error(op, f"{name} has the title {case.title!r}; reports show only printable characters")


def _mismatch(value: Any, kind: Any, place: str) -> tuple[str, Any, str] | None:
    """Return the first part of a value that does not fit a type: its place, the part, and the type in words.

    Lists count as tuples, whole numbers as numbers. Signatures of functions are not checked.
    """
    origin, args = _parts(kind)
    if origin in (Union, UnionType):
        found = [_mismatch(value, each, place) for each in args]
        wrong = [each for each in found if each]
        if len(wrong) < len(found):
            return None
        deepest = max(wrong, key=lambda each: len(each[0]))
        return deepest if deepest[0] != place else (place, value, " or ".join(each for _, _, each in wrong))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            return place, value, "a dict"
        return _first(_mismatch(each, args[1], f"{place}: {name}") for name, each in value.items())
    if origin in (tuple, Sequence):
        if not isinstance(value, list | tuple):
            return place, value, "a list"
        return _first(_mismatch(each, args[0], f"{place}[{i}]") for i, each in enumerate(value))
    if origin is Callable:
        return None if callable(value) else (place, value, "a function")
    accepted = (int, float) if origin is float else origin
    fits = origin is Any or (isinstance(value, accepted) and (origin is bool or not isinstance(value, bool)))
    return None if fits else (place, value, _WORDS.get(origin) or f"a {origin.__name__}")


@functools.cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type without its arguments, and the arguments."""
    return get_origin(kind) or kind, get_args(kind)


def _first(found: Iterable[tuple[str, Any, str] | None]) -> tuple[str, Any, str] | None:
    return next(filter(None, found), None)


def _check_kernel_names(op: Declaration) -> None:
    """Check names, and the type variables in kernel names."""
    for text in (step.kernel for step in op.steps):
        try:
            fields = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
        except ValueError as error:
            raise _error(op, f"kernel={text!r}: {error}; type variables stand in braces: {{T}}") from None
        if unnamed := [name for name in fields if not name.isidentifier()]:
            raise _error(op, f"kernel={text!r}: {{{unnamed[0]}}} is not a type variable; write {{T}}")
    for name in ("kernel", "source", "name"):
        if not (text := getattr(op, name)).isprintable() or (not text and name != "source"):
            raise UsageError(f"op {op.name!r}: {name}={text!r} is not a name")


def _check_dtypes(op: Declaration) -> None:
    """Check dtypes, and the numbers of threads."""
    for text in op.types:
        if len(text.split(",")) != len(op.variables):
            raise _error(op, f"types has {text!r}, and kernel={op.kernel!r} has {len(op.variables)} type variables")
    for name in ("types", "inputs", "outputs", "updates", "params"):
        value = getattr(op, name)
        kinds = [kind for text in value for kind in text.split(",")] if name == "types" else value.values()
        for kind in kinds:
            if name == "types" or kind not in op.variables:
                with _naming(op, name):
                    dtype(kind)
    for step in op.steps:
        if isinstance(step.block, int) and not 0 < step.block <= BLOCK:
            raise _error(op, f"block is {step.block}; a block has 1 to {BLOCK} threads")


def _check_triton(op: Declaration) -> None:
    """Check the fields of an op whose kernel is a Triton function."""
    if not op.triton_kernel:
        return
    if op.triton_kernel.file != op.file:
        raise _error(op, f"source is {op.source!r}, but the kernel is in {op.triton_kernel.file}; leave source out")
    if not (op.grid or op.launch):
        raise _error(op, 'a Triton kernel needs a grid, such as grid="ceil(n/BLOCK)"')
    if op.then:
        raise _error(op, "then: kernels that follow a Triton kernel are not supported")
    shapes = parse_shapes(op.shapes) if op.shapes else None  # without the definitions of the kernel's numbers
    names = {
        *(shapes.free if shapes else ()),
        *(shapes.defined if shapes else ()),
        *op.triton_kernel.numbers,
        *op.params,
    }
    for name, each in op.triton_kernel.expressions.items():
        with _naming(op, f"kernel: {name}"):
            _check_expression(each, names - {name}, ())


def _check_names(op: Declaration) -> None:
    """Check names that must be inputs, tensors, layouts or streams."""
    _check_unique_names(op)
    with _naming(op, "textures"):
        textures = op.texture_specs
    with _naming(op, "pointers"):
        rows = [tensor for tensor, _ in op.pointer_levels.values()]
    in_place = (op.in_place,) if op.in_place else ()
    in_symbols = [each for each in op.symbols.values() if isinstance(each, str)]
    streams = op.data.values() if isinstance(op.data, Mapping) else (op.data,)
    strides = op.strides if isinstance(op.strides, Mapping) else {op.result: op.strides or "any"}
    for what, names, known in (
        ("input", (*op.optional, *(op.aliased or ()), *in_place), op.inputs),
        ("tensor or structure in symbols", in_symbols, {**op.kinds, **op.struct_fields}),
        ("tensor in pointers", rows, op.kinds),
        ("tensor in textures", [each.tensor for each in textures.values()], op.kinds),
        ("tensor with indices", op.indices, op.filled),
        ("tensor with strides", strides, {**op.tensors, **op.compared}),
        ("strides", [each for each in strides.values() if isinstance(each, str)], STRIDES),
        ("tensor with data", op.data if isinstance(op.data, Mapping) else (), op.filled),
        ("tensor with elements", op.elements, op.kinds),
    ):
        _check_known(op, what, names, known)
    for stream in (each for group in streams for each in group):
        if not is_stream(stream):
            _check_known(op, "data", [stream], {**STREAMS, **BLOCK_STREAMS, **INDEX_STREAMS})


def _check_unique_names(op: Declaration) -> None:
    """Check that a name has one meaning."""
    meanings: dict[str, str] = {}
    for field in ("inputs", "outputs", "updates", "workspace", "params", "scalars", "textures", "pointers"):
        for name in getattr(op, field):
            if name in meanings:
                raise _error(
                    op, f"{name} is in {meanings[name]}= and in {field}=; a kernel updates what is in updates="
                )
            meanings[name] = field


def _check_known(op: Declaration, what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise _error(op, f"unknown {what} {name!r}{nearest(name, known)}")


def _check_outputs(op: Declaration) -> None:
    """Check that a kernel gets the outputs, and that their shape follows from something."""
    outputs = " ".join(op.compared)
    tensors = {name: each.tensor for name, each in op.texture_specs.items()}
    tensors |= {name: tensor for name, (tensor, _) in op.pointer_levels.items()}
    given = {tensors.get(name, name) for name in op.argument_names}
    if not (op.library or op.results or set(op.compared) & given):
        raise _error(op, f"args lacks all of its outputs ({outputs}), so nothing could be compared")
    if (of := op.symbols.get(PRINTF)) is not None and (op.outputs or {}).get(str(of)) != "u8":
        raise _error(op, f"symbols: {PRINTF} is {of!r}, and printed text needs an output of u8")
    written = next((e.tensor for e in op.texture_specs.values() if e.tensor in op.compared and not e.surface), None)
    if written:
        raise _error(op, f"textures: a kernel writes {written} through a surface; add the word surface")
    if not (op.tensors or op.shape or op.library):
        raise _error(
            op,
            f"without inputs, the shape of {outputs} is unknown; "
            f'set writes=True, and shapes="{op.result}: n" for one dim',
        )


def _check_shapes(op: Declaration) -> None:
    """Check that ``shapes`` describes every tensor, and nothing else."""
    with _naming(op, "shapes"):
        shapes = op.parsed_shapes
        _check_known(op, "tensor in shapes", shapes.tensors, {**op.kinds, **op.workspace})
        needed = [*op.inputs, *(() if op.shape else op.compared)] if op.shapes else ()
        for name in needed:
            if name not in shapes.tensors:
                raise UsageError(f"the shape of {name} is missing; write '{name}: ' and its dims")
        for name in (*shapes.free, *shapes.defined):
            if name in RESERVED or name in op.kinds:
                meaning = "a tensor" if name in op.kinds else "a name that parity defines"
                raise UsageError(f"{name} cannot name a dim: it is {meaning}")
        for each in shapes.defined.values():
            _check_expression(each, _case_names(op), op.tensors)
        _check_output_extents(op)
    for option in alternatives(op.choices):
        _check_known(op, "name in choices", option, _case_names(op))
        for name, values in option.items():
            if not len(values):
                raise _error(op, f"choices: {name} has no values")
    if op.layouts and op.choices:
        raise _error(op, "layouts draws everything, so nothing is drawn from choices; leave one out")


def _check_output_extents(op: Declaration) -> None:
    """Check that the extents of outputs follow from inputs or parameters."""
    shapes = op.parsed_shapes
    known = {name for tensor in op.tensors for dim in shapes.tensors.get(tensor, ()) for name in dim.extent.names}
    known |= {*shapes.defined, *op.params}
    for name in set(op.compared) & set(shapes.tensors) - set(op.tensors):
        for dim in shapes.tensors[name]:
            if dim.extent.tensors or op.shape:
                continue
            for missing in sorted(dim.extent.names - known):
                raise UsageError(
                    f"{shapes.statement(name)!r}: {missing} is unknown: no input has it, and it is not a parameter"
                )


def _check_reference(op: Declaration) -> None:
    """Check that the reference accepts its arguments."""
    if op.reference is None:
        return
    try:
        signature = inspect.signature(op.reference)
    except (TypeError, ValueError):  # a C function without a signature
        return
    positional = (*op.filled, *(name for name in op.params if name not in op.tuned))
    offered = ("to", "shape", "grid", *(op.triton_kernel.given if op.triton_kernel else ()))
    named = [name for name in offered if name in signature.parameters]
    try:
        signature.bind(*positional, **dict.fromkeys(named))
    except TypeError as error:
        text = ", ".join((*positional, *(f"{name}=" for name in named)))
        raise _error(op, f"the reference is called with ({text}) and does not accept that: {error}") from None


def _check_expressions(op: Declaration) -> None:
    """Check that the names in expressions are known."""
    names, tensors = _case_names(op), op.kinds
    counted = {*names, *COUNTS}
    rules: list[tuple[str, Any, set[str], Collection[str]]] = [
        ("where", op.where or "1", names, op.tensors),
        ("operations", op.operations, counted, tensors),
        *(("indices", each, counted, tensors) for each in op.indices.values()),
        *(("elements", each, counted, tensors) for each in op.elements.values()),
        *(("info", each, counted, tensors) for each in (words(op.info) if isinstance(op.info, str) else ())),
    ]
    for step in op.steps:
        rules += [
            ("block", step.block, {*counted, WARP_SIZE}, tensors),
            ("grid", step.grid or "1", {*counted, "threads", WARP_SIZE}, tensors),
            ("shared", step.shared, {*counted, "threads", WARP_SIZE}, tensors),
        ]
    for field, rule, known, known_tensors in rules:
        if not callable(rule):
            with _naming(op, field):
                _check_expression(expression(str(rule)), known, known_tensors)


def _check_arguments(op: Declaration) -> None:
    """Check the arguments of kernels and the fields of structures."""
    values = {*_case_names(op), *COUNTS, *LAUNCH_COUNTS}
    pointers = {*op.kinds, *op.workspace, *op.textures, *op.pointers}
    for field, lists, more in (
        ("args", [step.arguments for step in op.steps], {"info", *op.struct_fields, *op.scalars}),
        ("structs", list(op.struct_fields.values()), set[str]()),
    ):
        for spec in (spec for each in lists for spec in each):
            with _naming(op, field):
                _check_argument(op, spec, pointers | more, values)
    in_symbols = {each for each in op.symbols.values() if isinstance(each, str)}
    if both := in_symbols & set(op.kinds) & set(op.argument_names):
        raise _error(op, f"{min(both)} is the content of a symbol, so it is not an argument; remove it from args")


def _check_argument(op: Declaration, spec: ArgumentSpec, others: set[str], values: set[str]) -> None:
    if spec.value:
        if spec.name in others or spec.name in op.params:
            raise UsageError(f"{spec.name}={spec.value}: {spec.name} has another meaning; use another name")
        _check_expression(spec.value, values, op.kinds)
    elif spec.name not in others | values:
        raise UsageError(
            f"unknown argument {spec.name!r}{nearest(spec.name, others | values)}; or write {spec.name}=..."
        )
    if spec.kind and spec.kind not in op.variables:
        kind = dtype(spec.kind)
        if kind.is_block or (spec.name in others and (spec.name != "info" or kind.is_float)):
            raise UsageError(f"{spec.name}:{spec.kind}: {spec.name} already has a type, or cannot have one")
    if spec.kind and spec.name in op.params and spec.kind != op.params[spec.name]:
        raise UsageError(f"{spec.name}:{spec.kind}: its type in params is {op.params[spec.name]}")


def _check_expression(rule: Expression, names: Collection[str], tensors: Collection[str]) -> None:
    for name in sorted(rule.names):
        if name not in names:
            known = f"; there are {' '.join(sorted(names))}" if names else ""
            hint = f"; write {name}.shape[0] or {name}.numel" if name in tensors else nearest(name, names) or known
            raise UsageError(f"{rule.text!r}, column {rule.column(name)}: unknown name {name!r}{hint}")
    for name in sorted(rule.tensors):
        if name not in tensors:
            raise UsageError(
                f"{rule.text!r}, column {rule.column(name)}: unknown tensor {name!r}{nearest(name, tensors)}"
            )


@contextmanager
def _naming(op: Declaration, field: str) -> Iterator[None]:
    """Add op and field to errors."""
    try:
        yield
    except UsageError as error:
        raise _error(op, f"{field}: {error}") from None
