"""PTX as a language of the emulator."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Sequence
from dataclasses import replace

from parity.compilers.targets import Target
from parity.emulator.approximate import error_table
from parity.emulator.image import Image
from parity.emulator.instruction import Instruction
from parity.emulator.jit import SYMBOL
from parity.emulator.language import Language, LaunchShape, Traits
from parity.emulator.memory import Allocation
from parity.emulator.ptx.calls import kernel_functions
from parity.emulator.ptx.image import ptx_image
from parity.emulator.ptx.pipeline import executed_functions, memory_layout
from parity.emulator.ptx.translate import translate
from parity.emulator.threaded_code import ThreadedCode
from parity.errors import ParityError
from parity.model.code_object import CodeObject, Kernel

_NO_ERRORS = error_table({})
_BARRIER = re.compile(r"\bbar(?:rier)?(?:\.cta)?\.(?:sync|red)\b")
_COMPARES = re.compile(r"\b(?:atom|red)\.[\w.:]*cas\b")
_ALLOCATES = re.compile(r"\bcall(?:\.uni)?\s+\([^)]*\)\s*,\s*malloc\b")
_FLOATS = re.compile(r"f16|f32|f64")
_APPROXIMATE = re.compile(r"h200::(\w+?)_\w+\([^()]*\)")
"""A call that computes an approximate instruction: the group is the function, such as ``ex2``."""
_LINE = re.compile(r"^\s*\.loc.*\n|//.*", re.MULTILINE)


class Ptx(Language):
    """PTX, which executes only as threaded code."""

    warps = True

    def parts(self, listing: str, name: str) -> Sequence[str]:
        texts = [_LINE.sub("", text.text) for text in kernel_functions(listing, name)]
        return repr(memory_layout(listing, name)), *texts

    def traits(self, listing: str, name: str) -> Traits:
        texts = [text.text for text in kernel_functions(listing, name)]
        # The trait "approximate" stays false: approximate instructions have the results measured on a GPU.
        barriers, compares, allocates = (any(map(each.search, texts)) for each in (_BARRIER, _COMPARES, _ALLOCATES))
        return Traits(barriers, compares, allocates=allocates)

    def threaded(self, listing: str, name: str, target: Target, *, shadow: bool = False) -> ThreadedCode:
        return translate(executed_functions(listing, name), memory_layout(listing, name))

    def step_function(self, step: str, *, shadow: bool) -> str:
        if not shadow or not _FLOATS.search(step):
            return f'#include "ptx.h"\nSTEP({SYMBOL}, {step})'
        moved = _APPROXIMATE.sub(r"shadow_near(\g<0>, APPROXIMATE_\g<1>, shadow_up(t, o))", step)
        macro = "SHADOW_STEP" if moved == step else "SHADOW_NEAREST_STEP"
        return f'#include "ptx_shadow.h"\n{macro}({SYMBOL}, {moved})'

    def compiled(self, listing: str, name: str, target: Target, *, fast: bool, counted: bool) -> str:
        raise ParityError("PTX runs as threaded code only; the device must be traced and must not count instructions")

    def kernel(self, code: CodeObject, name: str) -> Kernel:
        layout = memory_layout(code.listing, name)
        return replace(
            code.kernels[name],
            lds_bytes=layout.shared_bytes,
            lds_zeros=layout.shared_zeros,
            scratch_bytes=layout.local_bytes,
        )

    def image(self, listing: str) -> Image:
        return ptx_image(listing)

    def instruction(self, listing: str, name: str, number: int) -> Instruction:
        items = [item for function in executed_functions(listing, name) for item in function.items]
        instructions = [item for item in items if isinstance(item, Instruction)]
        return instructions[min(number, len(instructions) - 1)]

    def arguments(self, kernel: Kernel, args: bytes, shape: LaunchShape, mailbox: int) -> bytes:
        return args

    def dispatch(self, kernel: Kernel, shape: LaunchShape, kernarg: int) -> bytes:
        dynamic = shape.shared_bytes
        return struct.pack("<8I", *shape.block, *shape.grid, dynamic, kernel.lds_bytes + dynamic)

    def documented_errors(self, target: Target) -> ctypes.Array[ctypes.Structure]:
        return _NO_ERRORS

    def private_memory(self, instruction: Instruction, own: Allocation, context: ctypes.Structure) -> Allocation | None:
        return own if ".local" in instruction.mnemonic else None
