"""Errors in the translation and the execution of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

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


FAR = 1 << 40
"""The distance, in bytes, beyond which the nearest buffer is not mentioned."""


def _and_others(count: int) -> str:
    return f" and {count} more of its wavefront" if count else ""


def _named(kernel: str) -> str:
    """The name of a kernel in its source."""
    return repr(next(iter(spelled(kernel)), kernel))


def _at(kernel: str, instruction: Instruction) -> str:
    return f"kernel {_named(kernel)} at {source_location(instruction)}"


class _KernelError(ParityError):
    """An error of a ``kernel``, with the text, the source and the line of the instruction that caused it, if known."""

    def __init__(self, message: str, kernel: str, instruction: Instruction | None = None) -> None:
        self.kernel = kernel
        if instruction:
            self.instruction, self.source, self.line = instruction.text, instruction.source, instruction.line
        super().__init__(message)


class KernelFault(_KernelError):
    """Misbehaviour of a kernel, or its use of an unsupported feature; ``kind`` names the class.

    ``undefined`` is the first instruction that used an undefined value before the fault (see ``LaunchStats``).
    """

    kind: str
    undefined: Instruction | None = None


@dataclass(frozen=True)
class Access:
    """A memory access. ``lane`` is ``None`` for a scalar access.

    ``buffer`` is the nearest allocation, and ``offset`` the byte offset in it. ``array`` is the private array that the
    source accesses, with its type, if known.
    """

    lane: int | None
    workgroup: tuple[int, int, int]
    address: int
    size: int
    buffer: str | None
    offset: int
    buffer_size: int
    array: str | None


class MemoryFault(KernelFault):
    """A kernel accessed memory that it must not access; it has the attributes of ``Access``.

    ``kind`` is ``"out-of-bounds read"``, ``"out-of-bounds write"`` or ``"never-written read"``.
    """

    def __init__(self, kind: str, kernel: str, instruction: Instruction, access: Access) -> None:
        lane, offset, buffer, buffer_size = access.lane, access.offset, access.buffer, access.buffer_size
        address, size, array, workgroup = access.address, access.size, access.array, access.workgroup
        self.kind, self.lane, self.workgroup, self.address, self.size = kind, lane, workgroup, address, size
        self.buffer, self.offset, self.array = buffer, offset, array
        who = "all lanes (scalar)" if lane is None else f"lane {lane}"
        if buffer is None:
            near = "no buffer is allocated"
        elif not -FAR < offset < FAR:
            near = "far from the memory of the kernel's arguments"
        elif offset < 0:
            near = f"{-offset} bytes before {quoted(buffer)} ({buffer_size} bytes)"
        elif offset >= buffer_size:
            near = f"{offset - buffer_size} bytes past the end of {quoted(buffer)} ({buffer_size} bytes)"
        else:
            near = f"byte {offset} of {quoted(buffer)} ({buffer_size} bytes)"
        name, _, type_ = (array or "").partition(" ")
        of = f" of `{name}` ({type_})" if array else ""
        lines = [
            f"{kind} of {size} bytes{of} in {_at(kernel, instruction)}",
            f"  instruction: {instruction.text}",
            f"  workgroup {workgroup}, {who}, address {address:#x}: {near}",
        ]
        if buffer and buffer.startswith(SCRATCH):
            own = f"where `{name}` is" if array else "where the private array of this source line is"
            lines.append(f"  scratch is the private memory of a thread: {own}")
        super().__init__("\n".join(lines), kernel, instruction)

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

    def __str__(self) -> str:
        return (
            f"{super().__str__()}\n"
            f"  the type in the source promises a multiple of {self.size}: CUDA ends a kernel at such an address "
            "(cudaErrorMisalignedAddress), AMD's GPUs accept it"
        )


class DataRace(KernelFault):
    """Two wavefronts accessed the same memory, at least one of them wrote, and no barrier orders the accesses.

    ``instruction`` is the text of the access that executed second, ``other`` the text of the first access.
    """

    kind = "data race"
    parties = "two wavefronts, one of them writes, no barrier between them"

    def __init__(
        self,
        kernel: str,
        instruction: Instruction,
        other: Instruction,
        *,
        lane: int | None,
        workgroup: tuple[int, int, int],
        memory: str,
    ) -> None:
        self.other, self.lane, self.workgroup = other.text, lane, workgroup
        who = "all lanes (scalar)" if lane is None else f"lane {lane}"
        message = (
            f"{self.kind} in kernel {_named(kernel)} at {memory}: {self.parties}\n"
            f"  first:  {other.text} at {source_location(other)}\n"
            f"  second: {instruction.text} at {source_location(instruction)}, workgroup {workgroup}, {who}"
        )
        super().__init__(message, kernel, instruction)


class WarpRace(DataRace):
    """A data race between two threads of one warp, which CUDA does not order."""

    kind = "data race in a warp"
    parties = "two threads of one warp, one of them writes, no __syncwarp between them"


class DivergentBarrier(KernelFault):
    """Some threads of a workgroup did not reach a barrier, but continued to work."""

    kind = "divergent barrier"

    def __init__(self, kernel: str, instruction: Instruction, who: str, workgroup: tuple[int, int, int]) -> None:
        message = (
            f"divergent barrier in {_at(kernel, instruction)}: {who} of workgroup {workgroup} "
            "did not reach it and continued; every thread of a block must reach the same barriers"
        )
        super().__init__(message, kernel, instruction)


class BadCall(KernelFault):
    """A call to an address where no function begins."""

    kind = "bad call"

    def __init__(self, kernel: str, instruction: Instruction, workgroup: tuple[int, int, int]) -> None:
        message = f"workgroup {workgroup}: no function begins at the address in {instruction.text}"
        super().__init__(f"bad call in {_at(kernel, instruction)}, {message}", kernel, instruction)


class Trapped(KernelFault):
    """A kernel executed a trap: ``__trap``, ``abort``, ``__builtin_trap``, or unreachable code."""

    kind = "trap"

    def __init__(self, kernel: str, instruction: Instruction, thread: Thread, others: int) -> None:
        self.thread = thread
        message = f"  instruction: {instruction.text}\n  {thread}{_and_others(others)}"
        super().__init__(f"trap in {_at(kernel, instruction)}\n{message}", kernel, instruction)


class FailedAssertion(KernelFault):
    """An ``assert`` in device code failed; ``file`` and ``at`` (the line) are its place in the source."""

    kind = "device assertion"

    def __init__(self, kernel: str, expression: str, file: str, at: int, function: str, thread: Thread, others: int):
        self.expression, self.file, self.at, self.function, self.thread = expression, file, at, function, thread
        message = f"assertion `{expression}` failed in kernel {_named(kernel)} at {file}:{at}, in {function}"
        super().__init__(f"{message}\n  {thread}{_and_others(others)}", kernel)


class NoProgress(KernelFault):
    """Threads repeat the same instructions with the same values, and no other thread can change these."""

    kind = "no progress"

    def __init__(self, kernel: str, instruction: Instruction, thread: Thread, lanes: int) -> None:
        self.lanes = lanes
        message = (
            f"no progress in {_at(kernel, instruction)}: threads of a wavefront repeat the same "
            "instructions with the same values forever\n"
            f"  instruction: {instruction.text}\n"
            f"  {thread}{_and_others(lanes - 1)}\n"
            "  if they wait for something: a thread of the same wavefront that has it (a lock) continues only when all "
            "threads leave the loop, and a block that has not run yet may never run"
        )
        super().__init__(message, kernel, instruction)


class WarpMask(KernelFault):
    """The mask of a warp instruction does not match the threads that execute it.

    Args:
        missing: threads that the mask names do not arrive. Otherwise a thread executes it that the mask does not name.
    """

    kind = "warp mask"

    def __init__(self, kernel: str, instruction: Instruction, thread: Thread, missing: bool) -> None:
        what = (
            "threads wait for others of their warp that the mask names and that do not arrive"
            if missing
            else "a thread executes it that the mask does not name"
        )
        message = (
            f"warp mask in {_at(kernel, instruction)}: {what}\n"
            f"  instruction: {instruction.text}\n"
            f"  {thread}\n"
            "  all threads that the mask names must execute the instruction with that mask (PTX ISA, membermask): "
            "compute the mask with __ballot_sync before the branch, or leave the branch first"
        )
        super().__init__(message, kernel, instruction)


class LdsExceeded(KernelFault):
    """The workgroups of a launch need more LDS than the target has."""

    kind = "LDS limit"

    def __init__(self, kernel: str, static: int, dynamic: int, target: str, limit: int) -> None:
        needs = f"{static + dynamic} bytes of LDS ({static} static, {dynamic} dynamic)"
        message = f"kernel {_named(kernel)} needs {needs}; a workgroup on {target} can have {limit}"
        super().__init__(message, kernel)


class BoundsExceeded(KernelFault):
    """A launch has more threads per block than the kernel was compiled for."""

    kind = "launch bounds"

    def __init__(self, kernel: str, threads: int, limit: int) -> None:
        message = (
            f"kernel {_named(kernel)} is launched with {threads} threads per block, and was compiled for at "
            f"most {limit}: its __launch_bounds__ must be at least the block size of the launch"
        )
        super().__init__(message, kernel)


class UnsupportedFeature(KernelFault):
    """A kernel uses a feature that the emulator lacks; ``what`` is its name in the source."""

    kind = "not emulated"

    def __init__(self, kernel: str, what: str, instruction: Instruction | None = None) -> None:
        where = f" at {source_location(instruction)}" if instruction else ""
        message = f"kernel {_named(kernel)} uses {what}{where}, which parity does not emulate"
        super().__init__(message, kernel, instruction)


class InstructionBudgetExceeded(KernelFault):
    """A kernel executed more instructions than a launch may; most likely it has an endless loop."""

    kind = "timeout"

    def __init__(self, kernel: str, instruction: Instruction, budget: int, workgroup: tuple[int, int, int]) -> None:
        message = (
            f"timeout: kernel {_named(kernel)} executed more than {budget} instructions, in workgroup {workgroup} at "
            f"{source_location(instruction)}\n  instruction: {instruction.text}\n"
            "  the kernel has an endless loop, or instruction_budget is too small"
        )
        super().__init__(message, kernel, instruction)


class UnknownInstruction(_KernelError):
    """The emulator does not know an instruction, operand or modifier of a kernel."""

    def __init__(self, what: str, kernel: str, instruction: Instruction) -> None:
        self.what = what
        message = (
            f"unknown {what} in {_at(kernel, instruction)}: {instruction.text}\n"
            "  the instruction tables are parity/emulator/amdgpu/isa.csv and isa.py (AMD)"
            " and ptx/instruction_table.csv (CUDA)"
        )
        super().__init__(message, kernel, instruction)
