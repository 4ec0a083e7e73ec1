"""Translate a kernel to threaded code: an array of operations, each a step and its numbers.

A step is the C++ of an instruction without its operands (registers, constants and branch targets), which are numbers of
the operation. Tens of thousands of instructions share about a thousand steps, so there is little to compile, and
nothing once all steps are in the cache. Threaded code has a third of the speed of ``codegen.translate``, which compiles
the same C++ with its operands.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from parity.compilers.targets import Target
from parity.emulator.amdgpu.codegen import coverage_blocks, entry_code, located_errors, new_writer
from parity.emulator.amdgpu.control_flow import END
from parity.emulator.amdgpu.instructions import emit_instruction
from parity.emulator.amdgpu.listing import KernelCode
from parity.emulator.amdgpu.operands import SPECIAL
from parity.emulator.amdgpu.shadow import NEAREST, nearest_places
from parity.emulator.amdgpu.undefined import FLAGS, is_initial, undefined_registers, unwritten_flags
from parity.emulator.amdgpu.writer import Operand, Writer
from parity.emulator.instruction import Instruction
from parity.emulator.threaded_code import VECTOR, ThreadedCode, sorted_points
from parity.model.coverage import Point

# SGPRs, followed by trap temporaries and special registers; VGPRs, followed by accumulators.
_FILES = {"s": 0, "ttmp": 128, "v": VECTOR, "a": VECTOR + 256}
_NUMBERED = {name: 160 + i for i, name in enumerate(SPECIAL)}
_PREFIX = "t"


def thread(kernel: KernelCode, target: Target, symbols: Mapping[str, int], *, shadow: bool = False) -> ThreadedCode:
    """Translate a kernel to threaded code; ``symbols`` are the places of the code object's symbols (``Image.places``).

    ``shadow`` marks the steps that must round to nearest in a shadow run.

    Raises:
        UnknownInstruction: a mnemonic, operand or modifier is not in the tables.
    """
    w = new_writer(kernel, target, symbols)
    w.copy, w.covered = _PREFIX, not shadow
    entry = "\n".join(entry_code(kernel, w))
    with located_errors(kernel, w):
        texts, places = _texts(w, entry, nearest_places(w.items, kernel.descriptor) if shadow else None)
    texts = [f"{unwritten_flags(w)}\n{entry}", *texts, END]
    steps: dict[str, int] = {}
    code, numbers = [], []
    flags: list[tuple[Point, int]] = []
    count = 0
    for text in texts:
        operands = _Operands(places, flags, count)
        step = w.rendered(text, operands.take)
        code.append(steps.setdefault(step, len(steps)))
        numbers.append(tuple(operands.numbers))
        count += len(operands.numbers)
    registers = tuple(_number(name) for name in sorted(w.registers))
    return ThreadedCode(tuple(steps), tuple(code), tuple(numbers), registers, *sorted_points(flags))


def undefined_reads(
    kernel: KernelCode, target: Target, symbols: Mapping[str, int]
) -> dict[int, tuple[str, Instruction]]:
    """Return the registers that a kernel may read before it sets them, by number: name and first such read.

    The number is the place among the kernel's registers (``ThreadedCode.registers``).
    """
    w = new_writer(kernel, target, symbols)
    entry = "\n".join(entry_code(kernel, w))
    _, reads = undefined_registers(w, entry, _instruction_texts(w))
    numbers = {name: i for i, name in enumerate((*sorted(w.registers), *FLAGS))}
    return {numbers[name]: (name, kernel.instructions[w.number_of(i)]) for name, i in reads.items()}


def _instruction_texts(w: Writer) -> dict[int, str]:
    """Return the C++ of the instructions, by the index of the item."""
    code = {}
    for i, item in enumerate(w.items):
        if isinstance(item, Instruction):
            w.at, w.lines = i, []
            emit_instruction(w, item)
            code[i] = "\n".join(w.lines)
    return code


def _texts(w: Writer, entry: str, nearest: frozenset[int] | None) -> tuple[list[str], dict[str, int]]:
    """The texts of the operations after the entry, and the operation of each label.

    ``nearest`` are the places that round to nearest in a shadow run; None outside of shadow runs.
    """
    texts: list[str] = []
    places: dict[str, int] = {}
    blocks = coverage_blocks(w.items) if w.covered else {}
    code = _instruction_texts(w)
    checks = undefined_registers(w, entry, code)[0] if nearest is None else {}
    for i, item in enumerate(w.items):
        w.at = i
        if isinstance(item, str):
            places[w.label(item)] = len(texts) + 1  # the entry is operation 0
        begin = [f"left -= {w.signed(w.sizes[i])};"] if w.sizes.get(i) else []
        if i in blocks:
            begin.append(w.reached("block", "1" if blocks[i] else "exec != 0"))
        if begin:
            texts.append(" ".join(begin))
        texts += (f"uses(c, {is_initial(w, register)}, {w.here});" for register in checks.get(i, ()))
        if code.get(i):
            texts.append(NEAREST * (i in (nearest or ())) + code[i])
        if i in w.returns:
            places[w.return_label(i)] = len(texts) + 1
    return texts, places


@dataclass
class _Operands:
    """Takes the operands out of a text: a step finds each by its index among the numbers of the operation."""

    places: Mapping[str, int]
    flags: list[tuple[Point, int]]
    before: int
    numbers: list[int] = field(default_factory=list)

    def take(self, operand: Operand) -> str:
        at, value, form = len(self.numbers), operand.value, "N({})"
        if operand.kind == "register":
            number = _number(value)
            value, form = number & ~VECTOR, "W({})" if number & VECTOR else "S({})"
        elif operand.kind == "label":
            value, form = self.places[value], "GO_TO({})"
        elif operand.kind == "flag":
            self.flags.append((value, self.before + at))
            value = 0
        self.numbers.append(value)
        return form.format(at)


@functools.cache
def _number(register: str) -> int:
    file = register.rstrip("0123456789")
    return _FILES[file] + int(register.removeprefix(file)) if file in _FILES else _NUMBERED[register]
