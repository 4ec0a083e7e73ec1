"""Computes a digest of everything that determines the results of Python code: the code in memory and all that it names.

Files are not hashed, because they may have changed since they were imported. Versions identify the packages in
``RELEASED`` and Python's standard library; all other code is followed.
"""

from __future__ import annotations

import copyreg
import dataclasses
import dis
import functools
import sys
from collections.abc import Collection, Iterable, Mapping
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

RELEASED = ("_pytest", "gmpy2", "hypothesis", "ml_dtypes", "msgspec", "numpy")
"""Packages whose version identifies their code.

Assertions that pytest rewrites, in all packages of installed plugins, refer to ``_pytest``.
"""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented))
_NAMED = (
    *(BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType),
)
# Attributes of a class that do not affect its behavior, or that repeat content of its methods.
_LEFT_OUT = frozenset(
    (
        *("__abstractmethods__", "__annotations__", "__dataclass_fields__", "__dataclass_params__", "__dict__"),
        *("__doc__", "__firstlineno__", "__module__", "__static_attributes__", "__weakref__", "_abc_impl"),
    )
)
_IMPORT = dis.opmap["IMPORT_NAME"]
# The result of a function that calls one of these depends on external state. parity's own functions may call them: they
# read only parity's own files, which do not affect cases.
_OUTSIDE = frozenset(
    (
        *("__import__", "environ", "eval", "exec", "getenv", "import_module", "open", "read_bytes", "read_text"),
        "urandom",
    )
)


class NotHashable(Exception):
    """An object whose content cannot be hashed affects the results."""


class Fingerprint:
    """A digest of values and code. ``continues`` is a fingerprint to extend."""

    def __init__(self, continues: Fingerprint | None = None) -> None:
        self._parts = [continues.digest if continues else sys.version]
        # A repeated object is represented by the number of its first occurrence. Objects are kept alive, so that ids
        # stay unique.
        self._met: dict[int, int] = dict(continues._met) if continues else {}
        self._kept: list[object] = list(continues._kept) if continues else []

    @property
    def digest(self) -> str:
        """SHA-256 of everything added so far."""
        if len(self._parts) > 1:
            self._parts = [digest(repr(self._parts))]  # faster than each part for itself
        return self._parts[0]

    def add(self, value: Any) -> None:
        """Add a value, with the code of its functions and of its class, and everything that this code names.

        Raises:
            NotHashable: the value contains an object without comparable content, such as an open file.
        """
        try:
            self._add(value)
        except RecursionError as error:
            raise NotHashable("too deep") from error

    def _append(self, *parts: object) -> None:
        self._parts += map(str, parts)

    def _add(self, value: Any) -> None:
        kind = type(value)
        if kind in _PLAIN:
            self._parts.append(repr(value))
        elif id(value) in self._met:
            self._append("again", self._met[id(value)])
        else:
            self._met[id(value)] = len(self._met)
            self._kept.append(value)
            if kind in (tuple, list):
                self._add_all(kind.__name__, value)
            elif kind in (set, frozenset):
                self._add_all(kind.__name__, sorted(value, key=repr))
            elif kind in (dict, MappingProxyType):
                self._add_all(kind.__name__, [part for item in value.items() for part in item])
            else:
                self._object(value)

    def _add_all(self, kind: str, values: Collection[Any]) -> None:
        self._append(kind, len(values))
        for value in values:
            self._add(value)

    def _object(self, value: Any) -> None:
        if isinstance(value, CodeType):
            self._code(value)
        elif isinstance(value, CellType):
            self._add_all("cell", [value.cell_contents] if _is_full(value) else [])
        elif isinstance(value, ModuleType):
            if not self._is_released(value.__name__):
                raise NotHashable(f"the module {value.__name__}")  # the code may use any part of it
        elif isinstance(value, type):
            if not self._is_released(value.__module__, value.__qualname__):
                own = {name: each for name, each in vars(value).items() if name not in _LEFT_OUT}
                self._add_all("class", [value.__qualname__, value.__bases__, own])
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, _NAMED):
            of = getattr(value, "__objclass__", None) or getattr(value, "__self__", None)
            self._add_all("named", [value.__name__, of if not isinstance(of, ModuleType) else of.__name__])
        elif isinstance(value, MethodType):
            self._add_all("method", [value.__func__, value.__self__])
        elif isinstance(value, (staticmethod, classmethod)):
            self._add_all(type(value).__name__, [value.__func__])
        elif isinstance(value, property):
            self._add_all("property", [value.fget, value.fset])
        elif isinstance(value, functools.cached_property):
            self._add_all("cached property", [value.func])
        elif isinstance(value, functools._lru_cache_wrapper):
            self._add_all("cached", [value.__wrapped__])
        elif dataclasses.is_dataclass(value):
            names = [each.name for each in dataclasses.fields(value)]
            self._add_all("dataclass", [type(value), {name: getattr(value, name, None) for name in names}])
        else:
            reduce: Any = copyreg.dispatch_table.get(type(value))
            try:
                reduced = reduce(value) if reduce else value.__reduce_ex__(4)
            except TypeError as error:
                raise NotHashable(str(error)) from error
            self._add_all("reduced", [type(value), *(reduced if isinstance(reduced, tuple) else [reduced])])

    def _function(self, value: FunctionType) -> None:
        # The wrapper of a decorator from a released package holds the decorated function in its closure.
        self._add_all("closure", value.__closure__ or ())
        if not self._is_released(value.__globals__.get("__name__"), value.__code__.co_qualname):
            self._add_all("function", [value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__])
            names = dict.fromkeys(_names(value.__code__))
            own = value.__globals__.get("__name__", "").startswith("parity.")
            if not own and (outside := _OUTSIDE.intersection(names)):
                raise NotHashable(f"{value.__qualname__} uses {', '.join(outside)}")
            self._named(value.__globals__, names)

    def _named(self, where: Mapping[str, Any], names: Iterable[str]) -> None:
        """Add the values of the names that are defined. For a module, add the names that the module defines."""
        for name in names:
            if name not in where:
                continue
            value = where[name]
            self._append("name", name)
            if isinstance(value, ModuleType) and not self._is_released(value.__name__):
                self._named(vars(value), [each for each in names if each != name])
            else:
                self._add(value)

    def _code(self, value: CodeType) -> None:
        if _IMPORT in value.co_code[::2]:
            for each in dis.get_instructions(value):
                if each.opcode == _IMPORT and not self._is_released(each.argval):
                    raise NotHashable(f"{value.co_qualname} imports {each.argval}")
        plain = (
            value.co_code, value.co_names, value.co_varnames, value.co_freevars, value.co_argcount,
            value.co_kwonlyargcount, value.co_posonlyargcount, value.co_flags, value.co_exceptiontable,
        )  # fmt: skip
        self._append("code", plain)
        self._add_all("constants", value.co_consts)

    def _is_released(self, module: str | None, name: str = "") -> bool:
        """Return whether a version identifies the code of a module, and add the version."""
        package = (module or "").partition(".")[0]
        if package in RELEASED:
            self._append("released", module, name, _version(package))
        elif package in sys.stdlib_module_names:
            self._append("python", module, name)
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
    """Yield the names of globals and attributes in code, including nested functions."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
