"""The work of a runner, as pure data: launches of kernels, and computations of ops."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from parity.errors import UsageError
from parity.model.coverage import Reached
from parity.model.dtypes import DType

__all__ = [
    "BLOCK", "BLOCKS", "POISON", "Arithmetic", "Buffer", "Computation", "Fault", "Grid", "Launch", "Outcome", "Pointer",
    "Scalar", "Shadows", "Struct", "Tiled", "argument_bytes", "elementwise", "poisoned",
]  # fmt: skip

BLOCK = 1024
"""Threads per block of an elementwise launch, and the most that any block may have, on AMD and NVIDIA alike."""

SHARED_BYTES = 227 * 1024
"""The most shared memory that a block can have anywhere: on sm_90 (CUDA C++ Programming Guide, "Compute Capabilities").
What the target of a launch has is checked there: AMD's of the suite have 64 KiB of LDS.
"""

THREADS = 2**32
"""HIP wants fewer threads than this along every dim of a grid."""

BLOCKS = 65535
"""The most blocks along the second and the third dim of a grid (CUDA C++ Programming Guide, "Compute Capabilities"; AMD
GPUs take one more).
"""

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
class Tiled:
    """Device memory of one tensor for a launch that is timed, and not compared.

    It has ``count`` elements and holds ``data`` over and over, because a host makes values far slower than a device
    reads them. What a kernel changes in ``writable`` memory may not add up from one repetition to the next.
    """

    dtype: DType
    data: np.ndarray[Any, Any]
    count: int
    writable: bool = False

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize


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

    @functools.cached_property
    def bytes(self) -> bytes:
        return self.dtype.convert(self.value).tobytes()

    def __str__(self) -> str:
        return f"{self.dtype}({self.value})"


@dataclass(frozen=True)
class Struct:
    """A structure passed by value: the name and value of each field; several scalars are an array.

    It is laid out as C does: every field at a multiple of its alignment, the whole a multiple of the largest.
    """

    fields: tuple[tuple[str, Pointer | Scalar | tuple[Scalar, ...]], ...]

    def __str__(self) -> str:
        shown = ((n, f"[{', '.join(map(str, v))}]" if isinstance(v, tuple) else str(v)) for n, v in self.fields)
        return "{" + ", ".join(f"{name}={value}" for name, value in shown) + "}"


def argument_bytes(arg: Pointer | Scalar | Struct, address: Callable[[Pointer], int] = lambda pointer: 0) -> bytes:
    """An argument as it lies in the kernel's argument segment; ``address`` says where a pointer points."""
    if isinstance(arg, Pointer):
        return (0 if arg.buffer is None else address(arg)).to_bytes(8, "little")
    if isinstance(arg, Scalar):
        return arg.bytes
    found, widest = b"", 1
    for _, value in arg.fields:
        parts = [argument_bytes(part, address) for part in (value if isinstance(value, tuple) else (value,))]
        align = len(parts[0])
        found += bytes(-len(found) % align) + b"".join(parts)
        widest = max(widest, align)
    return found + bytes(-len(found) % widest)


