"""Matrix instructions of a warp: ``wmma.load``, ``wmma.mma``, ``wmma.store``, ``mma`` and ``ldmatrix``.

PTX ISA does not define which thread holds which element of a ``wmma`` fragment. Here thread n % 32 holds element n of a
matrix, counted by rows; a fragment with more room repeats elements. PTX ISA defines the fragments of ``mma``
(runtime/matrix.cpp). Sums of floats are computed as measured on Hopper; see docs/matrix-cores.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from parity.emulator.instruction import MissingFeature
from parity.emulator.ptx.control import synchronized_step
from parity.emulator.ptx.memory import address_statement
from parity.emulator.ptx.operands import SPACES
from parity.emulator.ptx.operation import Operation
from parity.emulator.ptx.parse import size_of, split_operands

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")
_TYPES = {
    "f16": "F16", "bf16": "BF16", "tf32": "XF32", "f64": "F64", "s8": "IU8", "u8": "IU8", "e4m3": "FP8", "e5m2": "BF8",
}  # fmt: skip
"""Types of factors, and their names in runtime/matrix.h."""
_SUMS = {"f16": "F16", "f32": "F32", "f64": "F64", "s32": "I32"}
_ALL = "all(0xffffffffu)"


def _wmma(o: Operation, words: list[str]) -> None:
    if o.item.modifiers:
        raise MissingFeature("matrix instructions with a guard")
    shape = _shape(words)
    if not shape:
        raise _refusal(o)
    if words[0] == "mma":
        _multiply(o, words, "LINEAR", *shape)
    else:
        _move(o, words, *shape)


def _shape(words: list[str]) -> tuple[int, ...]:
    return next((tuple(map(int, match.groups())) for match in map(_SHAPE.match, words) if match), ())


def _refusal(o: Operation) -> MissingFeature:
    return MissingFeature(f"matrix instructions ({o.item.mnemonic})")


def _move(o: Operation, words: list[str], m: int, n: int, k: int) -> None:
    """Move elements between memory and a fragment of a, b, c or d."""
    loads, which, type_ = words[0] == "load", words[1], words[-1]
    if type_ not in (_TYPES if which in "ab" else _SUMS):
        raise MissingFeature(f"matrix instructions of {type_}")
    operands = list(o.item.operands)
    registers = split_operands(operands.pop(0 if loads else 1).strip("{}"))
    memory, *stride = operands
    rows, columns = {"a": (m, k), "b": (k, n)}.get(which, (m, n))
    by_rows = "row" in words
    kind = "b32" if type_ == "tf32" else type_
    size = size_of(kind)
    per = max(1, size_of(o.function.registers[registers[0]]) // size)
    place = address_statement(o, memory, next((word for word in words if word in SPACES), ""))
    distance = o.source(stride[0], "b32") if stride else f"all({columns if by_rows else rows}u)"
    u = f"u{8 * size}"
    word = "u64" if size == 8 else "u32"
    wide = f"beyond, {o.here}"
    element = (
        f"const V<u32> number = (e * 32 + IOTA) % {rows * columns}u, row = number / {columns}u, "
        f"column = number % {columns}u; const V<u64> beyond = start + to<u64>("
        f"{'row' if by_rows else 'column'} * distance + {'column' if by_rows else 'row'}) * {size}ul;"
    )
    lines = [place, f"const V<u64> start = at; const V<u32> distance = {distance};"]
    lines.append(f"V<{word}> x[{len(registers)}] = {{}};")
    if not loads:
        for i, each in enumerate(registers):
            lines.append(f"x[{i}] = {o.source(each, 'b64' if word == 'u64' else 'b32')};")
    lines.append(f"for (u32 e = 0; e < {len(registers) * per}; e++) {{ {element}")
    shift = f"{8 * size} * (e % {per})"
    if loads:
        lines.append(f"V<{u}> y; if (load_at_{u}(c, on, {wide}, &y)) return 1;")
        lines.append(f"x[e / {per}] |= to<{word}>(y) << ({word})({shift}); }}")
    else:
        lines.append(f"const V<{u}> y = to<{u}>(x[e / {per}] >> ({word})({shift}));")
        lines.append(f"if (store_at_{u}(c, on, {wide}, y)) return 1; }}")
    if loads:
        for i, each in enumerate(registers):
            lines.append(o.result(each, f"b{64 if word == 'u64' else 32}", f"x[{i}]"))
    synchronized_step(o, _ALL, *lines)


def _mma(o: Operation, words: list[str]) -> None:
    shape = _shape(words)
    factors = [word for word in words if word in _TYPES]
    odd = {"sp", "block_scale", "kind", "xor", "and"} & set(words) or "sp::ordered_metadata" in words
    # The f16 shape m8n8k4 of Volta has a different layout.
    if o.item.modifiers or not shape or odd or (shape == (8, 8, 4) and "f64" not in factors):
        raise _refusal(o)
    _multiply(o, words, "MMA", *shape)


def _multiply(o: Operation, words: list[str], layout: str, m: int, n: int, k: int) -> None:
    types = [word for word in words if word in _TYPES or word in _SUMS]
    d, a, b, c = types if len(types) == 4 else (types[0], "f16", "f16", types[-1])
    if a not in _TYPES or b not in _TYPES or c not in _SUMS or d not in _SUMS or {c, d} == {"f16", "f32"}:
        raise _refusal(o)
    rounding = {"rz", "rm", "rp"} & set(words)
    if rounding:
        raise MissingFeature(f"matrix instructions that do not round to nearest (.{rounding.pop()})")
    into, *sources = (split_operands(each.strip("{}")) for each in o.item.operands)
    lines = []
    for name, registers in zip("abc", sources, strict=True):
        found = []
        for each in registers:
            if d == "f64":
                value = o.source(each, "b64")
                found += [f"lo32({value})", f"hi32({value})"]
            else:
                found.append(o.source(each, "b32"))
        lines.append(f"const V<u32> {name}[] = {{{', '.join(found)}}};")
    sums = "CHAIN" if d == "f64" else "EXACT" if d == "s32" else "TENSOR"
    group = k // 2 if a in ("e4m3", "e5m2") else k  # see runtime/matrix.cpp
    signs = (a == "s8") | (b == "s8") << 1
    fields = {
        "layout": layout, "sums": f"SUM_{sums}", "m": m, "n": n, "k": k, "blocks": 1, "group": group,
        "a": f"TYPE_{_TYPES[a]}", "b": f"TYPE_{_TYPES[b]}", "d": f"TYPE_{_SUMS[d]}",
        "neg_lo": signs, "clamp": int("satfinite" in words),
    }  # fmt: skip
    count = len(into) * (2 if d == "f64" else 1)
    lines.append(f"V<u32> d[{count}] = {{}};")
    lines.append(
        f"static constexpr Product p = {{{', '.join(f'.{name} = {value}' for name, value in fields.items())}}};"
    )
    function = {"f64": "multiply_f64", "s32": "multiply_i32"}.get(d, "multiply_f32")
    lines.append(f"{function}(p, a, b, c, nullptr, d);")
    for i, each in enumerate(into):
        value = f"join(d[{2 * i}], d[{2 * i + 1}])" if d == "f64" else f"d[{i}]"
        lines.append(o.result(each, "b64" if d == "f64" else "b32", value))
    synchronized_step(o, _ALL, *lines)


def _ldmatrix(o: Operation, words: list[str]) -> None:
    """Load matrices of 8 rows of 16 bytes. Eight threads provide the row addresses of a matrix."""
    count = next((int(word[1]) for word in words if word in ("x1", "x2", "x4")), 0)
    if o.item.modifiers or "m8n8" not in words or words[-1] != "b16" or not count:
        raise _refusal(o)
    into, memory = o.item.operands
    place = address_statement(o, memory, next((word for word in words if word in SPACES), ""))
    here = o.here
    row, column = ("2 * (l % 4) + half", "l / 4") if "trans" in words else ("l / 4", "l % 4 * 2 + half")
    lines = [
        place,
        f"const Mask those = on & {(1 << 8 * count) - 1:#x}u;",
        f"if (misaligned(c, those, at, 15, {here})) return 1;",
        "V<u32> rows[4] = {};",
        f"if (gather_at(c, those, at, 16, {here}, rows)) return 1;",
        "auto element = [&](u32 row, u32 column) {"
        " return ((const u32 *)rows)[column / 2 * LANES + row] >> 16 * (column % 2) & 0xffff; };",
        f"Lanes<u32> part[{count}];",
        f"for (u32 q = 0; q < {count}; q++) for (u32 l = 0; l < LANES; l++) {{ part[q][l] = 0;",
        f"for (u32 half = 0; half < 2; half++) part[q][l] |= element(8 * q + {row}, {column}) << 16 * half; }}",
    ]
    for i, each in enumerate(split_operands(into.strip("{}"))):
        lines.append(o.result(each, "b32", f"part[{i}].vector()"))
    synchronized_step(o, _ALL, *lines)


MATRIX: dict[str, Callable[[Operation, list[str]], None]] = {"wmma": _wmma, "mma": _mma, "ldmatrix": _ldmatrix}
