"""Finds the source lines whose instructions differ between two builds of a kernel."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from parity.compilers.targets import target
from parity.emulator.amdgpu.classes import WAIT, instruction_class
from parity.emulator.amdgpu.listing import kernel_code
from parity.emulator.instruction import Instruction
from parity.emulator.ptx.calls import kernel_functions
from parity.emulator.ptx.parse import file_names, parse_function
from parity.model.code_object import CodeObject

SHOWN = 3
"""Maximum number of instruction kinds to name per line; a line with more kinds shows only the total."""

_ENCODING = re.compile(r"(?:_e32|_e64|_dpp|_dpp8|_sdwa)+$")
_FUSED = re.compile(r"^v_(?:fmac|fmaak|fmamk)(?=_f)")
_MOVES = re.compile(r"(?:[sv]_(?:mov|cmov|movk|nop)|v_accvgpr|mov|cvta)(?=[_.\d]|$)")


@dataclass(frozen=True)
class LineChange:
    """A source line, ``file:line``, with the instructions it lost and gained, as (name, count) pairs.

    Both tuples are sorted by name.
    """

    place: str
    lost: tuple[tuple[str, int], ...]
    got: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """The number of instructions lost and gained."""
        return sum(number for _, number in (*self.lost, *self.got))

    def __str__(self) -> str:
        lost, got = map(_named, (self.lost, self.got))
        if not self.lost or not self.got:
            return f"{got} more" if self.got else f"{lost} less"
        return f"{lost} now {got}"


def changed_lines(
    before: CodeObject, after: CodeObject, kernels: Iterable[str], about: str = ""
) -> tuple[LineChange, ...]:
    """Return the source lines of the kernels whose instructions differ between two builds.

    Ignores moves, waits and instruction encodings, because they depend on register allocation. Also ignores
    instructions whose total count is unchanged, because compilers attribute instructions to lines differently. Lines
    that the text ``about`` mentions as ``file:line`` come first, then lines in order of the size of their change.
    """
    names = tuple(kernels)
    old, new = (_lines(code, names) for code in (before, after))
    had, has = (sum(lines.values(), Counter[str]()) for lines in (old, new))
    found = []
    for place in old.keys() | new.keys():
        one, other = old.get(place, Counter[str]()), new.get(place, Counter[str]())
        lost, got = (
            tuple((name, number) for name, number in sorted(each.items()) if had[name] != has[name])
            for each in (one - other, other - one)
        )
        if lost or got:
            found.append(LineChange(place, lost, got))
    named = set(re.findall(r"[^\s():,]+:\d+", about))
    return tuple(sorted(found, key=lambda each: (each.place not in named, -each.size, *_order(each.place))))


def _lines(code: CodeObject, kernels: Collection[str]) -> dict[str, Counter[str]]:
    """Count the instructions of each source line by name."""
    found: dict[str, Counter[str]] = {}
    for item in _instructions(code, kernels):
        for each in (item, item.paired) if item.paired else (item,):
            name = _FUSED.sub("v_fma", _ENCODING.sub("", each.mnemonic.replace("v_dual_", "v_")))
            if item.source and instruction_class(each.mnemonic) != WAIT and not _MOVES.match(name):
                found.setdefault(item.source, Counter())[name] += 1
    return found


def instruction_texts(code: CodeObject, kernels: Collection[str]) -> list[str]:
    """Return the instructions of the kernels, without source locations."""
    return [item.text for item in _instructions(code, kernels)]


def _instructions(code: CodeObject, kernels: Collection[str]) -> Iterator[Instruction]:
    for symbol in dict.fromkeys(map(code.symbol, kernels)):
        if symbol not in code.kernels:
            continue
        if target(code.target).vendor == "amd":
            yield from kernel_code(code.listing, symbol).instructions
            continue
        for text in kernel_functions(code.listing, symbol):
            items = parse_function(text, file_names(code.listing)).items
            yield from (item for item in items if isinstance(item, Instruction))


def _named(instructions: tuple[tuple[str, int], ...]) -> str:
    if len(instructions) > SHOWN:
        return f"{sum(number for _, number in instructions)} instructions"
    return " + ".join(f"{number} {name}" if number > 1 else name for name, number in instructions)


def _order(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line) if line.isdigit() else 0
