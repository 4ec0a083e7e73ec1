"""Makes the choices that PTX leaves to the assembler: contraction to ``fma``, and the order of operands.

PTX ISA, "add": an ``add`` without a rounding modifier may be contracted with a ``mul`` to an ``fma``. ptxas does so
wherever it can, as the cases recorded on an H200 show (benchmarks/through_ptx.py). It does not contract across a fence,
nor across a rounded division or root, which becomes branches and a call. This was checked for each of these
instructions in the machine code of ptxas 13.0 for sm_90.

If both sources of an f64 instruction are NaN, the result is the NaN of the machine's second source, as measured on an
H200. ptxas exchanges commutative operands by their rank (``order_operands``), as the machine code of ptxas 13.0 shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.parse import BRANCHES, names_in

_PARTS = re.compile(
    r"(?:div|rcp|sqrt)\.r[nzmp]\.|rsqrt\.approx\.(?:ftz\.)?f64|(?:div|rem)\.(?:s32|[su]64)|membar\.|fence\."
)
"""Instructions across which ptxas does not contract, although they do not end a basic block of PTX."""
_TYPES = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")


def fuse_products(items: Sequence[Instruction | str]) -> tuple[Instruction | str, ...]:
    """Fuse each product into the sum that uses it, if the sum is the only use and in the same basic block."""
    uses = Counter(name for item in items if isinstance(item, Instruction) for name in _read(item))
    writes = Counter(name for item in items if isinstance(item, Instruction) for name in _written(item))
    found: list[Instruction | str] = list(items)
    products: dict[str, tuple[int, Instruction]] = {}
    dropped: set[int] = set()
    for i, item in enumerate(items):
        if isinstance(item, str):
            products.clear()
            continue
        kind = _kind(item)
        if kind and item.mnemonic.startswith(("add", "sub")):
            for place in (1, 2):
                product = products.get(item.operands[place])
                if product and _kind(product[1]) == kind and uses[item.operands[place]] == 1:
                    found[i] = _fused(item, product[1], place)
                    dropped.add(product[0])
                    break
        for name in _written(item):
            products = {
                key: value for key, value in products.items() if key != name and name not in value[1].operands[1:]
            }
        if kind and item.mnemonic.startswith("mul") and writes[item.operands[0]] == 1:
            products[item.operands[0]] = i, item
        if item.base in (*BRANCHES, "call") or _PARTS.match(item.mnemonic):
            products.clear()
    return tuple(item for i, item in enumerate(found) if i not in dropped)


def order_operands(items: Sequence[Instruction | str]) -> tuple[Instruction | str, ...]:
    """Order the sources of f64 instructions as ptxas does: the second source is the one of the higher rank.

    Values computed once have the lowest rank, in the order of their computation. Values that branches merge come next
    (registers with several definitions, and quotients and roots, which have a slow path); of two, the one merged first
    has the higher rank. Selected values follow. Literals and kernel parameters have the highest rank, because they are
    constant operands in machine code. A conditional update of a register (``if (p) x += y``) reads that register first.
    """
    found: list[Instruction | str] = []
    ranks: dict[str, tuple[int, int]] = {}
    conditional, merged = _conditional(items), _merged(items)
    for i, item in enumerate(items):
        if isinstance(item, Instruction):
            base, *words = item.mnemonic.split(".")
            if base in _EXCHANGED and words[-1:] == ["f64"]:
                a, b = item.operands[1:3]
                updated = item.operands[0] if i in conditional else ""
                if _source_rank(a, updated, ranks) > _source_rank(b, updated, ranks):
                    if base == "sub":
                        b = _negated(b)
                        item = replace(item, mnemonic=".".join(("add", *words)))
                    item = replace(item, operands=(item.operands[0], b, a, *item.operands[3:]))
            for name in _written(item):
                if name not in merged:
                    ranks[name] = _rank(item, i, ranks)
                else:
                    ranks.setdefault(name, (_MERGED_RANK, -i))
        found.append(item)
    return tuple(found)


def _merged(items: Sequence[Instruction | str]) -> set[str]:
    """Return the registers that several blocks define, or a guarded instruction."""
    block, defined = 0, dict[str, int]()
    found: set[str] = set()
    for item in items:
        if isinstance(item, str) or item.mnemonic.partition(".")[0] in BRANCHES:
            block += 1
            continue
        written = _written(item)
        found.update(name for name in written if defined.setdefault(name, block) != block or item.modifiers)
    return found


def _conditional(items: Sequence[Instruction | str]) -> set[int]:
    """Return the indices of the instructions in blocks that a single branch skips."""
    found: set[int] = set()
    start, target = 0, ""
    for i, item in enumerate(items):
        if isinstance(item, str):
            if item == target:
                found.update(range(start, i))
            target = ""
        elif item.mnemonic.partition(".")[0] in BRANCHES:
            start, target = i + 1, item.operands[-1] if item.modifiers and item.operands else ""
    return found


_UNKNOWN_RANK, _MERGED_RANK, _SELECTED_RANK, _CONSTANT_RANK = (0, -1), 1, 2, (3, 0)


def _source_rank(operand: str, updated: str, ranks: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """The rank of a source; ``updated`` is the register that a conditional update reads and writes."""
    if _is_literal(operand):
        return _CONSTANT_RANK
    return _UNKNOWN_RANK if operand == updated else ranks.get(operand.lstrip("-"), _UNKNOWN_RANK)


def _rank(item: Instruction, i: int, ranks: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    base, *words = item.mnemonic.split(".")
    if base == "ld" and words[0] == "param":
        return _CONSTANT_RANK
    if words[-1:] != ["f64"]:
        return 0, i
    if base in ("neg", "abs", "mov"):  # a change of sign is part of the instruction that uses the result
        return ranks.get(item.operands[1], (0, i))
    if base in ("div", "rcp", "sqrt"):
        return _MERGED_RANK, -i
    return (_SELECTED_RANK if base == "selp" else 0), i


def _is_literal(operand: str) -> bool:
    return operand.lstrip("-")[:2].lower() == "0d"


_EXCHANGED = ("add", "sub", "mul", "fma", "mad", "min", "max")


def _kind(item: Instruction) -> tuple[str, ...] | None:
    """Return the modifiers and type of a sum or product that may be fused, otherwise None."""
    base, *words = item.mnemonic.split(".")
    if base not in ("add", "sub", "mul") or not words or words[-1] not in _TYPES or item.modifiers:
        return None
    return tuple(words) if set(words[:-1]) <= {"ftz"} else None


def _fused(item: Instruction, product: Instruction, place: int) -> Instruction:
    _, a, b = product.operands
    other = item.operands[3 - place]
    if item.mnemonic.startswith("sub"):
        if place == 1:  # a * b - other
            other = _negated(other)
        else:  # other - a * b
            a = _negated(a)
    words = item.mnemonic.split(".")[1:]
    return replace(item, mnemonic=".".join(("fma", "rn", *words)), operands=(item.operands[0], a, b, other))


def _negated(operand: str) -> str:
    return operand[1:] if operand.startswith("-") else f"-{operand}"


def _written(item: Instruction) -> list[str]:
    return names_in(item.operands[:1])


def _read(item: Instruction) -> list[str]:
    return names_in((*item.operands[1:], *item.modifiers)) if item.operands else []
