"""From the instructions of one kernel to threaded code: an array of operations, each a step and its numbers.

The C++ of an instruction, with the registers, constants and places in it taken out, is a step. Ten thousands of
instructions share a thousand steps, so what has to be compiled is little, and soon nothing at all. It runs at a third
of the speed of ``codegen.translate``, whose text it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from parity.emulator.codegen import entry_of, teaching, writer_of
from parity.emulator.instructions import END, emit
from parity.emulator.operands import is_vector
from parity.emulator.parse import Function, Instruction
from parity.toolchain.targets import Target

__all__ = ["VECTOR", "Threaded", "thread"]

VECTOR = 1 << 31
"""Set in the number of a register that is a VGPR, as in runtime/threaded.h."""

_SPECIAL = (
    "m0", "vcc_hi", "exec_hi", "flat_scratch_lo", "flat_scratch_hi", "xnack_mask_lo", "xnack_mask_hi",
)  # fmt: skip
# SGPRs and, above those, trap temporaries and special registers; VGPRs and, above those, accumulators.
_FILES = {"s": 0, "ttmp": 128, "v": VECTOR, "a": VECTOR + 256}
_NUMBERED = {name: 160 + i for i, name in enumerate(_SPECIAL)}
_REGISTER = re.compile(r"(s|v|a|ttmp)(\d+)")
_SLOT = re.compile(
    rf"(?P<register>\b(?:[sva]\d+|ttmp\d+|{'|'.join(_SPECIAL)})\b)"
    r"|\b(?P<number>0x[0-9a-f]+(?=ul\b)|\d+(?=u?l\b))u?l"
    r"|goto (?P<label>\w+);"
)
_PREFIX = "t"


@dataclass(frozen=True)
class Threaded:
    """``steps`` are C++ texts; ``code`` has the number of a step for every operation, ``numbers`` what it works on.

    ``registers`` are those of the kernel, sorted by name as in ``codegen.translate``; ``vectors`` is the size of the
    array that holds the VGPRs.
    """

    steps: tuple[str, ...]
    code: tuple[int, ...]
    numbers: tuple[tuple[int, ...], ...]
    registers: tuple[int, ...]

    @property
    def vectors(self) -> int:
        return max((r - VECTOR + 1 for r in self.registers if r >= VECTOR), default=0)


def thread(function: Function, target: Target, symbols: Mapping[str, int]) -> Threaded:
    """Threaded code of a kernel; ``symbols`` are the byte offsets of the code object's data in its image.

    Raises:
        UnknownInstruction: a mnemonic, operand or modifier is not in the tables.
    """
    w = writer_of(function, target, symbols)
    w.copy = _PREFIX
    texts: list[str] = []
    places: dict[str, int] = {}
    with teaching(function, w):
        for i, item in enumerate(w.items):
            w.at, w.lines = i, []
            if isinstance(item, str):
                places[w.label(item)] = len(texts) + 1  # the entry comes first
            if w.sizes.get(i):
                texts.append(f"left -= {w.sizes[i]}l;")
            if isinstance(item, Instruction):
                emit(w, item)
                if lines := [line for line in w.lines if not line.endswith(":;")]:
                    texts.append("\n".join(lines))
                for line in w.lines:
                    if line.endswith(":;"):  # where a call returns to
                        places[line.removesuffix(":;")] = len(texts) + 1
    texts = ["\n".join(entry_of(function, w)), *texts, END]
    steps: dict[str, int] = {}
    code, numbers = [], []
    for text in texts:
        found: list[int] = []

        def slot(match: re.Match[str], found: list[int] = found) -> str:
            """Take a register, a number or a place out of the text."""
            at = len(found)
            if register := match["register"]:
                number = _number(register)
                found.append(number & ~VECTOR)
                return f"{'W' if number & VECTOR else 'S'}({at})"
            if label := match["label"]:
                found.append(places[label])
                return f"GO_TO({at});"
            found.append(int(match["number"], 0))
            return f"N({at})"

        step = _SLOT.sub(slot, text)
        code.append(steps.setdefault(step, len(steps)))
        numbers.append(tuple(found))
    registers = tuple(_number(name) for name in sorted(w.registers))
    assert all(is_vector(name) == (r >= VECTOR) for name, r in zip(sorted(w.registers), registers, strict=True))
    return Threaded(tuple(steps), tuple(code), tuple(numbers), registers)


def _number(register: str) -> int:
    if match := _REGISTER.fullmatch(register):
        return _FILES[match[1]] + int(match[2])
    return _NUMBERED[register]
