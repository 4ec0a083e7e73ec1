"""An emulated AMD GPU."""

from __future__ import annotations

from collections.abc import Mapping

from parity.emulator.amdgpu.approximate import EXPONENTIAL
from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.amdgpu.language import Amdgpu
from parity.emulator.amdgpu.listing import function_bodies, kernel_code
from parity.emulator.amdgpu.matrix import flushes_subnormals
from parity.emulator.amdgpu.shadow import classify_arithmetic
from parity.emulator.amdgpu.threaded import undefined_reads
from parity.emulator.device import Device
from parity.emulator.instruction import Instruction
from parity.emulator.language import Language
from parity.emulator.loading import wavefront_target
from parity.model.code_object import CodeObject
from parity.model.launch import Arithmetic


class AmdgpuDevice(Device):
    """An emulated AMD GPU with its own memory. See ``Device`` for the arguments."""

    _language: Language = Amdgpu()

    @staticmethod
    def undefined_reads(code: CodeObject, kernel: str) -> Mapping[int, tuple[str, Instruction]]:
        """Return the registers that a kernel may read before it sets them, and the first instruction that does so."""
        symbols = data_image(code.listing).places
        return undefined_reads(kernel_code(code.listing, kernel), wavefront_target(code), symbols)

    @staticmethod
    def arithmetic(code: CodeObject, kernel: str) -> Arithmetic:
        """Return what a kernel and the functions that it calls do with floating-point numbers."""
        return max(classify_arithmetic(body.text) for body in function_bodies(code.listing, kernel))

    @staticmethod
    def flushes_subnormals(code: CodeObject, kernel: str) -> bool:
        """True if a kernel, or a function it calls, has matrix instructions that treat subnormal numbers as zero."""
        return any(flushes_subnormals(body.text, code.target) for body in function_bodies(code.listing, kernel))

    @staticmethod
    def has_exponentials(code: CodeObject, kernel: str) -> bool:
        """True if a kernel, or a function it calls, has the f32 exponential, which returns 0 for subnormal numbers."""
        return any(EXPONENTIAL.search(body.text) for body in function_bodies(code.listing, kernel))
