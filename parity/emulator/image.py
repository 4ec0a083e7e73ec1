"""The data of a code object: constants and variables, laid out as the listing's directives say."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from parity.errors import UsageError

__all__ = ["Image", "image_of"]

_SECTION = re.compile(r"\t\.(section|text|data|bss)\b\s*([\w.]*)")
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


@dataclass(frozen=True)
class Image:
    """``content`` as it lies in memory, the byte offset of every symbol, and which bytes a kernel may write."""

    content: bytes
    symbols: Mapping[str, int]
    writable: bytes


@functools.lru_cache(maxsize=64)  # every kernel of a listing asks for it, and it reads the listing line by line
def image_of(listing: str) -> Image:
    """The image of all data sections of a listing.

    Raises:
        UsageError: a directive of a data section that is not understood (with its line).
    """
    content, writable = bytearray(), bytearray()
    symbols: dict[str, int] = {}
    section = ""
    inside = False  # of data; the descriptors of kernels are in .rodata, too
    for number, text in enumerate(listing.split("\n"), 1):
        if match := _SECTION.match(text):
            name = match[2] if match[1] == "section" else f".{match[1]}"
            section = name if name.startswith(_DATA) else ""
            inside = False
        elif not section or not text:
            continue
        elif label := _LABEL.match(text):
            symbols[label[1]] = len(content)
            inside = True
        elif text.startswith("\t.p2align"):
            size = 1 << int(text.split()[1].rstrip(","))
            _append(content, writable, bytes(-len(content) % size), False)
        elif inside and (data := _bytes(text, number)) is not None:
            _append(content, writable, data, not section.startswith(".rodata"))
        elif inside and not text.startswith(_DECLARATIONS):
            raise UsageError(f"listing line {number}: parity does not know the directive {text.split()[0]} of data")
    return Image(bytes(content), symbols, bytes(writable))


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
