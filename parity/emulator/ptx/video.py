"""Video instructions, on integers of 8, 16 or 32 bits in words of 32 bits (PTX ISA, "Video Instructions").

Scalar instructions widen their operands. The result is therefore exact before it is limited (``.sat``), combined with a
third operand, or inserted into a part of it. Instructions for two or four elements do the same for all elements of a
word. Where an H200 deviates from PTX ISA, this module follows the H200; comments mark these places.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from parity.emulator.instruction import MissingFeature, Unknown
from parity.emulator.ptx.instruction_table import COMPARES
from parity.emulator.ptx.operation import Operation
from parity.platform.files import read_rows


@dataclass(frozen=True)
class _VideoRow:
    """A row of ``video.csv``.

    ``elements`` are the numbers of elements of the instruction's forms. ``result`` is C++ for the result of elements
    ``a`` and ``b``, in a wider type ``T``; ``$`` stands for the comparison.
    """

    name: str
    elements: tuple[str, ...]
    result: str


_ROWS = {row.name: row for row in read_rows(Path(__file__).with_suffix(".csv"), _VideoRow)}
_PART = re.compile(r"(.*)\.([bh])([0-3])")
_SHIFTS = {"shr7": 7, "shr15": 15}


def _limits(type_: str, bits: int) -> tuple[int, int]:
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_ == "s32" else (0, (1 << bits) - 1)


def _limited(value: str, low: int, high: int) -> str:
    return f"min(max({value}, all<T>({low}l)), all<T>({high}l))"


def _split(operand: str) -> tuple[str, int, int]:
    """Split an operand such as ``%r1.b2`` into its register, and the first bit and number of bits of the part."""
    match = _PART.fullmatch(operand)
    if not match:
        return operand, 0, 32
    bits = 8 if match[2] == "b" else 16
    return match[1], int(match[3]) * bits, bits


def _split_types(name: str, words: list[str]) -> tuple[list[str], list[str]]:
    """Return the types of the result and the operands, and the other words."""
    types = [word for word in words if word in ("u32", "s32")]
    return ["u32", *types][-3:] if name == "vset" else types, [word for word in words if word not in types]


def _result(name: str, words: list[str]) -> str:
    compare = next((COMPARES[word] for word in words if word in COMPARES), "")
    if (name == "vset") != bool(compare):
        raise Unknown(f"comparison of {name}")
    return _ROWS[name].result.replace("$", compare)


def _scalar(o: Operation, name: str, words: list[str]) -> None:
    (of_result, of_a, of_b), words = _split_types(name, words)
    target, *operands = o.item.operands
    target, put_at, put_bits = _split(target)
    second = next((word for word in words if word in ("add", "min", "max")), "")
    if unknown := set(words) - {"sat", "clamp", "wrap", "add", "min", "max", *COMPARES, *_SHIFTS}:
        raise Unknown(f"modifier .{unknown.pop()} of {o.item.mnemonic}")
    if len(operands) != 2 + bool(name == "vmad" or second or put_bits < 32):
        raise Unknown(f"{len(operands)} operands of {o.item.mnemonic}")
    lines = ["typedef i64 T;"]
    for letter, operand, type_ in zip("ab", operands, (of_a, of_b), strict=False):
        register, at, bits = _split(operand)
        # In vmad, whole words are always signed.
        signed = "true" if type_ == "s32" or (name == "vmad" and bits == 32) else "false"
        value = f"part<T>({o.source(register, 'b32')}, {at}, {bits}, {signed})"
        if letter == "b" and name in ("vshl", "vshr"):
            value = f"{value} & 31l" if "wrap" in words else f"min({value}, all<T>(32))"
        lines.append(f"const V<T> {letter} = {value};")
    if len(operands) > 2:
        lines.append(f"const V<u32> c = {o.source(operands[2], 'b32')};")
    lines.append(f"V<T> r = {_result(name, words)}{' + to<T>(as<i32>(c))' if name == 'vmad' else ''};")
    signed_operands = "s32" in (of_a, of_b)
    for word in words:
        if word in _SHIFTS:
            lines.append(
                f"r = r >> {_SHIFTS[word]}l;" if signed_operands else f"r = as<T>(as<u64>(r) >> {_SHIFTS[word]}ul);"
            )
    if "sat" in words:
        low, high = _limits(of_result, put_bits)
        if name == "vmad":  # the types of the operands decide, not the type of the result
            low, high = _limits("s32" if signed_operands else "u32", put_bits)
        elif high == 0xFFFFFFFF and name != "vshl":  # results above the maximum wrap
            high = (1 << 63) - 1
        lines.append(f"r = {_limited('r', low, high)};")
    lines.append("V<u32> d = to<u32>(r);")
    if second == "add":
        lines.append("d += c;")
    elif second:
        # The result counts as signed if the operands are. The type of the result decides the comparison.
        seen = "to<i64>(as<i32>(d))" if signed_operands and name != "vabsdiff" else "to<i64>(d)"
        less = f"{seen} < to<i64>(as<i32>(c))" if of_result == "s32" else f"as<u64>({seen}) < to<u64>(c)"
        lines.append(
            f"const B less = bools({less}); d = {'sel(less, d, c)' if second == 'min' else 'sel(less, c, d)'};"
        )
    elif put_bits < 32:
        ones = ((1 << put_bits) - 1) << put_at
        lines.append(f"d = (d << {put_at} & {ones}u) | (c & {ones ^ 0xFFFFFFFF}u);")
    o.guarded(*lines, o.result(target, "b32", "d"))


def _of_elements(o: Operation, name: str, count: int, words: list[str]) -> None:
    (of_result, of_a, of_b), words = _split_types(name, words)
    if unknown := set(words) - {"sat", "add", *COMPARES}:
        raise Unknown(f"modifier .{unknown.pop()} of {o.item.mnemonic}")
    target, *operands = o.item.operands
    if any("." in operand for operand in o.item.operands):
        raise MissingFeature("video instructions that choose elements (.h10, .b3210)")
    bits = 32 // count
    value = _result(name, words)
    if "sat" in words:
        value = _limited(value, *_limits(of_result, bits))
    gathered = "r += as<u32>(e);" if "add" in words else f"r |= (as<u32>(e) & {(1 << bits) - 1}u) << k;"
    o.guarded(
        f"typedef i32 T; const V<u32> x = {o.source(operands[0], 'b32')}, y = {o.source(operands[1], 'b32')};",
        f"V<u32> r = {o.source(operands[2], 'b32') if 'add' in words else 'all(0u)'};",
        f"for (u32 k = 0; k < 32; k += {bits}) {{",
        f"const V<T> a = part<T>(x, k, {bits}, {str(of_a == 's32').lower()});",
        f"const V<T> b = part<T>(y, k, {bits}, {str(of_b == 's32').lower()});",
        f"const V<T> e = {value};",
        gathered,
        "}",
        o.result(target, "b32", "r"),
    )


def _instruction(name: str, count: int) -> Callable[[Operation, list[str]], None]:
    if count == 1:
        return lambda o, words: _scalar(o, name, words)
    return lambda o, words: _of_elements(o, name, count, words)


VIDEO = {
    row.name + count.replace("1", ""): _instruction(row.name, int(count))
    for row in _ROWS.values()
    for count in row.elements
}
