"""Imports the names of a package on first use, so that a command imports only what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_getattr(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package.

    ``places`` maps a module (inside the package, or with its full dotted name) to names separated by blanks. A name
    must differ from the names of the package's modules.
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
