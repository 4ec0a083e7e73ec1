"""Collects the constants of kernels from their machine code or PTX, above all those in comparisons."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator

from parity.cases.neighbours import Constants
from parity.emulator.instruction import Instruction
from parity.footprint.basic_blocks import basic_blocks
from parity.model.code_object import CodeObject

_COMPARE = re.compile(r"(?:[sv]_cmpx?k?_\w*?_|setp?\.[\w.]*\.)(?P<kind>[fius])(?P<bits>16|32|64)")
_OTHER = re.compile(r"[sv]_(?:mov|movk|sub|add|cmov|min|max|lshr\w*)_|(?:mov|sub|add|selp|min|max|shr)\.")
_SHIFT = ("s_lshr", "v_lshr", "shr.")
_WHOLE = re.compile(r"-?(?:0x[0-9a-f]+|\d+)$")
_REAL = re.compile(r"0(?:f[0-9a-f]{8}|d[0-9a-f]{16})$", re.IGNORECASE)
_FORMS = {"16": ("<e", "<H"), "32": ("<f", "<I"), "64": ("<d", "<Q")}
MOST = 64
"""Maximum number of integers, and of floats."""


def kernel_constants(code: CodeObject, symbols: Iterable[str]) -> Constants:
    """Return the constants of kernels and their callees: first constants of comparisons, then of other instructions."""
    whole: dict[int, None] = {}
    real: dict[float, None] = {}
    for compares in (True, False):
        for symbol in symbols:
            for block in basic_blocks(code, symbol):
                for instruction in block.instructions:
                    for each in filter(None, (instruction, instruction.paired)):
                        _collect(each, compares, whole, real)
    return Constants(tuple(whole)[:MOST], tuple(real)[:MOST])


def _collect(instruction: Instruction, compares: bool, whole: dict[int, None], real: dict[float, None]) -> None:
    match = _COMPARE.match(instruction.mnemonic)
    if bool(match) is not compares or not (match or _OTHER.match(instruction.mnemonic)):
        return
    for operand in instruction.operands:
        if _WHOLE.match(operand):
            number = int(operand, 0)
            if not match or match["kind"] != "f":
                signed = number - (1 << 32) if 1 << 31 <= number < 1 << 32 else number
                whole.setdefault(signed)
                if instruction.mnemonic.startswith(_SHIFT) and 0 < number < 32:
                    whole.setdefault(1 << number)
            if not match or match["kind"] == "f":
                real.update(dict.fromkeys(_floats(number, match["bits"] if match else "32")))
        elif _REAL.match(operand):
            real.update(dict.fromkeys(_floats(int(operand[2:], 16), {10: "32", 18: "64"}[len(operand)])))
        elif match and match["kind"] == "f" and re.fullmatch(r"-?\d+\.\d+", operand):
            real.setdefault(float(operand))


def _floats(bits: int, size: str) -> Iterator[float]:
    """Yield the float with these bits if its magnitude is plausible. For 64 bits, small ``bits`` are the upper half."""
    form, raw = _FORMS[size]
    wide = bits << 32 if size == "64" and bits < 1 << 32 else bits
    if 0 <= wide < 1 << int(size):
        (number,) = struct.unpack(form, struct.pack(raw, wide))
        if 1e-6 < abs(number) < 1e9:
            yield number
