"""Sub-dword addressing of generations 9 and 10: sources and results are bytes or words of registers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from parity.emulator.instruction import Instruction

MODIFIERS = frozenset(("src0_sel", "src1_sel", "dst_sel", "dst_unused", "byte_sel"))
_PART = re.compile(r"(BYTE|WORD)_(\d)")


@dataclass(frozen=True)
class SdwaSelection:
    """The part (``BYTE_0`` ... ``WORD_1``, ``DWORD``) of each source and of the result."""

    sources: tuple[str, str]
    result: str
    unused: str

    def source(self, number: int, bits: str, signed: bool) -> str:
        """Return C++ of the selected part of ``bits``, extended to 32 bits."""
        shift, size = _place(self.sources[number])
        if size == 32:
            return bits
        up = 32 - size - shift
        if signed:
            return f"as<u32>(as<i32>({bits} << {up}) >> {32 - size})"
        return f"({bits} << {up} >> {32 - size})"

    def write(self, register: str, bits: str) -> Iterator[str]:
        """Yield statements that write ``bits`` to the selected part of a register, under EXEC."""
        shift, size = _place(self.result)
        yield f"const V<u32> whole = {bits};"
        part = (1 << size) - 1 << shift
        placed = f"(whole << {shift} & {part:#x}u)"
        if self.unused == "UNUSED_PRESERVE":
            placed = f"({placed} | ({register} & {~part & 0xFFFFFFFF:#x}u))"
        elif self.unused == "UNUSED_SEXT" and size < 32:
            sign = f"as<u32>(as<i32>(whole << {32 - size}) >> {32 - size})"
            placed = f"({sign} << {shift})"
        yield f"{register} = sel(unmask(exec), {placed}, {register});"


def sdwa_selection(item: Instruction) -> SdwaSelection | None:
    """Return the selection from an instruction's modifiers; ``None`` if they select nothing.

    ``byte_sel`` of generation 12, for conversions of 8-bit floats, selects a byte of the first source.
    """
    given = dict(modifier.split(":") for modifier in item.modifiers if modifier.partition(":")[0] in MODIFIERS)
    if "byte_sel" in given:
        return SdwaSelection((f"BYTE_{given['byte_sel']}", "DWORD"), "DWORD", "UNUSED_PAD")
    if not item.mnemonic.endswith("_sdwa"):
        return None
    sources = given.get("src0_sel", "DWORD"), given.get("src1_sel", "DWORD")
    return SdwaSelection(sources, given.get("dst_sel", "DWORD"), given.get("dst_unused", "UNUSED_PAD"))


def _place(part: str) -> tuple[int, int]:
    """The shift and the size of a part, in bits."""
    match = _PART.match(part)
    if not match:
        return 0, 32
    size = {"BYTE": 8, "WORD": 16}[match[1]]
    return size * int(match[2]), size
