"""From the functions of one PTX kernel to threaded code: an array of operations, each a step and its numbers.

Each operation is that of all threads of a warp that are at it. Virtual registers share slots where no thread needs both
(``slots``). What a step is written in stands in runtime/ptx.h.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from parity.emulator.amdgpu.threaded import CONSTANT, VECTOR, Threaded, in_order
from parity.emulator.faults import Refused, UnknownInstruction
from parity.emulator.parse import Instruction
from parity.emulator.ptx.basic_blocks import BlockRange, block_ends, branch_targets
from parity.emulator.ptx.block_uniform import block_uniform_registers
from parity.emulator.ptx.compute import COMPUTE, compute, value_of
from parity.emulator.ptx.control import CONTROL
from parity.emulator.ptx.conversions import convert
from parity.emulator.ptx.matrix import MATRIX
from parity.emulator.ptx.memory import MEMORY, copy_async
from parity.emulator.ptx.operation import (
    END,
    KernelTranslation,
    Operation,
    PtxMemoryLayout,
    ThreadedStep,
    call_slots,
    label_name,
)
from parity.emulator.ptx.parse import PtxFunction
from parity.emulator.ptx.video import VIDEO
from parity.emulator.ptx.warp_uniform import warp_uniform_registers
from parity.emulator.writer import Missing, Unknown

__all__ = ["HEADER", "translate"]

HEADER = '#include "ptx.h"\n'
_IGNORED = re.compile(
    r"(?:membar|fence|prefetch|prefetchu|discard|applypriority|nanosleep|pmevent|brkpt|griddepcontrol|setmaxnreg|joined"
    r"|cp\.async\.(?:commit_group|wait_group|wait_all))(?:\.|$)"
)
_REFUSED = {
    "tex": "textures", "tld4": "textures", "txq": "textures", "suld": "surfaces", "sust": "surfaces",
    "sured": "surfaces", "suq": "surfaces",
    "wgmma": "matrix instructions (wgmma)",
    "tcgen05": "matrix instructions", "stmatrix": "matrix instructions (stmatrix)",
    "mbarrier": "barriers in memory (mbarrier)", "cp": "asynchronous copies (cp.async)",
    "alloca": "memory of a size that is not constant (alloca)",
    "getctarank": "clusters of blocks", "mapa": "clusters of blocks", "multimem": "multicast memory",
    "movmatrix": "matrix instructions (movmatrix)", "istypep": "textures",
}  # fmt: skip
# The first warp of a block, and of a launch, computes the constants.
_CONSTANTS = (
    "const u32 block = c->running->wave[0].ordinal;\n"
    "if (t->constants[0] == block) GO_ON(t->code + N(0));\n"
    "t->constants[0] = block;\n"
    "if (t->constants[1]) GO_ON(t->code + N(1));\n"
    "t->constants[1] = 1;"
)
_BEGIN = (
    "for (u32 k = 0; k <= GROUPS; k++) t->scalar[k] = 0;\n"
    "c->turns = 0, c->random = c->seed ? (c->seed ^ (wave + 1) * 0x9e3779b9u) | 1 : 0;"
)
# Threads that take no part compute with what earlier launches left: subnormal numbers take some processors ten times as
# long. So the first block begins with ones.
_FLOATS = "if (is_first(c, wave)) for (u64 k = N({0}); k < N({1}); k++) t->vector[k] = all(0x3f800000u);"


def translate(functions: Sequence[PtxFunction], layout: PtxMemoryLayout) -> Threaded:
    """Threaded code of a kernel, the first of ``functions``, and of those that it calls.

    Raises:
        UnknownInstruction: an instruction, an operand or a modifier is not in the tables.
        Refused: something that the emulator does not have.
    """
    constants = [(each, constant) for each in functions for constant in block_uniform_registers(each, layout)]
    of_blocks = [(each.name, constant.register) for each, constant in constants]
    kernel = functions[0]
    shared = warp_uniform_registers(kernel, [name for of, name in of_blocks if of == kernel.name], layout)
    whole = KernelTranslation(functions, layout, of_blocks, [(kernel.name, name) for name in sorted(shared)])
    floats = [each for each in whole.floats if each]
    begin = [_BEGIN, *(_FLOATS.format(2 * i, 2 * i + 1) for i in range(len(floats)))]
    whole.steps.append(ThreadedStep("\n".join(begin), [end for each in floats for end in (each.start, each.stop)]))
    if constants:
        whole.steps.append(ThreadedStep(_CONSTANTS, ["constants end", "constants of blocks"]))
    for of_block in (False, True):
        if of_block:
            whole.places["constants of blocks"] = len(whole.steps)
        for each, constant in constants:
            if constant.of_block == of_block:
                _instruction(whole, each, constant.item, {}, None, functions[0].name)
    whole.places["constants end"] = len(whole.steps)
    for each in functions:
        whole.places[each.name] = len(whole.steps)
        _function(whole, each, functions[0].name, {constant.item for of, constant in constants if of is each})
    return replace(_linked(whole), shared=len(shared))


def _linked(whole: KernelTranslation) -> Threaded:
    steps: dict[str, int] = {}
    code, numbers, starts = [], [], [0]
    for each in whole.steps:
        starts.append(starts[-1] + len(each.numbers))
        code.append(steps.setdefault(each.text, len(steps)))
        numbers.append(tuple(whole.places[n] if isinstance(n, str) else n for n in each.numbers))
    registers = (*(VECTOR | i for i in whole.unwritten), *(CONSTANT | i for i in whole.unwritten_shared))
    points, notes = in_order((point, starts[step] + at) for point, step, at in whole.notes)
    return Threaded(
        tuple(steps), tuple(code), tuple(numbers), registers, "", points, notes, whole.vectors, tuple(whole.constants)
    )


def _function(whole: KernelTranslation, function: PtxFunction, kernel: str, done: Collection[int]) -> None:
    """Append the steps of a function, but for those of the items that are ``done``."""
    targets = branch_targets(function)
    params = _call_parameters(whole, function)
    blocks = block_ends(function, whole.number)
    for i, item in enumerate(function.items):
        if isinstance(item, str) and item in targets:
            # Threads that come here from before meet those that wait at this label.
            numbers: list[int | str] = []
            end = whole.ended(blocks[i], numbers) if i in blocks else ""
            whole.steps.append(ThreadedStep(f"{end} GO_TOGETHER(NEXT);", numbers))
            whole.places[label_name(function, item)] = len(whole.steps)
        if isinstance(item, Instruction):
            if i not in done:
                _instruction(whole, function, i, params[i], blocks.get(i), kernel)
            whole.number += 1
    whole.steps.append(ThreadedStep(END, []))


def _instruction(
    whole: KernelTranslation,
    function: PtxFunction,
    i: int,
    params: Mapping[str, int],
    block: BlockRange | None,
    kernel: str,
) -> None:
    item = function.items[i]
    assert isinstance(item, Instruction)
    try:
        _emit(Operation(whole, function, item, params, block, value_of))
    except Missing as missing:
        raise Refused(kernel, str(missing), item) from None
    except Unknown as unknown:
        raise UnknownInstruction(str(unknown), kernel, item) from None


def _call_parameters(whole: KernelTranslation, function: PtxFunction) -> list[Mapping[str, int]]:
    """For each item the slots of the parameters of its call: before the call those of arguments, else of results."""
    maps: list[dict[str, int]] = [{} for _ in function.items]
    current: dict[str, int] = {}
    for i in reversed(range(len(function.items))):
        item = function.items[i]
        if isinstance(item, Instruction) and item.mnemonic.startswith("call"):
            current = dict(call_slots(whole, item)[1])
        maps[i].update(current)
    current = {}
    for i, item in enumerate(function.items):
        if isinstance(item, Instruction) and item.mnemonic.startswith("call"):
            current = dict(call_slots(whole, item)[2])
        elif isinstance(item, Instruction) and item.mnemonic.startswith("ld.param"):
            maps[i].update(current)
    own = {name: slot for (owner, name), slot in whole.formals.items() if owner == function.name}
    return [{**own, **each} for each in maps]


def _emit(o: Operation) -> None:
    base, *words = o.item.mnemonic.split(".")
    words = [word.partition("::")[0] for word in words]
    if _IGNORED.match(o.item.mnemonic):
        return
    if special := CONTROL.get(base) or COMPUTE.get(base) or MEMORY.get(base) or VIDEO.get(base) or MATRIX.get(base):
        special(o, words)
    elif base == "cvt":
        convert(o, words)
    elif base == "cp" and "async" in words and "bulk" not in words:
        copy_async(o, words)
    elif refused := _REFUSED.get(base):
        raise Missing(refused)
    else:
        compute(o, base, words)
