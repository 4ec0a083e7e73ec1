"""From the functions of one PTX kernel to threaded code: an array of operations, each a step and its numbers.

Each operation is that of all threads of a warp that are at it. Virtual registers share slots where no thread needs both
(``slots``). What a step is written in stands in runtime/ptx.h.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from parity.emulator.faults import Refused, UnknownInstruction
from parity.emulator.parse import Instruction
from parity.emulator.ptx.compute import COMPUTE, compute
from parity.emulator.ptx.control import CONTROL
from parity.emulator.ptx.conversions import convert
from parity.emulator.ptx.memory import MEMORY, copy_async
from parity.emulator.ptx.operation import END, Layout, Operation, Step, Translation, call_of, label
from parity.emulator.ptx.parse import Function
from parity.emulator.ptx.video import VIDEO
from parity.emulator.threaded import VECTOR, Threaded
from parity.emulator.writer import Missing, Unknown

__all__ = ["HEADER", "translated"]

HEADER = '#include "ptx.h"\n'
_IGNORED = re.compile(
    r"(?:membar|fence|prefetch|prefetchu|discard|applypriority|nanosleep|pmevent|brkpt|griddepcontrol|setmaxnreg"
    r"|cp\.async\.(?:commit_group|wait_group|wait_all))(?:\.|$)"
)
_REFUSED = {
    "tex": "textures", "tld4": "textures", "txq": "textures", "suld": "surfaces", "sust": "surfaces",
    "sured": "surfaces", "suq": "surfaces", "mma": "matrix instructions (mma)", "wmma": "matrix instructions (wmma)",
    "wgmma": "matrix instructions (wgmma)", "ldmatrix": "matrix instructions (ldmatrix)",
    "tcgen05": "matrix instructions", "stmatrix": "matrix instructions (stmatrix)",
    "mbarrier": "barriers in memory (mbarrier)", "cp": "asynchronous copies (cp.async)",
    "alloca": "memory of a size that is not constant (alloca)",
    "getctarank": "clusters of blocks", "mapa": "clusters of blocks", "multimem": "multicast memory",
    "movmatrix": "matrix instructions (movmatrix)", "istypep": "textures",
}  # fmt: skip


def translated(functions: Sequence[Function], layout: Layout) -> Threaded:
    """Threaded code of a kernel, the first of ``functions``, and of those that it calls.

    Raises:
        UnknownInstruction: an instruction, an operand or a modifier is not in the tables.
        Refused: something that the emulator does not have.
    """
    whole = Translation(functions, layout)
    whole.steps.append(Step(HEADER_STEP, []))
    for each in functions:
        whole.places[each.name] = len(whole.steps)
        _function(whole, each, functions[0].name)
    return _linked(whole)


HEADER_STEP = (
    "for (u32 k = 0; k < 256; k++) t->scalar[k] = 0;\n"
    "WHERE = all(0u);\n"
    "c->turns = 0, c->random = c->seed ? (c->seed ^ (wave + 1) * 0x9e3779b9u) | 1 : 0;"
)


def _linked(whole: Translation) -> Threaded:
    steps: dict[str, int] = {}
    code, numbers = [], []
    for each in whole.steps:
        code.append(steps.setdefault(each.text, len(steps)))
        numbers.append(tuple(whole.places[n] if isinstance(n, str) else n for n in each.numbers))
    registers = tuple(VECTOR | i for i in range(whole.vectors))
    return Threaded(tuple(steps), tuple(code), tuple(numbers), registers)


def _function(whole: Translation, function: Function, kernel: str) -> None:
    targets = _targets(function)
    params = _call_parameters(whole, function)
    sizes = _block_sizes(function, targets)
    for i, item in enumerate(function.items):
        if isinstance(item, str) and item in targets:
            # Threads that come here from before meet those that wait at this label.
            whole.steps.append(Step("if (t->scalar[PARKED]) { park(t, exec, NEXT); GO_RESUMED(0); }", [whole.number]))
            whole.places[label(function, item)] = len(whole.steps)
        if i in sizes:
            whole.steps.append(Step("left -= N(0);", [sizes[i]]))
        if isinstance(item, Instruction):
            operation = Operation(whole, function, item, params[i])
            try:
                _emit(operation)
            except Missing as missing:
                raise Refused(kernel, str(missing), item) from None
            except Unknown as unknown:
                raise UnknownInstruction(str(unknown), kernel, item) from None
            whole.number += 1
    whole.steps.append(Step(END, []))


def _targets(function: Function) -> set[str]:
    found = {each for labels in function.tables.values() for each in labels}
    for item in function.items:
        if isinstance(item, Instruction) and item.mnemonic.startswith("bra"):
            found.add(item.operands[0])
    return found


def _block_sizes(function: Function, targets: set[str]) -> dict[int, int]:
    """The number of instructions of each basic block, by the index of the item that it begins with."""
    sizes: dict[int, int] = {}
    start, fresh = 0, True
    for i, item in enumerate(function.items):
        if isinstance(item, str):
            if item in targets:
                start, fresh = i, False
                sizes[start] = 0
            continue
        if fresh:
            start, fresh = i, False
            sizes.setdefault(start, 0)
        sizes[start] += 1
        if item.mnemonic.partition(".")[0] in ("bra", "brx", "call", "ret", "exit"):
            fresh = True
    return {i: n for i, n in sizes.items() if n}


def _call_parameters(whole: Translation, function: Function) -> list[Mapping[str, int]]:
    """For each item the slots of the parameters of its call: before the call those of arguments, else of results."""
    maps: list[dict[str, int]] = [{} for _ in function.items]
    current: dict[str, int] = {}
    for i in reversed(range(len(function.items))):
        item = function.items[i]
        if isinstance(item, Instruction) and item.mnemonic.startswith("call"):
            current = dict(call_of(whole, item)[1])
        maps[i].update(current)
    current = {}
    for i, item in enumerate(function.items):
        if isinstance(item, Instruction) and item.mnemonic.startswith("call"):
            current = dict(call_of(whole, item)[2])
        elif isinstance(item, Instruction) and item.mnemonic.startswith("ld.param"):
            maps[i].update(current)
    own = {name: slot for (owner, name), slot in whole.formals.items() if owner == function.name}
    return [{**own, **each} for each in maps]


def _emit(o: Operation) -> None:
    base, *words = o.item.mnemonic.split(".")
    words = [word.partition("::")[0] for word in words]
    if _IGNORED.match(o.item.mnemonic):
        return
    if special := CONTROL.get(base) or COMPUTE.get(base) or MEMORY.get(base) or VIDEO.get(base):
        special(o, words)
    elif base == "cvt":
        convert(o, words)
    elif base == "cp" and "async" in words and "bulk" not in words:
        copy_async(o, words)
    elif refused := _REFUSED.get(base):
        raise Missing(refused)
    else:
        compute(o, base, words)
