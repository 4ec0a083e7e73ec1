"""What is known of a kernel's arguments, and what launches tell of it, as expressions of declarations."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from parity.dsl.expression import Scope, expression
from parity.model.dtypes import DType

__all__ = [
    "AXES",
    "FREE",
    "STRIDE",
    "InferredSpec",
    "LaunchArguments",
    "Numbers",
    "Supposed",
    "Triple",
    "blocks_of",
    "triple",
    "value_of",
]  # fmt: skip

Triple = tuple[int, int, int]
"""Threads of a block or blocks of a grid, along x, y and z."""
Numbers = Mapping[str, int]
"""The values of a kernel's numbers, and of extents that only the grid tells."""

AXES = "xyz"
FREE = {"x": "rows", "y": "lines", "z": "batches"}
"""The names of extents that only the grid tells, by its axis."""
STRIDE = re.compile(r"(?i)\w*stride\w*|\w*pitch\w*|ld[a-z]?|\w+_ld|ld_\w+")
"""Names of distances between elements."""


@dataclass(frozen=True)
class LaunchArguments:
    """An argument of a kernel; ``dtype`` is that of a number, or of the elements behind a pointer.

    ``key`` is its place, and the byte in it where it is a field of a structure.
    """

    name: str
    dtype: DType
    is_pointer: bool = False
    key: tuple[int, int] = (0, 0)

    @property
    def is_whole(self) -> bool:
        """True for a whole number that may be an extent."""
        return not self.is_pointer and not self.dtype.is_float and self.dtype.itemsize >= 4


@dataclass(frozen=True)
class Supposed:
    """The use of a tensor of whole numbers: ``offsets`` are where the rows of a sparse matrix begin, of ``bound``
    entries; a ``size`` is a number in memory, at most ``bound``; a ``mask`` is compared with the number ``bound``, or
    with -1 if there is none; an ``order`` has every place among as many as it has elements.
    """

    use: Literal["offsets", "size", "mask", "order"]
    bound: str = ""

    def content(self, count: int, bound: int) -> np.ndarray[Any, Any]:
        """So many elements with which the whole of ``bound`` is reached."""
        if self.use == "offsets":
            return np.minimum(np.arange(count) * -(-bound // 2), bound)
        return np.arange(count) if self.use == "order" else np.full(count, bound if self.bound else -1)


@dataclass(frozen=True)
class InferredSpec:
    """Facts that launches tell of a kernel; expressions are those of declarations.

    ``shapes`` has the dims of each tensor, ``grid`` the blocks along each axis, ``block`` the threads, unless
    ``threads`` says them by a number, ``shared`` bytes. ``whole`` are the tensors of which each element is written.
    ``where`` are conditions under which all of this holds, ``choices`` what numbers are drawn from for that.
    ``indices`` are tensors whose elements are places, and how many of those there are, ``distinct`` those of them that
    have none twice, ``bounds`` tensors whose elements are sizes, and what these are at most. ``loose`` are tensors that
    may be smaller. ``strided`` says that any number of blocks and of threads does. ``distances`` are numbers that are
    strides, and of what, as ``x.strides[0]``; ``made`` are numbers that the host makes of others.
    """

    shapes: Mapping[str, str]
    grid: tuple[str, ...]
    block: tuple[int, ...]
    threads: str = ""
    shared: str = ""
    where: tuple[str, ...] = ()
    whole: frozenset[str] = frozenset()
    indices: Mapping[str, str] = field(default_factory=dict)
    distinct: frozenset[str] = frozenset()
    bounds: Mapping[str, Supposed] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)
    loose: tuple[str, ...] = ()
    strided: bool = False
    distances: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The names that its expressions have."""
        dims = itertools.chain(*map(str.split, self.shapes.values()))
        texts = (*self.grid, *self.where, *self.made.values(), self.threads or "0", self.shared or "0", *dims)
        return frozenset(itertools.chain(*(expression(text).names for text in texts)))


def value_of(text: str, numbers: Numbers, block: Triple) -> int:
    """The value of an expression of these numbers, and of ``threads``, those of a block."""
    return int(expression(text)(Scope({**numbers, "threads": math.prod(block)})))


def triple(sizes: Sequence[int]) -> Triple:
    """Up to three sizes, with 1 for each that is not there."""
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def blocks_of(grid: Sequence[str], numbers: Numbers) -> Triple:
    """The blocks along each axis for these numbers."""
    return triple([value_of(text, numbers, (1, 1, 1)) for text in grid])
