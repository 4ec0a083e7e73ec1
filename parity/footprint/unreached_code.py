"""Finds the code of a kernel that cases did not reach: the lines, the condition that guards them, and the reason."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from parity.emulator.instruction import Instruction
from parity.footprint.basic_blocks import BasicBlock, basic_blocks
from parity.model.code_object import CodeObject
from parity.model.coverage import Reached
from parity.platform.files import read_text

LARGE = 1 << 31
"""Extents from here on belong to tensors that are too large for the emulator."""

_COMPARE = re.compile(r"[sv]_cmpx?k?_\w+_[iu](?:32|64)|setp\.[\w.]+\.[us](?:32|64)")
_NUMBER = re.compile(r"(?:0x[0-9a-f]+|\d+)$")
_DIVISION = "0x5f7ffffc"
"""A constant in LLVM's code for 64-bit divisions, which scales a reciprocal (AMDGPUISelLowering.cpp)."""
_DIVIDES, _UPPER = re.compile(r"(?:div|rem)\.[us]64"), "-4294967296"
"""A 64-bit division in PTX, and the mask of the upper halves, which nvcc first compares with 0."""
_TRAPS = ("s_trap", "s_sethalt", "trap")

_LARGE_TEXT = re.compile(r">>\s*32\b|\b(?:U?INT_MAX|UINT32_MAX|INT32_MAX|SIZE_MAX)\b|0x[7f]f{7}\b")
"""Conditions in source code about such extents."""


class GapKind(StrEnum):
    """The kind of unreached code."""

    LINE = "line"
    """A source line of the project, none of whose code in this kernel ran."""
    COPY = "copy"
    """One of several copies of a line, another copy of which ran."""
    LIBRARY = "library"
    """Code of a library function, whose line is in a header of the toolchain."""
    BRANCH = "branch"
    """A block without computation (``BasicBlock.computes``)."""


@dataclass(frozen=True)
class Gap:
    """An unreached block, attributed to one line.

    ``line`` is the ``file:line`` of the code; for a library function, of the call, while ``header`` is the line in the
    function. ``guard`` is the line of the condition that leads to the block. ``reason`` explains why no case reaches
    the block, if the machine code shows it.
    """

    kind: GapKind
    line: str
    guard: str
    header: str = ""
    reason: str = ""


def gap_reason(gap: Gap, folder: Path) -> str:
    """Explain why no case reaches a gap, from the machine code or from the guard in the source below ``folder``."""
    large = _LARGE_TEXT.search(source_line(folder, gap.guard))
    return gap.reason or ("needs a number of 2^31 or more" if large else "")


def source_line(folder: Path, place: str) -> str:
    """Return the source line at ``file:line`` below a folder; empty if it does not exist."""
    file, _, line = place.rpartition(":")
    lines = _lines(folder, file)
    return lines[int(line) - 1].strip() if line.isdigit() and 0 < int(line) <= len(lines) else ""


@functools.lru_cache(maxsize=64)
def _lines(folder: Path, file: str) -> Sequence[str]:
    path = folder / file
    return read_text(path).splitlines() if file and path.is_file() else ()


def unreached_lines(code: CodeObject, symbols: Iterable[str], reached: Reached) -> dict[int, Gap]:
    """Map the listing lines of unreached instructions to gaps, for kernels launched in order."""
    found = _unreached(code, symbols, reached)
    return {each.line: gaps[0] for block, gaps in found for each in block.instructions}


def find_gaps(code: CodeObject, symbols: Iterable[str], reached: Reached) -> list[list[Gap]]:
    """Return the gaps of each unreached block (at least one per block), for kernels launched in order."""
    return [gaps for _, gaps in _unreached(code, symbols, reached)]


def _unreached(code: CodeObject, symbols: Iterable[str], reached: Reached) -> Iterator[tuple[BasicBlock, list[Gap]]]:
    first = 0
    for symbol in symbols:
        blocks = basic_blocks(code, symbol)
        ran = [bool(reached.mask >> first + i & 1) for i in range(len(blocks))]
        first += len(blocks)
        lines = {_place(each) for block, here in zip(blocks, ran, strict=True) if here for each in block.instructions}
        for number, block in enumerate(blocks):
            if not ran[number]:
                yield block, _block_gaps(blocks, ran, number, lines)


def _place(instruction: Instruction) -> tuple[str, str]:
    return instruction.source or "", instruction.header or ""


def _block_gaps(
    blocks: Sequence[BasicBlock], ran: Sequence[bool], number: int, lines: set[tuple[str, str]]
) -> list[Gap]:
    block = blocks[number]
    guard = _guard(blocks, ran, number)
    condition = next((each for each in reversed(guard.instructions) if each.source), None) if guard else None
    where = (condition.header or condition.source or "") if condition else ""
    reason = _reason(block, guard)
    places = list(dict.fromkeys(_place(each) for each in block.instructions if each.source))
    never = [place for place in places if place not in lines]
    if not block.computes or not never:
        source, header = next(iter(places), ("", ""))
        kind = GapKind.BRANCH if not block.computes else GapKind.LIBRARY if header else GapKind.COPY
        return [Gap(kind, source, where, header, reason)]
    own = [place for place in never if not place[1]]
    return [
        Gap(GapKind.LIBRARY if header else GapKind.LINE, source, where, header, reason)
        for source, header in own or never[:1]
    ]


def _guard(blocks: Sequence[BasicBlock], ran: Sequence[bool], number: int) -> BasicBlock | None:
    """Return the nearest executed predecessor, whose last instruction keeps control from reaching the block."""
    met, waiting = {number}, [number]
    while waiting:
        for before in blocks[waiting.pop(0)].before:
            if ran[before]:
                return blocks[before]
            if before not in met:
                met.add(before)
                waiting.append(before)
    return None


def _compared(block: BasicBlock) -> str:
    """Return the text of the last comparison of a block; empty without a comparison."""
    compares = (each for each in reversed(block.instructions) if "_cmp" in each.mnemonic or each.mnemonic[:4] == "setp")
    return next((each.text for each in compares), "")


def _reason(block: BasicBlock, guard: BasicBlock | None) -> str:
    if any(each.mnemonic in _TRAPS or "__assertfail" in each.operands for each in block.instructions):
        return "a trap or a failed assertion, which would be a fault"
    small = guard is not None and any(_UPPER in each.operands for each in guard.instructions)
    if any(_DIVISION in each.operands or (small and _DIVIDES.match(each.mnemonic)) for each in block.instructions):
        return "the compiler's division of 64 bits, for numbers of 2^32 or more"
    compared = _compared(guard) if guard else ""
    if _COMPARE.match(compared):
        numbers = [int(word, 0) for word in re.split(r"[\s,]+", compared) if _NUMBER.match(word)]
        if numbers and LARGE - 1 <= max(numbers) < (1 << 32) - 4096:  # larger numbers are negative
            return f"needs a number near {max(numbers):,}"
    return ""
