"""A kernel's arguments, and the inferred specification, as expressions of the declaration language."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from parity.dsl.expression import Scope, expression
from parity.emulator.faults import DataRace
from parity.inference.data_flow import SEGMENT
from parity.model.dtypes import DType
from parity.model.launch import WARP, WARP_SIZE

_Size = TypeVar("_Size", int, str)

Triple = tuple[int, int, int]
"""Threads of a block or blocks of a grid, along x, y and z."""
Numbers = Mapping[str, int]
"""Values of a kernel's integer arguments, and of extents that only the grid determines."""

CONSTANT = 16
"""The value of integers in ``__constant__`` memory, which may be extents."""
AXES = "xyz"
GRID_EXTENTS = {"x": "rows", "y": "lines", "z": "batches"}
"""Names for extents that only the grid determines, by axis."""
STRIDE = re.compile(r"(?i)\w*stride\w*|\w*pitch\w*|ld[a-z]?|\w+_ld|ld_\w+")
"""Matches names of strides."""
PLACES = range(4)
"""Values of floating-point numbers that a kernel converts to positions."""
_STORE = re.compile(r"(?:first|second): +(?:st\.|(?:global|flat)_store)")
"""Matches a store in the message of a data race."""
ALWAYS_FAULTS, RACES = "every launch accesses memory before a buffer", DataRace.kind
FOLLOWS = "it follows pointers that it reads from memory, which a declaration cannot describe"
"""The reason for a kernel with pointers in an array of structures, or pointers to pointers."""
UNWRITTEN = "no case writes an element"
"""How the reasons of kernels begin that may be wrong, whatever the host passes."""


@dataclass(frozen=True)
class KernelArgument:
    """An argument of a kernel.

    ``dtype`` is the dtype of a number, or of the elements behind a pointer. ``key`` is the position of the argument,
    and the byte offset in it for a field of a structure. ``is_nullable`` is True for an input that the kernel compares
    with null. ``lanes`` are the elements of a vector such as ``float2``, which a tensor has whole. ``values`` are the
    enumerators of an enumeration. ``texture`` declares the texture or surface object that the argument is. It is a
    pointer if accesses show its size (``textures.shows_size``). ``rows_of`` is the tensor to whose rows an
    array points.
    """

    name: str
    dtype: DType
    is_pointer: bool = False
    key: tuple[int, int] = (0, 0)
    is_nullable: bool = False
    lanes: int = 1
    values: tuple[int, ...] = ()
    texture: str = ""
    rows_of: str = ""

    @property
    def is_whole(self) -> bool:
        """True for an integer that may be an extent."""
        return not (self.is_pointer or self.values or self.texture or self.dtype.is_float) and self.dtype.itemsize >= 4

    @property
    def is_flag(self) -> bool:
        """True for a number of one byte, which is 0 or 1 in most kernels."""
        return not (self.is_pointer or self.texture) and self.dtype.itemsize == 1


