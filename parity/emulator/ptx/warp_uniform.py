"""Finds registers of a PTX kernel that have the same value in all threads of a warp. Each warp computes them once.

Until the threads of a warp diverge, all of them execute the same instruction. An instruction whose operands are uniform
then has a uniform result. After a divergent branch, threads arrive at an instruction at different times, so registers
written there are not uniform. Threads that go directly to the end of the kernel do not matter.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.block_uniform import PURE, are_uniform
from parity.emulator.ptx.parse import PtxFunction
from parity.emulator.ptx.register_slots import control_flow_graph
from parity.emulator.ptx.translation import PtxMemoryLayout

_LOAD = re.compile(r"ldu?\.(?:global\.|shared\.|const\.)?(?:nc\.)?[busf]\d+$")
_LOGIC = frozenset(("setp", "ways", "selp"))
_INSIDE = re.compile(r"\([a-z][\w.]*")  # the mnemonic of a folded instruction
_EXCHANGES = frozenset(("shfl", "vote", "match", "redux", "elect"))
"""Instructions whose last operand is the mask of participating threads."""
_APART = ("call", "brx")


def warp_uniform_registers(
    function: PtxFunction, constants: Collection[str], layout: PtxMemoryLayout
) -> frozenset[str]:
    """Return the warp-uniform registers of a kernel, apart from the block-uniform registers ``constants``."""
    return _Sharing(function, constants, layout).found() if function.entry else frozenset()


class _Sharing:
    """Starts with all registers in ``_shared`` and removes those that turn out not to be uniform."""

    def __init__(self, function: PtxFunction, constants: Collection[str], layout: PtxMemoryLayout) -> None:
        self._function, self._layout, self._constants = function, layout, constants
        self._writes: dict[str, list[int]] = defaultdict(list)
        for i, (written, _) in enumerate(function.accessed):
            for name in written:
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
                name
                for name in self._shared
                if all(i in together and self._is_uniform_result(i, name) for i in self._writes[name])
            }
        return frozenset(name for name in self._shared if self._function.registers[name] != "pred")

    def _together(self) -> Iterator[int]:
        """Yield the items at which the threads of a warp always arrive together."""
        ends = [*self._starts[1:], len(self._function.items)]
        diverging: list[int | None] = [
            next((i for i in range(begin, end) if self._diverges(i)), None)
            for begin, end in zip(self._starts, ends, strict=True)
        ]
        apart: set[int] = set()
        waiting = [*chain.from_iterable(self._following[b] for b, at in enumerate(diverging) if at is not None)]
        while waiting:
            b = waiting.pop()
            if b not in apart:
                apart.add(b)
                waiting += self._following[b]
        for b, (begin, end) in enumerate(zip(self._starts, ends, strict=True)):
            if b not in apart:
                at = diverging[b]
                yield from range(begin, end if at is None else at)

    def _diverges(self, i: int) -> bool:
        """True if the threads of a warp may diverge at an item."""
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
        if base in _EXCHANGES or base in ("bar", "barrier"):
            members = item.operands[-1:] if base in _EXCHANGES else item.operands[:1] if "warp" in words else ()
            return guarded or not self._of_shared(members)
        return False

    def _ends(self, b: int) -> bool:
        """True if a block only ends the kernel."""
        end = self._starts[b + 1] if b + 1 < len(self._starts) else len(self._function.items)
        items = [item for item in self._function.items[self._starts[b] : end] if isinstance(item, Instruction)]
        return len(items) == 1 and items[0].base in ("ret", "exit") and not items[0].modifiers

    def _is_uniform_result(self, i: int, name: str) -> bool:
        """True if an item gives a register a uniform value, provided that the threads arrive together."""
        item = self._function.items[i]
        assert isinstance(item, Instruction)
        base, *words = item.mnemonic.split(".")
        known = base in PURE or base in _LOGIC or _LOAD.match(item.mnemonic)
        if not known or "cc" in words or item.operands[0] != name:
            return False
        return self._of_shared(item.modifiers) and self._of_shared(item.operands[1:])

    def _of_shared(self, operands: Sequence[str]) -> bool:
        """True if operands have the same values in all threads of a warp."""
        texts = [_INSIDE.sub("", each.lstrip("@")) for each in operands]
        return are_uniform(texts, self._shared | {*self._constants}, self._layout)
