"""Keyword arguments of a declaration as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from parity.triton_kernels.kernel import TritonKernel

Literal: TypeAlias = str | int | float | bool | TritonKernel | tuple["Literal", ...] | Mapping[str, "Literal"]
"""A value that has a literal in Python."""


@dataclass(frozen=True)
class Keyword:
    """An argument of ``Op``, with a comment. A text that ``wraps`` may take several lines."""

    name: str
    value: Literal
    note: str = ""
    wraps: bool = False
