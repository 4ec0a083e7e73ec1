"""Work for a runner, as pure data: kernel launches and computations of ops, and their outcomes."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np

from parity.errors import UsageError
from parity.model.coverage import Reached
from parity.model.dtypes import DType
from parity.model.texture import Texture

BLOCK = 1024
"""Threads per block of an elementwise launch, and the limit for any block on AMD and NVIDIA GPUs."""

WARP_SIZE = "warpSize"
"""The name of the width of a wavefront in the expressions of a launch."""

WARP, WIDE = 32, 64
"""The width of CUDA's warps and of most wavefronts, and the other width of wavefronts."""

SHARED_BYTES = 227 * 1024
"""The largest shared memory of a block on any GPU: sm_90 (CUDA C++ Programming Guide, "Compute Capabilities").

Runners check the limit of their target. The suite's AMD targets have 64 KiB of LDS.
"""

THREADS = 2**32
"""HIP requires fewer threads than this along every dim of a grid."""

BLOCKS = 65535
"""Most blocks along the second and third dim of a grid (CUDA C++ Programming Guide, "Compute Capabilities").

AMD GPUs allow one more.
"""

PRINTF = "printf"
"""The name in ``Launch.results`` and ``symbols`` that stands for the text which kernels print."""

POISON = 0xA5
"""The value of every byte of an output buffer before the launch. It reveals elements that are never written."""


@dataclass(frozen=True)
class Buffer:
    """Device memory of one tensor before the launch.

    Attributes:
        data: initial content, one-dimensional.
        defined: marks the elements that the host wrote (None: all). Reading other elements is an error.
        writable: whether the kernel may change the buffer.
        sparse: number of elements of a buffer that is too large to hold. Its ``data`` repeats; an output has none.
        pointers: byte offsets where the runner writes addresses of other buffers. ``data`` has zeros there, also after
            the launch.
        texture: the texture or surface whose object this is. Emulated devices read the object from this memory. Drivers
            make their own object of the tensor that ``pointers`` name, and pass it in place of the address.
    """

    dtype: DType
    data: np.ndarray[Any, Any]
    defined: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    writable: bool = False
    sparse: int = 0
    pointers: tuple[tuple[int, Pointer], ...] = ()
    texture: Texture | None = None


@dataclass(frozen=True)
class Tiled:
    """Device memory of one tensor for a launch that is timed and not compared.

    It has ``count`` elements, which repeat ``data``, because a host generates values far slower than a device reads
    them. Changes in ``writable`` memory must not accumulate from one repetition to the next.
    """

    dtype: DType
    data: np.ndarray[Any, Any]
    count: int
    writable: bool = False
    pointers: tuple[tuple[int, Pointer], ...] = ()
    texture: Texture | None = None

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize


@dataclass(frozen=True)
class Pointer:
    """A pointer argument: ``offset`` elements into a named buffer, or null if ``buffer`` is None."""

    buffer: str | None
    offset: int = 0

    def __str__(self) -> str:
        return "null" if self.buffer is None else f"&{self.buffer}" + (f"[{self.offset}]" if self.offset else "")


@dataclass(frozen=True)
class Scalar:
    """An argument passed by value."""

    dtype: DType
    value: Any

    @functools.cached_property
    def bytes(self) -> bytes:
        return self.dtype.convert(self.value).tobytes()

    def __str__(self) -> str:
        return f"{self.dtype}({self.value})"


@dataclass(frozen=True)
class Struct:
    """A structure passed by value: name and value of each field. A tuple of scalars is an array.

    The layout follows C: every field at a multiple of its alignment, the size a multiple of the largest alignment.
    """

    fields: tuple[tuple[str, Pointer | Scalar | tuple[Scalar, ...]], ...]

    def __str__(self) -> str:
        shown = ((n, f"[{', '.join(map(str, v))}]" if isinstance(v, tuple) else str(v)) for n, v in self.fields)
        return "{" + ", ".join(f"{name}={value}" for name, value in shown) + "}"


