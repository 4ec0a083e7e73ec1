"""Collects the C++ of a translation, in which the operands of instructions are marks until they are rendered."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from parity.compilers.targets import Target
from parity.emulator.amdgpu.data_sections import CODE
from parity.emulator.instruction import Instruction, Unknown
from parity.emulator.threaded_code import REACHED
from parity.model.coverage import Point

_MARK = "\0"


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of an instruction, and its C++ in a compiled kernel.

    ``value`` is the name of a register of 32 bits, a number from 0 to 2**64 - 1, the label that a branch goes to, or
    the coverage point that a flag records.
    """

    kind: Literal["register", "number", "label", "flag"]
    value: Any
    text: str

    def __str__(self) -> str:
        return self.text


_OVERFLOW_MODE = re.compile(r"hwreg\(HW_REG_(?:WAVE_)?MODE, ?23, ?1\)")


def sets_overflow_mode(item: Instruction) -> bool:
    """Return True for an instruction that sets MODE.FP16_OVFL. Triton has it at the start of kernels with fp8."""
    mnemonic, (where, value, *_) = item.mnemonic, (*item.operands, "", "")
    return mnemonic == "s_setreg_imm32_b32" and value == "1" and _OVERFLOW_MODE.fullmatch(where) is not None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The C++ of an instruction that does not depend on its place: text between the marks of operands, the operands
    that marks refer to, by their numbers, and the registers that it declares.
    """

    parts: tuple[str, ...]
    marks: tuple[int, ...]
    operands: tuple[Operand, ...]
    registers: tuple[str, ...]


@dataclass
class Writer:
    """The state of the translation of a kernel.

    Attributes:
        items: the instructions, and the labels that branches refer to.
        position: the index of each label among the items.
        sizes: for the first item of a basic block, the number of its instructions that count.
        symbols: the places of data and functions (``Image.places``).
        functions: the labels of the functions that the kernel may call.
        jumps: the labels that the kernel branches to by address.
        returns: the indices of the items that call.
        counters: the name of the array that counts executions of basic blocks, or an empty string.
        vgprs: the number of vector registers without accumulators.
        lines: the C++ so far; operands of instructions are marks until ``rendered`` replaces them.
        registers: the registers so far, each with the item that named it first.
        at: the index of the current item.
        copy: the prefix of labels in the current copy of the code.
        keeps_high: the current instruction keeps the upper half of a 16-bit result's register.
        indexed: the operand of moves that an index selects at this place (``indexed.py``), or an empty string.
        covered: the code records the coverage points that it reaches.
        saturates: the code sets MODE.FP16_OVFL, which then holds for all of it.
    """

    target: Target
    items: Sequence[Instruction | str]
    position: dict[str, int]
    sizes: dict[int, int]
    symbols: Mapping[str, int] = field(default_factory=dict)
    functions: Sequence[str] = ()
    jumps: Sequence[str] = ()
    returns: Sequence[int] = ()
    counters: str = ""
    vgprs: int = 256
    lines: list[str] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)
    at: int = 0
    copy: str = ""
    keeps_high: bool = False
    indexed: str = ""
    covered: bool = False
    saturates: bool = False
    _operands: list[Operand] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The number of the current instruction."""
        return self.number_of(self.at)

    def number_of(self, i: int) -> int:
        """Return the number of the instruction at an index of the items."""
        return self._numbers[i]

    @property
    def here(self) -> str:
        """The number of the current instruction, as C++."""
        return self.constant(self.number)

    @functools.cached_property
    def _numbers(self) -> list[int]:
        """The number of instructions before each item."""
        return list(itertools.accumulate((isinstance(item, Instruction) for item in self.items), initial=0))

    def symbol(self, name: str, offset: int = 0) -> str:
        """Return C++ of the address of data or of a function, plus ``offset`` bytes."""
        if name not in self.symbols:
            raise Unknown(f"symbol {name}")
        at = self.constant((self.symbols[name] + offset) % (1 << 64))
        return at if self.symbols[name] >= CODE else f"(c->image + {at})"

    def label(self, name: str) -> str:
        """Return the name of a label in the current copy of the code."""
        return self.copy + re.sub(r"\W", "_", name)

    def return_label(self, call: int) -> str:
        """Return the label after the item of this index, which calls."""
        return f"{self.copy}return_{call}"

    def put(self, *lines: str) -> None:
        self.lines += lines

    def register(self, name: str) -> str:
        """Return C++ that reads or writes a register."""
        return self._mark("register", name, name)

    def constant(self, value: int, form: str = "") -> str:
        """Return C++ of a 64-bit number that is not negative; ``form`` is a format such as ``#x``."""
        return self._mark("number", value, f"{value:{form}}ul")

    def signed(self, value: int) -> str:
        """Return C++ of a number that may be negative; the sign is not part of the operand."""
        return ("-" if value < 0 else "") + self._mark("number", abs(value), f"{abs(value)}l")

    def jump(self, label: str) -> str:
        """Return C++ of a branch to a label from ``label`` or ``return_label``, without the semicolon."""
        return self._mark("label", label, f"goto {label}")

    def reached(self, kind: Literal["block", "taken", "not taken"], when: str = "1") -> str:
        """Return C++ that records that a point of the current instruction is reached, in covered code."""
        return REACHED.format(self._mark("flag", Point(kind, self.number), ""), when) if self.covered else ""

    def rendered(self, text: str, spelled: Callable[[Operand], str] = str) -> str:
        """Return C++ in which ``spelled`` has replaced the mark of each operand, in the order of the text."""
        parts = text.split(_MARK)
        parts[1::2] = (spelled(self._operands[int(number)]) for number in parts[1::2])
        return "".join(parts)

    def recorded(self) -> Recorded:
        """Return everything so far, to ``replay`` it in other translations."""
        parts = "\n".join(self.lines).split(_MARK)
        return Recorded(tuple(parts[::2]), tuple(map(int, parts[1::2])), tuple(self._operands), tuple(self.registers))

    def replay(self, recorded: Recorded) -> None:
        """Write the C++ of a recorded instruction for the current item."""
        before = len(self._operands)
        self._operands += recorded.operands
        for name in recorded.registers:
            self.registers.setdefault(name, self.at)
        parts: list[str] = [""] * (2 * len(recorded.marks) + 1)
        parts[::2] = recorded.parts
        parts[1::2] = (f"{_MARK}{before + number}{_MARK}" for number in recorded.marks)
        self.lines.append("".join(parts))

    def _mark(self, kind: Literal["register", "number", "label", "flag"], value: Any, text: str) -> str:
        self._operands.append(Operand(kind, value, text))
        return f"{_MARK}{len(self._operands) - 1}{_MARK}"
