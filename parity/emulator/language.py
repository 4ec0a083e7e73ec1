"""The interface between the emulator and a language of listings: AMD assembly or PTX."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from parity.compilers.targets import Target
from parity.emulator.image import Image
from parity.emulator.instruction import Instruction
from parity.emulator.memory import Allocation
from parity.emulator.threaded_code import ThreadedCode
from parity.model.code_object import CodeObject, Kernel

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Traits:
    """Facts about the text of a kernel and of the functions that it calls.

    Attributes:
        barriers: it has barriers.
        compares: it has a compare-and-swap.
        approximate: it has an instruction with a documented error.
        independent: its blocks neither communicate nor read a clock, unless they have a data race.
        allocates: it allocates memory (malloc, new).
    """

    barriers: bool = False
    compares: bool = False
    approximate: bool = False
    independent: bool = False
    allocates: bool = False


@dataclass(frozen=True)
class LaunchShape:
    """The sizes of a launch: blocks, threads of a block, and bytes of dynamic shared memory.

    ``rest`` is the number of threads of the last block along each dim; 0: as many as in the other blocks.
    """

    grid: Dim3
    block: Dim3
    shared_bytes: int
    rest: Dim3 = (0, 0, 0)

    @property
    def threads(self) -> int:
        """The number of threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def groups(self) -> int:
        """The number of blocks."""
        return math.prod(self.grid)

    def number(self, group: Sequence[int]) -> int:
        """Return the position of a block in the order of blocks."""
        return group[0] + self.grid[0] * (group[1] + self.grid[1] * group[2])

    def block_at(self, group: Sequence[int]) -> Dim3:
        """Return the size of the block with these numbers."""
        x, y, z = (
            rest if rest and number == count - 1 else threads
            for rest, number, count, threads in zip(self.rest, group, self.grid, self.block, strict=True)
        )
        return x, y, z


class Language(Protocol):
    """Translates the kernels of a language and knows how a device presents a launch to them."""

    warps: bool = False
    """Whether the threads of a wavefront are unordered, so that they can race with each other."""

    # --- translation ---

    def parts(self, listing: str, name: str) -> Sequence[str]:
        """Return the texts that the translation of a kernel depends on."""

    def traits(self, listing: str, name: str) -> Traits:
        """Return facts about a kernel."""

    def threaded(self, listing: str, name: str, target: Target, *, shadow: bool = False) -> ThreadedCode:
        """Translate a kernel to threaded code; with ``shadow``, to the code of shadow runs."""

    def step_function(self, step: str, *, shadow: bool) -> str:
        """Return the C++ of the function, named SYMBOL, that executes a step."""

    def compiled(self, listing: str, name: str, target: Target, *, fast: bool, counted: bool) -> str:
        """Translate a kernel to a C++ function named SYMBOL."""

    # --- devices ---

    def kernel(self, code: CodeObject, name: str) -> Kernel:
        """Return a kernel with the memory that it needs."""
        return code.kernels[name]

    def image(self, listing: str) -> Image:
        """Return the data of a code object."""

    def instruction(self, listing: str, name: str, number: int) -> Instruction:
        """Return the instruction of a kernel that has this number."""

    def arguments(self, kernel: Kernel, args: bytes, shape: LaunchShape, mailbox: int) -> bytes:
        """Return the argument segment; ``mailbox`` is the address of the buffer for requests to the host, or 0."""

    def dispatch(self, kernel: Kernel, shape: LaunchShape, kernarg: int) -> bytes:
        """Return the data that describes a launch to its kernel; ``kernarg`` is the address of the arguments."""

    def documented_errors(self, target: Target) -> ctypes.Array[ctypes.Structure]:
        """Return the documented errors of approximate instructions (``parity.emulator.approximate``)."""

    def counted_blocks(self, listing: str, name: str) -> Mapping[int, Sequence[str]]:
        """Return, for the counter of each basic block, the classes of its instructions."""
        return {}

    def class_totals(self, counts: Iterable[tuple[str, int]]) -> Mapping[str, int]:
        """Add up the counts of each class of instructions."""
        return {}

    # --- faults ---

    def unsupported_feature(self, address: int) -> str | None:
        """Return the name of the unsupported feature that an access to this address reveals."""
        return None

    def private_array(self, listing: str, name: str, instruction: Instruction) -> str | None:
        """Return the private array that an access to scratch memory means, and its type."""
        return None

    def private_memory(self, instruction: Instruction, own: Allocation, context: ctypes.Structure) -> Allocation | None:
        """Return the lane's scratch memory ``own``, moved if necessary, if an access with a fault was meant for it."""
