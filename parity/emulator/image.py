"""The data of a code object: constants and variables as they are in memory."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

INACCESSIBLE = 2


@dataclass(frozen=True)
class Relocation:
    """Eight bytes of data, at byte ``at``, that hold the address of ``symbol`` plus ``addend``."""

    at: int
    symbol: str
    addend: int


@dataclass(frozen=True)
class Image:
    """The data of a code object and its symbols.

    Attributes:
        content: the bytes; relocations are 0 (see ``placed``).
        symbols: the byte offset of each symbol. ``NAME@got`` holds the address of ``NAME``.
        writable: one byte for each byte of ``content``: 1 if kernels may write it, 2 if they may not even read it.
        sizes: the sizes of symbols, in bytes, if the listing states them.
        functions: the address of each function.
        relocations: the addresses in the data.
        referred: for each symbol, the symbols whose addresses are in its data.
    """

    content: bytes
    symbols: Mapping[str, int]
    writable: bytes
    sizes: Mapping[str, int]
    functions: Mapping[str, int]
    relocations: tuple[Relocation, ...]
    referred: Mapping[str, tuple[str, ...]]

    @functools.cached_property
    def places(self) -> Mapping[str, int]:
        """The places of all symbols: the offset of data in the image, or the address of a function."""
        return {**self.symbols, **self.functions}

    def placed(self, address: int) -> bytes:
        """Return the content of an image at a device address; an address of an undefined symbol is 0."""
        content = bytearray(self.content)
        for relocation in self.relocations:
            if (to := self.functions.get(relocation.symbol, 0)) == 0 and relocation.symbol in self.symbols:
                to = address + self.symbols[relocation.symbol]
            value = (to + relocation.addend) % (1 << 64)
            content[relocation.at : relocation.at + 8] = value.to_bytes(8, "little")
        return bytes(content)


@dataclass
class ImageBuilder:
    """The data of a listing, while it is being read."""

    content: bytearray = field(default_factory=bytearray)
    writable: bytearray = field(default_factory=bytearray)
    symbols: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    relocations: list[Relocation] = field(default_factory=list)
    referred: dict[str, list[str]] = field(default_factory=dict)

    def append(self, data: bytes, writable: bool) -> None:
        self.content += data
        self.writable += bytes([writable]) * len(data)

    def gap(self, size: int) -> None:
        """Append bytes that kernels may not access, so that a wrong index in the data before them shows."""
        self.content += bytes(size)
        self.writable += bytes([INACCESSIBLE]) * size

    def align(self, size: int) -> None:
        self.append(bytes(-len(self.content) % size), False)

    def relocate(self, symbol: str, target: str, addend: int, writable: bool) -> None:
        """Append the address of ``target``, which belongs to the data of ``symbol``."""
        self.relocations.append(Relocation(len(self.content), target, addend))
        self.referred.setdefault(symbol, []).append(target)
        self.append(bytes(8), writable)

    def image(self, functions: Mapping[str, int]) -> Image:
        """Return the image, with the addresses of functions."""
        referred = {name: tuple(dict.fromkeys(several)) for name, several in self.referred.items()}
        content, writable, relocations = bytes(self.content), bytes(self.writable), tuple(self.relocations)
        return Image(content, self.symbols, writable, self.sizes, functions, relocations, referred)
