"""From the instructions of one kernel to threaded code: an array of operations, each a step and its numbers.

A step is the C++ of an instruction without its operands (registers, constants and branch targets), which are data of
the operation. Tens of thousands of instructions share a thousand steps, so little has to be compiled, and nothing once
all steps are in the cache. The code runs at a third of the speed of that of ``codegen.translate``, which compiles the
same C++ with the operands in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parity.emulator.codegen import entry_of, teaching, writer_of
from parity.emulator.instructions import END, emit
from parity.emulator.operands import SPECIAL
from parity.emulator.parse import Instruction, KernelCode
from parity.emulator.shadow import NEAREST, divisions
from parity.emulator.writer import Constant, Jump, Operand, Register
from parity.toolchain.targets import Target

__all__ = ["VECTOR", "Threaded", "thread"]

VECTOR = 1 << 31
"""Set in the number of a register that is a VGPR, as in runtime/threaded.h."""

# SGPRs and, above those, trap temporaries and special registers; VGPRs and, above those, accumulators.
_FILES = {"s": 0, "ttmp": 128, "v": VECTOR, "a": VECTOR + 256}
_NUMBERED = {name: 160 + i for i, name in enumerate(SPECIAL)}
_PREFIX = "t"


@dataclass(frozen=True)
class Threaded:
    """``steps`` are C++ texts; ``code`` has the number of a step for every operation, ``numbers`` what it works on.

    ``registers`` are those of the kernel, sorted by name as in ``codegen.translate``; ``vectors`` is the size of the
    array that holds the VGPRs. ``header`` stands before the text of each step.
    """

    steps: tuple[str, ...]
    code: tuple[int, ...]
    numbers: tuple[tuple[int, ...], ...]
    registers: tuple[int, ...]
    header: str = ""

    @property
    def vectors(self) -> int:
        return max((r - VECTOR + 1 for r in self.registers if r >= VECTOR), default=0)


def thread(kernel: KernelCode, target: Target, symbols: Mapping[str, int], *, shadow: bool = False) -> Threaded:
    """Threaded code of a kernel; ``symbols`` are the byte offsets of the code object's data in its image.

    ``shadow`` marks the steps that have to round to nearest in a shadow run.

    Raises:
        UnknownInstruction: a mnemonic, operand or modifier is not in the tables.
    """
    w = writer_of(kernel, target, symbols)
    w.copy = _PREFIX
    texts: list[str] = []
    places: dict[str, int] = {}
    nearest = divisions(w.items) if shadow else frozenset()
    with teaching(kernel, w):
        for i, item in enumerate(w.items):
            w.at, w.lines = i, []
            if isinstance(item, str):
                places[w.label(item)] = len(texts) + 1  # the entry comes first
            if w.sizes.get(i):
                texts.append(f"left -= {w.signed(w.sizes[i])};")
            if isinstance(item, Instruction):
                emit(w, item)
                if w.lines:
                    texts.append(NEAREST * (i in nearest) + "\n".join(w.lines))
            if i in w.returns:
                places[w.return_label(i)] = len(texts) + 1
    texts = ["\n".join(entry_of(kernel, w)), *texts, END]
    steps: dict[str, int] = {}
    code, numbers = [], []
    for text in texts:
        found: list[int] = []

        def spelled(operand: Operand, found: list[int] = found) -> str:
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

        step = w.rendered(text, spelled)
        code.append(steps.setdefault(step, len(steps)))
        numbers.append(tuple(found))
    registers = tuple(_number(name) for name in sorted(w.registers))
    return Threaded(tuple(steps), tuple(code), tuple(numbers), registers)


def _number(register: str) -> int:
    file = register.rstrip("0123456789")
    return _FILES[file] + int(register.removeprefix(file)) if file in _FILES else _NUMBERED[register]
