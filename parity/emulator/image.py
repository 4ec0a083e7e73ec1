"""The data of a code object: constants and variables, laid out as the listing's directives say."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from parity.errors import UsageError

__all__ = ["CODE", "Image", "Reference", "image_of"]

_SECTION = re.compile(r"\n\t\.(section|text|data|bss)\b[ \t]*([\w.]*).*")
_LABEL = re.compile(r"([\w.$]+):")
_SIZES = {".byte": 1, ".short": 2, ".long": 4, ".quad": 8}
_ZEROS = frozenset((".zero", ".skip", ".space"))
_DECLARATIONS = (
    "\t.size",
    "\t.type",
    "\t.globl",
    "\t.weak",
    "\t.protected",
    "\t.hidden",
    "\t.ident",
    "\t.addrsig",
    "\t;",
    ";",
)
_DATA = (".rodata", ".data", ".bss")
_CONSTANT = (".rodata", ".data.rel.ro")
_ADDRESS = re.compile(r"\t\.quad\t([A-Za-z_.$][\w.$]*)([+-]\d+)?\s*(?:;|$)")
_SIZE = re.compile(r"\t\.size\t([\w.$]+), (\d+)")
# Without an anchor, which would be tried at each line of megabytes.
_FUNCTION = re.compile(r"\n\t\.type\t([\w.$]+),@function")
_KERNEL = re.compile(r"\n\t\.amdhsa_kernel ([\w.$]+)")
_GOT = re.compile(r"([\w.$]+)@gotpcrel32@lo")


CODE = 0x7E00_0000_0000
"""The address of the first function; ``_STEP`` bytes on is the next. There is no memory: the address only names it."""

_STEP = 256


@dataclass(frozen=True)
class Reference:
    """Eight bytes of data at ``at`` that hold the address of ``symbol`` and ``addend`` bytes."""

    at: int
    symbol: str
    addend: int


@dataclass(frozen=True)
class Image:
    """``content`` as it lies in memory, the byte offset of every symbol, and which bytes a kernel may write.

    ``sizes`` are those of the symbols, as far as the listing says. ``functions`` are the addresses of all functions.
    ``references`` are the addresses in the data, which ``placed`` fills in (0 for what is defined nowhere),
    ``referred`` the symbols in the data of each symbol. A symbol ``NAME@got`` holds the address of another.
    """

    content: bytes
    symbols: Mapping[str, int]
    writable: bytes
    sizes: Mapping[str, int]
    functions: Mapping[str, int]
    references: tuple[Reference, ...]
    referred: Mapping[str, tuple[str, ...]]

    @functools.cached_property
    def places(self) -> Mapping[str, int]:
        """The places of all symbols: of data the offset in the image, of a function its address, from ``CODE`` on."""
        return {**self.symbols, **self.functions}

    def placed(self, address: int) -> bytes:
        """The content of an image that lies at a device address."""
        content = bytearray(self.content)
        for reference in self.references:
            if (to := self.functions.get(reference.symbol, 0)) == 0 and reference.symbol in self.symbols:
                to = address + self.symbols[reference.symbol]
            content[reference.at : reference.at + 8] = ((to + reference.addend) % (1 << 64)).to_bytes(8, "little")
        return bytes(content)


@functools.lru_cache(maxsize=64)  # every kernel of a listing asks for it, and it reads all of it
def image_of(listing: str) -> Image:
    """The image of all data sections of a listing.

    Raises:
        UsageError: a directive of a data section that is not understood (with its line).
    """
    content, writable = bytearray(), bytearray()
    symbols: dict[str, int] = {}
    sizes: dict[str, int] = {}
    references: list[Reference] = []
    referred: dict[str, list[str]] = {}
    kernels = set(_KERNEL.findall(listing))
    functions = [name for name in dict.fromkeys(_FUNCTION.findall(listing)) if name not in kernels]
    addresses = {name: CODE + i * _STEP for i, name in enumerate(functions)}
    symbol = ""
    for section, first, lines in _data_sections(listing):
        inside = False  # of data; the descriptors of kernels are in .rodata, too
        for number, text in enumerate(lines, first):
            if not text:
                continue
            if label := _LABEL.match(text):
                symbol = label[1]
                symbols[symbol] = len(content)
                inside = True
            elif text.startswith("\t.p2align"):
                size = 1 << int(text.split()[1].rstrip(","))
                _append(content, writable, bytes(-len(content) % size), False)
            elif of := _SIZE.match(text):
                sizes[of[1]] = int(of[2])
            elif inside and (address := _ADDRESS.match(text)):
                references.append(Reference(len(content), address[1], int(address[2] or "0", 0)))
                referred.setdefault(symbol, []).append(address[1])
                _append(content, writable, bytes(8), not section.startswith(_CONSTANT))
            elif inside and (data := _bytes(text, number)) is not None:
                _append(content, writable, data, not section.startswith(_CONSTANT))
            elif inside and not text.startswith(_DECLARATIONS):
                raise UsageError(f"listing line {number}: parity does not know the directive {text.split()[0]} of data")
    for name in dict.fromkeys(_GOT.findall(listing) if "@gotpcrel32" in listing else ()):
        _append(content, writable, bytes(-len(content) % 8), False)
        symbols[f"{name}@got"] = len(content)
        references.append(Reference(len(content), name, 0))
        referred[f"{name}@got"] = [name]
        _append(content, writable, bytes(8), False)
    return Image(
        bytes(content),
        symbols,
        bytes(writable),
        sizes,
        addresses,
        tuple(references),
        {name: tuple(dict.fromkeys(several)) for name, several in referred.items()},
    )


def _data_sections(listing: str) -> Iterator[tuple[str, int, list[str]]]:
    """The name of each section of data, the number of its first line in the listing, and its lines.

    Most of a listing is code, of which no line is looked at.
    """
    text = f"\n{listing}"
    found = list(_SECTION.finditer(text))
    line, counted = 0, 0
    for this, after in zip(found, [*(match.start() for match in found), len(text)][1:], strict=True):
        name = this[2] if this[1] == "section" else f".{this[1]}"
        if name.startswith(_DATA):
            line, counted = line + text.count("\n", counted, this.end()), this.end()
            yield name, line, text[this.end() : after].split("\n")


def _append(content: bytearray, writable: bytearray, data: bytes, may_write: bool) -> None:
    content += data
    writable += bytes([may_write]) * len(data)


def _bytes(text: str, number: int) -> bytes | None:
    directive, _, rest = text.strip().partition("\t")
    if directive in _SIZES:
        value = rest.partition(";")[0].strip()
        try:
            return (int(value, 0) % (1 << 8 * _SIZES[directive])).to_bytes(_SIZES[directive], "little")
        except ValueError:
            raise UsageError(
                f"listing line {number}: {directive} {value} is not a number; parity cannot place addresses in data"
            ) from None
    if directive in _ZEROS:
        return bytes(int(rest.partition(";")[0].split(",")[0], 0))
    if directive in (".ascii", ".asciz"):
        quoted = rest.partition("\t;")[0].strip()
        data = ast.literal_eval("b" + quoted)
        assert isinstance(data, bytes)
        return data + b"\0" * (directive == ".asciz")
    return None
