"""Names of a package that are imported when they are first used, so that a command imports what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazy_getattr"]


def lazy_getattr(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package: ``places`` are the names, separated by blanks, by the module that has them.

    A module is named as the package has it, or by its whole name. No name can be that of a module of the package.
    """
    found = {name: module for module, names in places.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = found[name]
        value = getattr(import_module(module if "." in module else f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
