"""How a kernel uses its arguments: what the analysis of PTX (``ptx_dataflow.py``) finds out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Key = tuple[int, int]
"""An argument: its position, and a byte offset that is 0 except for fields of structures.

An offset of ``BEHIND`` or more is the offset in a structure in memory that the argument points to, and ``ROW`` stands
for the rows behind an array of pointers. From position
``VARIABLE`` on, it is a variable that holds addresses.
"""
SEGMENT = 3
"""Integers in a row of a table of segments: a number, a position, and how many elements begin there."""
BEHIND = 1 << 20
"""Added to the offsets of fields behind a pointer. All arguments together have 4 KiB."""

ROW = -1
"""The offset of the elements behind an array of pointers."""
VARIABLE = 1 << 12
"""The position of the first variable."""


@dataclass(frozen=True)
class Use:
    """The types of reads and writes behind a pointer (``f32``, ``u16``). Atomics do both.

    ``first`` is the kind of the first access in the text. ``scattered`` is True if positions to write to come from
    memory, so that other elements keep their value. ``width`` is the size of the largest access in bytes.
    """

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    first: Literal["ld", "st", "atom", ""] = ""
    scattered: bool = False
    width: int = 0

    @property
    def is_input(self) -> bool:
        """True if the content before the launch can matter, unless a kernel writes before it reads."""
        return (bool(self.reads) and self.first != "st") or self.scattered

    @property
    def types(self) -> frozenset[str]:
        """The types of all accesses."""
        return self.reads | self.writes


@dataclass(frozen=True)
class Bound:
    """A number that a kernel compares with an index, and the pointers that the index leads into.

    In ``direct`` pointers, the index selects the element. In other pointers, it is a part of the position (a row).
    """

    pointers: frozenset[Key]
    direct: frozenset[Key]


@dataclass(frozen=True)
class Table:
    """A variable without a value in the source: its size in bytes, and the types of reads.

    ``parts`` are the types by byte offset. It is empty if the kernel computes where to read. ``dtypes`` are the dtypes
    by byte offset as the source declares them. It is empty if the reads show them, or if the source does not.
    ``content`` are the integers that the host copies there, if the source lists all of them.
    """

    size: int
    types: frozenset[str]
    parts: Mapping[int, str] = field(default_factory=dict)
    dtypes: Mapping[int, str] = field(default_factory=dict)
    content: tuple[int, ...] = ()


@dataclass(frozen=True)
class TextureUse:
    """How a kernel uses a texture or surface object.

    ``memory`` is True for a texture that is read at whole coordinates, as linear memory is. ``type`` is the PTX type of
    components. An access to a surface has ``count`` elements of ``bits`` bits.
    """

    dims: int
    layered: bool = False
    surface: bool = False
    memory: bool = False
    reads: bool = True
    writes: bool = False
    type: str = "f32"
    count: int = 1
    bits: int = 32


@dataclass(frozen=True)
class Flow:
    """How a kernel uses its arguments.

    Attributes:
        types: The PTX types of the arguments.
        uses: The accesses behind pointers.
        bounds: Numbers that bound indices.
        escaped: Pointers that are passed on or stored.
        threads: The block that the kernel is compiled for, if PTX states one.
        strided: True if an index advances by the size of the grid.
        axes: The axes of the grid along which blocks differ.
        thread_axes: The axes of a block along which threads access different elements.
        dynamic: True if the kernel uses dynamic shared memory.
        crosses: True if threads of a warp exchange values.
        by_warps: True if it uses ``warpSize`` although its warps exchange nothing: each warp has a part of the work.
        tables: Constants that the host fills, and ``__device__`` variables of which the kernel only loads fixed places.
        holders: Variables that hold addresses, which only the host writes, with their sizes in bytes, by position.
        fixed: True if no other block than ``threads`` is possible.
        loaded: The parts of the arguments that the kernel loads, with their PTX types.
        reals: Constants that the kernel compares floating-point values with.
        tests_finite: True if it tests whether floating-point values are infinite or NaN.
        wholes: Integers that the kernel compares elements behind a pointer with, by pointer: both sides of the limit.
        divisors: Pointers to integers that the kernel divides by without a comparison with 0 or 1.
        factors: Pointers to elements that the kernel multiplies with each other in 32 bits, with a sign.
        offsets: Pointers to integers of which two neighbors bound a range, as in the row starts of a sparse matrix.
        parted: Those of ``offsets`` whose ranges may not be empty, because the kernel divides by a length.
        segments: Pointers to integers in rows of ``SEGMENT``.
        private: True if threads have private arrays.
        random: True if the kernel draws numbers with cuRAND.
        variables: The other ``__device__`` variables that the kernel uses, with the types of all accesses.
        indirect: True if the kernel follows pointers that it reads from memory.
        nullable: Pointers that the kernel compares with null.
        counted: True if it writes to positions that come from one of several atomic counters alone.
        textures: Texture and surface objects.
        prints: True if the kernel prints.
        prints_reals: True if it prints floating-point numbers, which are of 64 bits then.
    """

    types: tuple[str, ...]
    uses: Mapping[Key, Use] = field(default_factory=dict)
    bounds: Mapping[Key, Bound] = field(default_factory=dict)
    escaped: frozenset[Key] = frozenset()
    threads: tuple[int, ...] = ()
    strided: bool = False
    axes: frozenset[str] = frozenset()
    thread_axes: frozenset[str] = frozenset()
    dynamic: bool = False
    crosses: bool = False
    by_warps: bool = False
    tables: Mapping[str, Table] = field(default_factory=dict)
    holders: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    fixed: bool = False
    loaded: Mapping[Key, str] = field(default_factory=dict)
    reals: tuple[float, ...] = ()
    tests_finite: bool = False
    wholes: Mapping[Key, tuple[int, ...]] = field(default_factory=dict)
    divisors: frozenset[Key] = frozenset()
    factors: frozenset[Key] = frozenset()
    offsets: frozenset[Key] = frozenset()
    parted: frozenset[Key] = frozenset()
    segments: frozenset[Key] = frozenset()
    private: bool = False
    random: bool = False
    variables: Mapping[str, Table] = field(default_factory=dict)
    indirect: bool = False
    counted: bool = False
    nullable: frozenset[Key] = frozenset()
    textures: Mapping[Key, TextureUse] = field(default_factory=dict)
    prints: bool = False
    prints_reals: bool = False
