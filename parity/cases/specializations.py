"""The specializations of a Triton kernel: the values of its constexpr parameters in all cases that may be drawn.

A run compiles them before it draws a case, so a case whose values are not among them does not fit the op.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from parity.cases.conditions import default_options, violated_condition
from parity.data.extents import KINDS, alternatives, evaluated
from parity.dsl.expression import Scope, expression
from parity.dsl.shapes import ShapeMismatch
from parity.errors import UsageError
from parity.model.case import Tensor, split
from parity.model.dtypes import DType, resolve_dtype
from parity.ops.case_view import CaseView
from parity.ops.declaration import Declaration
from parity.triton_kernels.kernel import (
    CONFIG,
    OPTIONS,
    Constant,
    Specialization,
    parameter_values,
    symbol,
    triton_type,
)

MOST_COMBINATIONS = 20_000
"""Combinations of extents and parameters that are enumerated for the expressions of a kernel."""
MOST = 64
"""Limit for the specializations of a kernel with the same dtypes."""


@functools.lru_cache(maxsize=512)
def specializations(op: Declaration, dtypes: tuple[str, ...]) -> tuple[Specialization, ...]:
    """Return the specializations of an op's Triton kernel for a combination of dtypes.

    Raises:
        UsageError: there are too many of them, or a type does not exist in Triton.
    """
    assert op.triton_kernel
    row, types = op.kernel_name(dtypes), op.bind(dtypes)
    found: dict[str, Specialization] = {}
    arguments = [(name in pointers(op), kind) for name, kind in _argument_types(op, types)]
    with op.origin.naming("kernel"):
        for values in _values(op, types):
            name = symbol(row, values)
            everything = {**op.triton_kernel.constants, **values}
            if op.triton_kernel.is_tuned:
                del everything[CONFIG]
            found[name] = Specialization(
                name,
                op.triton_kernel.file,
                op.triton_kernel.name,
                tuple(f"*{kind}" if pointer else kind for pointer, kind in arguments),
                tuple(i for i, (pointer, _) in enumerate(arguments) if pointer),
                {each: value for each, value in everything.items() if each not in OPTIONS},
                {each: value for each, value in everything.items() if each in OPTIONS},
                op.triton_kernel.is_tuned,
            )
            if len(found) > MOST:
                names = " ".join(_free_names(op))
                raise UsageError(f"there are more than {MOST} specializations; declare fewer choices of {names}")
    return tuple(found.values())


def pointers(op: Declaration) -> set[str]:
    """Return the names of arguments that are pointers."""
    return {*op.kinds, *op.workspace, *_structures(op), "info"}


def _structures(op: Declaration) -> set[str]:
    """Return the names of structures in device memory."""
    return {name[1:] for name in op.structs if name.startswith("*")}


def missing_specialization(op: Declaration, view: CaseView) -> str:
    """Return why a case does not have a compiled kernel, or an empty string."""
    if not op.triton_kernel or not (op.triton_kernel.choices or op.triton_kernel.expressions):
        return ""
    dtypes = tuple(str(view.types[name]) for name in op.variables)
    try:
        values = op.triton_kernel.case_values(view.params, view.scope)
    except UsageError as error:
        return str(error)
    if symbol(op.kernel_name(dtypes), values) in {each.symbol for each in specializations(op, dtypes)}:
        return ""
    shown = " ".join(f"{name}={value}" for name, value in values.items())
    return f"no kernel is compiled for {shown}; add such extents to choices"


def _argument_types(op: Declaration, types: Mapping[str, DType]) -> Iterator[tuple[str, str]]:
    """Yield the name and Triton's type of each argument."""
    for spec in op.steps[0].arguments:
        if spec.name in op.kinds:
            kind = str(resolve_dtype(op.kinds[spec.name], types))
        elif spec.name in op.workspace:
            stated = op.workspace[spec.name]
            if not isinstance(stated, str):
                raise op.origin.error(f"workspace: {spec.name} of a Triton kernel needs a type and a shape in shapes")
            kind = str(resolve_dtype(stated, types))
        elif spec.name in _structures(op):  # such as an array of addresses
            kind = "i64"
        elif spec.name in op.params and not spec.value:
            kind = str(resolve_dtype(op.params[spec.name], types))
        elif spec.kind:
            kind = str(resolve_dtype(spec.kind, types))
        else:
            raise op.origin.error(f"args: a Triton kernel cannot take {spec.name}; use a tensor or a value")
        with op.origin.naming("args"):
            yield spec.name, triton_type(kind)


