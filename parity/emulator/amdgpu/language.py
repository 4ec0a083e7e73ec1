"""Assembly of AMD GPUs as a language of the emulator."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from parity.compilers.targets import Target
from parity.emulator.amdgpu.approximate import APPROXIMATE, documented_errors
from parity.emulator.amdgpu.classes import class_totals, instruction_class
from parity.emulator.amdgpu.codegen import counted_blocks, translate
from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.amdgpu.kernarg import argument_segment, dispatch_packet, unsupported_feature
from parity.emulator.amdgpu.listing import ALLOCATE, function_bodies, kernel_code
from parity.emulator.amdgpu.memory_instructions import is_coherent
from parity.emulator.amdgpu.shadow import shadow_step
from parity.emulator.amdgpu.threaded import thread
from parity.emulator.instruction import Instruction
from parity.emulator.jit import SYMBOL
from parity.emulator.language import Language, Traits
from parity.emulator.memory import Allocation
from parity.emulator.runtime_headers import constants
from parity.emulator.threaded_code import ThreadedCode

_COMPARES = re.compile(r"_f?cmp(?:swap|st)")
_SHARED = re.compile(
    r"\w+_atomic_|ds_gws_|ds_ordered_|s_(?:memtime|memrealtime|sendmsg_rtn)|s_getreg_b32.*SHADER_CYCLES|s_sendmsg.*INTERRUPT"
)
"""Instructions through which blocks communicate with each other or with the host, and clocks."""
# Text that may differ between listings of the same kernel: the line table and its files, comments (except alignments
# and memory of the compiler), and numbers that count over the whole file.
_NOISE = re.compile(
    r"^\t\.(?:loc|file)\t.*\n|^\s*;.*\n|^\.L(?:tmp|func_begin)\d+:.*\n|\s*;(?! align \d| private \?).*$"
    r"|(?<=\.LBB)\d+|(?<=\.Lpost_getpc)\d+",
    re.MULTILINE,
)
_PRIVATE = ("scratch_", "buffer_", "flat_")
"""Instructions that may access scratch memory."""
_APERTURE: int = constants("memory.h")["PRIVATE"] << 32
"""The first generic address of scratch memory."""
_FAR, _WILD = 1 << 20, 1 << 34
"""The distance from the aperture, in bytes, within which an access still counts as one to scratch memory: before the
aperture for any access; on both sides for an access to a known array (a 32-bit index times at most 4 bytes)."""


class Amdgpu(Language):
    """Assembly of AMD GPUs."""

    image = staticmethod(data_image)
    arguments = staticmethod(argument_segment)
    dispatch = staticmethod(dispatch_packet)
    class_totals = staticmethod(class_totals)
    unsupported_feature = staticmethod(unsupported_feature)

    def parts(self, listing: str, name: str) -> Sequence[str]:
        symbols, bodies = data_image(listing).places, function_bodies(listing, name)
        places = " ".join(f"{name} {at}" for name, at in symbols.items())
        used = places if any("rel32@" in body.text for body in bodies) else ""
        return used, *(_NOISE.sub("", body.text) for body in bodies)

    def traits(self, listing: str, name: str) -> Traits:
        texts = [body.text for body in function_bodies(listing, name)]
        instructions = kernel_code(listing, name).instructions
        return Traits(
            any("s_barrier" in text for text in texts),
            any(map(_COMPARES.search, texts)),
            any(map(APPROXIMATE.search, texts)),
            not any(_SHARED.match(each.text) or is_coherent(each) for each in instructions),
            any(ALLOCATE in text for text in texts),
        )

    def threaded(self, listing: str, name: str, target: Target, *, shadow: bool = False) -> ThreadedCode:
        return thread(kernel_code(listing, name), target, data_image(listing).places, shadow=shadow)

    def step_function(self, step: str, *, shadow: bool) -> str:
        return shadow_step(step, SYMBOL) if shadow else f"STEP({SYMBOL}, {step})"

    def compiled(self, listing: str, name: str, target: Target, *, fast: bool, counted: bool) -> str:
        code = kernel_code(listing, name)
        return translate(code, SYMBOL, target, data_image(listing).places, fast=fast, counted=counted)

    def instruction(self, listing: str, name: str, number: int) -> Instruction:
        instructions = kernel_code(listing, name).instructions
        return instructions[min(number, len(instructions) - 1)]

    def documented_errors(self, target: Target) -> ctypes.Array[ctypes.Structure]:
        return documented_errors(target.generation)

    def counted_blocks(self, listing: str, name: str) -> Mapping[int, Sequence[str]]:
        blocks = counted_blocks(kernel_code(listing, name))
        return {start: [instruction_class(each.mnemonic) for each in block] for start, block in blocks.items()}

    def private_array(self, listing: str, name: str, instruction: Instruction) -> str | None:
        if instruction.array is not None:
            return instruction.array
        arrays = {array for body in function_bodies(listing, name) for array in body.arrays}
        return arrays.pop() if len(arrays) == 1 else None  # an access through a pointer can only mean this one

    def private_memory(self, instruction: Instruction, own: Allocation, context: ctypes.Structure) -> Allocation | None:
        if not instruction.mnemonic.startswith(_PRIVATE):
            return None
        # A negative offset wraps to an address near 2^32; a generic pointer leaves its aperture.
        if instruction.array:
            if abs(context.address - _APERTURE) < _WILD:
                return replace(own, address=_APERTURE)
            before = context.address - own.address >= 1 << 31
            return replace(own, address=own.address + (before << 32))
        for begin in (own.address + (1 << 32), _APERTURE):
            if 0 < begin - context.address <= _FAR and not context.lds_bytes:
                return replace(own, address=begin)
        if instruction.mnemonic.startswith("buffer_"):  # a large index goes beyond the end of scratch memory
            return own if context.scratch <= context.address else None
        generic = instruction.mnemonic.startswith("flat_")
        return own if not generic or context.scratch <= context.address < context.variables else None
