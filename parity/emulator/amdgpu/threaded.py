"""From the instructions of one kernel to threaded code: an array of operations, each a step and its numbers.

A step is the C++ of an instruction without its operands (registers, constants and branch targets), which are data of
the operation. Tens of thousands of instructions share a thousand steps, so little has to be compiled, and nothing once
all steps are in the cache. The code runs at a third of the speed of that of ``codegen.translate``, which compiles the
same C++ with the operands in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from parity.compilers.targets import Target
from parity.emulator.amdgpu.codegen import entry_of, runs_of, teaching, writer_of
from parity.emulator.amdgpu.instructions import END, emit
from parity.emulator.amdgpu.operands import SPECIAL
from parity.emulator.parse import Instruction, KernelCode
from parity.emulator.shadow import NEAREST, divisions
from parity.emulator.writer import Constant, Jump, Note, Operand, Register
from parity.model.coverage import Point

__all__ = ["CONSTANT", "VECTOR", "Threaded", "in_order", "thread"]

VECTOR, CONSTANT = 1 << 31, 1 << 30
"""Set in the number of a register that is a VGPR, or one of the constants, as in runtime/threaded.h."""

# SGPRs and, above those, trap temporaries and special registers; VGPRs and, above those, accumulators.
_FILES = {"s": 0, "ttmp": 128, "v": VECTOR, "a": VECTOR + 256}
_NUMBERED = {name: 160 + i for i, name in enumerate(SPECIAL)}
_PREFIX = "t"


@dataclass(frozen=True)
class Threaded:
    """``steps`` are C++ texts; ``code`` has the number of a step for every operation, ``numbers`` what it works on.

    ``registers`` are those of the kernel, sorted by name as in ``codegen.translate``, or those alone that may be read
    before they are written; ``vectors`` is the size of the array that holds the VGPRs, at least ``slots``. ``header``
    stands before the text of each step. The number of a point that is reached becomes 1: ``points`` are these, those of
    blocks first, and ``notes`` where they are among all numbers. ``constants`` are numbers of 64 bits that steps find
    in the program, as they are before the first launch; from the third on ``shared`` of them are each wavefront's own.
    """

    steps: tuple[str, ...]
    code: tuple[int, ...]
    numbers: tuple[tuple[int, ...], ...]
    registers: tuple[int, ...]
    header: str = ""
    points: tuple[Point, ...] = ()
    notes: tuple[int, ...] = ()
    slots: int = 0
    constants: tuple[int, ...] = ()
    shared: int = 0

    @property
    def vectors(self) -> int:
        return max(self.slots, *(r - VECTOR + 1 for r in self.registers if r >= VECTOR), 0)


def thread(kernel: KernelCode, target: Target, symbols: Mapping[str, int], *, shadow: bool = False) -> Threaded:
    """Threaded code of a kernel; ``symbols`` are the byte offsets of the code object's data in its image.

    ``shadow`` marks the steps that have to round to nearest in a shadow run.

    Raises:
        UnknownInstruction: a mnemonic, operand or modifier is not in the tables.
    """
    w = writer_of(kernel, target, symbols)
    w.copy, w.covered = _PREFIX, not shadow
    texts: list[str] = []
    places: dict[str, int] = {}
    nearest = divisions(w.items) if shadow else frozenset()
    runs = runs_of(w.items) if w.covered else {}
    with teaching(kernel, w):
        for i, item in enumerate(w.items):
            w.at, w.lines = i, []
            if isinstance(item, str):
                places[w.label(item)] = len(texts) + 1  # the entry comes first
            begin = [f"left -= {w.signed(w.sizes[i])};"] if w.sizes.get(i) else []
            if i in runs:
                begin.append(w.note("block", "1" if runs[i] else "exec != 0"))
            if begin:
                texts.append(" ".join(begin))
            if isinstance(item, Instruction):
                emit(w, item)
                if w.lines:
                    texts.append(NEAREST * (i in nearest) + "\n".join(w.lines))
            if i in w.returns:
                places[w.return_label(i)] = len(texts) + 1
    texts = ["\n".join(entry_of(kernel, w)), *texts, END]
    steps: dict[str, int] = {}
    code, numbers = [], []
    notes: list[tuple[Point, int]] = []
    count = 0
    for text in texts:
        found: list[int] = []

        def spelled(operand: Operand, found: list[int] = found, before: int = count) -> str:
            """Take an operand out of the text: a step finds it by its place among the numbers."""
            at = len(found)
            match operand:
                case Register(name):
                    number = _number(name)
                    found.append(number & ~VECTOR)
                    return f"{'W' if number & VECTOR else 'S'}({at})"
                case Constant(value):
                    found.append(value)
                    return f"N({at})"
                case Jump(label):
                    found.append(places[label])
                    return f"GO_TO({at})"
                case Note(point):
                    notes.append((point, before + at))
                    found.append(0)
                    return f"N({at})"

        step = w.rendered(text, spelled)
        code.append(steps.setdefault(step, len(steps)))
        numbers.append(tuple(found))
        count += len(found)
    registers = tuple(_number(name) for name in sorted(w.registers))
    return Threaded(tuple(steps), tuple(code), tuple(numbers), registers, "", *in_order(notes))


def in_order(notes: Iterable[tuple[Point, int]]) -> tuple[tuple[Point, ...], tuple[int, ...]]:
    """Points and their places, those of blocks first and else in the order of the code."""
    ordered = sorted(notes, key=lambda note: (not note[0].is_block, note[0].instruction, note[0].kind))
    return tuple(point for point, _ in ordered), tuple(at for _, at in ordered)


def _number(register: str) -> int:
    file = register.rstrip("0123456789")
    return _FILES[file] + int(register.removeprefix(file)) if file in _FILES else _NUMBERED[register]
