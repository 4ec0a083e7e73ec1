"""What a translation has written so far."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from parity.emulator.parse import Instruction

__all__ = ["Unknown", "Writer"]


class Unknown(Exception):
    """Something of an instruction that the emulator does not know; the text says what."""


@dataclass
class Writer:
    """The state of one translation: lines so far, registers met, position of the current item, name of the copy.

    ``items`` are the instructions and the labels that are branched to, ``position`` says where a label is, and
    ``sizes`` how many instructions count in the basic block that an item begins.
    """

    items: Sequence[Instruction | str]
    position: dict[str, int]
    sizes: dict[int, int]
    lines: list[str] = field(default_factory=list)
    registers: set[str] = field(default_factory=set)
    at: int = 0
    copy: str = ""

    @property
    def number(self) -> int:
        """The number of the current instruction."""
        return self._numbers[self.at]

    @functools.cached_property
    def _numbers(self) -> list[int]:
        """How many instructions stand before each item."""
        return list(itertools.accumulate((isinstance(item, Instruction) for item in self.items), initial=0))

    def label(self, name: str) -> str:
        """The label in the current copy."""
        return self.copy + re.sub(r"\W", "_", name)

    def put(self, *lines: str) -> None:
        self.lines += lines
