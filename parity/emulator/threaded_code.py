"""Threaded code: an array of operations, each a step and the numbers that it works on (``runtime/threaded.h``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from parity.emulator.runtime_headers import constants
from parity.model.coverage import Point

_THREADED = constants("threaded.h")
VECTOR: int = _THREADED["VECTOR"]
"""Marks, in the number of a register, a vector register."""
CONSTANT: int = _THREADED["CONSTANT"]
"""Marks, in the number of a register, one of the program's constants."""

REACHED = "(u64 &){} |= {};"
"""C++ that sets a coverage flag, which is a number of the operation, so it is close in memory."""


@dataclass(frozen=True)
class ThreadedCode:
    """The threaded code of a kernel.

    Attributes:
        steps: the C++ texts of the steps.
        code: for each operation, the number of its step.
        numbers: for each operation, the numbers that it works on.
        registers: the kernel's registers, sorted by name, or only the ones that it may read before it writes them.
        points: the coverage points, blocks first.
        flags: for each point, the index of its flag among all numbers.
        slots: the least size of the array of vector registers.
        constants: 64-bit numbers of the program before its first launch.
        shared: how many constants, from the third one on, each wavefront has its own copy of.
    """

    steps: tuple[str, ...]
    code: tuple[int, ...]
    numbers: tuple[tuple[int, ...], ...]
    registers: tuple[int, ...]
    points: tuple[Point, ...] = ()
    flags: tuple[int, ...] = ()
    slots: int = 0
    constants: tuple[int, ...] = ()
    shared: int = 0

    @property
    def vectors(self) -> int:
        """The size of the array of vector registers."""
        return max(self.slots, *(r - VECTOR + 1 for r in self.registers if r >= VECTOR), 0)


def sorted_points(flags: Iterable[tuple[Point, int]]) -> tuple[tuple[Point, ...], tuple[int, ...]]:
    """Sort pairs of a point and its flag: blocks first, then in the order of the code."""
    ordered = sorted(flags, key=lambda flag: (not flag[0].is_block, flag[0].instruction, flag[0].kind))
    return tuple(point for point, _ in ordered), tuple(at for _, at in ordered)
