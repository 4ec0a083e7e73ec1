"""Detects case files that replace functions, methods or tables which decide verdicts.

A case file runs in the process that judges its kernels. A change of parity's own code there, by mistake or by
intention, could turn a failure into a pass.
"""

from __future__ import annotations

import builtins
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import cached_property
from operator import attrgetter, is_not
from pathlib import Path
from types import FunctionType
from typing import Any

from parity.errors import UsageError, first_names

_OTHERS = ("builtins", "math", "numpy")
"""Modules outside of parity whose functions decide verdicts."""
_BUILTINS = vars(builtins)
_MEMBERS = (FunctionType, property, classmethod, staticmethod, cached_property)
_PARTS = tuple(map(attrgetter, ("__code__", "__defaults__", "__kwdefaults__")))
"""What a function consists of."""

_namespaces: list[tuple[str, Mapping[Any, object], tuple[Any, ...], tuple[object, ...], frozenset[Any]]] = []
"""The name of each module, class or table, the namespace, its protected names with their values, and all its names."""
_functions: dict[FunctionType, None] = {}
"""All functions among them, also the ones that a decorator wraps."""
_parts: list[tuple[object, ...]] = [()] * len(_PARTS)
"""The code of each function, followed by the defaults of each function."""
_standard: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
"""The name of each loaded module of the standard library, its namespace, and a copy of the namespace."""


def protect() -> None:
    """Remember the functions, classes and tables in all loaded modules of parity, and in a few others."""
    _namespaces.clear()
    _functions.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("parity.") or name in _OTHERS:
            for path, namespace, found in _protected(name, vars(module)):
                _namespaces.append((path, namespace, tuple(found), tuple(found.values()), frozenset(namespace)))
                functions = (getattr(value, "__wrapped__", value) for value in found.values())
                _functions.update(dict.fromkeys(each for each in functions if isinstance(each, FunctionType)))
    _parts[:] = (tuple(map(part, _functions)) for part in _PARTS)
    standard = [each for each in sys.modules.items() if each[0].partition(".")[0] in sys.stdlib_module_names]
    _standard[:] = ((name, vars(module), vars(module).copy()) for name, module in standard)


def protect_instance(value: object) -> None:
    """Remember the attributes of an object, too, until the next call of ``protect``."""
    found = vars(value)
    _namespaces.append((type(value).__name__, found, tuple(found), tuple(found.values()), frozenset(found)))


def cause_of_error() -> str:
    """Return the names of everything that was replaced since ``protect``, also in the standard library.

    Packages may replace functions of the standard library on purpose, so only an unexpected error makes them a problem.
    They become usable again, so that parity can report the error.
    """
    replaced = {
        f"{name}.{key}": (namespace, key, value)
        for name, namespace, before in _standard
        for key, value in before.items()
        if callable(value) and namespace.get(key) is not value
    }
    for namespace, key, value in replaced.values():
        namespace[key] = value
    return first_names([*_replaced(), *replaced], 3, ", ")


def _protected(path: str, module: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[Any, Any], Mapping[Any, Any]]]:
    """Yield the namespaces of a module, and what is protected in each: its callables, constants, methods and tables."""
    yield path, module, {name: value for name, value in module.items() if callable(value) or name.isupper()}
    for name, value in module.items():
        if isinstance(value, type) and value.__module__ == path:
            found = vars(value).items()
            members = {each: at for each, at in found if isinstance(at, _MEMBERS) or not each.startswith("_")}
            yield f"{path}.{name}", vars(value), members
            if issubclass(value, Enum):
                yield f"{path}.{name}", value._member_map_, dict(value._member_map_)
                for each in value:
                    yield f"{path}.{name}.{each.name}", vars(each), dict(vars(each))
        elif isinstance(value, dict) and name.isupper():  # other dictionaries are caches, which change
            yield f"{path}.{name}", value, dict(value)


@contextmanager
def restoring_interpreter(path: Path) -> Iterator[None]:
    """Undo changes of Python itself at the end of a block that imports a case file.

    Ignored ends of child processes, which hide the exit codes of compilers, are only undone.

    Raises:
        UsageError: built-in functions were replaced, or the recursion limit is lower, so parity could not go on.
    """
    functions, limit, handler = dict(_BUILTINS), sys.getrecursionlimit(), signal.getsignal(signal.SIGCHLD)
    try:
        yield
    finally:
        replaced = [f"builtins.{name}" for name, value in functions.items() if _BUILTINS.get(name) is not value]
        _BUILTINS.update(functions)
        if sys.getrecursionlimit() < limit:
            replaced.append(f"the recursion limit by {sys.getrecursionlimit()}")
            sys.setrecursionlimit(limit)
        if signal.getsignal(signal.SIGCHLD) is not handler:
            signal.signal(signal.SIGCHLD, handler)
        if replaced:
            raise UsageError(f"{path} replaces {first_names(replaced, 3, ', ')}, which Python and parity need")


def check_integrity() -> None:
    """Compare everything with its state at the time of ``protect``.

    Raises:
        UsageError: something has been replaced.
    """
    if replaced := _replaced():
        raise UsageError(
            f"a case file replaces {first_names(replaced, 3, ', ')}; verdicts depend on it, so nothing is proven"
        )


def _replaced() -> list[str]:
    replaced = [
        f"{path}.{name}"
        for path, namespace, names, values, _ in _namespaces
        if any(map(is_not, map(namespace.get, names), values))
        for name, value in zip(names, values, strict=True)
        if namespace.get(name) is not value
    ]
    replaced += [
        f"{path}.{name}"
        for path, namespace, _, _, every in _namespaces
        if len(namespace) != len(every)
        for name in namespace.keys() - every
        # A name of a module can hide a built-in function, and a method can hide how Python treats the object.
        if name in _BUILTINS
        or path.rpartition(".")[2].isupper()
        or (not isinstance(namespace, dict) and (callable(namespace[name]) or isinstance(namespace[name], _MEMBERS)))
    ]
    for part, before in zip(_PARTS, _parts, strict=True):
        if tuple(map(part, _functions)) != before:
            changed = (each for each, value in zip(_functions, before, strict=True) if part(each) != value)
            replaced += [f"{each.__module__}.{each.__qualname__}" for each in changed]
    return replaced
