"""Launches: what a runner executes, as pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.dtypes import DType

__all__ = ["POISON", "Buffer", "Fault", "Launch", "Outcome", "Pointer", "Scalar", "poisoned"]

POISON = 0xA5
"""Every byte of an output buffer before the run, so that an element that was never written is seen."""


@dataclass(frozen=True)
class Buffer:
    """Device memory of one tensor before the launch.

    ``data`` is one-dimensional and holds the initial content. ``defined`` (bool per element; None = all) says which
    elements the host wrote: reading another one is an error. Only a ``writable`` buffer may change.
    """

    dtype: DType
    data: np.ndarray[Any, Any]
    defined: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    writable: bool = False


@dataclass(frozen=True)
class Pointer:
    """A pointer argument: ``offset`` elements into a named buffer, or null when ``buffer`` is None."""

    buffer: str | None
    offset: int = 0

    def __str__(self) -> str:
        return "null" if self.buffer is None else f"&{self.buffer}" + (f"[{self.offset}]" if self.offset else "")


@dataclass(frozen=True)
class Scalar:
    """A by-value argument."""

    dtype: DType
    value: Any

    @property
    def bytes(self) -> bytes:
        return np.asarray(self.value, self.dtype.numpy).tobytes()

    def __str__(self) -> str:
        return f"{self.dtype}({self.value})"


@dataclass(frozen=True)
class Launch:
    """One kernel launch. Grid in blocks, block in threads, ``shared_bytes`` of dynamic shared memory."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[Pointer | Scalar, ...]
    shared_bytes: int = 0

    def __str__(self) -> str:
        grid, block = ("x".join(map(str, d)) for d in (self.grid, self.block))
        shared = f", {self.shared_bytes} B shared" if self.shared_bytes else ""
        return f"{self.kernel}<<<{grid}, {block}{shared}>>>({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class Fault:
    """Why a launch did not run to its end.

    ``kind`` is a short class ("out-of-bounds read", "never-written read", "timeout", ...); ``message`` the whole story.
    """

    kind: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """What a launch left behind: every buffer's content (also after a fault), and the fault if there was one."""

    buffers: Mapping[str, np.ndarray[Any, Any]]
    fault: Fault | None = None
    instructions: int | None = None
    notes: tuple[str, ...] = field(default=())


def poisoned(dtype: DType, count: int) -> np.ndarray[Any, Any]:
    """``count`` elements with every byte ``POISON``."""
    return np.full(count * dtype.itemsize, POISON, np.uint8).view(dtype.numpy)
