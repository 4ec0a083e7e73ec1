"""A decorator for frozen dataclasses that defines a class in a third of the time.

The standard decorator compiles six methods of each class from text. A command imports hundreds of classes, which took a
quarter of the time of its imports. This decorator compiles only ``__init__``. The other methods are closures.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Collection
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # for type checkers, it is the standard decorator
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, eq: bool = True, kw_only: bool = False, slots: bool = False
    ) -> Any:
        """Make a class a dataclass, with the meaning of ``dataclasses.dataclass``."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq, kw_only=kw_only, slots=slots)
        if slots or not frozen:
            return dataclasses.dataclass(cls, frozen=frozen, eq=eq, kw_only=kw_only, slots=slots)
        dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=kw_only)
        fields = dataclasses.fields(cls)
        methods = [_init(cls, fields), *_refusing_changes(cls, [field.name for field in fields])]
        methods += [_repr([field.name for field in fields if field.repr]), *(_comparing(fields) if eq else ())]
        for method in methods:
            if vars(cls).get(method.__name__) is None:  # a class with __eq__ and without __hash__ has None
                method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.{method.__name__}"
                setattr(cls, method.__name__, method)
        return cls


class _Factory:
    """The default of a parameter whose field has a ``default_factory``."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _init(cls: type, fields: Collection[dataclasses.Field[Any]]) -> Callable[..., None]:
    """Compile ``__init__``, which sets the fields without the check against changes."""
    scope: dict[str, Any] = {"__name__": cls.__module__, "_set": object.__setattr__, "_factory": _FACTORY}
    parameters, keywords, lines = ["self"], list[str](), list[str]()
    for field in fields:
        name, value = field.name, field.name
        has_factory = field.default_factory is not dataclasses.MISSING
        if has_factory:
            scope[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _factory else {name}" if field.init else f"_make_{name}()"
        if field.init:
            scope[f"_{name}"] = field.default
            has_default = has_factory or field.default is not dataclasses.MISSING
            default = "=_factory" if has_factory else f"=_{name}" if has_default else ""
            (keywords if field.kw_only else parameters).append(name + default)
        if field.init or has_factory:
            lines.append(f"_set(self, {name!r}, {value})")
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    signature = ", ".join([*parameters, *(["*", *keywords] if keywords else [])])
    exec(f"def __init__({signature}):\n " + ("\n ".join(lines) or "pass"), scope)
    init: Callable[..., None] = scope["__init__"]
    init.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return init


def _refusing_changes(cls: type[Any], names: Collection[str]) -> list[Callable[..., None]]:
    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return [__setattr__, __delattr__]


def _repr(names: Collection[str]) -> Callable[..., str]:
    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _comparing(fields: Collection[dataclasses.Field[Any]]) -> list[Callable[..., Any]]:
    compared = [field.name for field in fields if field.compare]
    values = _tuple_getter(compared)
    hashed = _tuple_getter([field.name for field in fields if (field.compare if field.hash is None else field.hash)])

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if type(self) is type(other) else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(hashed(self))

    return [__eq__, __hash__]


def _tuple_getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda instance: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda instance: (get(instance),)
