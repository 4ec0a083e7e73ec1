"""Reads the code objects that a program loads: their symbols at once, their instructions when they are first needed."""

from __future__ import annotations

import functools
import io
import struct
from dataclasses import dataclass, field, replace
from typing import Any

from parity.compilers.elf import OBJECT, metadata, symbols
from parity.errors import UsageError
from parity.hip.images import built_code_object, listing_of_image
from parity.hsa.blits import PREFIX
from parity.model.code_object import CodeObject, Kernel, kernels_of, parse
from parity.platform.cache import Cache, default_root, digest

_SYMBOL = struct.Struct("<2I6Q")  # struct Symbol of executables.c


@dataclass(frozen=True)
class LoadedObject:
    """A code object that a program loaded.

    Attributes:
        copy: which copy of the variables it has, among loaded code objects with the same bytes.
        kernels: the kernels, in the order of their numbers.
        symbols: what ``hsa_executable_symbol_get_info`` answers, as the program's process receives it.
    """

    image: bytes
    copy: int
    kernels: tuple[Kernel, ...]
    symbols: bytes
    _codes: dict[str, CodeObject] = field(default_factory=dict)

    @functools.cached_property
    def _built(self) -> CodeObject | None:
        """The listing of the compiler, which has more information, if parity compiled the code object."""
        return built_code_object(self.image)

    @functools.cached_property
    def _digest(self) -> str:
        return digest("listing 8", self.image)

    def code(self, kernel: str = "") -> CodeObject:
        """Return the code object with the instructions of one kernel. It always has all variables, at the same places.

        Libraries have thousands of kernels, and programs use few of them.

        Raises:
            UsageError: it cannot be disassembled.
            MissingTool: no disassembler is installed.
        """
        if kernel not in self._codes:
            code = self._built or replace(self._listed(kernel), digest=self._digest)
            if kernel.startswith(PREFIX):  # AMD's runtime launches its own kernels with too many threads
                code = replace(code, kernels={kernel: replace(code.kernels[kernel], max_threads=1024)})
            self._codes[kernel] = replace(code, copy=self.copy)
        return self._codes[kernel]

    def _listed(self, kernel: str) -> CodeObject:
        """Disassemble a kernel. The cache keeps its listing."""

        def keep(folder: Any) -> None:
            listing = listing_of_image(self.image, [kernel])
            (folder / "listing.s").write_text(listing, encoding="utf-8")

        folder, _ = Cache(default_root() / "hsa").get(digest(self._digest, kernel), keep)
        return parse((folder / "listing.s").read_text(encoding="utf-8"), "module")


def load(number: int, image: bytes, copy: int) -> LoadedObject:
    """Read the symbols of a code object. Its ``number`` becomes a part of the numbers of its kernels.

    Raises:
        UsageError: the bytes are not a code object with metadata.
    """
    from elftools.elf.elffile import ELFFile  # slow to import

    what = f"the code object of {len(image)} bytes"
    try:
        elf = ELFFile(io.BytesIO(image))
        document = metadata(elf)
        objects = {s.name: s.size for s in symbols(elf, ".dynsym") if s.kind == OBJECT}
    except Exception as error:  # pyelftools raises many types of errors for damaged files
        raise UsageError(f"{what} is damaged: {error or type(error).__name__}") from error
    parts = []
    for i, kernel in enumerate(document.get("amdhsa.kernels", ())):
        numbers = kernel[".kernarg_segment_size"], kernel[".group_segment_fixed_size"]
        scratch, calls = kernel[".private_segment_fixed_size"], kernel.get(".uses_dynamic_stack", False)
        parts.append(_packed(kernel[".symbol"], 1, number << 32 | i + 1, 64, *numbers, scratch, int(calls)))
        objects.pop(kernel[".symbol"], None)
    parts += [_packed(name, 0, 0, size, 0, 0, 0, 0) for name, size in objects.items()]
    return LoadedObject(image, copy, kernels_of(document, what), b"".join(parts))


def _packed(name: str, kind: int, *numbers: int) -> bytes:
    text = name.encode() + b"\0"
    return _SYMBOL.pack(len(text), kind, *numbers) + text.ljust(-(-len(text) // 8) * 8, b"\0")
