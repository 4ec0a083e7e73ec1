"""Registers of a PTX kernel that are one number for all threads of a warp: each warp keeps and computes it once.

As long as no threads of a warp took a branch without the others, all of them are at the same instruction, and what it
computes from numbers that they share they share, too. Behind such a branch threads come to an instruction at different
times, so a register that is written there is each thread's own. Threads that go to the end of the kernel alone
need nothing any more.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from parity.emulator.parse import Instruction
from parity.emulator.ptx.block_uniform import PURE, are_uniform
from parity.emulator.ptx.operation import PtxMemoryLayout
from parity.emulator.ptx.parse import PtxFunction
from parity.emulator.ptx.register_slots import control_flow_graph, register_accesses

__all__ = ["warp_uniform_registers"]

_LOAD = re.compile(r"ldu?\.(?:global\.|shared\.|const\.)?(?:nc\.)?[busf]\d+$")
_LOGIC = frozenset(("setp", "ways", "selp"))
_INSIDE = re.compile(r"\([a-z][\w.]*")  # the mnemonic of an instruction that stands as an operand
# The operand that says which threads do it together.
_MEMBERS = {"shfl": -1, "vote": -1, "match": -1, "redux": -1, "elect": -1}
_APART = ("call", "brx")


def warp_uniform_registers(
    function: PtxFunction, constants: Collection[str], layout: PtxMemoryLayout
) -> frozenset[str]:
    """The registers of a kernel that its warps have one number in, beside ``constants``, which are its blocks'."""
    return _Sharing(function, constants, layout).found() if function.entry else frozenset()


class _Sharing:
    """``_shared`` are the registers and predicates for which nothing speaks against it so far."""

    def __init__(self, function: PtxFunction, constants: Collection[str], layout: PtxMemoryLayout) -> None:
        self._function, self._layout, self._constants = function, layout, constants
        self._writes: dict[str, list[int]] = defaultdict(list)
        for i, item in enumerate(function.items):
            for name in register_accesses(function, item)[0] if isinstance(item, Instruction) else ():
                self._writes[name].append(i)
        names = self._writes.keys() - {*constants}
        self._shared = {name for name in names if function.registers[name] != "b128"}
        self._starts, self._following = control_flow_graph(function)

    def found(self) -> frozenset[str]:
        before = -1
        while len(self._shared) != before:
            before = len(self._shared)
            together = {*self._together()}
            self._shared = {
                name for name in self._shared if all(i in together and self._gives(i, name) for i in self._writes[name])
            }
        return frozenset(name for name in self._shared if self._function.registers[name] != "pred")

    def _together(self) -> Iterator[int]:
        """The items that no thread of a warp comes to without the others."""
        ends = [*self._starts[1:], len(self._function.items)]
        parts: list[int | None] = [
            next((i for i in range(begin, end) if self._parts(i)), None)
            for begin, end in zip(self._starts, ends, strict=True)
        ]
        apart: set[int] = set()
        waiting = [*chain.from_iterable(self._following[b] for b, at in enumerate(parts) if at is not None)]
        while waiting:
            b = waiting.pop()
            if b not in apart:
                apart.add(b)
                waiting += self._following[b]
        for b, (begin, end) in enumerate(zip(self._starts, ends, strict=True)):
            if b not in apart:
                at = parts[b]
                yield from range(begin, end if at is None else at)

    def _parts(self, i: int) -> bool:
        """Whether an item may separate threads of a warp that was together."""
        item = self._function.items[i]
        if not isinstance(item, Instruction):
            return False
        base, *words = item.mnemonic.split(".")
        if base in _APART:
            return True
        guarded = not self._of_shared(item.modifiers)
        if base == "bra":
            following = self._following[bisect(self._starts, i) - 1]
            return guarded and sum(not self._ends(to) for to in following) > 1
        if base in _MEMBERS or base in ("bar", "barrier"):
            at = _MEMBERS.get(base, 0)
            members = item.operands[at : at + 1 or None] if base in _MEMBERS or "warp" in words else ()
            return guarded or not self._of_shared(members)
        return False

    def _ends(self, b: int) -> bool:
        """Whether a block does nothing but end."""
        end = self._starts[b + 1] if b + 1 < len(self._starts) else len(self._function.items)
        items = [item for item in self._function.items[self._starts[b] : end] if isinstance(item, Instruction)]
        return len(items) == 1 and items[0].mnemonic.partition(".")[0] in ("ret", "exit") and not items[0].modifiers

    def _gives(self, i: int, name: str) -> bool:
        """Whether an item makes a register one number for all threads if they are together there."""
        item = self._function.items[i]
        assert isinstance(item, Instruction)
        base, *words = item.mnemonic.split(".")
        known = base in PURE or base in _LOGIC or _LOAD.match(item.mnemonic)
        if not known or "cc" in words or item.operands[0] != name:
            return False
        return self._of_shared(item.modifiers) and self._of_shared(item.operands[1:])

    def _of_shared(self, operands: Sequence[str]) -> bool:
        """Whether all threads have the same values in these operands."""
        texts = [_INSIDE.sub("", each.lstrip("@")) for each in operands]
        return are_uniform(texts, self._shared | {*self._constants}, self._layout)
