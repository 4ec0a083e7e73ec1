"""Errors in the translation and the execution of a kernel."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.emulator.instruction import Instruction
from parity.errors import ParityError
from parity.model.code_object import spelled

SCRATCH = "scratch of "
"""The prefix of the name of scratch memory."""


def source_location(instruction: Instruction) -> str:
    """Return the source file and line of an instruction, if the listing states them, and its line in the listing."""
    line = f"listing line {instruction.line}"
    if instruction.header:
        line = f"from {instruction.header}, {line}"
    return f"{instruction.source}, {line}" if instruction.source else line


def quoted(memory: str) -> str:
    """Return the name of memory for messages: LDS, a lane's scratch memory, a variable or a buffer."""
    return memory if memory.startswith(("LDS", SCRATCH, "variable ")) else f"buffer {memory!r}"


@dataclass(frozen=True)
class Thread:
    """A thread: the coordinates of its block, and its coordinates in the block."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self) -> str:
        return f"block {self.block}, thread {self.thread}"


LDS = "LDS"
"""The name of a block's memory in messages."""
FAR = 1 << 40
"""The distance, in bytes, beyond which the nearest buffer is not mentioned."""

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


class _KernelError(ParityError):
    """An error of a ``kernel``, with the text, the source and the line of the instruction that caused it, if known.

    Each of the ``facts`` becomes an attribute, and a word of the message in ``faults.toml``.
    """

    kind = ""

    def __init_subclass__(cls) -> None:
        cls.kind = _TABLE.get(cls.__name__, {}).get("kind", cls.kind)

    def __init__(self, kernel: str, instruction: Instruction | None = None, **facts: Any) -> None:
        self.kernel = kernel
        vars(self).update(facts)
        name = repr(next(iter(spelled(kernel)), kernel))
        words = {"kernel": name, "kind": self.kind, **facts, **self._words()}
        if instruction:
            self.instruction, self.source, self.line = instruction.text, instruction.source, instruction.line
            place = source_location(instruction)
            words |= {"instruction": instruction.text, "place": place, "where": f"kernel {name} at {place}"}
        super().__init__(_TABLE[type(self).__name__]["message"].removeprefix("\n").format_map(words))

    def _words(self) -> Mapping[str, Any]:
        """Return further words of the message, which follow from the facts."""
        return {}


class KernelFault(_KernelError):
    """Misbehaviour of a kernel, or its use of an unsupported feature; ``kind`` names the class.

    ``undefined`` is the first instruction that used an undefined value before the fault (see ``LaunchStats``).
    """

    undefined: Instruction | None = None


class _LaneFault(KernelFault):
    """A fault of one ``lane``; ``None`` for a scalar access, which concerns all lanes."""

    lane: int | None
    workgroup: tuple[int, int, int]

    def _words(self) -> Mapping[str, Any]:
        return {"who": "all lanes (scalar)" if self.lane is None else f"lane {self.lane}"}


class _ThreadFault(KernelFault):
    """A fault of a ``thread``, and of a number of ``others`` of its wavefront."""

    thread: Thread
    others: int

    def _words(self) -> Mapping[str, Any]:
        return {"more": f" and {self.others} more of its wavefront" if self.others else ""}


class MemoryFault(_LaneFault):
    """A kernel accessed memory that it must not access.

    ``kind`` is ``"out-of-bounds read"``, ``"out-of-bounds write"`` or ``"never-written read"``. ``buffer`` is the
    nearest allocation, ``buffer_size`` its size, and ``offset`` the byte offset in it. ``array`` is the private array
    that the source accesses, with its type, if known.
    """

    address: int
    size: int
    buffer: str | None
    offset: int
    buffer_size: int
    array: str | None

    def _words(self) -> Mapping[str, Any]:
        name, _, type_ = (self.array or "").partition(" ")
        private = ""
        if self.buffer and self.buffer.startswith(SCRATCH):
            own = f"where `{name}` is" if self.array else "where the private array of this source line is"
            private = f"\n  scratch is the private memory of a thread: {own}"
        of = f" of `{name}` ({type_})" if self.array else ""
        return {**super()._words(), "of": of, "near": self._near(), "private": private}

    def _near(self) -> str:
        if self.buffer is None:
            return "no buffer is allocated"
        if not -FAR < self.offset < FAR:
            return "far from the memory of the kernel's arguments"
        memory, past = f"{quoted(self.buffer)} ({self.buffer_size} bytes)", self.offset - self.buffer_size
        if self.offset < 0:
            return f"{-self.offset} bytes before {memory}"
        return f"{past} bytes past the end of {memory}" if past >= 0 else f"byte {self.offset} of {memory}"

    def add_writer(self, instruction: Instruction, lane: int, wavefronts: tuple[int, int]) -> None:
        """Name the instruction and the lane that wrote the memory later; ``wavefronts`` are both numbers."""
        reader, writer = wavefronts
        barrier = "__syncwarp" if reader == writer else "__syncthreads"
        self.args = (
            f"{self}\n  wavefront {reader} reads before lane {lane} of wavefront {writer} writes, with no barrier "
            f"({barrier}) between them\n  the write: {instruction.text} at {source_location(instruction)}",
        )


class MisalignedAccess(MemoryFault):
    """An access at an address that is not a multiple of the type's alignment, ``size``."""


class DataRace(_LaneFault):
    """Two wavefronts accessed the same memory, at least one of them wrote, and no barrier orders the accesses.

    ``instruction`` is the text of the access that executed second, ``other`` the text and place of the first access.
    ``memory`` names the byte.
    """

    other: str
    memory: str

    @property
    def is_in_lds(self) -> bool:
        """True for threads of one block."""
        return self.memory.endswith(f"of {LDS}")


class WarpRace(DataRace):
    """A data race between two threads of one warp, which CUDA does not order."""


class DivergentBarrier(KernelFault):
    """Some threads of a workgroup did not reach a barrier, but continued to work."""


class BadCall(KernelFault):
    """A call to an address where no function begins."""


class NotAllocated(KernelFault):
    """A kernel released memory (``free``, ``delete``) that it did not allocate, or that it released before."""


class NotTexture(KernelFault):
    """A kernel used something else as a texture or surface object."""


class Trapped(_ThreadFault):
    """A kernel executed a trap: ``__trap``, ``abort``, ``__builtin_trap``, or unreachable code."""


class FailedAssertion(_ThreadFault):
    """An ``assert`` in device code failed; ``file`` and ``at`` (the line) are its place in the source."""


class NoProgress(_ThreadFault):
    """Threads repeat the same instructions with the same values, and no other thread can change these."""


class WarpMask(KernelFault):
    """The mask of a warp instruction does not match the threads that execute it, in the way that ``what`` describes."""


class LdsExceeded(KernelFault):
    """The workgroups of a launch need more LDS than the target has."""


class BoundsExceeded(KernelFault):
    """A launch has more threads per block than the kernel was compiled for."""


class UnsupportedFeature(KernelFault):
    """A kernel uses a feature that the emulator lacks; ``what`` is its name in the source."""

    def __init__(self, kernel: str, what: str, instruction: Instruction | None = None) -> None:
        at = f" at {source_location(instruction)}" if instruction else ""
        super().__init__(kernel, instruction, what=what, at=at)


class InstructionBudgetExceeded(KernelFault):
    """A kernel executed more instructions than a launch may; most likely it has an endless loop."""


class UnknownInstruction(_KernelError):
    """The emulator does not know an instruction, operand or modifier of a kernel; ``what`` names that part."""
