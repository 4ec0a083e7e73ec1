"""PTX as a language of the emulator."""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from parity.compilers.targets import Target
from parity.emulator.approximate import error_table
from parity.emulator.image import Image
from parity.emulator.instruction import Instruction
from parity.emulator.jit import SYMBOL
from parity.emulator.language import Language, LaunchShape, Traits
from parity.emulator.memory import Allocation
from parity.emulator.ptx.constants import constants_of
from parity.emulator.ptx.folding import folded
from parity.emulator.ptx.fusing import fused, ordered
from parity.emulator.ptx.image import ptx_image
from parity.emulator.ptx.merging import joined, renamed, straightened
from parity.emulator.ptx.operation import Layout
from parity.emulator.ptx.parse import Function, Variable, file_names, function, kernel_functions, module_variables
from parity.emulator.ptx.predicating import predicated
from parity.emulator.ptx.translate import translated
from parity.emulator.threaded_code import ThreadedCode
from parity.errors import ParityError
from parity.model.code_object import CodeObject, Kernel
from parity.platform.cache import digest

__all__ = ["Ptx", "functions_of"]

_HERE = Path(__file__).parent
_BARRIER = re.compile(r"\bbar(?:rier)?(?:\.cta)?\.(?:sync|red)\b")
_COMPARES = re.compile(r"\b(?:atom|red)\.[\w.:]*cas\b")
_LINE = re.compile(r"^\s*\.loc.*\n|//.*", re.MULTILINE)


@functools.cache
def _version() -> str:
    return digest(*(p.read_bytes() for p in sorted(_HERE.glob("*.py"))))


@functools.lru_cache(maxsize=8)
def functions_of(ptx: str, name: str) -> tuple[Function, ...]:
    """A kernel and the functions that it calls."""
    files = file_names(ptx)
    read = (function(text, files) for text in kernel_functions(ptx, name))
    return tuple(joined(renamed(replace(each, items=straightened(ordered(fused(each.items)))))) for each in read)


@functools.lru_cache(maxsize=8)
def _executed(ptx: str, name: str) -> tuple[Function, ...]:
    """The same with the instructions that are steps of their own; its blocks are those of ``functions_of``."""
    layout, read = _layout(ptx, name)[0], functions_of(ptx, name)
    constants = ({constant.register for constant in constants_of(each, layout)} for each in read)
    pairs = zip(read, constants, strict=True)
    return tuple(predicated(replace(each, items=folded(each, names))) for each, names in pairs)


def _aligned(at: int, align: int) -> int:
    return -(-at // max(align, 1)) * max(align, 1)


@functools.lru_cache(maxsize=8)
def _layout(ptx: str, name: str) -> tuple[Layout, int, int]:
    """The places of a kernel's memory, and the bytes of its shared and of its local memory."""
    functions = functions_of(ptx, name)
    words = set(re.findall(r"[A-Za-z_$][\w$]*", "\n".join(text.text for text in kernel_functions(ptx, name))))
    parameters, at = {}, 0
    for parameter in functions[0].parameters:
        at = _aligned(at, parameter.align)
        parameters[parameter.name] = at
        at += parameter.size
    shared: dict[str, int] = {}
    dynamic: list[Variable] = []
    inside = [each for called in functions for each in called.variables if each.space == "shared"]
    outside = [each for each in module_variables(ptx).values() if each.space == "shared" and each.name in words]
    at = 0
    for variable in (*outside, *inside):
        if not variable.size:
            dynamic.append(variable)
            continue
        at = _aligned(at, variable.align)
        shared[variable.name] = at
        at += variable.size
    static = at
    if dynamic:
        static = at = _aligned(at, max(16, *(variable.align for variable in dynamic)))
        shared.update((variable.name, at) for variable in dynamic)
    local, bytes_ = {}, 0
    for called in functions:
        for variable in called.variables:
            if variable.space == "local":
                bytes_ = _aligned(bytes_, max(variable.align, 16))
                local[called.name, variable.name] = bytes_
                bytes_ += variable.size
    return Layout(parameters, shared, local, ptx_image(ptx).symbols), static, bytes_


class Ptx(Language):
    """PTX, which executes only as threaded code."""

    warps = True

    @property
    def version(self) -> str:
        return _version()

    def parts(self, listing: str, name: str) -> Sequence[str]:
        layout, static, local = _layout(listing, name)
        texts = [_LINE.sub("", text.text) for text in kernel_functions(listing, name)]
        return self.version, repr(layout), f"{static} {local}", *texts

    def traits(self, listing: str, name: str) -> Traits:
        texts = [text.text for text in kernel_functions(listing, name)]
        # Approximate instructions give what the GPU was measured to give.
        return Traits(any(map(_BARRIER.search, texts)), any(map(_COMPARES.search, texts)))

    def threaded(self, listing: str, name: str, target: Target, *, shadow: bool = False) -> ThreadedCode:
        if shadow:
            raise ParityError("shadow runs are those of AMD code")
        return translated(_executed(listing, name), _layout(listing, name)[0])

    def step_function(self, step: str, *, shadow: bool) -> str:
        return f'#include "ptx.h"\nSTEP({SYMBOL}, {step})'

    def compiled(self, listing: str, name: str, target: Target, *, fast: bool, counted: bool) -> str:
        raise ParityError("PTX is executed as threaded code; a device that counts or does not trace cannot have it")

    def kernel(self, code: CodeObject, name: str) -> Kernel:
        _, shared, local = _layout(code.listing, name)
        return replace(code.kernels[name], lds_bytes=shared, scratch_bytes=local)

    def image(self, listing: str) -> Image:
        return ptx_image(listing)

    def instruction(self, listing: str, name: str, number: int) -> Instruction:
        items = [item for called in _executed(listing, name) for item in called.items]
        instructions = [item for item in items if isinstance(item, Instruction)]
        return instructions[min(number, len(instructions) - 1)]

    def arguments(self, kernel: Kernel, args: bytes, shape: LaunchShape, mailbox: int) -> bytes:
        return args

    def dispatch(self, kernel: Kernel, shape: LaunchShape, arguments: int) -> bytes:
        dynamic = shape.shared_bytes
        return struct.pack("<8I", *shape.block, *shape.grid, dynamic, kernel.lds_bytes + dynamic)

    def documented_errors(self, target: Target) -> ctypes.Array[ctypes.Structure]:
        return _no_errors()

    def private_memory(self, instruction: Instruction, own: Allocation, context: ctypes.Structure) -> Allocation | None:
        return own if ".local" in instruction.mnemonic else None


@functools.cache
def _no_errors() -> ctypes.Array[ctypes.Structure]:
    return error_table({})
