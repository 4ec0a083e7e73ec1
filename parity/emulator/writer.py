"""What a translation has written so far."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from parity.emulator.image import CODE
from parity.emulator.parse import Instruction
from parity.toolchain.targets import Target

__all__ = ["Missing", "Unknown", "Writer"]


class Unknown(Exception):
    """Something of an instruction that the emulator does not know; the text says what."""


class Missing(Unknown):
    """Something that the emulator does not have and that the source has a name for; the text is that name."""


@dataclass
class Writer:
    """The state of one translation: lines so far, registers met (with the item that named them first), position of the
    current item, name of the copy.

    ``items`` are the instructions and the labels that are branched to, ``position`` says where a label is, and
    ``sizes`` how many instructions count in the basic block that an item begins. ``symbols`` says where data and
    functions are (``Image.places``), ``functions`` are the labels of the functions that can be called, ``jumps`` the
    labels that are branched to by address, ``returns`` the numbers of the items that call. ``counters`` names the array
    that counts how often blocks begin, if one does. ``vgprs`` is how many vector registers the wavefront has, apart
    from accumulators. ``indexed`` says which registers of moves are found by an index now (``indexed.py``).
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

    @property
    def number(self) -> int:
        """The number of the current instruction."""
        return self._numbers[self.at]

    @property
    def here(self) -> str:
        """The same as C++."""
        return f"{self.number}ul"

    @functools.cached_property
    def _numbers(self) -> list[int]:
        """How many instructions stand before each item."""
        return list(itertools.accumulate((isinstance(item, Instruction) for item in self.items), initial=0))

    def symbol(self, name: str, offset: int = 0) -> str:
        """The address of data, or of a function, and ``offset`` bytes."""
        if name not in self.symbols:
            raise Unknown(f"symbol {name}")
        at = (self.symbols[name] + offset) % (1 << 64)
        return f"{at}ul" if self.symbols[name] >= CODE else f"(c->image + {at}ul)"

    def label(self, name: str) -> str:
        """The label in the current copy."""
        return self.copy + re.sub(r"\W", "_", name)

    def put(self, *lines: str) -> None:
        self.lines += lines
