"""Converts short branches into guarded instructions, as ptxas does.

Threads that take different ways at a branch are executed separately, which takes longer than a few guarded
instructions. The pseudo-instruction ``ways %w, among, condition, first, second`` replaces the branch. It sets ``%w``
for the threads of ``among`` for which the condition holds. ``first`` and ``second`` are the numbers of instructions in
the ways; 0 means that there is only one way. ``ways`` notes the same coverage as the branch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.parse import PtxFunction
from parity.emulator.ptx.peephole import is_branch

_MOST = 4
"""Maximum number of instructions in one way."""
_COMPUTES = re.compile(
    r"(?:mov|cvt|selp|setp|add|sub|mul|mad|fma|min|max|abs|neg|and|or|xor|not|shl|shr)\.(?!(?:.*\.)?cc\.)"
)
"""Instructions without side effects: threads that do not need the result may execute them."""
_ACCESSES = re.compile(r"(?:ld|st)\.(?:global|shared)\.(?!volatile|relaxed|acquire|release|mmio)|joined$")


def add_guards(function: PtxFunction) -> PtxFunction:
    """Replace branches over one or two short ways by guards."""
    return _Guards(function).found()


class _Guards:
    """Converts one function. ``_entries`` counts branches per label, ``_uses`` accesses per register."""

    def __init__(self, function: PtxFunction) -> None:
        self._function = function
        self._registers = dict(function.registers)
        self._uses = function.writes + function.uses
        self._entries = Counter(chain.from_iterable(function.tables.values()))
        for guarded in (False, True):
            self._entries.update(item.operands[0] for item in function.items if is_branch(item, guarded=guarded))
        self._items = [item for item in function.items if isinstance(item, Instruction) or self._entries[item]]

    def found(self) -> PtxFunction:
        i = 0
        while i < len(self._items):
            item = self._items[i]
            i = self._guarded(i, item) if is_branch(item, guarded=True) else i + 1
        return replace(self._function, items=tuple(self._items), registers=self._registers)

    def _guarded(self, i: int, branch: Instruction) -> int:
        """Convert the branch at item ``i`` if possible. Returns the index of the item to continue with."""
        ends, at, among = branch.operands[0], i + 1, "1"
        found: list[Instruction | str] = []
        way = self._way(at, memory=False)
        second = self._at(at + len(way))
        if way and is_branch(second, guarded=True):  # a || b: the first branch jumps to the way that the second skips
            within = self._at(at + len(way) + 1) == ends and self._entries[ends] == 1
            if not within or not all(self._own(each, [*way, second]) for each in way):
                return i + 1
            first = self._choice(branch, among, len(way) + 1, 0)
            found, among = [first, *way], f"!{first.operands[0]}"
            ends, at, branch = second.operands[0], at + len(way) + 2, second
        ways = [self._way(at)]
        end = at + len(ways[0])
        over = self._at(end)
        if is_branch(over, guarded=False) and self._at(end + 1) == ends and self._entries[ends] == 1:
            ways.append(self._way(end + 2))
            ends, end = over.operands[0], end + 2 + len(ways[1])
        if self._at(end) != ends or not all(ways):
            return i + 1
        choice = self._choice(branch, among, len(ways[0]), sum(map(len, ways[1:])))
        found.append(choice)
        for way, guard in zip(ways, (f"@!{choice.operands[0]}", f"@{choice.operands[0]}"), strict=False):
            found += [each if self._own(each, way) else replace(each, modifiers=(guard,)) for each in way]
        self._items[i:end] = found
        self._entries[ends] -= 1
        if not self._entries[ends]:
            del self._items[i + len(found)]
        return i + len(found)

    def _choice(self, branch: Instruction, among: str, first: int, second: int) -> Instruction:
        name = f"%$way{len(self._registers)}"
        self._registers[name] = "pred"
        operands = (name, among, branch.modifiers[0][1:], str(first), str(second))
        return replace(branch, mnemonic="ways", operands=operands, modifiers=())

    def _way(self, begin: int, *, memory: bool = True) -> list[Instruction]:
        """Return the instructions from item ``begin`` on that can form a way."""
        found: list[Instruction] = []
        for item in self._items[begin : begin + _MOST]:
            if not isinstance(item, Instruction) or item.modifiers:
                break
            if not _COMPUTES.match(item.mnemonic) and not (memory and _ACCESSES.match(item.mnemonic)):
                break
            found.append(item)
        return found

    def _own(self, item: Instruction, way: Sequence[Instruction]) -> bool:
        """True if only later instructions of the way use the result: all threads may then execute the instruction."""
        if not _COMPUTES.match(item.mnemonic):
            return False
        within = Counter(chain.from_iterable(map(self._accessed, way)))
        before = {name for each in way[: way.index(item) + 1] for name in self._function.accesses(each)[1]}
        written = self._function.accesses(item)[0]
        return all(within[name] == self._uses[name] and name not in before for name in written)

    def _accessed(self, item: Instruction) -> list[str]:
        return [*chain(*self._function.accesses(item))]

    def _at(self, i: int) -> Instruction | str:
        return self._items[i] if i < len(self._items) else ""
