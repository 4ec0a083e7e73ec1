"""From the PTX of a kernel to the functions that the emulator translates, and the layout of their memory."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import replace

from parity.emulator.ptx import parse
from parity.emulator.ptx.block_uniform import block_uniform_registers
from parity.emulator.ptx.calls import kernel_functions
from parity.emulator.ptx.contraction import fuse_products, order_operands
from parity.emulator.ptx.folding import fold_instructions
from parity.emulator.ptx.if_conversion import add_guards
from parity.emulator.ptx.image import ptx_image
from parity.emulator.ptx.peephole import invert_branches, join_accesses, remove_copies
from parity.emulator.ptx.translation import PtxMemoryLayout

_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*")


@functools.lru_cache(maxsize=8)
def optimized_functions(ptx: str, name: str) -> tuple[parse.PtxFunction, ...]:
    """Return a kernel and the functions that it calls, after the passes that keep basic blocks as they are."""

    def optimize(function: parse.PtxFunction) -> parse.PtxFunction:
        items = invert_branches(order_operands(fuse_products(function.items)))
        return join_accesses(remove_copies(replace(function, items=items)))

    files = parse.file_names(ptx)
    return tuple(optimize(parse.parse_function(text, files)) for text in kernel_functions(ptx, name))


@functools.lru_cache(maxsize=8)
def executed_functions(ptx: str, name: str) -> tuple[parse.PtxFunction, ...]:
    """Return the functions as they are translated, one step per instruction.

    Coverage still counts the basic blocks of ``optimized_functions``.
    """
    layout = memory_layout(ptx, name)

    def lower(function: parse.PtxFunction) -> parse.PtxFunction:
        uniform = {each.register for each in block_uniform_registers(function, layout)}
        return add_guards(replace(function, items=fold_instructions(function, uniform)))

    return tuple(map(lower, optimized_functions(ptx, name)))


_RESERVED, _RESERVED_BYTES = "%reserved_smem_offset_1", 288
"""The special register that leads to memory which cooperative groups use, and its size."""


@functools.lru_cache(maxsize=8)
def memory_layout(ptx: str, name: str) -> PtxMemoryLayout:
    """Place the parameters and the shared and local variables of a kernel."""
    functions = optimized_functions(ptx, name)
    words = set(_SYMBOL.findall("\n".join(text.text for text in kernel_functions(ptx, name))))
    parameters, _ = _placed(functions[0].parameters)
    used = [each for each in parse.module_variables(ptx).values() if each.space == "shared" and each.name in words]
    used += [each for function in functions for each in function.variables if each.space == "shared"]
    zeros = _RESERVED_BYTES if any(_RESERVED in text.text for text in kernel_functions(ptx, name)) else 0
    used[:0] = [parse.PtxVariable(_RESERVED, "shared", "b8", 16, zeros)] if zeros else []
    shared, shared_bytes = _placed(each for each in used if each.size)
    if dynamic := [each for each in used if not each.size]:  # extern arrays start after all other variables
        shared_bytes = _aligned(shared_bytes, max(16, *(each.align for each in dynamic)))
        shared.update((each.name, shared_bytes) for each in dynamic)
    local, local_bytes = {}, 0
    for function in functions:
        for variable in function.variables:
            if variable.space == "local":
                local_bytes = _aligned(local_bytes, max(variable.align, 16))
                local[function.name, variable.name] = local_bytes
                local_bytes += variable.size
    image = ptx_image(ptx)
    addresses = {each: at for each, at in image.functions.items() if each in words}
    return PtxMemoryLayout(parameters, shared, local, image.symbols, shared_bytes, local_bytes, zeros, addresses)


def _placed(variables: Iterable[parse.PtxVariable]) -> tuple[dict[str, int], int]:
    """Place variables in order. Returns their offsets by name, and their total size in bytes."""
    offsets, end = {}, 0
    for variable in variables:
        offsets[variable.name] = end = _aligned(end, variable.align)
        end += variable.size
    return offsets, end


def _aligned(offset: int, align: int) -> int:
    return -(-offset // max(align, 1)) * max(align, 1)
