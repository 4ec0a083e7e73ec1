"""Reads the symbols and the metadata of a code object, given as an ``ELFFile`` of pyelftools."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from parity.compilers.targets import TARGETS

OBJECT, FUNCTION = 1, 2  # STT_OBJECT, STT_FUNC
_METADATA = (32, "NT_AMDGPU_METADATA")
"""The type of the note with metadata, as a number and as newer versions of pyelftools name it."""
_SYMBOL = struct.Struct("<IBBHQQ")  # Elf64_Sym


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol: a function, a variable, or a label of hand-written assembly."""

    name: str
    kind: int
    address: int
    size: int


def symbols(elf: Any, *tables: str) -> Iterator[Symbol]:
    """Yield the symbols of the sections of these names. Libraries have ten thousands, too many for pyelftools."""
    for table in filter(None, map(elf.get_section_by_name, tables)):
        names = elf.get_section(table["sh_link"]).data()
        for name, info, _, _, address, size in _SYMBOL.iter_unpack(table.data()):
            yield Symbol(names[name : names.index(b"\0", name)].decode(), info & 15, address, size)


def metadata(elf: Any) -> dict[str, Any]:
    """Return the metadata of an ELF file as one document; empty if it has none.

    A linker of assembled files leaves a note for each file. Hand-written assembly may name its target
    in the header only.
    """
    found: dict[str, Any] = {}
    for section in elf.iter_sections("SHT_NOTE"):
        for note in section.iter_notes():
            if note["n_name"] == "AMDGPU" and note["n_type"] in _METADATA:
                document = msgspec.msgpack.decode(note["n_descdata"])
                kernels = [*found.get("amdhsa.kernels", ()), *document.get("amdhsa.kernels", ())]
                found = {**document, **found, "amdhsa.kernels": kernels}
    name = next((row.name for row in TARGETS.values() if row.machine == elf.header["e_flags"] & 0xFF), "")
    if found and name:
        found.setdefault("amdhsa.target", f"amdgcn-amd-amdhsa--{name}")
    return found
