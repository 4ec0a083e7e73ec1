"""Measures the footprint of kernels: registers, memory, occupancy, size and mix of the code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.elf import FUNCTION, symbols
from parity.compilers.targets import target
from parity.emulator.amdgpu.classes import class_totals, instruction_class
from parity.emulator.amdgpu.listing import function_bodies
from parity.errors import MissingTool
from parity.footprint.occupancy import occupancy
from parity.footprint.sass import instruction_mixes
from parity.model.code_object import CodeObject, Kernel

_INSTRUCTION = re.compile(r"^\t(?P<mnemonic>[a-z]\w*)", re.MULTILINE)


@dataclass(frozen=True)
class Footprint:
    """The footprint of one kernel on one target. Unknown values are None.

    * ``vgprs``: vector registers per lane; for a CUDA target, all registers of a thread.
    * ``sgprs``: scalar registers; None for a CUDA target.
    * ``spills``: number of spilled registers.
    * ``scratch_bytes``: scratch memory per lane.
    * ``lds_bytes``: static LDS per workgroup.
    * ``threads``: the maximum workgroup size that the kernel is compiled for.
    * ``occupancy``: occupancy from 0 to 1 with workgroups of that size and without dynamic LDS.
    * ``code_bytes``: size of the code of the kernel and its callees.
    * ``mix``: number of instructions by class in that code.
    """

    module: str
    kernel: str
    target: str
    vgprs: int
    sgprs: int | None
    spills: int
    scratch_bytes: int
    lds_bytes: int
    threads: int
    occupancy: float | None
    code_bytes: int | None
    mix: Mapping[str, int] | None

    @property
    def stores(self) -> bool | None:
        """True if an instruction writes global memory; None if the instructions are unknown."""
        return None if self.mix is None else any(self.mix.get(name) for name in ("vmem store", "vmem atomic"))


def footprints(code: CodeObject, kernels: Iterable[str]) -> list[Footprint]:
    """Return the footprints of kernels. Ignores names that the code object does not contain."""
    names = [name for name in kernels if name in code.kernels]
    sizes = _sizes(code.binary) if code.binary else {}
    if target(code.target).vendor == "cuda":
        found = _sass_mixes(code.binary)
        return [_footprint(code, code.kernels[n], sizes.get(f".text.{n}"), found.get(n)) for n in names]
    return [_listing_footprint(code, code.kernels[name], sizes) for name in names]


def _listing_footprint(code: CodeObject, kernel: Kernel, sizes: Mapping[str, int]) -> Footprint:
    bodies = function_bodies(code.listing, kernel.name)
    size = sum(sizes[body.name] for body in bodies) if all(body.name in sizes for body in bodies) else None
    mnemonics = (match["mnemonic"] for body in bodies for match in _INSTRUCTION.finditer(body.text))
    return _footprint(code, kernel, size, class_totals((instruction_class(mnemonic), 1) for mnemonic in mnemonics))


def _footprint(code: CodeObject, kernel: Kernel, size: int | None, mix: Mapping[str, int] | None) -> Footprint:
    where = target(code.target)
    sgprs = kernel.sgprs if where.vendor == "amd" else None
    return Footprint(
        module=code.module,
        kernel=kernel.name,
        target=code.target,
        vgprs=kernel.vgprs,
        sgprs=sgprs,
        spills=kernel.spills,
        scratch_bytes=kernel.scratch_bytes,
        lds_bytes=kernel.lds_bytes,
        threads=kernel.max_threads,
        occupancy=occupancy(
            where, threads=kernel.max_threads, vgprs=kernel.vgprs, sgprs=sgprs, shared_bytes=kernel.lds_bytes
        ),
        code_bytes=size,
        mix=mix,
    )


def _sass_mixes(cubin: Path | None) -> Mapping[str, Mapping[str, int]]:
    try:
        return instruction_mixes(cubin) if cubin else {}
    except MissingTool:
        return {}


def _sizes(binary: Path) -> Mapping[str, int]:
    """Return the size in bytes of every section and function of an ELF file, by name."""
    from elftools.elf.elffile import ELFFile  # slow to import, and rarely needed

    with binary.open("rb") as file:
        elf = ELFFile(file)
        functions = {s.name: s.size for s in symbols(elf, ".dynsym", ".symtab") if s.kind == FUNCTION}
        return {**{section.name: section.data_size for section in elf.iter_sections()}, **functions}