@dataclass(frozen=True)
class Grid:
    """The geometry of a launch: blocks, threads per block, and bytes of dynamic shared memory.

    Raises:
        UsageError: no device can run it.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0

    def __post_init__(self) -> None:
        if min(self.grid) < 1 or min(self.block) < 1:
            raise UsageError(f"a launch of {self} has no threads; every dim must be 1 or more")
        if self.threads > BLOCK:
            raise UsageError(f"a launch of {self} has {self.threads} threads per block; the limit is {BLOCK}")
        if self.shared_bytes > SHARED_BYTES:
            raise UsageError(f"a launch of {self} is beyond the {SHARED_BYTES} B that a block can have on any device")
        if max(self.grid[1:]) > BLOCKS:
            raise UsageError(f"a launch of {self} has more than {BLOCKS} blocks along its second or third dim")
        if any(blocks * threads >= THREADS for blocks, threads in zip(self.grid, self.block, strict=True)):
            raise UsageError(f"a launch of {self} has 2^32 threads or more along one dim; use fewer blocks")

    @property
    def threads(self) -> int:
        """Threads of one block."""
        return math.prod(self.block)

    def __str__(self) -> str:
        grid, block = ("x".join(map(str, dims)) for dims in (self.grid, self.block))
        return f"<<<{grid}, {block}" + (f", {self.shared_bytes} B shared>>>" if self.shared_bytes else ">>>")


def elementwise(count: int, threads: int | None = None) -> Grid:
    """At least one thread for each of ``count`` elements, in blocks of 1024 or of ``threads``; never an empty grid."""
    block = threads or BLOCK
    return Grid((max(1, -(-count // block)), 1, 1), (block, 1, 1))


@dataclass(frozen=True)
class Launch:
    """A kernel launch. Grid in blocks, block in threads, ``shared_bytes`` of dynamic shared memory.

    ``then`` are further launches, one after the other on the same buffers. ``constants`` are contents that the host
    gives to ``__constant__`` and ``__device__`` variables before the first, by the names of the source; all others have
    the values that they begin with.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[Pointer | Scalar | Struct, ...]
    shared_bytes: int = 0
    then: tuple[Launch, ...] = ()
    constants: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    @property
    def sequence(self) -> tuple[Launch, ...]:
        """The launch itself, and those that follow."""
        return (self, *self.then)

    def __str__(self) -> str:
        return self._text

    @functools.cached_property
    def _text(self) -> str:  # of which the orders and results that an emulator draws are made, for each target
        geometry = Grid(self.grid, self.block, self.shared_bytes)
        first = f"{self.kernel}{geometry}({', '.join(map(str, self.args))})"
        return "; ".join((first, *map(str, self.then)))


@dataclass(frozen=True)
class Computation:
    """A case for a library that has the op, and no kernel of ours.

    ``op`` is the op's name and ``dtypes`` are its dtypes, by their names. ``inputs`` are arrays in logical shape with
    the strides of the case, in the order of the reference's arguments (the last is ``out``, if the op updates that); an
    input that the case leaves out is missing. ``params`` are NumPy scalars of the types that the kernel takes. Expected
    is an array of ``dtype`` and ``shape``. bf16 and f8 are the types of ml_dtypes.
    """

    op: str
    dtypes: tuple[str, ...]
    inputs: Mapping[str, np.ndarray[Any, Any]]
    params: Mapping[str, Any]
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Fault:
    """The reason why a launch did not run to its end.

    ``kind`` is a short class ("out-of-bounds read", "never-written read", "timeout", ...); ``message`` is the full
    description. ``lost`` says that the device could not be used any more and was opened again, which costs seconds.
    """

    kind: str
    message: str
    lost: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of a launch: every buffer's content (also after a fault), and the fault if there was one.

    ``printed`` is what the kernel printed, or its beginning. ``drawn`` says what approximate instructions gave, if that
    was not the nearest numbers. ``reached`` is what was reached of the code of all kernels, where that is noted.
    """

    buffers: Mapping[str, np.ndarray[Any, Any]]
    fault: Fault | None = None
    instructions: int | None = None
    printed: str = ""
    drawn: str = ""
    reached: Reached | None = None

    @classmethod
    def untouched(cls, buffers: Mapping[str, Buffer], fault: Fault) -> Outcome:
        """The outcome of a launch that did not begin, or whose memory is gone: the buffers as they were before it."""
        return cls({name: buffer.data for name, buffer in buffers.items()}, fault)


class Arithmetic(IntEnum):
    """The most that code does with floating-point numbers: it moves them; compares them, and what else has a result
    that needs no rounding; or rounds.
    """

    MOVES = 0
    COMPARES = 1
    ROUNDS = 2


@dataclass(frozen=True)
class Shadows:
    """The outcomes of a launch that is executed again with other roundings.

    ``nearest`` is the launch as it is. ``moved`` are those with operations that round up or down, each by one ULP at
    most. ``narrowed`` are those in which products of two bf16 are bf16 as well; none if there is no bf16. ``unflushed``
    are those in which matrix cores keep subnormal numbers; none if they keep them anyway.
    """

    nearest: Outcome
    moved: tuple[Outcome, ...]
    narrowed: tuple[Outcome, ...] = ()
    unflushed: tuple[Outcome, ...] = ()


def poisoned(dtype: DType, count: int) -> np.ndarray[Any, Any]:
    """``count`` elements with every byte ``POISON``."""
    return np.full(count * dtype.itemsize, POISON, np.uint8).view(dtype.numpy)
