"""The basic blocks of a compiled kernel, and the control flow between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from parity.compilers.targets import target
from parity.emulator.amdgpu.codegen import coverage_blocks, executed_items
from parity.emulator.amdgpu.isa import BRANCHES, IGNORED
from parity.emulator.amdgpu.listing import KernelCode, kernel_code
from parity.emulator.instruction import Instruction
from parity.emulator.ptx.basic_blocks import control_flow
from parity.emulator.ptx.pipeline import optimized_functions
from parity.model.code_object import CodeObject

_ENDS = ("s_endpgm", "s_branch", "s_setpc_b64")
_EXEC = {"exec", "exec_lo", "exec_hi"}


@dataclass(frozen=True)
class BasicBlock:
    """A basic block: the number of its first instruction, its instructions, and the numbers of its predecessors."""

    first: int
    instructions: tuple[Instruction, ...]
    before: tuple[int, ...]

    @property
    def last(self) -> Instruction:
        """The last instruction: a branch, a change of EXEC, or the instruction before a label."""
        return self.instructions[-1]

    @property
    def computes(self) -> bool:
        """False if the block only has branches, waits and changes of EXEC."""
        return not all(map(_is_control_flow, self.instructions))


def _is_control_flow(instruction: Instruction) -> bool:
    name = instruction.mnemonic
    if name in IGNORED or name in BRANCHES or name == "s_branch" or name.startswith("bra") or "_saveexec_" in name:
        return True
    return name.startswith("s_") and not _EXEC.isdisjoint(instruction.operands)


def basic_blocks(code: CodeObject, symbol: str) -> tuple[BasicBlock, ...]:
    """Return the blocks of a kernel in the order of their bits in ``Reached``. Successors of a return are unknown."""
    if target(code.target).vendor == "amd":
        found = [*_amd_blocks(kernel_code(code.listing, symbol))]
    else:
        blocks = control_flow(optimized_functions(code.listing, symbol))
        found = [(block.first, instructions, after) for block, instructions, after in blocks]
    before: list[list[int]] = [[] for _ in found]
    for number, (_, _, after) in enumerate(found):
        for each in after:
            before[each].append(number)
    return tuple(BasicBlock(first, inside, tuple(b)) for (first, inside, _), b in zip(found, before, strict=True))


def _amd_blocks(kernel: KernelCode) -> Iterator[tuple[int, tuple[Instruction, ...], tuple[int, ...]]]:
    """Yield the number of the first instruction, the instructions, and the successors of each block."""
    items = executed_items(kernel)
    runs = sorted(coverage_blocks(items))
    numbers = [*accumulate((isinstance(item, Instruction) for item in items), initial=0)]
    bounds = [*runs[1:], len(items)]
    # A label that is only followed by waits and hints belongs to the next block.
    at = {item: next((b for b, end in enumerate(bounds) if i < end), len(runs) - 1) for i, item in enumerate(items)
          if isinstance(item, str)}  # fmt: skip
    for number, (start, end) in enumerate(zip(runs, bounds, strict=True)):
        found = tuple(item for item in items[start:end] if isinstance(item, Instruction))
        deciding = next((each for each in reversed(found) if each.mnemonic in (*BRANCHES, *_ENDS)), None)
        targets = deciding.operands[:1] if deciding and deciding.mnemonic in BRANCHES else ()
        ends = number + 1 == len(runs) or (deciding is not None and deciding.mnemonic in _ENDS)
        yield numbers[start], found, (*(at[each] for each in targets if each in at), *(() if ends else (number + 1,)))


def point_places(code: CodeObject, symbols: Iterable[str]) -> tuple[str, ...]:
    """Return the ``file:line`` of each bit of ``Reached`` for kernels launched in order; empty where it is unknown."""
    blocks: list[str] = []
    directions: list[str] = []
    for symbol in symbols:
        for block in basic_blocks(code, symbol):
            blocks.append(next((each.source for each in block.instructions if each.source), "") or "")
            for each in block.instructions:
                if BRANCHES.get(each.mnemonic) or (each.mnemonic.startswith("bra") and each.modifiers):
                    directions += 2 * [each.source or ""]
    return (*blocks, *directions)
