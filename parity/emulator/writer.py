"""The C++ of one translation as far as it is written: text in which the operands of instructions are marked."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from parity.compilers.targets import Target
from parity.emulator.image import CODE
from parity.emulator.parse import Instruction
from parity.model.coverage import Point

__all__ = ["NOTE", "Constant", "Jump", "Missing", "Note", "Operand", "Register", "Unknown", "Writer"]

_MARK = "\0"


class Unknown(Exception):
    """Something of an instruction that the emulator does not know; the text says what."""


class Missing(Unknown):
    """Something that the emulator does not have and that the source has a name for; the text is that name."""


@dataclass(frozen=True, slots=True)
class Register:
    """A 32-bit register of the wavefront; C++ has a variable of its name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that belongs to one instruction, from 0 to 2**64 - 1, and its C++."""

    value: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Jump:
    """A branch to a label, without the semicolon."""

    label: str

    def __str__(self) -> str:
        return f"goto {self.label}"


@dataclass(frozen=True, slots=True)
class Note:
    """The number of an operation that says whether a point was reached."""

    point: Point


Operand = Register | Constant | Jump | Note

NOTE = "(u64 &){} |= {};"
"""C++ that notes in a number of an operation that its point was reached, if so: nothing else is as near."""


@dataclass
class Writer:
    """The state of one translation: lines so far, registers met (with the item that named them first), position of the
    current item, name of the copy.

    ``items`` are the instructions and the labels that are branched to, ``position`` says where a label is, and
    ``sizes`` how many instructions count in the basic block that an item begins. ``symbols`` says where data and
    functions are (``Image.places``), ``functions`` are the labels of the functions that can be called, ``jumps`` the
    labels that are branched to by address, ``returns`` the numbers of the items that call. ``counters`` names the array
    that counts how often blocks begin, if one does. ``vgprs`` is how many vector registers the wavefront has, apart
    from accumulators. ``indexed`` says which registers of moves are found by an index now (``indexed.py``). ``covered``
    code notes which points it reaches.

    Lines are C++ but for the operands of instructions, which are marks until ``rendered`` spells them.
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
    _operands: list[Operand] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The number of the current instruction."""
        return self._numbers[self.at]

    @property
    def here(self) -> str:
        """The same as C++."""
        return self.constant(self.number)

    @functools.cached_property
    def _numbers(self) -> list[int]:
        """The number of instructions before each item."""
        return list(itertools.accumulate((isinstance(item, Instruction) for item in self.items), initial=0))

    def symbol(self, name: str, offset: int = 0) -> str:
        """The address of data, or of a function, and ``offset`` bytes."""
        if name not in self.symbols:
            raise Unknown(f"symbol {name}")
        at = self.constant((self.symbols[name] + offset) % (1 << 64))
        return at if self.symbols[name] >= CODE else f"(c->image + {at})"

    def label(self, name: str) -> str:
        """The label in the current copy."""
        return self.copy + re.sub(r"\W", "_", name)

    def return_label(self, call: int) -> str:
        """The label behind the item of that number, which calls, in the current copy."""
        return f"{self.copy}return_{call}"

    def put(self, *lines: str) -> None:
        self.lines += lines

    def register(self, name: str) -> str:
        """C++ that reads or writes a register."""
        return self._mark(Register(name))

    def constant(self, value: int, form: str = "") -> str:
        """C++ of a number of 64 bits that is not negative; ``form`` is a format such as ``#x``."""
        return self._mark(Constant(value, f"{value:{form}}ul"))

    def signed(self, value: int) -> str:
        """C++ of a number that may be negative; the sign is no part of the operand."""
        return f"{'-' if value < 0 else ''}{self._mark(Constant(abs(value), f'{abs(value)}l'))}"

    def jump(self, label: str) -> str:
        """C++ of a branch to a label (of ``label`` or ``return_label``), without the semicolon."""
        return self._mark(Jump(label))

    def note(self, kind: Literal["block", "taken", "not taken"], when: str = "1") -> str:
        """C++ that notes that a point of the current instruction is reached, if it is to be noted."""
        return NOTE.format(self._mark(Note(Point(kind, self.number))), when) if self.covered else ""

    def rendered(self, text: str, spelled: Callable[[Operand], str] = str) -> str:
        """C++ without marks: ``spelled`` is called for each operand, in the order in which they stand in the text."""
        parts = text.split(_MARK)
        parts[1::2] = (spelled(self._operands[int(number)]) for number in parts[1::2])
        return "".join(parts)

    def _mark(self, operand: Operand) -> str:
        self._operands.append(operand)
        return f"{_MARK}{len(self._operands) - 1}{_MARK}"
