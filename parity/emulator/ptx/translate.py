"""Translates a PTX kernel into threaded code: an array of operations, each with a step and its numbers.

An operation executes an instruction for all threads of a warp that have arrived at it. Virtual registers that are never
live at the same time share slots (register_slots.py). Steps are written in the C++ vocabulary of runtime/ptx.h.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from parity.emulator.faults import UnknownInstruction, UnsupportedFeature
from parity.emulator.instruction import Instruction, MissingFeature, Unknown
from parity.emulator.ptx.basic_blocks import BlockRange, block_ends, branch_targets
from parity.emulator.ptx.block_uniform import block_uniform_registers
from parity.emulator.ptx.comparisons import COMPARISONS
from parity.emulator.ptx.compute import COMPUTE, compute, value_of
from parity.emulator.ptx.control import CONTROL
from parity.emulator.ptx.conversions import convert
from parity.emulator.ptx.images import IMAGES
from parity.emulator.ptx.instruction_table import REFUSED
from parity.emulator.ptx.matrix import MATRIX
from parity.emulator.ptx.memory import MEMORY, copy_async
from parity.emulator.ptx.operation import Operation
from parity.emulator.ptx.parse import PtxFunction
from parity.emulator.ptx.translation import (
    END,
    KernelTranslation,
    PtxMemoryLayout,
    ThreadedStep,
    call_slots,
    label_name,
)
from parity.emulator.ptx.video import VIDEO
from parity.emulator.ptx.warp_uniform import warp_uniform_registers
from parity.emulator.threaded_code import CONSTANT, VECTOR, ThreadedCode, sorted_points

_IGNORED = re.compile(
    r"(?:membar|fence|prefetch|prefetchu|discard|applypriority|nanosleep|pmevent|brkpt|griddepcontrol|setmaxnreg|joined"
    r"|cp\.async\.(?:commit_group|wait_group|wait_all))(?:\.|$)"
)
# The first warp of a launch computes the constants of the launch, and the first warp of each block its constants.
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
# Inactive threads compute with values of earlier launches. Subnormal numbers take some processors ten times as long, so
# the first block sets all floats to 1.
_FLOATS = "if (is_first(c, wave)) for (u64 k = N({0}); k < N({1}); k++) t->vector[k] = all(0x3f800000u);"


def translate(functions: Sequence[PtxFunction], layout: PtxMemoryLayout) -> ThreadedCode:
    """Translate a kernel, the first of ``functions``, and the functions that it calls.

    Raises:
        UnknownInstruction: An instruction, an operand or a modifier is not in the tables.
        UnsupportedFeature: The kernel uses a feature that is not emulated.
    """
    kernel = functions[0]
    uniform = [(each, register) for each in functions for register in block_uniform_registers(each, layout)]
    constants = [(each.name, register.register) for each, register in uniform]
    shared = warp_uniform_registers(kernel, [name for of, name in constants if of == kernel.name], layout)
    whole = KernelTranslation(functions, layout, constants, [(kernel.name, name) for name in sorted(shared)])
    floats = [each for each in whole.floats if each]
    begin = [_BEGIN, *(_FLOATS.format(2 * i, 2 * i + 1) for i in range(len(floats)))]
    whole.steps.append(ThreadedStep("\n".join(begin), [end for each in floats for end in (each.start, each.stop)]))
    if uniform:
        whole.steps.append(ThreadedStep(_CONSTANTS, ["constants end", "constants of blocks"]))
    for per_block in (False, True):
        if per_block:
            whole.places["constants of blocks"] = len(whole.steps)
        for each, register in uniform:
            if register.per_block == per_block:
                _instruction(whole, each, register.item, {}, None)
    whole.places["constants end"] = len(whole.steps)
    for each in functions:
        whole.places[each.name] = len(whole.steps)
        _function(whole, each, {register.item for of, register in uniform if of is each})
    return replace(_linked(whole), shared=len(shared))


def _linked(whole: KernelTranslation) -> ThreadedCode:
    steps: dict[str, int] = {}
    code, numbers, starts = [], [], [0]
    for each in whole.steps:
        starts.append(starts[-1] + len(each.numbers))
        code.append(steps.setdefault(each.text, len(steps)))
        numbers.append(tuple(whole.places[n] if isinstance(n, str) else n for n in each.numbers))
    registers = (*(VECTOR | i for i in whole.unwritten), *(CONSTANT | i for i in whole.unwritten_shared))
    points, notes = sorted_points((point, starts[step] + at) for point, step, at in whole.notes)
    return ThreadedCode(
        tuple(steps), tuple(code), tuple(numbers), registers, points, notes, whole.vectors, tuple(whole.constants)
    )


def _function(whole: KernelTranslation, function: PtxFunction, done: Collection[int]) -> None:
    """Append the steps of a function, except for the items in ``done``."""
    targets = branch_targets(function)
    params = _call_parameters(whole, function)
    blocks = block_ends(function, whole.number)
    for i, item in enumerate(function.items):
        if isinstance(item, str) and item in targets:
            # Threads that fall through to this label join the threads that wait at it.
            numbers: list[int | str] = []
            end = whole.ended(blocks[i], numbers) if i in blocks else ""
            whole.steps.append(ThreadedStep(f"{end} GO_TOGETHER(NEXT);", numbers))
            whole.places[label_name(function, item)] = len(whole.steps)
        if isinstance(item, Instruction):
            if i not in done:
                _instruction(whole, function, i, params[i], blocks.get(i))
            whole.number += 1
    whole.steps.append(ThreadedStep(END, []))


def _instruction(
    whole: KernelTranslation, function: PtxFunction, i: int, params: Mapping[str, int], block: BlockRange | None
) -> None:
    item = function.items[i]
    assert isinstance(item, Instruction)
    try:
        _emit(Operation(whole, function, item, params, block, value_of))
    except MissingFeature as missing:
        raise UnsupportedFeature(whole.kernel, str(missing), item) from None
    except Unknown as unknown:
        raise UnknownInstruction(whole.kernel, item, what=str(unknown)) from None


def _call_parameters(whole: KernelTranslation, function: PtxFunction) -> list[Mapping[str, int]]:
    """Return the slots of call parameters by name, for each item: of arguments before the call, of results after it."""
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


_SPECIAL = {**MATRIX, **VIDEO, **MEMORY, **IMAGES, **COMPUTE, **COMPARISONS, **CONTROL, "cvt": convert}
"""The instructions that are not rows of the instruction table, or not always."""


def _emit(o: Operation) -> None:
    base, *words = o.item.mnemonic.split(".")
    words = [word.partition("::")[0] for word in words]
    if _IGNORED.match(o.item.mnemonic):
        return
    if emit := _SPECIAL.get(base):
        emit(o, words)
    elif base == "cp" and "async" in words and "bulk" not in words:
        copy_async(o, words)
    elif refused := REFUSED.get(base):
        raise MissingFeature(refused)
    else:
        compute(o, base, words)
