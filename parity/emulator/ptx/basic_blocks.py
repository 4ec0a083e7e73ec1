"""The basic blocks of PTX functions, as coverage counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.parse import BRANCHES, PtxFunction, falls_through


@dataclass(frozen=True)
class BlockRange:
    """The instructions of a basic block: their count, and the number of the first one."""

    size: int
    first: int


def branch_targets(function: PtxFunction) -> set[str]:
    """Return the labels that are targets of branches."""
    found = {each for labels in function.tables.values() for each in labels}
    for item in function.items:
        if isinstance(item, Instruction) and item.mnemonic.startswith("bra"):
            found.add(item.operands[0])
    return found


def block_ends(function: PtxFunction, number: int) -> dict[int, BlockRange]:
    """Map the index of each item that ends a basic block to that block.

    A block ends at a branch, a call, or a label that is a branch target. ``number`` is the number of the function's
    first instruction.
    """
    targets = branch_targets(function)
    blocks: dict[int, BlockRange] = {}
    first = number
    for i, item in enumerate(function.items):
        if isinstance(item, Instruction):
            number += 1
            ends = item.base in (*BRANCHES, "call", "ways")
        else:
            ends = item in targets
        if ends and number > first:
            blocks[i], first = BlockRange(number - first, first), number
        if isinstance(item, Instruction) and item.mnemonic == "ways":  # control.py counts the blocks of the ways
            first += sum(map(int, item.operands[3:]))
    return blocks


def control_flow(
    functions: Sequence[PtxFunction],
) -> Iterator[tuple[BlockRange, tuple[Instruction, ...], tuple[int, ...]]]:
    """Yield each block of a kernel and its callees with its instructions and the numbers of its successors.

    Blocks are numbered in the order of this iterator. The successors of a return are unknown.
    """
    counts = (sum(isinstance(item, Instruction) for item in function.items) for function in functions)
    each = [
        block_ends(function, first) for function, first in zip(functions, accumulate(counts, initial=0), strict=False)
    ]
    starts = [*accumulate(map(len, each), initial=0)]
    entries = {function.name: start for function, start in zip(functions, starts, strict=False)}
    for function, blocks, number, stop in zip(functions, each, starts, starts[1:], strict=False):
        begins = [0, *(i + isinstance(function.items[i], Instruction) for i in blocks)]
        at = {item: number + sum(end <= i for end in begins[1:]) for i, item in enumerate(function.items)
              if isinstance(item, str)}  # fmt: skip
        for k, (end, block) in enumerate(blocks.items()):
            inside = tuple(item for item in function.items[begins[k] : end + 1] if isinstance(item, Instruction))
            last = inside[-1]
            after = {at[label] for label in function.targets(last) if label in at}
            if last.base == "call":
                after |= {entries[name] for name in last.operands[:2] if name in entries}
            if falls_through(last):
                after |= {number + k + 1} & {*range(stop)}
            yield block, inside, tuple(sorted(after))
