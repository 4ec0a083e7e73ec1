"""Operands of checks, as printed and as bits: registers, constants and literals."""

from __future__ import annotations

from isa_harness import Machine, Source, width
from isa_values import rounded

__all__ = ["INLINE", "inline", "literal", "register", "sgpr"]

INLINE = {"f": ("1.0", "-4.0", "0.15915494", "0.5"), "m": ("2.0",), "i": ("-5", "64"), "u": ("17", "-16")}
_PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
_LITERAL = {16: 0x4248, 32: 0x40490FDB, 64: 0x40091EB8}


def register(machine: Machine, i: int, kind: str, half: int = 0) -> Source:
    """Return operand ``i`` in a VGPR; ``half`` selects 16 bits for a 16-bit type."""
    if kind == "mask":
        return Source(machine.mask(20 + 2 * i), lambda lane: lane.scalar[i] >> lane.index & 1, kind)
    first, bits = 4 + 2 * i, width(kind)
    if bits == 16:
        suffix = (".l", ".h")[half] if machine.half_registers else ""
        return Source(f"v{first}{suffix}", lambda lane: lane.vector[i] >> 16 * half & 0xFFFF, kind)
    text = f"v[{first}:{first + 1}]" if bits == 64 else f"v{first}"
    return Source(text, lambda lane: lane.vector[i] & (1 << bits) - 1, kind)


def sgpr(i: int, kind: str) -> Source:
    first, bits = 20 + 2 * i, width(kind)
    text = f"s[{first}:{first + 1}]" if bits == 64 else f"s{first}"
    return Source(text, lambda lane: lane.scalar[i] & (1 << bits) - 1, kind)


def inline(text: str, kind: str) -> Source:
    """Return an inline constant: integers are sign-extended, floats have the operand's type."""
    bits = width(kind)
    if text.startswith("0.159"):
        value = _PI[bits]
    elif "." in text:
        value = rounded(float(text), "F", bits).bits
    else:
        value = int(text) & (1 << bits) - 1
    return Source(text, lambda lane: value, kind)


def literal(kind: str) -> Source:
    """Return a 32-bit literal: the high word of an f64 operand; sign-extended for a 64-bit integer."""
    bits, value = width(kind), _LITERAL[width(kind)]
    word = value << 32 if kind == "f64" else value
    return Source(f"{value:#x}", lambda lane: word & (1 << bits) - 1, kind)
