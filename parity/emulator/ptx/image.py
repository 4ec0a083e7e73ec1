"""The initial memory image of the global and constant variables of a PTX module."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from parity.emulator.image import Image, ImageBuilder
from parity.emulator.ptx.operands import literal_bits
from parity.emulator.ptx.parse import PtxVariable, function_names, module_variables, size_of, split_operands

_GENERIC = re.compile(r"generic\((.*)\)$")
_GAP = 256
"""Bytes between variables."""
_FUNCTION = 16
"""The distance of the addresses of functions. No data has such small addresses."""
_SYMBOL = re.compile(r"([A-Za-z_$%][\w$]*)\s*(?:\+\s*(\d+))?$")


@functools.lru_cache(maxsize=64)
def ptx_image(ptx: str) -> Image:
    """Return the image of all global and constant variables. Variables without an initializer are zero."""
    data = ImageBuilder()
    for variable in module_variables(ptx).values():
        if variable.space in ("global", "const"):
            _place(data, variable)
    return data.image({name: _FUNCTION * number for number, name in enumerate(function_names(ptx), 1)})


def _place(data: ImageBuilder, variable: PtxVariable) -> None:
    """Append a variable: numbers, and addresses of symbols."""
    element, writable = size_of(variable.type), variable.space == "global"
    data.gap(_GAP)
    data.align(max(variable.align, 1))
    begin = data.symbols[variable.name] = len(data.content)
    data.sizes[variable.name] = variable.size
    for text in _elements(variable.value):
        inner = generic[1].strip() if (generic := _GENERIC.match(text)) else text
        if (bits := literal_bits(inner, variable.type)) is not None:
            data.append((bits % (1 << 8 * element)).to_bytes(element, "little"), writable)
        elif symbol := _SYMBOL.match(inner):
            data.relocate(variable.name, symbol[1], int(symbol[2] or 0), writable)
    data.append(bytes(begin + variable.size - len(data.content)), writable)


def _elements(value: str) -> Iterator[str]:
    """Yield the values of an initializer, including values in nested braces."""
    value = value.strip()
    if value.startswith("{"):
        for part in split_operands(value[1:-1]):
            yield from _elements(part)
    elif value:
        yield value
