"""A digest of all that decides the results of Python code: the code and what it names, as they are in memory.

Not the files that it was read from: those may have changed since, and say nothing of what was read from others. The
modules of ``RELEASED`` and of Python itself are known by their versions; of everything else, the code is followed.
"""

from __future__ import annotations

import copyreg
import dataclasses
import dis
import functools
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from parity.platform.cache import digest

__all__ = ["RELEASED", "Fingerprint", "NotHashable"]

RELEASED = ("_pytest", "gmpy2", "hypothesis", "ml_dtypes", "msgspec", "numpy")
"""Packages that nobody changes without changing their version. pytest's own is named by assertions that it rewrites:
those of an installed plugin's whole package."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented))
_NAMED = (
    *(BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType),
)
# Of a class: what says nothing of what it does, and what is the same in its methods.
_LEFT_OUT = frozenset(
    (
        *("__abstractmethods__", "__annotations__", "__dataclass_fields__", "__dataclass_params__", "__dict__"),
        *("__doc__", "__firstlineno__", "__module__", "__static_attributes__", "__weakref__", "_abc_impl"),
    )
)
_IMPORT = dis.opmap["IMPORT_NAME"]
# What a function that calls one of these returns is decided elsewhere. Parity's own read what comes with it, of which
# nothing decides cases.
_OUTSIDE = frozenset(
    (
        *("__import__", "environ", "eval", "exec", "getenv", "import_module", "open", "read_bytes", "read_text"),
        "urandom",
    )
)


class NotHashable(Exception):
    """Raised where it cannot be told what decides the results."""


class Fingerprint:
    """A digest of values and code. What was added to the one that it ``continues`` is known to it."""

    def __init__(self, continues: Fingerprint | None = None) -> None:
        self._said = [continues.digest if continues else sys.version]
        # Each object that is met again is named by the number that it had the first time. They are kept alive, so that
        # no other has the id of one.
        self._met: dict[int, int] = dict(continues._met) if continues else {}
        self._kept: list[object] = list(continues._kept) if continues else []

    @property
    def digest(self) -> str:
        """SHA-256 of what was added so far."""
        if len(self._said) > 1:
            self._said = [digest(*self._said)]
        return self._said[0]

    def add(self, value: Any) -> None:
        """Add a value, with the code of functions in it and of its class, and with all that this names.

        Raises:
            Unclear: it holds something that cannot be told from another of its kind, such as an open file.
        """
        try:
            self._add(value)
        except RecursionError as error:
            raise NotHashable("too deep") from error

    def _say(self, *parts: object) -> None:
        self._said += map(str, parts)

    def _add(self, value: Any) -> None:
        kind = type(value)
        if kind in _PLAIN:
            self._say(kind.__name__, repr(value))
        elif id(value) in self._met:
            self._say("again", self._met[id(value)])
        else:
            self._met[id(value)] = len(self._met)
            self._kept.append(value)
            if kind in (tuple, list):
                self._several(kind.__name__, value)
            elif kind in (set, frozenset):
                self._several(kind.__name__, sorted(value, key=repr))
            elif kind in (dict, MappingProxyType):
                self._several(kind.__name__, [part for item in value.items() for part in item])
            else:
                self._object(value)

    def _several(self, kind: str, values: Iterable[Any]) -> None:
        each = list(values)
        self._say(kind, len(each))
        for value in each:
            self._add(value)

    def _object(self, value: Any) -> None:
        if isinstance(value, CodeType):
            self._code(value)
        elif isinstance(value, CellType):
            self._several("cell", [value.cell_contents] if _is_full(value) else [])
        elif isinstance(value, ModuleType):
            if not self._is_released(value.__name__):
                raise NotHashable(f"the module {value.__name__}")  # any part of it may be used
        elif isinstance(value, type):
            if not self._is_released(value.__module__, value.__qualname__):
                own = {name: each for name, each in vars(value).items() if name not in _LEFT_OUT}
                self._several("class", [value.__qualname__, value.__bases__, own])
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, _NAMED):
            of = getattr(value, "__objclass__", None) or getattr(value, "__self__", None)
            self._several("named", [value.__name__, of if not isinstance(of, ModuleType) else of.__name__])
        elif isinstance(value, MethodType):
            self._several("method", [value.__func__, value.__self__])
        elif isinstance(value, (staticmethod, classmethod)):
            self._several(type(value).__name__, [value.__func__])
        elif isinstance(value, property):
            self._several("property", [value.fget, value.fset])
        elif isinstance(value, functools.cached_property):
            self._several("cached property", [value.func])
        elif isinstance(value, functools._lru_cache_wrapper):
            self._several("cached", [value.__wrapped__])
        elif dataclasses.is_dataclass(value):
            names = [each.name for each in dataclasses.fields(value)]
            self._several("dataclass", [type(value), {name: getattr(value, name, None) for name in names}])
        else:
            reduce: Any = copyreg.dispatch_table.get(type(value))
            try:
                reduced = reduce(value) if reduce else value.__reduce_ex__(4)
            except TypeError as error:
                raise NotHashable(str(error)) from error
            self._several("reduced", [type(value), *(reduced if isinstance(reduced, tuple) else [reduced])])

    def _function(self, value: FunctionType) -> None:
        self._several("closure", value.__closure__ or ())  # a decorator, which may be released, has what it decorates
        if not self._is_released(value.__globals__.get("__name__"), value.__code__.co_qualname):
            self._several("function", [value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__])
            names = dict.fromkeys(_names(value.__code__))
            own = value.__globals__.get("__name__", "").startswith("parity.")
            if not own and (outside := _OUTSIDE.intersection(names)):
                raise NotHashable(f"{value.__qualname__} uses {', '.join(outside)}")
            self._named(value.__globals__, names)

    def _named(self, where: Mapping[str, Any], names: Iterable[str]) -> None:
        """The values of those names that are there; of a module, in turn, of those that it has."""
        for name in names:
            if name not in where:
                continue
            value = where[name]
            self._say("name", name)
            if isinstance(value, ModuleType) and not self._is_released(value.__name__):
                self._named(vars(value), [each for each in names if each != name])
            else:
                self._add(value)

    def _code(self, value: CodeType) -> None:
        if _IMPORT in value.co_code[::2]:
            for each in dis.get_instructions(value):
                if each.opcode == _IMPORT and not self._is_released(each.argval):
                    raise NotHashable(f"{value.co_qualname} imports {each.argval}")
        self._several("code", [
            value.co_code, value.co_names, value.co_varnames, value.co_freevars, value.co_argcount,
            value.co_kwonlyargcount, value.co_posonlyargcount, value.co_flags, value.co_exceptiontable, value.co_consts,
        ])  # fmt: skip

    def _is_released(self, module: str | None, name: str = "") -> bool:
        """True if the version of a package says all of something in it; the version is added."""
        package = (module or "").partition(".")[0]
        if package in RELEASED:
            self._say("released", module, name, _version(package))
        elif package in sys.stdlib_module_names:
            self._say("python", module, name)
        else:
            return False
        return True


@functools.cache
def _version(package: str) -> str:
    loaded = getattr(sys.modules.get(package), "__version__", None)
    return str(loaded or version(package))


def _is_full(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names(code: CodeType) -> Iterable[str]:
    """The names of globals and attributes in code, and in the functions inside of it."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