@dataclass(frozen=True)
class IndexRole:
    """The role of a tensor whose elements are bounds, or decide which elements of others a kernel accesses.

    ``offsets``: where the rows of a sparse matrix with ``bound`` entries begin. ``parts``: the same, and no row is
    empty. ``places``: floating-point numbers from 0 to 3 that a kernel converts to positions. ``starts`` and
    ``lengths``: where the parts of ``bound`` entries begin, and their numbers of entries. ``size``: a size in memory,
    at most ``bound``. ``mask``: elements that a kernel compares with the number ``bound``, or with -1 without one.
    ``order``: a permutation of all positions. ``ascending``: all positions in order. ``ordered``: some of them in
    order, perhaps several times. ``segments``: rows of three, the number of the row, and the start and the length of
    a part of ``bound`` entries. ``ends``: -1, which ends a list.
    """

    use: Literal[
        "offsets", "parts", "starts", "lengths", "places", "size", "mask", "order", "ascending", "ordered", "segments",
        "ends",
    ]  # fmt: skip
    bound: str = ""

    def content(self, count: int, bound: int) -> np.ndarray[Any, Any]:
        """Return ``count`` elements that lead a kernel to everything up to ``bound``."""
        if self.use in ("offsets", "starts", "lengths"):
            ends = np.minimum(np.arange(count + 1) * -(-bound // 2), bound)
            return np.diff(ends) if self.use == "lengths" else np.minimum(ends[:-1], bound - (self.use == "starts"))
        if self.use == "segments":
            parts = (
                replace(self, use=use).content(-(-count // SEGMENT), bound) for use in ("order", "starts", "lengths")
            )
            return np.stack([*parts], axis=1).ravel()[:count]
        usual = PLACES[-1] if self.use == "places" else -1
        return np.arange(count) if self.use == "order" else np.full(count, bound if self.bound else usual)


@dataclass(frozen=True)
class InferredSpec:
    """The specification that launches show of a kernel. Texts are expressions of the declaration language.

    Attributes:
        shapes: The dims of each tensor.
        grid: The number of blocks along each axis.
        block: The threads of a block along each axis, unless ``threads`` depends on a number.
        threads: The threads of a block, if a number determines them.
        shared: Dynamic shared memory in bytes.
        where: Conditions under which all of this holds.
        whole: Tensors that a launch writes completely.
        indices: Integer tensors whose elements are positions, with the number of positions.
        distinct: Tensors in ``indices`` whose positions must be distinct.
        roles: Integer tensors whose elements are bounds.
        choices: Values to draw numbers from, where random values would seldom satisfy ``where``.
        loose: Tensors that may be smaller than ``shapes`` says.
        strided: True if the results do not depend on the number of blocks and threads.
        distances: Numbers that are strides, with the stride: ``x.strides[0]``.
        made: Numbers that the host computes from others, and numbers with a single known value.
        ranges: Ranges of the elements of integer tensors, as data streams.
        small: Integer tensors whose elements launches have tried only from 0 to 3.
        optional: Inputs that may be null.
        constant: The largest integer in ``__constant__`` variables.
        unset: Flags that must be 0, because the kernel traps otherwise.
        is_measured: True if a single launch determines shapes and grid.
        calm: If not 0, all numbers have to be small and not negative; if 2, integers have to be 0 or 1.
        race: A data race in shared memory, which every launch has.
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
    roles: Mapping[str, IndexRole] = field(default_factory=dict)
    choices: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)
    loose: tuple[str, ...] = ()
    strided: bool = False
    distances: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, str] = field(default_factory=dict)
    small: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    constant: int = CONSTANT
    unset: frozenset[str] = frozenset()
    is_measured: bool = False
    calm: int = 0
    race: str = ""

    @property
    def names(self) -> frozenset[str]:
        """The names in the expressions."""
        dims = itertools.chain(*map(str.split, self.shapes.values()))
        texts = (*self.grid, *self.where, *self.made.values(), self.threads or "0", self.shared or "0", *dims)
        return frozenset(itertools.chain(*(expression(text).names for text in texts))) - {WARP_SIZE}


def evaluate(text: str, numbers: Numbers, block: Triple) -> int:
    """Return the value of an expression. ``threads`` in it is the number of threads of a block."""
    return int(expression(text)(Scope({WARP_SIZE: WARP, **numbers, "threads": math.prod(block)})))


def holds(conditions: Iterable[str], numbers: Numbers) -> bool:
    """Return True if all conditions hold whose names are known."""
    scope = Scope({**numbers})
    return all(each(scope) for each in map(expression, conditions) if each.names <= {*numbers})


def triple(sizes: Sequence[int]) -> Triple:
    """Pad up to three sizes with 1."""
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def trimmed(values: tuple[_Size, ...], one: _Size) -> tuple[_Size, ...]:
    """Remove trailing axes of one block or thread."""
    last = max((i for i, value in enumerate(values) if value != one), default=0)
    return values[: last + 1]


def grid_for(formulas: Sequence[str], numbers: Numbers) -> Triple:
    """Return the number of blocks along each axis."""
    return triple([evaluate(text, numbers, (1, 1, 1)) for text in formulas])


def is_scatter(message: str) -> bool:
    """Return True for a race of two stores. Data that the host never passes may lead both to one place."""
    return len(_STORE.findall(message)) > 1


def is_mistake(reason: str) -> bool:
    """Return True for a reason that shows a mistake of the kernel, whatever the host passes."""
    return reason.startswith((ALWAYS_FAULTS, RACES))


def in_one_line(message: str) -> str:
    """Join the lines of a fault's message."""
    return "; ".join(map(str.strip, message.strip().splitlines()))
