"""Makes the choices that PTX leaves to the assembler: contraction to ``fma``, and the order of operands.

PTX ISA, "add": an ``add`` without a rounding modifier may be contracted with a ``mul`` to an ``fma``. ptxas does so
wherever it can, as the cases recorded on an H200 show (benchmarks/through_ptx.py). It does not contract across a fence,
nor across a rounded division or root, which becomes branches and a call. This was checked for each of these
instructions in the machine code of ptxas 13.0 for sm_90.

If both sources of an f64 instruction are NaN, the result is the NaN of the machine's second source. ptxas exchanges
commutative operands so that the second source is the value computed later, as measured on an H200.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
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
    """Order the sources of f64 instructions so that the second source is the value computed later.

    A literal or a kernel parameter is always the second source, because it is a constant operand in machine code.
    """
    found: list[Instruction | str] = []
    computed: dict[str, int] = {}
    constant = len(items)
    for i, item in enumerate(items):
        if isinstance(item, Instruction):
            base, *words = item.mnemonic.split(".")
            if base in _EXCHANGED and words[-1:] == ["f64"]:
                a, b = item.operands[1:3]
                first, second = (constant if _is_literal(x) else computed.get(x.lstrip("-"), -1) for x in (a, b))
                if first > second:
                    if base == "sub":
                        b = _negated(b)
                        item = replace(item, mnemonic=".".join(("add", *words)))
                    item = replace(item, operands=(item.operands[0], b, a, *item.operands[3:]))
            # A change of sign is part of the instruction that uses the result.
            is_sign = words[-1:] == ["f64"] and base in ("neg", "abs", "mov")
            when = computed.get(item.operands[1], i) if is_sign else i
            when = constant if item.mnemonic.startswith("ld.param") else when
            computed.update(dict.fromkeys(_written(item), when))
        found.append(item)
    return tuple(found)


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
