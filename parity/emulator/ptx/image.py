"""The initial memory image of the global and constant variables of a PTX module."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from parity.emulator.image import Image, Relocation
from parity.emulator.ptx.operands import literal_bits
from parity.emulator.ptx.parse import PtxVariable, function_names, module_variables, size_of, split_operands

_GENERIC = re.compile(r"generic\((.*)\)$")
_SYMBOL = re.compile(r"([A-Za-z_$%][\w$]*)\s*(?:\+\s*(\d+))?$")


@functools.lru_cache(maxsize=64)
def ptx_image(ptx: str) -> Image:
    """Return the image of all global and constant variables. Variables without an initializer are zero."""
    content, writable = bytearray(), bytearray()
    symbols: dict[str, int] = {}
    sizes: dict[str, int] = {}
    references: list[Relocation] = []
    referred: dict[str, tuple[str, ...]] = {}
    for variable in module_variables(ptx).values():
        if variable.space not in ("global", "const"):
            continue
        gap = bytes(-len(content) % max(variable.align, 1))
        content += gap
        writable += bytes(len(gap))
        symbols[variable.name], sizes[variable.name] = len(content), variable.size
        data, places = _data(variable)
        for at, symbol, addend in places:
            references.append(Relocation(len(content) + at, symbol, addend))
        referred[variable.name] = tuple(dict.fromkeys(symbol for _, symbol, _ in places))
        content += data
        writable += bytes([variable.space == "global"]) * len(data)
    functions = dict.fromkeys(function_names(ptx), 0)
    return Image(bytes(content), symbols, bytes(writable), sizes, functions, tuple(references), referred)


def _data(variable: PtxVariable) -> tuple[bytes, list[tuple[int, str, int]]]:
    """Return the bytes of a variable, and its references as (offset, symbol, addend)."""
    element = size_of(variable.type)
    data = bytearray()
    places: list[tuple[int, str, int]] = []
    for text in _elements(variable.value):
        inner = generic[1].strip() if (generic := _GENERIC.match(text)) else text
        if (bits := literal_bits(inner, variable.type)) is not None:
            data += (bits % (1 << 8 * element)).to_bytes(element, "little")
        elif symbol := _SYMBOL.match(inner):
            places.append((len(data), symbol[1], int(symbol[2] or 0)))
            data += bytes(element)
    return bytes(data.ljust(variable.size, b"\0")), places


def _elements(value: str) -> Iterator[str]:
    """Yield the values of an initializer, including values in nested braces."""
    value = value.strip()
    if value.startswith("{"):
        for part in split_operands(value[1:-1]):
            yield from _elements(part)
    elif value:
        yield value
