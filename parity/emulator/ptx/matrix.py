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
    place = address_statement(o, memory, next((word for word in words if word in SPACES), ""))
    distance = o.source(stride[0], "b32") if stride else f"all({columns if by_rows else rows}u)"
    word = 64 if size == 8 else 32
    given = "" if loads else ", ".join(o.source(each, f"b{word}") for each in registers)
    form = f"u{8 * size}, {rows}, {columns}, {'true' if by_rows else 'false'}, {'true' if loads else 'false'}"
    lines = [
        place,
        # CUDA's guide requires a multiple of 32 bytes. An H200 faults if it is not a multiple of 16.
        f"if (misaligned(c, on, at, 15, {o.here})) return 1;",
        f"V<u{word}> x[{len(registers)}] = {{{given}}};",
        f"if (move_fragment<{form}>(c, on, at, {distance}, {o.here}, x)) return 1;",
    ]
    lines += [o.result(each, f"b{word}", f"x[{i}]") for i, each in enumerate(registers) if loads]
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
    trans = "true" if "trans" in words else "false"
    lines = [place, f"Lanes<u32> part[{count}];", f"if (load_matrices<{trans}>(c, on, at, {o.here}, part)) return 1;"]
    for i, each in enumerate(split_operands(into.strip("{}"))):
        lines.append(o.result(each, "b32", f"part[{i}].vector()"))
    synchronized_step(o, _ALL, *lines)


MATRIX: dict[str, Callable[[Operation, list[str]], None]] = {"wmma": _wmma, "mma": _mma, "ldmatrix": _ldmatrix}
