"""Finds where plain data do not fit a type. msgspec says only in prose what is wrong, and not under which key."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import inspect

from parity.errors import nearest

Keys = tuple[str | int, ...]

_OBJECTS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)
_ARRAYS = (inspect.ListType, inspect.VarTupleType, inspect.TupleType)
_NAMES: Mapping[type, str] = {
    inspect.StrType: "a text",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.DateType: "a date",
    inspect.DictType: "an object",
    **dict.fromkeys(_OBJECTS, "an object"),
    **dict.fromkeys(_ARRAYS, "a list"),
}


@dataclass(frozen=True)
class Problem:
    """A place where a value does not fit its type.

    Attributes:
        where: names and indices that lead to the place. The last one is the unknown name, if the type lacks it.
        message: says what is wrong, with place and value.
    """

    where: Keys
    message: str


def find_problem(value: Any, kind: type) -> Problem | None:
    """Return the first place where a value does not fit, or None.

    Replaces null by infinity, in place, where the type requires a number.
    """
    root = {"": value}
    return next(_problems(root, "", inspect.type_info(kind), ()), None)


def _problems(parent: Any, key: str | int, kind: inspect.Type, where: Keys, description: str = "") -> Iterator[Problem]:
    """Yield the problems of ``parent[key]``, whose type has a description or not."""
    value = parent[key]
    if isinstance(kind, inspect.Metadata):
        yield from _problems(parent, key, kind.type, where, _description(kind))
    elif isinstance(kind, inspect.UnionType):
        yield from _union_problems(parent, key, kind, where, description)
    elif isinstance(kind, inspect.FloatType) and value is None:
        parent[key] = math.inf
    elif not _fits(value, kind):
        yield _mismatch(value, description or _wanted(kind), where)
    elif isinstance(kind, _OBJECTS):
        yield from _object_problems(value, kind, where)
    elif isinstance(kind, inspect.DictType):
        for name in value:
            yield from _problems(value, name, kind.value_type, (*where, name))
    elif isinstance(kind, inspect.TupleType):
        for number, item in enumerate(kind.item_types):
            yield from _problems(value, number, item, (*where, number))
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        for number in range(len(value)):
            yield from _problems(value, number, kind.item_type, (*where, number))


def _union_problems(
    parent: Any, key: str | int, kind: inspect.UnionType, where: Keys, description: str
) -> Iterator[Problem]:
    fitting = [each for each in kind.types if _fits(parent[key], _without_metadata(each))]
    if not fitting:
        descriptions = (_description(each) for each in kind.types)
        wanted = description or next(filter(None, descriptions), " or ".join(map(_wanted, kind.types)))
        yield _mismatch(parent[key], wanted, where)
    elif all(next(_problems(parent, key, each, where), None) for each in fitting):
        yield from _problems(parent, key, fitting[0], where)


def _object_problems(value: dict[str, Any], kind: Any, where: Keys) -> Iterator[Problem]:
    fields = {field.encode_name: field for field in kind.fields}
    for name in list(value):
        if name in fields:
            yield from _problems(value, name, fields[name].type, (*where, name))
        elif getattr(kind, "forbid_unknown_fields", False):
            near = nearest(name, fields) or f"; it has {', '.join(fields)}"
            yield Problem((*where, name), f"{_shown_path(where) or 'it'} has no {name!r}{near}")
    for name, field in fields.items():
        if field.required and name not in value:
            place = _shown_path(where)
            yield Problem(where, f"{place and f'{place}: '}{name} is missing")


def _fits(value: Any, kind: inspect.Type) -> bool:
    """Whether a value, without the values inside it, fits a type."""
    match kind:
        case inspect.AnyType():
            return True
        case inspect.NoneType():
            return value is None
        case inspect.BoolType() | inspect.StrType():
            return isinstance(value, bool if isinstance(kind, inspect.BoolType) else str)
        case inspect.IntType() | inspect.FloatType():
            types = int if isinstance(kind, inspect.IntType) else (int, float)
            return isinstance(value, types) and not isinstance(value, bool) and _in_limits(value, kind)
        case inspect.DateType():
            return type(value) is datetime.date
        case inspect.LiteralType():
            return any(type(value) is type(each) and value == each for each in kind.values)
        case inspect.EnumType():
            return any(value == each.value for each in kind.cls)
        case inspect.TupleType():
            return isinstance(value, list | tuple) and len(value) == len(kind.item_types)
        case inspect.ListType() | inspect.VarTupleType():
            return isinstance(value, list | tuple) and len(value) >= (kind.min_length or 0)
        case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType() | inspect.DictType():
            return isinstance(value, dict)
    return True


def _in_limits(value: float, kind: inspect.IntType | inspect.FloatType) -> bool:
    return (
        (kind.gt is None or value > kind.gt)
        and (kind.ge is None or value >= kind.ge)
        and (kind.lt is None or value < kind.lt)
        and (kind.le is None or value <= kind.le)
    )


def _without_metadata(kind: inspect.Type) -> inspect.Type:
    return _without_metadata(kind.type) if isinstance(kind, inspect.Metadata) else kind


def _description(kind: inspect.Type) -> str:
    return str((kind.extra_json_schema or {}).get("description", "")) if isinstance(kind, inspect.Metadata) else ""


def _wanted(kind: inspect.Type) -> str:
    """A type in words."""
    if isinstance(kind, inspect.Metadata):
        return _description(kind) or _wanted(kind.type)
    if isinstance(kind, inspect.LiteralType):
        return " or ".join(map(str, kind.values))
    if isinstance(kind, inspect.EnumType):
        return " or ".join(str(each.value) for each in kind.cls)
    if isinstance(kind, inspect.TupleType):
        return f"a list of length {len(kind.item_types)}"
    return _NAMES.get(type(kind)) or type(kind).__name__.removesuffix("Type").lower()


def _mismatch(value: object, wanted: str, where: Keys) -> Problem:
    return Problem(where, f"{_shown_path(where) or 'it'} is {_shown(value)}, not {wanted}")


def _shown_path(where: Keys) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f": {step}" for step in where).removeprefix(": ")


def _shown(value: object) -> str:
    text = repr(value)
    if len(text) < 40:
        return text
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else f"{text[:40]}..."
