"""An emulated NVIDIA GPU, which executes kernels of PTX modules."""

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
from parity.emulator.ptx.image import ptx_image
from parity.emulator.ptx.parse import kernel_functions
from parity.emulator.ptx.pipeline import executed_functions, memory_layout
from parity.emulator.ptx.translate import HEADER, translate
from parity.errors import ParityError
from parity.model.code_object import CodeObject, Kernel
from parity.platform.cache import digest

__all__ = ["Ptx", "PtxDevice"]

_HERE = Path(__file__).parent
_BARRIER = re.compile(r"\bbar(?:rier)?(?:\.cta)?\.(?:sync|red)\b")
_COMPARES = re.compile(r"\b(?:atom|red)\.[\w.:]*cas\b")
_LINE = re.compile(r"^\s*\.loc.*\n|//.*", re.MULTILINE)


@functools.cache
def _version() -> str:
    return digest(*(p.read_bytes() for p in sorted(_HERE.glob("*.py"))))


class Ptx(Language):
    """PTX, which is only executed as threaded code."""

    @property
    def version(self) -> str:
        return _version()

    def parts(self, listing: str, name: str) -> Sequence[str]:
        texts = [_LINE.sub("", text.text) for text in kernel_functions(listing, name)]
        return self.version, repr(memory_layout(listing, name)), *texts

    def traits(self, listing: str, name: str) -> Traits:
        texts = [text.text for text in kernel_functions(listing, name)]
        # The trait "approximate" stays false: approximate instructions have the results measured on a GPU.
        return Traits(any(map(_BARRIER.search, texts)), any(map(_COMPARES.search, texts)))

    def threaded(self, listing: str, name: str, target: Target, *, shadow: bool = False) -> Threaded:
        if shadow:
            raise ParityError("PTX does not have shadow runs")
        return replace(translate(executed_functions(listing, name), memory_layout(listing, name)), header=HEADER)

    def compiled(self, listing: str, name: str, target: Target, *, fast: bool, counted: bool) -> str:
        raise ParityError("PTX runs as threaded code only; the device must be traced and must not count instructions")


class PtxDevice(Device):
    """An emulated NVIDIA GPU with its own memory. It has the interface of ``Device``.

    ``LaunchOptions.seed`` also permutes the order of the diverged threads of a warp.
    """

    _language: Language = Ptx()
    _warps = True

    @staticmethod
    def registers(code: CodeObject, kernel: str) -> Mapping[str, Instruction]:
        """Return an empty mapping: the registers of PTX are virtual."""
        return {}

    def _place_arguments(self, loaded: Loaded, args: bytes, grid: Triple, block: Triple, shared_bytes: int) -> None:
        context = self._context
        context.kernarg = self._memory.place(KERNARG_AT, args)
        numbers = struct.pack("<8I", *block, *grid, shared_bytes, loaded.kernel.lds_bytes + shared_bytes)
        context.dispatch = self._memory.place(DISPATCH_AT, numbers)

    def _kernel(self, code: CodeObject, name: str) -> Kernel:
        layout = memory_layout(code.listing, name)
        return replace(code.kernels[name], lds_bytes=layout.shared_bytes, scratch_bytes=layout.local_bytes)

    @staticmethod
    def _image(code: CodeObject) -> Image:
        return ptx_image(code.listing)

    @staticmethod
    def _instruction(code: CodeObject, kernel: str, number: int) -> Instruction:
        items = [item for function in executed_functions(code.listing, kernel) for item in function.items]
        instructions = [item for item in items if isinstance(item, Instruction)]
        return instructions[min(number, len(instructions) - 1)]

    @staticmethod
    def _array(code: CodeObject, kernel: str, instruction: Instruction) -> str | None:
        return None

    def _private(self, instruction: Instruction, lane: int | None, lanes: int) -> Allocation | None:
        """Return the local memory of a thread if the instruction accesses local memory."""
        c = self._context
        if lane is None or not c.scratch_stride or ".local" not in instruction.mnemonic:
            return None
        name = f"{SCRATCH}lane {lane}"
        return Allocation(name, c.scratch + (c.wave * lanes + lane) * c.scratch_stride, c.scratch_bytes)
