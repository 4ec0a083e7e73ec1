"""Finds the reads of registers that, on some path, neither the launch nor the kernel has set.

The translation of an instruction shows which registers it reads and writes. A write under EXEC counts as a write of the
whole register, and the old value that it keeps does not count as read. An instruction that only copies values does not
use them: its result is undefined if a source is. Compilers generate such copies of values that no path needs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parity.emulator.amdgpu.isa import BRANCHES
from parity.emulator.amdgpu.isa_names import canonical
from parity.emulator.amdgpu.listing import CACHED, parse_instruction
from parity.emulator.amdgpu.operands import is_vector, register_names
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction

_NAME = re.compile(r"\b(?:[sva]\d+|ttmp\d+|m0|vcc(?:_hi)?|scc|flat_scratch_(?:lo|hi)|xnack_mask_(?:lo|hi))\b")
_STATEMENT = re.compile(r"[;{}]")
_WRITE = re.compile(rf"\s*({_NAME.pattern})(\[.*?\])? = (.*)", re.DOTALL)
_SOURCE = re.compile(r"\s*const \w+ ([ab]) = (.*)", re.DOTALL)
_COPIES = {
    **dict.fromkeys(("v_mov_b32", "v_mov_b64", "s_mov_b32", "s_mov_b64", "v_readfirstlane_b32"), "a"),
    **dict.fromkeys(("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"), "a"),
    **dict.fromkeys(("v_cndmask_b32", "s_cselect_b32", "s_cselect_b64"), "ab"),
}
"""The sources that an instruction without modifiers copies."""
_EXCHANGES = ("v_readlane_b32", "v_writelane_b32", "v_swap_b32", "v_pk_mov_b32")
"""Copies that are not written as expressions of their sources."""
FLAGS = ("vcc", "scc")
"""Registers that are separate variables. Their numbers follow the numbers of the other registers."""
_ENDS = ("s_endpgm", "s_trap", "s_sethalt")


@dataclass(frozen=True, slots=True)
class _Effect:
    """The registers that an item uses, copies and writes, as masks."""

    uses: int = 0
    copies: int = 0
    writes: int = 0

    def after(self, undefined: int) -> int:
        return undefined | self.writes if undefined & self.copies else undefined & ~self.writes


class _Numbers(dict[str, int]):
    """The bit of each register in a mask."""

    def __missing__(self, name: str) -> int:
        self[name] = 1 << len(self)
        return self[name]

    def mask(self, text: str) -> int:
        found = 0
        for name in _NAME.findall(text):
            found |= self[name]
        return found

    def names(self, mask: int) -> list[str]:
        return sorted(name for name, bit in self.items() if mask & bit)


_numbers = _Numbers()


def undefined_registers(
    w: Writer, entry: str, code: Mapping[int, str]
) -> tuple[Mapping[int, Sequence[str]], Mapping[str, int]]:
    """Find the registers that a kernel may read before it sets them.

    Returns the registers that an item uses, by the index of the item, and the first item that reads each register.

    Args:
        w: the writer after the translation.
        entry: C++ that sets registers before the first instruction.
        code: C++ of the instructions, by the index of the item.
    """
    lines = ((i, item.text) for i, item in enumerate(w.items) if isinstance(item, Instruction))
    effects = {i: _effect(line, w.rendered(code[i])) for i, line in lines}
    start = _effect("", w.rendered(entry))
    undefined = _undefined(w, effects, ((1 << len(_numbers)) - 1) & ~start.writes)
    halves = _upper_halves(w)
    uses: dict[int, list[str]] = {}
    reads: dict[str, int] = {}
    for i, effect in effects.items():
        if undefined[i] & (effect.uses | effect.copies):
            for name in _numbers.names(undefined[i] & (effect.uses | effect.copies)):
                reads.setdefault(name, i)
            half, upper = halves.get(i, (0, 0))
            used = undefined[i] & effect.uses
            if half & used and not _is_used(w, i, effects, upper, halves):
                used &= ~half
            if used:
                uses[i] = _numbers.names(used)
    return uses, reads


def is_initial(w: Writer, register: str) -> str:
    """Return C++ that tells whether a register, or an active lane of it, has the value that registers begin with."""
    if register == "scc":
        return "scc == (c->register_fill & 1)"
    if register == "vcc":
        return "(u32)vcc == c->register_fill"
    same = f"{w.register(register)} == c->register_fill"
    return f"mask(bools({same})) & exec" if is_vector(register) else same


def unwritten_flags(w: Writer) -> str:
    """Return C++ that sets VCC and SCC to the values that registers begin with."""
    vcc, scc = (f"unwritten(c, {w.constant(len(w.registers) + i)})" for i in range(len(FLAGS)))
    return f"vcc = (Mask)pair({vcc}, {vcc}); scc = {scc} & 1;"


@functools.lru_cache(maxsize=CACHED)
def _effect(line: str, text: str) -> _Effect:
    """The effect of an instruction by its line of assembly, or of the entry (an empty line), from its C++."""
    uses = copies = writes = 0
    item = parse_instruction(line, 0) if line else None
    copied = _copied(item, text) if item else ""
    for statement in _STATEMENT.split(text):
        if write := _WRITE.fullmatch(statement):
            target, lane, value = write.groups()
            writes |= _numbers[target]
            if lane:
                copies |= _numbers[target]
            uses |= _numbers.mask(_without_kept(value, target))
        elif (source := _SOURCE.fullmatch(statement)) and source[1] in copied:
            copies |= _numbers.mask(source[2])
        else:
            uses |= _numbers.mask(statement)
    if item is None:
        return _Effect(uses, copies, writes)
    if "dst_unused:UNUSED_PRESERVE" in item.modifiers:
        uses &= ~writes
    if canonical(item.mnemonic) in _EXCHANGES:
        return _Effect(0, copies | uses, writes)
    if "switch (" in text:  # a move with a computed register
        return _Effect(0, uses, _numbers.mask(item.operands[0]) if " x = " in text.split("switch (")[1] else 0)
    return _Effect(uses, copies, writes)


def _copied(item: Instruction, text: str) -> str:
    if item.modifiers or "neg(" in text or "mag(" in text:
        return ""
    if item.paired:
        return _copied(item.paired, text) and _COPIES.get(canonical(item.mnemonic), "")
    return _COPIES.get(canonical(item.mnemonic), "")


def _without_kept(value: str, target: str) -> str:
    """The value of a write without the parts of the target that the write keeps."""
    kept = f", {target})"
    if value.startswith("sel(") and value.endswith(kept):
        value = value.removesuffix(kept)
    if target == "vcc":
        value = value.replace("pair(vcc,", "(").replace(", vcc >> 32)", ")")
    return value.replace(f"put_lo({target},", "(").replace(f"put_hi({target},", "(")


def _undefined(w: Writer, effects: Mapping[int, _Effect], at_entry: int) -> list[int]:
    """For each item, the registers that are not set on some path to it."""
    before = [0] * len(w.items)
    reached = [False] * len(w.items)
    before[0], waiting = at_entry, [0]
    while waiting:
        i, state = waiting.pop(), None
        while i < len(w.items):
            merged = before[i] if state is None else before[i] | state
            if reached[i] and state is not None and merged == before[i]:
                break
            before[i], reached[i] = merged, True
            state = effects[i].after(merged) if i in effects else merged
            following = _following(w, i)
            for other in following[1:]:
                if not reached[other] or before[other] | state != before[other]:
                    before[other] |= state
                    waiting.append(other)
            if not following:
                break
            i = following[0]
    return before


def _upper_halves(w: Writer) -> dict[int, tuple[int, int]]:
    """The upper halves of the summand and of the result of 64-bit multiply-adds, by the index of the item.

    Compilers compute 32-bit numbers with these instructions, and then leave the upper half of the summand undefined.
    """
    found = {}
    for i, item in enumerate(w.items):
        if isinstance(item, Instruction) and canonical(item.mnemonic) in ("v_mad_u64_u32", "v_mad_i64_i32"):
            result, *_, summand = item.operands
            if (
                is_vector(result)
                and is_vector(summand)
                and (half := register_names(w, summand)[1]) not in item.operands
            ):
                found[i] = _numbers[half], _numbers[register_names(w, result)[1]]
    return found


def _is_used(
    w: Writer, i: int, effects: Mapping[int, _Effect], register: int, halves: Mapping[int, tuple[int, int]]
) -> bool:
    """True if the value that an item writes to a register is used, not only for unused upper halves of other values."""
    met: set[tuple[int, int]] = set()
    waiting = [(after, register) for after in _following(w, i)]
    while waiting:
        i, register = at = waiting.pop()
        if at in met:
            continue
        met.add(at)
        effect = effects.get(i, _Effect())
        half, upper = halves.get(i, (0, 0))
        if register == half:
            waiting += ((after, upper) for after in _following(w, i))
        elif register & (effect.uses | effect.copies):
            return True
        if not register & effect.writes:
            waiting += ((after, register) for after in _following(w, i))
    return False


def _following(w: Writer, i: int) -> Sequence[int]:
    """The items that may execute after an item."""
    item = w.items[i]
    if isinstance(item, Instruction):
        if item.mnemonic in _ENDS:
            return ()
        if item.mnemonic in BRANCHES:
            to = w.position[item.operands[0]]
            return (to,) if item.mnemonic == "s_branch" else (i + 1, to)
        if item.mnemonic in ("s_swappc_b64", "s_setpc_b64"):
            returns = w.returns if item.mnemonic == "s_setpc_b64" else ()
            return [*(at + 1 for at in returns), *(w.position[name] for name in (*w.jumps, *w.functions))]
    return (i + 1,) if i + 1 < len(w.items) else ()
