"""The data sections of an AMD listing, from its assembler directives."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from parity.emulator.image import Image, ImageBuilder
from parity.errors import UsageError

_SECTION = re.compile(r"\n\t\.(section|text|data|bss)\b[ \t]*([\w.]*).*")
_LABEL = re.compile(r"([\w.$]+):")
_SIZES = {".byte": 1, ".short": 2, ".long": 4, ".quad": 8}
_ZEROS = frozenset((".zero", ".skip", ".space"))
_DECLARATIONS = (
    "\t.size", "\t.type", "\t.globl", "\t.weak", "\t.protected", "\t.hidden", "\t.ident", "\t.addrsig", "\t;", ";",
)  # fmt: skip
_DATA = (".rodata", ".data", ".bss")
_CONSTANT = (".rodata", ".data.rel.ro")
_ADDRESS = re.compile(r"\t\.quad\t([A-Za-z_.$][\w.$]*)([+-]\d+)?\s*(?:;|$)")
_SIZE = re.compile(r"\t\.size\t([\w.$]+), (\d+)")
# Without an anchor, which the regex engine would try at each line of megabytes.
_FUNCTION = re.compile(r"\n\t\.type\t([\w.$]+),@function")
_KERNEL = re.compile(r"\n\t\.amdhsa_kernel ([\w.$]+)")
_GOT = re.compile(r"([\w.$]+)@gotpcrel32@lo")


CODE = 0x7E00_0000_0000
"""The address of the first function; the next follows ``_STEP`` bytes later. No memory is at these addresses."""

_STEP = 256


@functools.lru_cache(maxsize=64)  # each kernel of a listing needs it, and it reads the whole listing
def data_image(listing: str) -> Image:
    """Return the image of all data sections of a listing.

    Raises:
        UsageError: a data section has an unknown directive; the message states its line.
    """
    data = ImageBuilder()
    for section, first, lines in _data_sections(listing):
        _read_section(data, first, lines, not section.startswith(_CONSTANT))
    for name in dict.fromkeys(_GOT.findall(listing) if "@gotpcrel32" in listing else ()):
        data.align(8)
        data.symbols[f"{name}@got"] = len(data.content)
        data.relocate(f"{name}@got", name, 0, False)
    kernels = set(_KERNEL.findall(listing))
    functions = [name for name in dict.fromkeys(_FUNCTION.findall(listing)) if name not in kernels]
    addresses = {name: CODE + i * _STEP for i, name in enumerate(functions)}
    return data.image(addresses)


def _read_section(data: ImageBuilder, first: int, lines: list[str], writable: bool) -> None:
    """Append a data section whose first line is line ``first`` of the listing."""
    symbol, alignment = "", 1
    inside = False  # of data: .rodata also holds the descriptors of kernels
    for number, text in enumerate(lines, first):
        if not text:
            continue
        if label := _LABEL.match(text):
            symbol, inside = label[1], True
            data.symbols[symbol] = len(data.content)
        elif text.startswith("\t.p2align"):
            alignment = 1 << int(text.split()[1].rstrip(","))
            data.align(alignment)
        elif of := _SIZE.match(text):
            data.sizes[of[1]] = int(of[2])
        elif inside and (address := _ADDRESS.match(text)):
            data.relocate(symbol, address[1], int(address[2] or "0", 0), writable)
        elif inside and (content := _bytes(text, number)) is not None:
            data.append(content, writable)
        elif inside and not text.startswith(_DECLARATIONS):
            raise UsageError(f"listing line {number}: parity does not know the directive {text.split()[0]} of data")
    data.align(alignment)  # compiled scalar loads may read up to it: 32 bytes of 7 numbers


def _data_sections(listing: str) -> Iterator[tuple[str, int, list[str]]]:
    """The name of each data section, its first line number in the listing, and its lines.

    Skips code, which is most of a listing, without looking at its lines.
    """
    text = f"\n{listing}"
    found = list(_SECTION.finditer(text))
    line, counted = 0, 0
    for this, after in zip(found, [*(match.start() for match in found), len(text)][1:], strict=True):
        name = this[2] if this[1] == "section" else f".{this[1]}"
        if name.startswith(_DATA):
            line, counted = line + text.count("\n", counted, this.end()), this.end()
            yield name, line, text[this.end() : after].split("\n")


def _bytes(text: str, number: int) -> bytes | None:
    """The bytes that a directive defines; ``None`` for other directives."""
    directive, _, rest = text.strip().partition("\t")
    if directive in _SIZES:
        value = rest.partition(";")[0].strip()
        try:
            return (int(value, 0) % (1 << 8 * _SIZES[directive])).to_bytes(_SIZES[directive], "little")
        except ValueError:
            problem = f"{directive} {value} is not a number; parity cannot place addresses in data"
            raise UsageError(f"listing line {number}: {problem}") from None
    if directive in _ZEROS:
        return bytes(int(rest.partition(";")[0].split(",")[0], 0))
    if directive in (".ascii", ".asciz"):
        quoted = rest.partition("\t;")[0].strip()
        data = ast.literal_eval("b" + quoted)
        assert isinstance(data, bytes)
        return data + b"\0" * (directive == ".asciz")
    return None
