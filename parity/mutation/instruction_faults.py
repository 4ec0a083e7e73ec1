"""Faults in single instructions: finds where they can be planted, and changes the code."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from parity.compilers.targets import target
from parity.emulator.amdgpu.codegen import new_writer
from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.amdgpu.instructions import emit_instruction
from parity.emulator.amdgpu.isa import BRANCHES
from parity.emulator.amdgpu.listing import KernelCode, kernel_code, parse_instruction
from parity.emulator.instruction import Instruction, Unknown
from parity.model.code_object import CodeObject
from parity.mutation.mutant import Mutant
from parity.mutation.operators import INSTRUCTIONS, Operator, fill_replacement
from parity.platform.cache import digest

_PATTERNS = tuple((operator, re.compile(operator.pattern)) for operator in INSTRUCTIONS)
_PAIRED = " :: "
_END = "\t.end_amdhsa_kernel"


def instruction_mutants(op: str, dtypes: tuple[str, ...], kernel: str, of: IsolatedCode) -> Iterator[Mutant]:
    """Yield every fault of the table in the instructions of a kernel that the emulator can execute."""
    code = of.code
    about = kernel_code(code.listing, code.symbol(kernel))
    for item in about.instructions:
        place, _, line = (item.source or "").rpartition(":")
        for operator, (old, new), text in instruction_edits(item.text):
            if _runs(item.text, text, code.target):
                yield Mutant(
                    op, dtypes, kernel, code.module, code.target, "instruction", operator.kind, operator.name, place,
                    int(line or 0), item.line, old, new, item.text, text, of.line_of_module(item.line),
                )  # fmt: skip


def instruction_edits(text: str) -> Iterator[tuple[Operator, tuple[str, str], str]]:
    """Yield each applicable operator, the replaced and the new text, and the changed instruction."""
    begin = 0
    for half in text.split(_PAIRED):
        for operator, pattern in _PATTERNS:
            for match in pattern.finditer(half):
                groups = {str(i): group or "" for i, group in enumerate((match[0], *match.groups()))}
                try:
                    new = fill_replacement(operator.replacement, groups)
                except ValueError:
                    continue
                if new != match[0]:
                    at = begin + match.start()
                    yield operator, (match[0], new), text[:at] + new + text[at + len(match[0]) :]
        begin += len(half) + len(_PAIRED)


def _runs(old: str, new: str, name: str) -> bool:
    """Return True if the emulator supports an instruction, judged by the instruction alone."""
    return _translates(new, name) or (not _translates(old, name) and old.split()[0] == new.split()[0])


@functools.lru_cache(maxsize=100_000)
def _translates(text: str, name: str) -> bool:
    item = parse_instruction(text, 1)
    if item.mnemonic in BRANCHES:
        return True
    w = new_writer(KernelCode("", (item,), {}), target(name), {})
    w.at = 0
    try:
        emit_instruction(w, item)
    except (Unknown, KeyError, IndexError, ValueError, AssertionError, AttributeError, TypeError):
        return False
    return True


@dataclass(frozen=True)
class IsolatedCode:
    """The code object of a module without the code of other kernels.

    ``removed`` lists (line, count): from that line of the listing on, ``count`` lines of the module's listing are
    missing.
    """

    code: CodeObject
    removed: tuple[tuple[int, int], ...]

    def line_of_module(self, line: int) -> int:
        """Return the line of the module's listing that corresponds to a line of this listing."""
        return line + sum(count for first, count in self.removed if first <= line)


def isolate_kernels(code: CodeObject, kernels: Sequence[str]) -> IsolatedCode:
    """Return the code object with only the code of these kernels."""
    symbols = {code.symbol(kernel) for kernel in kernels}
    listing, parts, position, line = code.listing, list[str](), 0, 1
    removed: list[tuple[int, int]] = []
    starts = ((listing.find(f"\n{other}:") + 1, other) for other in code.kernels if other not in symbols)
    for start, _ in sorted(each for each in starts if each[0] > 0):
        end = listing.find(_END, start)
        parts.append(listing[position:start])
        line += listing.count("\n", position, start)
        removed.append((line, listing.count("\n", start, end)))
        position = end
    kept = {symbol: code.kernels[symbol] for symbol in symbols if symbol in code.kernels}
    cut = _with_listing(code, "".join([*parts, listing[position:]]))
    return IsolatedCode(replace(cut, kernels=kept), tuple(removed))


def with_instruction(code: CodeObject, line: int, old: str, new: str) -> CodeObject:
    """Return the code object with ``old`` replaced by ``new`` in one line of its listing."""
    lines = code.listing.split("\n")
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return _with_listing(code, "\n".join(lines))


def program(listing: str, kernel: str) -> tuple[object, ...]:
    """Return the instructions and data of a kernel in a form that compares equal for identical programs."""
    code, image = kernel_code(listing, kernel), data_image(listing)
    texts = tuple(item.text if isinstance(item, Instruction) else item for item in code.items)
    return texts, tuple(sorted(code.descriptor.items())), image.content, tuple(image.symbols.items())


def _with_listing(code: CodeObject, listing: str) -> CodeObject:
    return replace(code, stored=listing, digest=digest(listing), binary=None)