def with_addresses(buffer: Buffer | Tiled, address: Callable[[Pointer], int]) -> np.ndarray[Any, Any]:
    """Return the content of a buffer with the addresses of other buffers. ``address`` maps pointers to addresses."""
    if not buffer.pointers:
        return buffer.data
    data = buffer.data.view(np.uint8).copy()
    for at, pointer in buffer.pointers:
        data[at : at + 8] = np.frombuffer(argument_bytes(pointer, address), np.uint8)
    return data.view(buffer.data.dtype)


def without_addresses(buffer: Buffer, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the content of a buffer after a launch with zeros in the place of addresses."""
    return with_addresses(replace(buffer, data=data), lambda pointer: 0)


def argument_bytes(arg: Pointer | Scalar | Struct, address: Callable[[Pointer], int] = lambda pointer: 0) -> bytes:
    """Return an argument as bytes of the kernel's argument segment. ``address`` maps pointers to addresses."""
    if isinstance(arg, Pointer):
        return (0 if arg.buffer is None else address(arg)).to_bytes(8, "little")
    if isinstance(arg, Scalar):
        return arg.bytes
    found, widest = b"", 1
    for at, part in struct_parts(arg):
        own = argument_bytes(part, address)
        found += bytes(at - len(found)) + own
        widest = max(widest, len(own))
    return found + bytes(-len(found) % widest)


def variable_content(
    content: np.ndarray[Any, Any] | Struct, address: Callable[[Pointer], int] = lambda pointer: 0
) -> np.ndarray[Any, Any]:
    """Return the content of a variable (``Launch.constants``). ``address`` maps pointers to addresses."""
    if isinstance(content, Struct):
        return np.frombuffer(argument_bytes(content, address), np.uint8)
    return np.ascontiguousarray(content)


def struct_parts(struct: Struct) -> Iterator[tuple[int, Pointer | Scalar]]:
    """Yield the byte offset of each pointer and number of a structure."""
    end = 0
    for _, value in struct.fields:
        for part in value if isinstance(value, tuple) else (value,):
            size = len(argument_bytes(part))
            end += -end % size
            yield end, part
            end += size


@dataclass(frozen=True)
class Grid:
    """The dimensions of a launch: blocks, threads per block, and bytes of dynamic shared memory.

    Raises:
        UsageError: no device can launch it.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0

    def __post_init__(self) -> None:
        try:
            grid, block = ((*map(operator.index, dims),) for dims in (self.grid, self.block))
            shared, known = operator.index(self.shared_bytes), len(grid) == len(block) == 3
        except TypeError:
            known = False
        if not known:
            raise UsageError(f"{self!r} must have whole numbers in three dims: Grid((blocks, 1, 1), (threads, 1, 1))")
        for name, value in (("grid", grid), ("block", block), ("shared_bytes", shared)):  # Python's own numbers
            object.__setattr__(self, name, value)
        if shared < 0:
            raise UsageError(f"a launch of {self} has {shared} bytes of shared memory")
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


@dataclass(frozen=True)
class Launch:
    """A kernel launch.

    Attributes:
        grid: blocks along each dim.
        block: threads of a block along each dim.
        shared_bytes: bytes of dynamic shared memory.
        then: further launches, in order, on the same buffers.
        constants: content of ``__constant__`` and ``__device__`` variables that the host fills before the first launch,
            by name in the source: an array, or a structure that may hold addresses. Other variables keep their initial
            values.
        results: buffers that stand for variables, by the variable's name in the source. After the last launch, each has
            the content of the variable. With the name ``PRINTF``, it has the text that the kernels print.
        by_code: block, shared memory and trailing null pointers follow from the code object, as for Triton's kernels.
        wide: the launch on a target with wavefronts of 64 lanes, if its grid, block or shared memory differ there.
        ended: the launch ended on a GPU or in CUDA's code, so emulators may execute many more instructions than a case
            usually needs.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[Pointer | Scalar | Struct, ...]
    shared_bytes: int = 0
    then: tuple[Launch, ...] = ()
    constants: Mapping[str, np.ndarray[Any, Any] | Struct] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    by_code: bool = False
    wide: Launch | None = None
    ended: bool = False

    @property
    def sequence(self) -> tuple[Launch, ...]:
        """The launch and the launches that follow."""
        return (self, *self.then)

    def __str__(self) -> str:
        return self._text

    @functools.cached_property
    def _text(self) -> str:  # emulators derive random seeds from it, for each target
        grid = Grid(self.grid, self.block, self.shared_bytes)
        first = f"{self.kernel}{grid}({', '.join(map(str, self.args))})"
        return "; ".join((first, *map(str, self.then)))


@dataclass(frozen=True)
class Computation:
    """A case for a runner that computes ops, such as a library, instead of launching kernels.

    bf16 and f8 arrays have the types of ml_dtypes.

    Attributes:
        op: name of the op.
        dtypes: names of its dtypes.
        inputs: arrays in logical shape with the strides of the case, in the order of the reference's arguments
            (updated tensors last), without inputs that the case leaves out.
        params: NumPy scalars of the parameters' types.
        dtype: dtype of the expected array.
        shape: shape of the expected array.
    """

    op: str
    dtypes: tuple[str, ...]
    inputs: Mapping[str, np.ndarray[Any, Any]]
    params: Mapping[str, Any]
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Fault:
    """The reason why a launch did not finish.

    Attributes:
        kind: short class, such as "out-of-bounds read", "never-written read" or "timeout".
        message: full description.
        lost: True if the device became unusable and was reopened, which takes seconds.
    """

    kind: str
    message: str
    lost: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of a launch.

    Attributes:
        buffers: content of every buffer, also after a fault.
        fault: the fault that ended the launch.
        instructions: number of executed instructions, if counted.
        printed: output of ``printf`` in the kernel, possibly truncated.
        drawn: describes the results of approximate instructions, if they were not the nearest numbers.
        reached: coverage of the code of all kernels, if recorded.
        places: the written elements of each sparse buffer; ``buffers`` holds their values.
        unused_read: a read of memory that nothing has written, whose value reaches no output; empty without one.
    """

    buffers: Mapping[str, np.ndarray[Any, Any]]
    fault: Fault | None = None
    instructions: int | None = None
    printed: str = ""
    drawn: str = ""
    reached: Reached | None = None
    places: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    unused_read: str = ""

    @classmethod
    def untouched(cls, buffers: Mapping[str, Buffer], fault: Fault) -> Outcome:
        """Return the outcome of a launch that did not start or whose memory is lost, with the initial buffers."""
        return cls({name: buffer.data for name, buffer in buffers.items()}, fault)


class Arithmetic(IntEnum):
    """The strongest kind of floating-point operation in a piece of code."""

    MOVES = 0
    """It only moves numbers."""
    COMPARES = 1
    """It compares, or computes results that need no rounding."""
    ROUNDS = 2
    """It computes results that are rounded."""


@dataclass(frozen=True)
class Shadows:
    """The outcomes of a launch that was repeated with other roundings.

    Attributes:
        nearest: the unmodified launch.
        moved: launches in which operations round up or down, each by at most one ULP.
        narrowed: launches in which products of two bf16 are rounded to bf16; empty without bf16.
        unflushed: launches in which matrix cores and exponentials keep subnormal numbers; empty without matrix cores
            that flush them.
        exponentials: a launch in which exponentials keep subnormal numbers, with the roundings of the first of
            ``moved``; empty with ``unflushed``, and without exponentials.
    """

    nearest: Outcome
    moved: tuple[Outcome, ...]
    narrowed: tuple[Outcome, ...] = ()
    unflushed: tuple[Outcome, ...] = ()
    exponentials: tuple[Outcome, ...] = ()

    @property
    def groups(self) -> tuple[tuple[Outcome, ...], ...]:
        """The launches with other roundings, by attribute."""
        return self.moved, self.narrowed, self.unflushed, self.exponentials


def poisoned(dtype: DType, count: int) -> np.ndarray[Any, Any]:
    """Return ``count`` elements in which every byte is ``POISON``."""
    return np.full(count * dtype.itemsize, POISON, np.uint8).view(dtype.numpy)
