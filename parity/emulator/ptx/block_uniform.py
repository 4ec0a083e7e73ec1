"""Registers of a PTX function that are the same in all threads of a block, or of a launch, wherever these are.

They are written by one instruction, which computes from parameters, sizes, indices of blocks, addresses of variables,
literals and such registers alone. So it does not matter when that is done, and it is done once, not by each warp.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from parity.emulator.parse import Instruction
from parity.emulator.ptx.operation import PtxMemoryLayout, split_address
from parity.emulator.ptx.parse import PtxFunction
from parity.emulator.ptx.register_slots import register_accesses

__all__ = ["PURE", "UniformRegister", "are_uniform", "block_uniform_registers"]

_WORD = re.compile(r"[%$\w.]+")
_OF_LAUNCH = re.compile(r"%n(?:tid|ctaid)\.[xyz]$|%(?:dynamic|total)_smem_size$|WARP_SZ$")
_OF_BLOCK = re.compile(r"%ctaid\.[xyz]$")
PURE = frozenset((
    "mov", "add", "sub", "mul", "mad", "fma", "div", "rem", "abs", "neg", "min", "max", "and", "or", "xor", "not",
    "shl", "shr", "shf", "prmt", "bfe", "bfi", "popc", "clz", "lop3", "cvt", "cvta",
))  # fmt: skip
"""Instructions that compute the same from the same numbers."""


@dataclass(frozen=True)
class UniformRegister:
    """``register`` of a function is written by the item of number ``item``; ``of_block`` if each block has its own."""

    register: str
    item: int
    of_block: bool


def block_uniform_registers(function: PtxFunction, layout: PtxMemoryLayout) -> tuple[UniformRegister, ...]:
    """The constants of a function, each behind those that it is computed from."""
    written = Counter(name for item in function.items for name in _written(function, item))
    found: dict[str, UniformRegister] = {}
    left = [(i, item) for i, item in enumerate(function.items) if isinstance(item, Instruction) and not item.modifiers]
    left = [(i, item) for i, item in left if item.operands and written[item.operands[0]] == 1]
    before = -1
    while len(found) > before:
        before = len(found)
        for i, item in left:
            name = item.operands[0]
            if name not in found and (of_block := _of_block(function, item, layout, found)) is not None:
                found[name] = UniformRegister(name, i, of_block)
    return tuple(found.values())


def _written(function: PtxFunction, item: Instruction | str) -> Iterator[str]:
    if isinstance(item, Instruction):
        yield from register_accesses(function, item)[0]


def _of_block(
    function: PtxFunction, item: Instruction, layout: PtxMemoryLayout, found: dict[str, UniformRegister]
) -> bool | None:
    """True if a constant of the block is computed, false if one of the launch; None if none is."""
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
    return any(found[word].of_block if word in found else bool(_OF_BLOCK.match(word)) for word in words)


def are_uniform(operands: Sequence[str], registers: Collection[str], layout: PtxMemoryLayout) -> bool:
    """Whether operands are the same for all threads of a block, if these ``registers`` are."""
    return all(
        word in registers or word[0].isdigit() or _OF_LAUNCH.match(word) or _OF_BLOCK.match(word)
        or word in layout.shared or word in layout.symbols
        for operand in operands for word in _WORD.findall(operand)
    )  # fmt: skip
