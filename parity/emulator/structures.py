"""Structs of the C++ runtime as ctypes has them, read from the headers that define them."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

__all__ = ["structure"]

_RUNTIME = Path(__file__).with_name("runtime")
_NUMBERS: dict[str, Any] = {
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "f64": ctypes.c_double,
}


def structure(header: str, name: str) -> type[ctypes.Structure]:
    """The struct of that name in a header of ``runtime/``: numbers, pointers as ``u64``, and arrays of these."""
    text = re.sub(r"//.*", "", (_RUNTIME / header).read_text(encoding="utf-8"))
    body = text.partition(f"struct {name} {{")[2].partition("};")[0]
    fields = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        kind, names = declaration.removeprefix("const ").split(" ", 1)
        for each in names.split(","):
            called, *counts = re.findall(r"\w+", each)
            field = _NUMBERS["u64" if "*" in each else kind]
            for count in reversed(counts):
                field *= int(count)
            fields.append((called, field))
    return type(name, (ctypes.Structure,), {"_fields_": fields})
