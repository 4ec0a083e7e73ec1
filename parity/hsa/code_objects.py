"""Reads the code objects that a program loads: their symbols at once, their instructions when they are first needed."""

from __future__ import annotations

import functools
import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from parity.errors import UsageError
from parity.hip.images import code_object_from_image
from parity.hsa.blits import PREFIX
from parity.model.code_object import CodeObject, parse
from parity.platform.cache import Cache, default_root, digest

_METADATA = 32  # NT_AMDGPU_METADATA
_SYMBOL = struct.Struct("<2I6Q")  # struct Symbol of executables.c


@dataclass(frozen=True)
class LoadedObject:
    """A code object that a program loaded.

    Attributes:
        copy: which copy of the variables it has, among loaded code objects with the same bytes.
        kernels: the names of the kernels, in the order of their numbers.
        symbols: what ``hsa_executable_symbol_get_info`` answers, as the program's process receives it.
    """

    image: bytes
    copy: int
    kernels: tuple[str, ...]
    symbols: bytes

    @functools.cached_property
    def code(self) -> CodeObject:
        """The code object, with its instructions.

        Raises:
            UsageError: it cannot be disassembled.
            MissingTool: no disassembler is installed.
        """
        code = replace(disassembled(self.image), copy=self.copy)
        if not any(name.startswith(PREFIX) for name in code.kernels):
            return code
        # AMD's runtime launches its own kernels with more threads than they were compiled for.
        return replace(code, kernels={name: replace(each, max_threads=1024) for name, each in code.kernels.items()})


def disassembled(image: bytes) -> CodeObject:
    """Return the code object with these bytes. The cache keeps its listing."""

    def keep(folder: Any) -> None:
        (folder / "listing.s").write_text(code_object_from_image(image).listing, encoding="utf-8")

    folder, _ = Cache(default_root() / "hsa").get(digest("listing 6", image), keep)
    return parse((folder / "listing.s").read_text(encoding="utf-8"), "module")


def load(number: int, image: bytes, copy: int) -> LoadedObject:
    """Read the symbols of a code object. Its ``number`` becomes a part of the numbers of its kernels.

    Raises:
        UsageError: the bytes are not a code object with metadata.
    """
    from elftools.elf.elffile import ELFFile  # slow to import

    try:
        elf = ELFFile(io.BytesIO(image))
        metadata = {kernel[".symbol"]: kernel for kernel in _kernels(elf)}
        table: Any = elf.get_section_by_name(".dynsym") or elf.get_section_by_name(".symtab")
        objects = {s.name: s["st_size"] for s in table.iter_symbols() if s["st_info"]["type"] == "STT_OBJECT"}
    except Exception as error:  # pyelftools raises many types of errors for damaged files
        raise UsageError(f"a code object of {len(image)} bytes is damaged: {error or type(error).__name__}") from error
    parts = []
    for i, (symbol, kernel) in enumerate(metadata.items()):
        numbers = kernel[".kernarg_segment_size"], kernel[".group_segment_fixed_size"]
        scratch, calls = kernel[".private_segment_fixed_size"], kernel.get(".uses_dynamic_stack", False)
        parts.append(_packed(symbol, 1, number << 32 | i + 1, 64, *numbers, scratch, int(calls)))
    parts += [_packed(name, 0, 0, size, 0, 0, 0, 0) for name, size in objects.items() if name not in metadata]
    names = tuple(kernel[".name"] for kernel in metadata.values())
    return LoadedObject(image, copy, names, b"".join(parts))


def _packed(name: str, kind: int, *numbers: int) -> bytes:
    text = name.encode() + b"\0"
    return _SYMBOL.pack(len(text), kind, *numbers) + text.ljust(-(-len(text) // 8) * 8, b"\0")


def _kernels(elf: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the metadata of each kernel; a linker of several files leaves several notes."""
    for section in elf.iter_sections("SHT_NOTE"):
        for note in section.iter_notes():
            if note["n_type"] in (_METADATA, "NT_AMDGPU_METADATA") or note["n_name"] == "AMDGPU":
                yield from msgspec.msgpack.decode(note["n_descdata"]).get("amdhsa.kernels", ())
