"""The footprint of one kernel on one target: registers, memory, occupancy, code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.targets import target
from parity.emulator.amdgpu.classes import class_totals, instruction_class
from parity.emulator.amdgpu.listing import function_bodies
from parity.errors import MissingTool
from parity.footprint.occupancy import occupancy
from parity.footprint.sass import instruction_mixes
from parity.model.code_object import CodeObject, Kernel

__all__ = ["Footprint", "footprints"]

_INSTRUCTION = re.compile(r"^\t(?P<mnemonic>[a-z]\w*)", re.MULTILINE)


@dataclass(frozen=True)
class Footprint:
    """One kernel on one target.

    ``vgprs`` are the vector registers of a lane, of a CUDA target all registers of a thread, which has no scalar ones
    that are counted (``sgprs`` is None). ``spills`` are registers, ``scratch_bytes`` those of a lane, ``lds_bytes`` the
    static ones of a workgroup. ``occupancy`` is that of workgroups of ``threads`` threads, the most that the kernel is
    compiled for, without dynamic LDS. ``code_bytes`` and ``mix`` (instructions by class, as they stand in the code) are
    with the functions that the kernel calls. None is what is not known.
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
        """True if any instruction writes global memory; None if the instructions are not known."""
        return None if self.mix is None else any(self.mix.get(name) for name in ("vmem store", "vmem atomic"))


def footprints(code: CodeObject, kernels: Iterable[str]) -> list[Footprint]:
    """The footprints of these kernels of a code object, of those that it has."""
    names = [name for name in kernels if name in code.kernels]
    sizes = _sizes(code.binary) if code.binary else {}
    if target(code.target).vendor == "cuda":
        found = _sass_mixes(code.binary)
        return [_footprint(code, code.kernels[n], sizes.get(f".text.{n}"), found.get(n)) for n in names]
    return [_of_listing(code, code.kernels[name], sizes) for name in names]


def _of_listing(code: CodeObject, kernel: Kernel, sizes: Mapping[str, int]) -> Footprint:
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
    """The bytes of every section and function of an ELF file, by name."""
    from elftools.elf.elffile import ELFFile  # here, because it takes a while and most commands do without
    from elftools.elf.sections import SymbolTableSection

    with binary.open("rb") as file:
        elf = ELFFile(file)
        sizes = {section.name: section.data_size for section in elf.iter_sections()}
        for table in elf.iter_sections():
            if isinstance(table, SymbolTableSection):
                sizes |= {s.name: s["st_size"] for s in table.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"}
    return sizes
