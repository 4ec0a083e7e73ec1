"""Keyword arguments of a declaration as values, and names that are valid in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import TypeAlias

from parity.dsl.expression import FUNCTIONS
from parity.inference.spec import GRID_EXTENTS
from parity.triton_kernels.kernel import TritonKernel

Literal: TypeAlias = str | int | float | bool | TritonKernel | tuple["Literal", ...] | Mapping[str, "Literal"]
"""A value that has a literal in Python."""
_RESERVED = frozenset(("numel", "num_dims", "info", "threads", "blocks", "to", "shape", "grid"))
"""Names with a meaning in declarations."""


@dataclass(frozen=True)
class Keyword:
    """An argument of ``Op``, with a comment. A text that ``wraps`` may take several lines."""

    name: str
    value: Literal
    note: str = ""
    wraps: bool = False


def rows_name(tensor: str) -> str:
    """Return the name of the array of pointers to the rows of a tensor."""
    return f"{tensor}_rows"


def safe_name(name: str, *, of_tensor: bool = False) -> str:
    """Append an underscore to a name that has a meaning in declarations. A tensor may be called x, y or z."""
    reserved = name in _RESERVED or name in FUNCTIONS or iskeyword(name) or (name in GRID_EXTENTS and not of_tensor)
    return f"{name}_" if reserved else name
