"""Checks of a declaration before any case: unknown names, types, streams, expressions."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from string import Formatter
from typing import Any

from parity.data.blocks import BLOCK_STREAMS
from parity.data.extents import alternatives
from parity.data.indices import INDEX_STREAMS
from parity.data.layouts import STRIDES, Strides
from parity.data.streams import STREAMS, is_stream
from parity.dsl.arguments import ArgumentSpec
from parity.dsl.expression import Expression, expression
from parity.dsl.shapes import words
from parity.errors import UsageError, nearest
from parity.model.dtypes import dtype
from parity.model.launch import BLOCK
from parity.ops.declaration import Declaration

__all__ = ["check_declaration"]

COUNTS = ("numel", "num_dims")
LAUNCHED = ("threads", "blocks")
RESERVED = (*COUNTS, *LAUNCHED, "info", "launch")
"""Names that parity gives."""


def check_declaration(op: Declaration) -> None:
    """Refuse what cannot be right.

    Raises:
        UsageError: what it is, and what there is instead.
    """
    _kinds(op)
    if op.library and op.reference is None:
        raise UsageError(f"op {op.name}: what libraries compute is judged by a reference; name one in reference=")
    _names(op)
    _outputs(op)
    _shapes(op)
    _rules(op)
    _arguments(op)
    _reference(op)


_TEXTS = {str: str}
_KINDS: dict[str, Any] = {
    **dict.fromkeys(("name", "kernel", "args", "shapes", "where", "source"), str),
    "types": [str],
    "optional": [str],
    **dict.fromkeys(("inputs", "outputs", "updates", "params", "structs", "spelling"), _TEXTS),
    "strides": (str, Strides, {str: (str, Strides)}),
    "grid": (str, int),
    "block": (str, int),
    "shared": (str, int),
    "named": [object],
    "bench": [object],
    "threads": [int],
    "points": [(int, float)],
    "values": [(int, float)],
    "in_place": (type(None), str),
    "aliased": (type(None), [str]),
    "info": (str, Callable),
    "data": ([str], {str: [str]}),
    "choices": ([{str: [object]}], {str: [object]}),
    "indices": {str: (str, int, Callable)},
    "elements": {str: (str, int, Callable)},
    "operations": (str, int, Callable),
    "workspace": {str: (str, Callable)},
    "scalars": {str: Callable},
    "symbols": {str: (str, Callable)},
    **dict.fromkeys(("library", "grid_stride", "null_info", "writes"), bool),
    **dict.fromkeys(("reference", "layouts", "shape", "mismatch", "launch"), (type(None), Callable)),
}
"""The kinds of value of each field of a declaration: ``[kind]`` is a list or tuple of such values, ``{str: kind}`` are
names with such values, and a tuple has several kinds, of which it may be any.
"""
_CALLED = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    type(None): "None",
    Callable: "a function",
}


def _kinds(op: Declaration) -> None:
    """Values of another kind than the field takes."""
    for name, kind in _KINDS.items():
        if problem := _type_error(getattr(op, name), kind):
            raise UsageError(f"op {op.name}: {name}{problem}")
    for what in ("named", "bench"):
        for case in getattr(op, what):
            if not (isinstance(getattr(case, "title", None), str) and isinstance(getattr(case, "items", None), str)):
                raise UsageError(f"op {op.name}: {what} has {case!r}, and holds cases: NamedCase(title, items)")
    for text in (step.kernel for step in op.steps):
        try:
            fields = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
        except ValueError as error:
            raise UsageError(f"op {op.name}: kernel={text!r}: {error}; type variables stand in braces: {{T}}") from None
        if unnamed := [name for name in fields if not name.isidentifier()]:
            raise UsageError(f"op {op.name}: kernel={text!r}: {{{unnamed[0]}}} is no type variable; write {{T}}")
    for text in op.types:
        if len(text.split(",")) != len(op.variables):
            raise UsageError(
                f"op {op.name}: types has {text!r}, and kernel={op.kernel!r} has {len(op.variables)} type variables"
            )
    for what, kinds in (
        ("types", [name for text in op.types for name in text.split(",")]),
        *((what, getattr(op, what).values()) for what in ("inputs", "outputs", "updates", "params")),
    ):
        for kind in kinds:
            if what == "types" or kind not in op.variables:
                with _naming(op, what):
                    dtype(kind)
    for step in op.steps:
        if isinstance(step.block, int) and not 0 < step.block <= BLOCK:
            raise UsageError(f"op {op.name}: block is {step.block}; a block has 1 to {BLOCK} threads")
    for name in ("kernel", "source", "name"):
        if not (text := getattr(op, name)).isprintable() or (not text and name != "source"):
            raise UsageError(f"op {op.name!r}: {name}={text!r} is no name")


def _type_error(value: Any, kind: Any) -> str:
    """The first error in a value, to be said after its name; empty if the value is of the kind."""
    if isinstance(kind, tuple):
        problems = list(itertools.takewhile(bool, (_type_error(value, each) for each in kind)))
        return problems[-1] if len(problems) == len(kind) else ""
    if isinstance(kind, list):
        if not isinstance(value, list | tuple):
            return f" is {value!r}, not a list"
        return next((f"[{i}]{problem}" for i, each in enumerate(value) if (problem := _type_error(each, kind[0]))), "")
    if isinstance(kind, dict):
        if not isinstance(value, Mapping):
            return f" is {value!r}, not a dict"
        return next((f": {at}{problem}" for at, each in value.items() if (problem := _type_error(each, kind[str]))), "")
    right = kind is object or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool)))
    return "" if right else f" is {value!r}, not {_CALLED.get(kind) or kind.__name__}"


def _names(op: Declaration) -> None:
    """Names that have to be those of inputs, tensors or streams."""
    in_place = (op.in_place,) if op.in_place else ()
    lying = [each for each in op.symbols.values() if isinstance(each, str)]
    streams = op.data.values() if isinstance(op.data, Mapping) else (op.data,)
    strides = op.strides if isinstance(op.strides, Mapping) else {op.result: op.strides or "any"}
    for what, names, known in (
        ("input", (*op.optional, *op.indices, *(op.aliased or ()), *in_place, *lying), op.inputs),
        ("tensor with strides", strides, {**op.tensors, **op.compared}),
        ("strides", [each for each in strides.values() if isinstance(each, str)], STRIDES),
        ("tensor with data", op.data if isinstance(op.data, Mapping) else (), op.filled),
        ("tensor with elements", op.elements, op.kinds),
    ):
        _known(op, what, names, known)
    for stream in (each for group in streams for each in group):
        if not is_stream(stream):
            _known(op, "data", [stream], {**STREAMS, **BLOCK_STREAMS, **INDEX_STREAMS})


def _known(op: Declaration, what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"op {op.name}: unknown {what} {name!r}{nearest(name, known)}")


def _outputs(op: Declaration) -> None:
    """Outputs that no kernel is given, and those whose shape follows from nothing."""
    outputs = " ".join(op.compared)
    if not (op.library or set(op.compared) & set(op.argument_names)):
        raise UsageError(f"op {op.name}: args has none of its outputs ({outputs}), so nothing could be compared")
    if not (op.tensors or op.shape or op.library):
        raise UsageError(
            f"op {op.name}: without inputs nothing tells the shape of {outputs}; "
            f'say writes=True, and shapes="{op.result}: n" for one dim'
        )


def _shapes(op: Declaration) -> None:
    """The statement of shapes: it is about every tensor, and about nothing else."""
    with _naming(op, "shapes"):
        stated = op.parsed_shapes
        known = {**op.kinds, **op.workspace}
        _known(op, "tensor in shapes", stated.tensors, known)
        needed = [*op.inputs, *(() if op.shape else op.compared)] if op.shapes else ()
        for name in needed:
            if name not in stated.tensors:
                raise UsageError(f"nothing is said of {name}; write '{name}: ' and its dims")
        for name in (*stated.free, *stated.defined):
            if name in RESERVED or name in op.kinds:
                raise UsageError(f"{name} cannot name a dim: it is {'a tensor' if name in op.kinds else 'given'}")
        stated_names = {*stated.free, *stated.defined, *op.params}
        for each in stated.defined.values():
            _check(each, stated_names, op.tensors)
        _told(op)
    for option in alternatives(op.choices):
        _known(op, "name in choices", option, {*stated_names, *op.params})
    if op.layouts and op.choices:
        raise UsageError(f"op {op.name}: layouts draws everything, so nothing is drawn from choices; leave one out")


def _told(op: Declaration) -> None:
    """Extents of outputs, which nothing tells unless an input has them, or a parameter."""
    stated = op.parsed_shapes
    told = {name for tensor in op.tensors for dim in stated.tensors.get(tensor, ()) for name in dim.extent.names}
    told |= {*stated.defined, *op.params}
    for name in set(op.compared) & set(stated.tensors) - set(op.tensors):
        for dim in stated.tensors[name]:
            if dim.extent.tensors or op.shape:
                continue
            for missing in sorted(dim.extent.names - told):
                raise UsageError(
                    f"{stated.statement(name)!r}: nothing tells {missing}: no input has it, and it is no parameter"
                )


def _reference(op: Declaration) -> None:
    """The reference, which has to take what it is given."""
    if op.reference is None:
        return
    try:
        signature = inspect.signature(op.reference)
    except (TypeError, ValueError):  # a function of C that does not say
        return
    given = (*op.filled, *op.params)
    named = [name for name in ("to", "shape", "grid") if name in signature.parameters]
    try:
        signature.bind(*given, **dict.fromkeys(named))
    except TypeError as error:
        text = ", ".join((*given, *(f"{name}=" for name in named)))
        raise UsageError(
            f"op {op.name}: the reference is called with ({text}) and does not take that: {error}"
        ) from None


def _rules(op: Declaration) -> None:
    """Expressions, whose names must be known."""
    names = {*op.parsed_shapes.free, *op.parsed_shapes.defined, *op.params}
    counted, tensors = {*names, *COUNTS}, op.kinds
    rules: list[tuple[str, Any, set[str], Collection[str]]] = [
        ("where", op.where or "1", names, op.tensors),
        ("operations", op.operations, counted, tensors),
        *(("indices", each, counted, tensors) for each in op.indices.values()),
        *(("elements", each, counted, tensors) for each in op.elements.values()),
        *(("info", each, counted, tensors) for each in (words(op.info) if isinstance(op.info, str) else ())),
    ]
    for step in op.steps:
        rules += [
            ("block", step.block, counted, tensors),
            ("grid", step.grid or "1", {*counted, "threads"}, tensors),
            ("shared", step.shared, {*counted, "threads"}, tensors),
        ]
    for what, rule, known, about in rules:
        if not callable(rule):
            with _naming(op, what):
                _check(expression(str(rule)), known, about)


def _arguments(op: Declaration) -> None:
    """The words of arguments and fields."""
    values = {*op.parsed_shapes.free, *op.parsed_shapes.defined, *op.params, *COUNTS, *LAUNCHED}
    pointers = {*op.kinds, *op.workspace}
    for what, lists, more in (
        ("args", [step.arguments for step in op.steps], {"info", *op.structs, *op.scalars}),
        ("structs", list(op.struct_fields.values()), set[str]()),
    ):
        for word in (word for each in lists for word in each):
            with _naming(op, what):
                _check_word(op, word, pointers | more, values)
    lying = {each for each in op.symbols.values() if isinstance(each, str)}
    if both := lying & set(op.argument_names):
        raise UsageError(f"op {op.name}: {min(both)} lies in a symbol, so it is no argument; take it out of args")


def _check_word(op: Declaration, word: ArgumentSpec, others: set[str], values: set[str]) -> None:
    if word.value:
        if word.name in others or word.name in op.params:
            raise UsageError(f"{word.name}={word.value}: {word.name} is something else already; take another name")
        _check(word.value, values, op.kinds)
    elif word.name not in others | values:
        raise UsageError(
            f"unknown argument {word.name!r}{nearest(word.name, others | values)}; or write {word.name}=..."
        )
    if word.kind and word.kind not in op.variables:
        kind = dtype(word.kind)
        if kind.is_block or (word.name in others and (word.name != "info" or kind.is_float)):
            raise UsageError(f"{word.name}:{word.kind}: {word.name} has a type already, or can have none")
    if word.kind and word.name in op.params and word.kind != op.params[word.name]:
        raise UsageError(f"{word.name}:{word.kind}: params says {op.params[word.name]}")


def _check(rule: Expression, names: Collection[str], tensors: Collection[str]) -> None:
    for name in sorted(rule.names):
        if name not in names:
            known = f"; there are {' '.join(sorted(names))}" if names else ""
            asked = f"; write {name}.shape[0] or {name}.numel" if name in tensors else nearest(name, names) or known
            raise UsageError(f"{rule.text!r}, column {rule.column(name)}: unknown name {name!r}{asked}")
    for name in sorted(rule.tensors):
        if name not in tensors:
            raise UsageError(
                f"{rule.text!r}, column {rule.column(name)}: unknown tensor {name!r}{nearest(name, tensors)}"
            )


@contextmanager
def _naming(op: Declaration, what: str) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise UsageError(f"op {op.name}: {what}: {error}") from None