def _values(op: Declaration, types: Mapping[str, DType]) -> Iterator[dict[str, Constant]]:
    """Yield the values that depend on the case, for every case that may be drawn, and for named cases."""
    assert op.triton_kernel
    chosen = {name: parameter_values(values) for name, values in op.triton_kernel.choices.items()}
    if not chosen and not op.triton_kernel.expressions:
        yield {}
        return
    for scope in itertools.chain(_scopes(op), _named_scopes(op, types)):
        params = {name: scope.names[name] for name in chosen}
        yield op.triton_kernel.case_values(params, scope)


def _free_names(op: Declaration) -> tuple[str, ...]:
    """The names on which the values of the keywords depend."""
    assert op.triton_kernel
    found: dict[str, None] = dict.fromkeys(op.triton_kernel.choices)
    waiting = [name for each in op.triton_kernel.expressions.values() for name in sorted(each.names)]
    while waiting:
        name = waiting.pop(0)
        if name in op.parsed_shapes.defined:
            waiting += sorted(op.parsed_shapes.defined[name].names - {name})
        else:
            found[name] = None
    return tuple(found)


def _scopes(op: Declaration) -> Iterator[Scope]:
    """Yield the values of these names in all drawn cases."""
    for given in alternatives(op.choices) or [{}]:
        options = dict(_options(op, given, _free_names(op)))
        if (count := math.prod(map(len, options.values()))) > MOST_COMBINATIONS:
            raise UsageError(f"{count} combinations of {' '.join(options)}; declare fewer choices of these names")
        for values in itertools.product(*options.values()):
            try:
                scope = evaluated(dict(zip(options, values, strict=True)), op.parsed_shapes)
                if not violated_condition(op, scope):
                    yield scope
            except ShapeMismatch:
                continue


def _options(
    op: Declaration, given: Mapping[str, Sequence[Any]], names: Iterable[str]
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the values to draw for names, and for names in expressions among these values."""
    waiting, met = list(names), set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in met:
            continue
        met.add(name)
        if name in given:
            values: Sequence[Any] = given[name]
            waiting += [each for text in values if isinstance(text, str) for each in sorted(expression(text).names)]
        else:
            values = tuple(dict.fromkeys(v for kind in (*KINDS, "few") for v in default_options(op, name, kind)))
        yield name, values


def _named_scopes(op: Declaration, types: Mapping[str, DType]) -> Iterator[Scope]:
    """Yield the names of named cases. Cases to measure count with both of their sizes."""
    for case in (*op.named, *op.bench):
        for part in (0, -1):
            items = " ".join(item if "|" not in item else _size(item, part) for item in case.items.split())
            _, _, values, _ = split(f"{op.name}[{','.join(map(str, types.values()))}]({items})")
            try:
                layouts = {name: Tensor.parse(values[name]).layout for name in op.tensors if name in values}
                params = {name: float(values[name]) for name in op.params if name in values}
                numbers = {name: int(value) if value.is_integer() else value for name, value in params.items()}
                yield CaseView(op, layouts, numbers, types).scope
            except UsageError:
                continue  # reported where the case is parsed


def _size(item: str, part: int) -> str:
    name, _, value = item.partition("=")
    return f"{name}={value.split('|')[part]}"
