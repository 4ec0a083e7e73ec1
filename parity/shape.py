"""The shape of data that come from people or files: what they must hold, written down as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["misfit"]

_NAMES: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    Callable: "a function",
}


def misfit(value: Any, shape: Any, place: str) -> str:
    """What is wrong first in a value, and where; empty if it has the shape.

    A type is the shape of its values, a set that of its members, a tuple that of what has one of its shapes. ``[s]`` is
    a list (or a tuple) of things of shape s, ``{str: s}`` an object with any names and such values. Any other dict is
    an object that has at least these names, with values of these shapes. ``place`` is what a message calls the value.
    """
    if isinstance(shape, list | dict):
        kind, name = ((list, tuple), "a list") if isinstance(shape, list) else (Mapping, "an object")
        if not isinstance(value, kind):
            return f"{place} is {_shown(value)}, not {name}"
        return next(filter(None, (misfit(*part) for part in _parts(value, shape, place))), "")
    if isinstance(shape, tuple):
        problems = [misfit(value, each, place) for each in shape]
        return problems[-1] if all(problems) else ""
    if isinstance(shape, set | frozenset):
        fits = isinstance(value, str) and value in shape
        return "" if fits else f"{place} is {_shown(value)}, not {' or '.join(sorted(shape))}"
    fits = isinstance(value, shape) and (shape is bool or not isinstance(value, bool))
    return "" if fits else f"{place} is {_shown(value)}, not {_NAMES.get(shape) or shape.__name__}"


_MISSING = object()


def _parts(value: Any, shape: Any, place: str) -> list[tuple[Any, Any, str]]:
    if isinstance(shape, list):
        return [(each, shape[0], f"{place}[{i}]") for i, each in enumerate(value)]
    if str in shape:
        return [(each, shape[str], f"{place}: {name}") for name, each in value.items()]
    return [(value.get(name, _MISSING), each, f"{place}: {name}") for name, each in shape.items()]


def _shown(value: Any) -> str:
    if value is _MISSING:
        return "missing"
    if isinstance(value, Mapping | list | tuple):
        return "an object" if isinstance(value, Mapping) else "a list"
    text = repr(value)
    return text if len(text) < 40 else f"{text[:40]}..."
