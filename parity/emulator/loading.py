"""Load the kernels of code objects onto an emulated GPU: translate, compile, and place their variables."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from parity.compilers.targets import Target, target
from parity.emulator import mailbox
from parity.emulator.approximate import Drawing
from parity.emulator.faults import UnsupportedFeature
from parity.emulator.jit import COUNTERS
from parity.emulator.language import Language
from parity.emulator.programs import Executable, Programs
from parity.emulator.runtime_headers import constants
from parity.emulator.variables import VariableMemory
from parity.errors import UsageError, nearest
from parity.model.code_object import CodeObject, Kernel

_MOST_LANES = constants("wavefronts.h")["STACK"] // 5
"""Lanes of vector registers that a wavefront may have: they take 4 bytes each of its stack, and leave a fifth free."""


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel that is ready to launch on a device.

    Attributes:
        launch: the native function that executes workgroups.
        image: the address of the variables of its code object.
        prints: whether it prints.
        blocks: the instruction classes of each basic block, by the block's counter; only on counting devices.
        counters: the counters of the blocks; only on counting devices.
        drawings: the variables that control how approximate instructions draw, one for each of its libraries.
    """

    kernel: Kernel
    target: Target
    launch: Any
    executable: Executable
    image: int
    prints: bool
    blocks: Mapping[int, Sequence[str]]
    counters: Any
    drawings: tuple[Any, ...]


@dataclass(frozen=True)
class KernelLoader:
    """Loads kernels onto a device, each once.

    ``counted`` devices count instructions.
    """

    language: Language
    programs: Programs
    variables: VariableMemory
    counted: bool
    _loaded: dict[tuple[str, int, str], LoadedKernel] = field(default_factory=dict)

    def prepare(self, code: CodeObject, kernels: Iterable[str] | None, workers: int | None) -> None:
        """Translate and compile kernels (default: all of the code object) in parallel batches.

        Raises:
            UnknownInstruction: the emulator does not know an instruction of a kernel.
            UnsupportedFeature: a kernel uses a feature that the emulator lacks.
        """
        names = list(code.kernels if kernels is None else kernels)
        self.programs.prepare(code, wavefront_target(code), names, workers=workers)

    def loaded(self, code: CodeObject, name: str) -> LoadedKernel | None:
        """Return a kernel if ``load`` has loaded it."""
        return self._loaded.get((code.digest, code.copy, name))

    def load(self, code: CodeObject, name: str) -> LoadedKernel:
        """Return a kernel that is ready to launch.

        Raises:
            UsageError: the code object has no kernel of that name.
            UnknownInstruction, UnsupportedFeature: as for ``prepare``.
        """
        key = code.digest, code.copy, name
        if found := self._loaded.get(key):
            return found
        if name not in code.kernels:
            raise UsageError(f"module {code.module!r} has no kernel {name!r}{nearest(name, code.kernels)}")
        return self._loaded.setdefault(key, self._load(code, name))

    def _load(self, code: CodeObject, name: str) -> LoadedKernel:
        where = wavefront_target(code)
        executable = self.programs.kernel(code, where, name)
        if executable.program and (registers := executable.program.vectors) * where.wavefront > _MOST_LANES:
            raise UnsupportedFeature(name, f"{registers:,} registers per thread")
        library, symbol = executable.library, executable.symbol
        launch = library.launch
        launch.argtypes = (*(ctypes.c_void_p,) * 4, ctypes.c_uint32)
        launch.restype = ctypes.c_uint32
        kernel = self.language.kernel(code, name)
        prints = any(hidden.kind == mailbox.ARGUMENT for hidden in kernel.hidden)
        blocks: Mapping[int, Sequence[str]] = {}
        counters = None
        if self.counted:
            blocks = self.language.counted_blocks(code.listing, name)
            counters = (ctypes.c_uint64 * (max(blocks) + 1)).in_dll(library, symbol + COUNTERS)
        drawings = tuple(ctypes.pointer(Drawing.in_dll(each, "drawing")) for each in executable.libraries)
        image = self.variables.place(code)[1]
        return LoadedKernel(kernel, where, launch, executable, image, prints, blocks, counters, drawings)


def wavefront_target(code: CodeObject) -> Target:
    """Return the target of a code object, with the wavefront size that its kernels were compiled for."""
    usual = target(code.target)
    width = next((kernel.wavefront for kernel in code.kernels.values()), usual.wavefront)
    return usual if width == usual.wavefront else replace(usual, wavefront=width)
