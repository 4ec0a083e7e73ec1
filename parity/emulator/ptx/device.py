"""An emulated NVIDIA GPU: memory, and launches of the kernels of a PTX module."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from parity.compilers.targets import Target
from parity.emulator.amdgpu.build import Language, Traits
from parity.emulator.amdgpu.device import DISPATCH_AT, KERNARG_AT, Device, Loaded, Triple
from parity.emulator.amdgpu.threaded import Threaded
from parity.emulator.faults import SCRATCH
from parity.emulator.image import Image
from parity.emulator.memory import Allocation
from parity.emulator.parse import Instruction
from parity.emulator.ptx.block_uniform import block_uniform_registers
from parity.emulator.ptx.contraction import fuse_products, order_operands
from parity.emulator.ptx.folding import fold_instructions
from parity.emulator.ptx.if_conversion import add_guards
from parity.emulator.ptx.image import ptx_image
from parity.emulator.ptx.operation import PtxMemoryLayout
from parity.emulator.ptx.parse import (
    PtxFunction,
    PtxVariable,
    file_names,
    kernel_functions,
    module_variables,
    parse_function,
)
from parity.emulator.ptx.peephole import invert_branches, join_accesses, remove_copies
from parity.emulator.ptx.translate import HEADER, translate
from parity.errors import ParityError
from parity.model.code_object import CodeObject, Kernel
from parity.platform.cache import digest

__all__ = ["Ptx", "PtxDevice", "optimized_functions"]

_HERE = Path(__file__).parent
_BARRIER = re.compile(r"\bbar(?:rier)?(?:\.cta)?\.(?:sync|red)\b")
_COMPARES = re.compile(r"\b(?:atom|red)\.[\w.:]*cas\b")
_LINE = re.compile(r"^\s*\.loc.*\n|//.*", re.MULTILINE)


@functools.cache
def _version() -> str:
    return digest(*(p.read_bytes() for p in sorted(_HERE.glob("*.py"))))


@functools.lru_cache(maxsize=8)
def optimized_functions(ptx: str, name: str) -> tuple[PtxFunction, ...]:
    """A kernel and the functions that it calls."""
    files = file_names(ptx)
    read = (parse_function(text, files) for text in kernel_functions(ptx, name))
    return tuple(
        join_accesses(remove_copies(replace(each, items=invert_branches(order_operands(fuse_products(each.items))))))
        for each in read
    )


@functools.lru_cache(maxsize=8)
def _executed(ptx: str, name: str) -> tuple[PtxFunction, ...]:
    """The same with the instructions that are steps of their own; its blocks are those of ``optimized_functions``."""
    layout, read = _layout(ptx, name)[0], optimized_functions(ptx, name)
    constants = ({constant.register for constant in block_uniform_registers(each, layout)} for each in read)
    pairs = zip(read, constants, strict=True)
    return tuple(add_guards(replace(each, items=fold_instructions(each, names))) for each, names in pairs)


def _aligned(at: int, align: int) -> int:
    return -(-at // max(align, 1)) * max(align, 1)


@functools.lru_cache(maxsize=8)
def _layout(ptx: str, name: str) -> tuple[PtxMemoryLayout, int, int]:
    """The places of a kernel's memory, and the bytes of its shared and of its local memory."""
    functions = optimized_functions(ptx, name)
    words = set(re.findall(r"[A-Za-z_$][\w$]*", "\n".join(text.text for text in kernel_functions(ptx, name))))
    parameters, at = {}, 0
    for parameter in functions[0].parameters:
        at = _aligned(at, parameter.align)
        parameters[parameter.name] = at
        at += parameter.size
    shared: dict[str, int] = {}
    dynamic: list[PtxVariable] = []
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
    return PtxMemoryLayout(parameters, shared, local, ptx_image(ptx).symbols), static, bytes_


class Ptx(Language):
    """PTX, which is executed as threaded code alone."""

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

    def threaded(self, listing: str, name: str, target: Target, *, shadow: bool = False) -> Threaded:
        if shadow:
            raise ParityError("shadow runs are those of AMD code")
        return replace(translate(_executed(listing, name), _layout(listing, name)[0]), header=HEADER)

    def compiled(self, listing: str, name: str, target: Target, *, fast: bool, counted: bool) -> str:
        raise ParityError("PTX is executed as threaded code; a device that counts or does not trace cannot have it")


class PtxDevice(Device):
    """An emulated NVIDIA GPU with its own memory; what a ``Device`` has and does holds for it.

    Threads of a warp that diverge run in an order that ``seed`` draws.
    """

    _language: Language = Ptx()
    _warps = True

    @staticmethod
    def registers(code: CodeObject, kernel: str) -> Mapping[str, Instruction]:
        """Empty: the registers of PTX are virtual."""
        return {}

    def _place_arguments(self, loaded: Loaded, args: bytes, grid: Triple, block: Triple, shared_bytes: int) -> None:
        context = self._context
        context.kernarg = self._memory.place(KERNARG_AT, args)
        numbers = struct.pack("<8I", *block, *grid, shared_bytes, loaded.kernel.lds_bytes + shared_bytes)
        context.dispatch = self._memory.place(DISPATCH_AT, numbers)

    def _kernel(self, code: CodeObject, name: str) -> Kernel:
        _, shared, local = _layout(code.listing, name)
        return replace(code.kernels[name], lds_bytes=shared, scratch_bytes=local)

    @staticmethod
    def _image(code: CodeObject) -> Image:
        return ptx_image(code.listing)

    @staticmethod
    def _instruction(code: CodeObject, kernel: str, number: int) -> Instruction:
        items = [item for called in _executed(code.listing, kernel) for item in called.items]
        instructions = [item for item in items if isinstance(item, Instruction)]
        return instructions[min(number, len(instructions) - 1)]

    @staticmethod
    def _array(code: CodeObject, kernel: str, instruction: Instruction) -> str | None:
        return None

    def _private(self, instruction: Instruction, lane: int | None, lanes: int) -> Allocation | None:
        """The local memory of the thread, if the access is meant for it."""
        c = self._context
        if lane is None or not c.scratch_stride or ".local" not in instruction.mnemonic:
            return None
        name = f"{SCRATCH}lane {lane}"
        return Allocation(name, c.scratch + (c.wave * lanes + lane) * c.scratch_stride, c.scratch_bytes)
