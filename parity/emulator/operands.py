"""Operands and modifiers: how they are read, and how a result is written under the EXEC mask, as C++."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from parity.emulator.isa import CACHE_POLICY, Semantics
from parity.emulator.parse import Instruction
from parity.emulator.writer import Unknown, Writer

__all__ = [
    "OMOD", "check_count", "chosen", "modifiers", "offset", "refuse_modifiers", "registers", "scalar", "scalar_type",
    "vector", "write", "write_scalar",
]  # fmt: skip

_REGISTER = re.compile(r"([sv])(\d+)(?:\.([lh]))?$|([sv])\[(\d+):(\d+)\]$")
_SPECIAL = {
    "vcc_lo": ("vcc_lo",),
    "vcc_hi": ("vcc_hi",),
    "vcc": ("vcc_lo", "vcc_hi"),
    "exec_lo": ("exec_lo",),
    "exec_hi": ("exec_hi",),
    "exec": ("exec_lo", "exec_hi"),
    "m0": ("m0",),
}
_FLOAT_FORMAT = {16: "<e", 32: "<f", 64: "<d"}
_ONE_OVER_TWO_PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
OMOD = {"mul:2": "2", "mul:4": "4", "div:2": "0.5"}
_WIDTH = re.compile(r"(\d+)")


def registers(w: Writer, operand: str) -> tuple[str, ...]:
    """The registers an operand names, lowest first."""
    names = _SPECIAL.get(operand, ())
    if match := _REGISTER.match(operand):
        file, first, last = match[1] or match[4], int(match[2] or match[5]), int(match[2] or match[6])
        names = tuple(f"{file}{i}" for i in range(first, last + 1))
    if not names:
        raise Unknown(f"operand {operand!r}")
    w.registers |= {n for n in names if n not in ("exec_lo", "exec_hi")}
    return names


def _constant(operand: str, kind: str) -> int | None:
    """The bits of an inline constant or literal as an operand of this type; ``None`` if it is not a number."""
    width = int(_WIDTH.search(kind)[1])  # type: ignore[index]
    ones = (1 << width) - 1
    try:
        value = int(operand, 0)
    except ValueError:
        pass
    else:
        if kind == "f64" and "0x" in operand and value < 1 << 32:
            return value << 32  # a 32-bit literal is the high word
        if kind == "i64" and "0x" in operand and value >> 31 == 1:
            value -= 1 << 32
        return value & ones
    if operand.startswith("0.15915") or operand == "0.1592":
        return _ONE_OVER_TWO_PI[width]
    try:
        return int.from_bytes(struct.pack(_FLOAT_FORMAT[width], float(operand)), "little")
    except ValueError:
        return None


def scalar(w: Writer, operand: str, kind: str) -> str:
    """A C++ expression of the scalar type ``kind``."""
    if kind in ("k16", "uk16"):
        value = int(operand, 0) & 0xFFFF
        return f"{value - (1 << 16) if kind == 'k16' and value >> 15 else value}"
    if (bits := _constant(operand, kind)) is not None:
        return f"({kind}){bits:#x}ul"
    if operand == "scc":
        return "scc"
    if operand == "null":
        return f"({kind})0"
    names = registers(w, operand)
    if names[0][0] == "v" and not names[0].startswith("vcc"):
        raise Unknown(f"vector register {operand} as a scalar operand")
    if kind.endswith("64"):
        if len(names) != 2:
            raise Unknown(f"operand {operand!r} of 64 bits")
        return f"({kind})pair({names[0]}, {names[1]})"
    return f"({kind}){names[0]}"


def vector(w: Writer, operand: str, kind: str, half: int = 0) -> str:
    """A C++ expression of type ``V<kind>`` (``B`` for a mask), source modifiers applied.

    ``half`` selects the upper 16 bits for a 16-bit type; for ``mix`` it is -1 for a plain f32.
    """
    if kind == "mask":
        return f"unmask({scalar(w, operand, 'u32')})"
    negate = operand.startswith("-") and not operand[1:2].isdigit()
    inner = operand[1:] if negate else operand
    magnitude = inner.startswith("|")
    inner = inner.strip("|")
    if (magnitude or negate) and kind[0] not in "fm":
        raise Unknown(f"sign modifier of {operand!r} on an operand of type {kind}")
    kind, mixed = ("f32", half >= 0) if kind == "mix" else (kind, False)
    if mixed:
        value = f"wide({_bits(w, inner, 'f16', half)})"
    else:
        kind = kind.removesuffix("hi")
        value = _bits(w, inner, kind, max(half, 0))
        value = value if kind[0] == "u" else f"as<{kind}>({value})"
    value = f"mag({value})" if magnitude else value
    return f"neg({value})" if negate else value


def _bits(w: Writer, operand: str, kind: str, half: int) -> str:
    """A C++ expression of the unsigned type as wide as ``kind``: the raw bits of an operand."""
    bits, kind = _constant(operand, kind), "u" + kind[1:]
    if bits is not None:
        if kind == "u16" and half:  # of a packed literal; the upper half of an inline constant is zero
            bits = int(operand, 0) >> 16 if operand.startswith("0x") else 0
        return f"all<{kind}>({bits:#x}ul)"
    name, _, part = operand.partition(".")
    is_vector = re.match(r"v[\d\[]", operand)
    if not is_vector:
        if kind == "u16" and half:
            return f"all<u16>((u16)({scalar(w, operand, 'u32')} >> 16))"
        return f"all<{kind}>({scalar(w, operand, kind)})"
    names = registers(w, name)
    if kind == "u64":
        if len(names) != 2:
            raise Unknown(f"operand {operand!r} of 64 bits")
        return f"join({names[0]}, {names[1]})"
    if len(names) != 1:
        raise Unknown(f"operand {operand!r} of {kind[1:]} bits")
    narrow = f"{'hi' if part == 'h' or (not part and half) else 'lo'}16({name})"
    if kind == "u16":
        return narrow
    return f"to<u32>({narrow})" if part else name


def write(w: Writer, target: str, kind: str, expression: str, high: int = 0) -> Iterator[str]:
    """Statements that write a lane vector under the EXEC mask."""
    if target == "null":
        return
    if kind in ("mask", "exec"):
        yield f"{registers(w, target)[0]} = mask(bools({expression})) & exec_lo;"
        return
    if kind == "lane0":
        yield from write_scalar(w, target, "u32", f"({expression})[exec_lo ? __builtin_ctz(exec_lo) : 0]")
        return
    name, _, part = target.partition(".")
    names = registers(w, name)
    live = "unmask(exec_lo)"
    if kind.endswith("64"):
        lo, hi = names
        yield f"const V<u64> r = as<u64>((V<{kind}>)({expression}));"
        yield f"{lo} = sel({live}, lo32(r), {lo}); {hi} = sel({live}, hi32(r), {hi});"
    elif "16" in kind:
        put = "put_hi" if part == "h" or kind == "f16hi" or high else "put_lo"
        base = kind.removesuffix("hi")
        yield f"{name} = sel({live}, {put}({name}, as<u16>((V<{base}>)({expression}))), {name});"
    else:
        yield f"{name} = sel({live}, as<u32>((V<{kind}>)({expression})), {name});"


def write_scalar(w: Writer, target: str, kind: str, expression: str) -> Iterator[str]:
    if target == "null":
        return
    names = registers(w, target)
    if kind.endswith("64"):
        lo, hi = names
        yield f"{lo} = (u32)({expression}); {hi} = (u64)({expression}) >> 32;"
    else:
        yield f"{names[0]} = {expression};"


def modifiers(item: Instruction, lists: Sequence[str]) -> tuple[dict[str, list[int]], str, str]:
    found: dict[str, list[int]] = {}
    clamp = omod = ""
    for modifier in item.modifiers:
        name, _, value = modifier.partition(":")
        if name in lists:
            found[name] = [int(x) for x in value.strip("[]").split(",")]
        elif modifier == "clamp":
            clamp = modifier
        elif modifier in OMOD:
            omod = modifier
        else:
            raise Unknown(f"modifier {modifier} of {item.mnemonic}")
    return found, clamp, omod


def chosen(lists: dict[str, list[int]], name: str, i: int, default: int) -> int:
    values = lists.get(name)
    return values[i] if values and i < len(values) else default


def refuse_modifiers(item: Instruction) -> None:
    if item.modifiers:
        raise Unknown(f"modifier {item.modifiers[0]} of {item.mnemonic}")


def offset(item: Instruction) -> int:
    offset = 0
    for modifier in item.modifiers:
        if modifier.startswith("offset:"):
            offset = int(modifier.removeprefix("offset:"), 0)
        elif modifier not in CACHE_POLICY:
            raise Unknown(f"modifier {modifier} of {item.mnemonic}")
    return offset


def check_count(operands: Sequence[str], known: Semantics) -> None:
    if len(operands) != len(known.sources):
        raise Unknown(f"number of source operands, {len(operands)} instead of {len(known.sources)}")


def scalar_type(kind: str) -> str:
    return {"k16": "i32", "uk16": "u32"}.get(kind, kind)
