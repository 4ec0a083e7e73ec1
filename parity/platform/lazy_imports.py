"""Imports the names of a package on first use, so that a command imports only what it needs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def lazy_getattr(package: str, file: str) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package for the names that its ``file`` imports under ``if TYPE_CHECKING:``.

    A name must differ from the names of the package's modules.
    """
    blocks = (node.body for node in ast.parse(Path(file).read_bytes()).body if isinstance(node, ast.If))
    imports = (node for body in blocks for node in body if isinstance(node, ast.ImportFrom))
    found = {alias.name: node.module or "" for node in imports for alias in node.names}

    def get(name: str) -> object:
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(found[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
