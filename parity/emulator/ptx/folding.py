"""Folds an instruction into the only instruction that uses its result.

Threaded code executes one step per instruction, which loads registers and stores one. Folding turns two instructions,
such as the ``shl`` and ``add`` of an address or a comparison and its branch, into one step: the operand of the second
becomes ``(shl.b64 %rd1, 3)``. Integer operations, conversions of integers to floats, comparisons and logical operations
on predicates are folded. The result stays the same because the registers read by the first instruction do not change in
between.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.parse import BRANCHES, PtxFunction

_NUMBERS = re.compile(
    r"(?:add|sub|and|or|xor|not|shl|shr|mul\.lo|mul\.wide|mad\.lo|mad\.wide)\.[bus](?:32|64)$|cvt\.[us]64\.[us]32$"
)
_AS_FLOAT = re.compile(r"cvt\.rn\.f32\.[su]32$")
_FLOATS = re.compile(r"(?:add|sub|mul|fma)\.(?:rn\.)?(?:ftz\.)?f32$")
_COMPARES = re.compile(r"setp\.\w{2,3}\.(?:ftz\.)?[busf](?:16|32|64)$")
_LOGIC = re.compile(r"(?:and|or|xor|not)\.pred$")
_ACCESSES = re.compile(r"(?:ld|st)\.(?!param)")

_MOST_FOLDED = 50
"""Instructions within an operand: a long sum would become one expression, which is translated recursively."""


def fold_instructions(function: PtxFunction, uniform: Collection[str]) -> tuple[Instruction | str, ...]:
    """Return the items of a function with folded instructions.

    ``uniform`` are the block-uniform registers, which are computed once per block and therefore not folded.
    """
    found: list[Instruction | str] = []
    waiting: dict[str, int] = {}  # foldable registers, with the index in `found` of their writer
    for item, (written, read) in zip(function.items, function.accessed, strict=True):
        if isinstance(item, str):
            waiting.clear()
            found.append(item)
            continue
        for name in read:
            if name in waiting and (whole := _with(item, name, found[waiting[name]])):
                found[waiting.pop(name)] = ""
                item = whole
        stale = [name for name, at in waiting.items() if not {*written}.isdisjoint(function.accesses(found[at])[1])]
        for name in stale:
            del waiting[name]
        is_value = any(kind.match(item.mnemonic) for kind in (_NUMBERS, _AS_FLOAT, _COMPARES, _LOGIC))
        if is_value and not item.modifiers and len(written) == 1:
            (name,) = written
            if name not in uniform and function.writes[name] == function.uses[name] == 1:
                waiting[name] = len(found)
        found.append(item)
        if item.base in (*BRANCHES, "call"):
            waiting.clear()
    return tuple(item for item in found if item)


def _with(item: Instruction, name: str, producer: Instruction | str) -> Instruction | None:
    """Fold ``producer``, which computes ``name``, into an instruction; None if that is not possible."""
    assert isinstance(producer, Instruction)
    inside = f"({producer.mnemonic} {', '.join(producer.operands[1:])})"
    if inside.count("(") > _MOST_FOLDED:
        return None
    places, value = [i for i, each in enumerate(item.operands) if i and each.lstrip("!") == name], inside
    if _NUMBERS.match(producer.mnemonic) and _ACCESSES.match(item.mnemonic):
        address = int(item.mnemonic.startswith("ld"))
        within = re.compile(rf"\[\s*{re.escape(name)}(?=\s*[+\]])")
        places, value = [address], within.sub(lambda _: f"[{inside}", item.operands[address])
    elif _NUMBERS.match(producer.mnemonic):
        if not _NUMBERS.match(item.mnemonic) and not _COMPARES.match(item.mnemonic):
            return None
    elif _AS_FLOAT.match(producer.mnemonic):
        if not _FLOATS.match(item.mnemonic):
            return None
    elif item.mnemonic.startswith("bra"):
        return replace(item, modifiers=(item.modifiers[0].replace(name, inside),))
    elif not _LOGIC.match(item.mnemonic):
        return None
    else:
        value = item.operands[places[0]].replace(name, inside) if places else ""
    if not places or value == item.operands[places[0]]:
        return None
    return replace(item, operands=(*item.operands[: places[0]], value, *item.operands[places[0] + 1 :]))
