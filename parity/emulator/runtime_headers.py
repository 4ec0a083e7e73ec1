"""Read structs, enumerations and constants from the headers of the C++ runtime.

Python code never repeats such a definition, because a copy would differ after a change of the header.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_RUNTIME = Path(__file__).with_name("runtime")
_TYPES: dict[str, Any] = {
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "f64": ctypes.c_double,
}
_MASKS = {"u16": (1 << 16) - 1, "u32": (1 << 32) - 1, "u64": (1 << 64) - 1}
_ENUM = re.compile(r"\benum(?: \w+)? ?\{([^}]*)\}")
_CONSTANT = re.compile(r"^constexpr (\w+) ([^;]+);", re.MULTILINE)
_SUFFIX = re.compile(r"\b(0x[0-9a-fA-F]+|\d+)[ul]+\b")


@cache
def structure(header: str, name: str) -> type[ctypes.Structure]:
    """Return a struct of a header: numbers, pointers as ``u64``, other structs, and arrays of these."""
    match = re.search(rf"struct (?:alignas\((\d+)\) )?{name} {{(.*?)\n}};", _text(header), re.DOTALL)
    assert match, f"{header} has no struct {name}"
    fields: list[tuple[str, Any]] = []
    for declaration in filter(None, map(str.strip, match[2].split(";"))):
        kind, names = declaration.removeprefix("const ").split(" ", 1)
        for each in names.split(","):
            called, *counts = re.findall(r"\w+", each)
            field = _TYPES["u64"] if "*" in each else _TYPES.get(kind) or structure(header, kind)
            for count in reversed(counts):
                field *= int(count) if count.isdigit() else constants(header)[count]
            fields.append((called, field))
    padding = -sum(ctypes.sizeof(field) for _, field in fields) % int(match[1] or 1)
    return type(name, (ctypes.Structure,), {"_fields_": [*fields, *[("_padding", ctypes.c_uint8 * padding)][:padding]]})


@cache
def constants(header: str) -> Mapping[str, Any]:
    """Return the enumerators and the ``constexpr`` numbers of a header by name; an array is a tuple.

    Omits constants that depend on the number of lanes or on other headers.
    """
    found: dict[str, Any] = {}
    for match in _ENUM.finditer(_text(header)):
        following = 0
        for name, value in _definitions(match[1]):
            found[name] = _evaluated(value, found) if value else following
            following = found[name] + 1
    for match in _CONSTANT.finditer(_text(header)):
        for name, value in _definitions(match[2]):
            if (number := _evaluated(value, found)) is not None:
                found[name] = number & _MASKS[match[1]] if isinstance(number, int) and match[1] in _MASKS else number
    return found


def _text(header: str) -> str:
    return re.sub(r"//.*", "", (_RUNTIME / header).read_text(encoding="utf-8"))


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """The name and the value of each definition in a list; the value may be empty."""
    for part in re.split(r",(?![^{]*\})", text):
        name, _, value = part.partition("=")
        yield name.strip().removesuffix("[]"), value.strip()


def _evaluated(expression: str, known: Mapping[str, Any]) -> Any:
    """The value of a C++ expression; ``None`` if it uses other names than the known ones."""
    python = _SUFFIX.sub(r"\1", expression).replace("{", "(").replace("}", ",)")
    try:
        return eval(python, {"__builtins__": {}}, dict(known))
    except (NameError, SyntaxError):
        return None
