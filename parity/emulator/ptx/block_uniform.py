"""Finds registers of a PTX function that have the same value in all threads of a block, or of a launch.

Such a register is written by a single instruction, whose operands are parameters, launch dimensions, block indices,
addresses of variables, literals and other such registers. Its value does not depend on when it is computed, so it is
computed once instead of once per warp.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.operands import split_address
from parity.emulator.ptx.parse import PtxFunction
from parity.emulator.ptx.translation import PtxMemoryLayout

_WORD = re.compile(r"[%$\w.]+")
_OF_LAUNCH = re.compile(r"%n(?:tid|ctaid)\.[xyz]$|%(?:dynamic|total)_smem_size$|WARP_SZ$")
_OF_BLOCK = re.compile(r"%ctaid\.[xyz]$")
PURE = frozenset((
    "mov", "add", "sub", "mul", "mad", "fma", "div", "rem", "abs", "neg", "min", "max", "and", "or", "xor", "not",
    "shl", "shr", "shf", "prmt", "bfe", "bfi", "popc", "clz", "lop3", "cvt", "cvta",
))  # fmt: skip
"""Instructions whose result depends on their operands alone."""


@dataclass(frozen=True)
class UniformRegister:
    """A register that item number ``item`` of its function writes.

    With ``per_block`` each block has its own value, otherwise all blocks of a launch share one.
    """

    register: str
    item: int
    per_block: bool


def block_uniform_registers(function: PtxFunction, layout: PtxMemoryLayout) -> tuple[UniformRegister, ...]:
    """Return the block-uniform registers of a function, each after the registers that it is computed from."""
    written = function.writes
    found: dict[str, UniformRegister] = {}
    left = [(i, item) for i, item in enumerate(function.items) if isinstance(item, Instruction) and not item.modifiers]
    left = [(i, item) for i, item in left if item.operands and written[item.operands[0]] == 1]
    before = -1
    while len(found) > before:
        before = len(found)
        for i, item in left:
            name = item.operands[0]
            if name not in found and (per_block := _is_per_block(function, item, layout, found)) is not None:
                found[name] = UniformRegister(name, i, per_block)
    return tuple(found.values())


def _is_per_block(
    function: PtxFunction, item: Instruction, layout: PtxMemoryLayout, found: dict[str, UniformRegister]
) -> bool | None:
    """Whether a uniform result differs between blocks; None if the result is not uniform."""
    base, *words = item.mnemonic.split(".")
    if function.registers[item.operands[0]] in ("pred", "b128"):
        return None
    if base == "ld" and words[0] == "param" and function.entry:
        return False if split_address(item.operands[1])[0] in layout.parameters else None
    if base not in PURE or "cc" in words:
        return None
    if not are_uniform(item.operands[1:], found, layout):
        return None
    words = [word for operand in item.operands[1:] for word in _WORD.findall(operand)]
    return any(found[word].per_block if word in found else bool(_OF_BLOCK.match(word)) for word in words)


def are_uniform(operands: Sequence[str], registers: Collection[str], layout: PtxMemoryLayout) -> bool:
    """True if operands are the same in all threads of a block, provided that ``registers`` are."""
    return all(
        word in registers or word[0].isdigit() or _OF_LAUNCH.match(word) or _OF_BLOCK.match(word)
        or word in layout.shared or word in layout.symbols
        for operand in operands for word in _WORD.findall(operand)
    )  # fmt: skip
