"""Operands of PTX instructions as text: types, literals, addresses and special registers."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.emulator.instruction import MissingFeature, Unknown
from parity.platform.files import read_rows

ROUNDINGS = {"rn": "RN", "rz": "RZ", "rm": "RM", "rp": "RP", "rni": "RN", "rzi": "RZ", "rmi": "RM", "rpi": "RP"}
_TYPE = re.compile(r"(?:[usbf](?:8|16|32|64|128)|f16x2|bf16(?:x2)?|[us]16x2|pred|e4m3x2|e5m2x2|tf32)$")
_FLOAT_BITS = re.compile(r"0(?:[fF](?P<single>[0-9a-fA-F]{8})|[dD](?P<double>[0-9a-fA-F]{16}))")
_ADDRESS = re.compile(r"\[\s*(\(.*\)|[^\s+\]]+)\s*(?:\+\s*(-?\w+))?\s*\]")
SPACES = ("global", "shared", "local", "const", "param")


@dataclass(frozen=True)
class SpecialRegister:
    """A row of ``special_registers.csv``: the name, the type, and the value as C++."""

    name: str
    type: str
    value: str


SPECIAL = {row.name: row for row in read_rows(Path(__file__).with_name("special_registers.csv"), SpecialRegister)}


def cpp_type(type_: str) -> str:
    """Return the C++ type of one lane of a PTX type."""
    if type_.endswith("128"):
        raise MissingFeature("registers of 128 bits")
    if type_ in ("f16", "f32", "f64"):
        return type_
    if type_ in ("bf16", "pred"):
        return "u16"
    if type_.endswith("x2") or type_ == "tf32":
        return "u16" if type_.startswith("e") else "u32"
    return ("i" if type_[0] == "s" else "u") + type_[1:]


def integer_literal(text: str) -> int | None:
    """Parse an integer constant; None for other operands."""
    text = text.strip()
    try:
        if re.fullmatch(r"-?0[0-7]+U?", text):
            return int(text.rstrip("U").replace("0", "0o", 1), 8)
        return int(text.rstrip("U"), 0)
    except ValueError:
        return None


def literal_bits(operand: str, type_: str) -> int | None:
    """Return the bits of a constant as a value of a PTX type; None for other operands."""
    value: float | int | None = integer_literal(operand)
    if match := _FLOAT_BITS.fullmatch(operand):
        bits = int(operand[2:], 16)
        if match["single"] and type_ in ("f64", "b64", "u64", "s64"):
            return _bits(struct.unpack("<f", struct.pack("<I", bits))[0], "<d")
        if match["double"] and type_ == "f32":
            return _bits(struct.unpack("<d", struct.pack("<Q", bits))[0], "<f")
        return bits
    if value is None and re.fullmatch(r"-?\d+\.\d*(?:[eE][-+]?\d+)?", operand):
        value = float(operand)
    if isinstance(value, float) or (value is not None and type_ in ("f32", "f64")):
        return _bits(value, "<d" if type_ == "f64" else "<f")
    return None if value is None else value % (1 << 64)


def _bits(value: float, form: str) -> int:
    return int.from_bytes(struct.pack(form, value), "little")


def split_types(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the words of a mnemonic into modifiers and types."""
    types = [word for word in words if _TYPE.match(word)]
    return [word for word in words if not _TYPE.match(word)], types


def split_results(operand: str) -> tuple[str, str]:
    """Split a result operand such as ``%r1|%p2``. The second part is empty if there is only one result."""
    first, _, second = (part.strip() for part in operand.partition("|"))
    return first, second


def split_address(operand: str) -> tuple[str, int]:
    """Split an address such as ``[%rd1+8]`` into its base and its offset in bytes.

    Raises:
        Unknown: The operand is not an address.
    """
    if not (match := _ADDRESS.fullmatch(operand)):
        raise Unknown(f"address {operand}")
    return match[1], int(match[2] or "0", 0)
