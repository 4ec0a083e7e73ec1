"""Instructions that compute: rows of the instruction table, logic on predicates, dot products, carries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parity.emulator.instruction import Unknown
from parity.emulator.ptx.comparisons import combine_masks, comparison
from parity.emulator.ptx.instruction_table import PtxInstructionRow, instruction_row
from parity.emulator.ptx.operands import ROUNDINGS, SPACES, cpp_type, integer_literal, split_results, split_types
from parity.emulator.ptx.operation import Operation
from parity.emulator.ptx.parse import size_of, split_operands

_GENERIC = (*ROUNDINGS, "ftz", "sat", "relu")


_SAME = {"b16": "u16", "b32": "u32", "b64": "u64", "f16": "b16", "u16": "b16", "u32": "b32", "u64": "b64", "s32": "b32"}
_WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
_COMPUTED = {"bf16": "f32", "bf16x2": "f32", "f16x2": "f16", "u16x2": "u16", "s16x2": "i16"}
"""The C++ types of a lane that compute in place of types without C++ arithmetic."""


@dataclass(frozen=True)
class _TypedRow:
    """A row of the instruction table for one type of instruction, and the generic modifiers of the instruction."""

    row: PtxInstructionRow
    type: str
    modifiers: Sequence[str]

    def _resolved(self, type_: str) -> str:
        return {"T": self.type, "W": _WIDE.get(self.type, self.type)}.get(type_, type_)

    @property
    def sources(self) -> list[str]:
        return [self._resolved(each) for each in self.row.sources]

    @property
    def result(self) -> str:
        return self._resolved(self.row.result)

    def expression(self, values: Sequence[str], kind: str) -> str:
        """Return C++ that applies the row to values of the C++ type ``kind``."""
        mode = next((ROUNDINGS[word] for word in self.modifiers if word in ROUNDINGS), "RN")
        flush = "ftz" in self.modifiers and "ftz" in self.row.modifiers
        lines = []
        for name, value, source in zip("abcd", values, self.sources, strict=False):
            own = _COMPUTED.get(source, cpp_type(source))
            text = f"ftz({value})" if flush and own[0] == "f" else value
            lines.append(f"const V<{own}> {name} = {text};")
        text = re.sub(r"\bT\b", kind, self.row.expression)
        text = text.replace("$!", f"{mode}, true" if flush else mode).replace("$", mode)
        if flush and kind[0] == "f":
            text = f"ftz({text})"
        if "sat" in self.modifiers and kind[0] == "f":
            text = f"saturated<{kind}>({text})"
        if "relu" in self.modifiers:
            text = f"relu<{kind}>({text})" if kind[0] == "f" else f"max({text}, all<{kind}>(0))"
        given = kind if self.result == self.type else cpp_type(self.result)
        return f"[&] {{ {' '.join(lines)} return V<{given}>({text}); }}()"


def _find_row(o: Operation, base: str, words: Sequence[str], type_: str) -> _TypedRow:
    """Find the row of an instruction, whose mnemonic has the given words besides its type."""
    for generic in ((), _GENERIC):
        name = ".".join((base, *(word for word in words if word not in generic)))
        for spelled in (type_, _SAME.get(type_, type_)):
            if row := instruction_row(name, spelled):
                modifiers = [word for word in words if word in generic]
                for word in modifiers:
                    if ("rnd" if word in ROUNDINGS else word) not in row.modifiers:
                        raise Unknown(f"modifier .{word} of {o.item.mnemonic}")
                return _TypedRow(row, type_, modifiers)
    raise Unknown(f"instruction {o.item.mnemonic}")


def compute(o: Operation, base: str, words: list[str]) -> None:
    """Emit an instruction of the table, a ``mov``, logic on predicates, ``lop3``, or a dot product."""
    modifiers, types = split_types(words)
    if base in ("mov", "and", "or", "xor", "not") and types == ["pred"]:
        _logic(o, base)
    elif base == "mov" and (o.item.operands[0].startswith("{") or o.item.operands[1].startswith("{")):
        _packing(o, types[-1])
    elif not types:
        raise Unknown(f"instruction {o.item.mnemonic}")
    elif base in ("dp4a", "dp2a"):
        _dot(o, base, modifiers, types)
    elif base == "lop3":
        _lop3(o, modifiers)
    else:
        _emit_row(o, _find_row(o, base, modifiers, types[-1]))


def _emit_row(o: Operation, row: _TypedRow) -> None:
    target, *operands = o.item.operands
    if len(operands) != len(row.sources):
        raise Unknown(f"{len(operands)} operands of {o.item.mnemonic}, not {len(row.sources)}")
    values = [o.source(operand, each) for operand, each in zip(operands, row.sources, strict=True)]
    if row.type in ("f16x2", "bf16x2", "u16x2", "s16x2"):
        kind = _COMPUTED[row.type]
        names = [f"p{i}" for i in range(len(values))]
        begin = [f"const V<u32> {name} = {value};" for name, value in zip(names, values, strict=True)]
        parts = []
        for half in ("lo", "hi"):
            halves = [
                f"of_bf16({half}16({name}))" if kind == "f32" else f"half_{half}<{kind}>({name})" for name in names
            ]
            part = row.expression(halves, kind)
            parts.append(f"bf16_of({part})" if kind == "f32" else part)
        o.guarded(*begin, o.result(target, "b32", f"of_halves({parts[0]}, {parts[1]})"))
    elif row.type == "bf16":
        value = row.expression([f"of_bf16({value})" for value in values], "f32")
        o.guarded(o.result(target, "b16", f"bf16_of({value})"))
    else:
        o.guarded(o.result(target, row.result, row.expression(values, cpp_type(row.type))))


def value_of(o: Operation, operand: str) -> tuple[str, str]:
    """Translate a folded instruction such as ``(shl.b64 %rd1, 3)`` to C++. Returns its value and its type."""
    mnemonic, _, rest = operand[1:-1].partition(" ")
    base, *words = mnemonic.split(".")
    operands = split_operands(rest)
    if base == "setp":
        return f"[&] {{ {comparison(o, words, *operands)} return r; }}()", "pred"
    if words == ["pred"]:
        return f"({_combined(base, [o.predicate(each) for each in operands])})", "pred"
    if base == "cvt":
        *_, type_, source = words  # all conversions that are folded have the semantics of C++
        return f"to<{cpp_type(type_)}>({o.source(operands[0], source)})", type_
    modifiers, (type_,) = split_types(words)
    row = _find_row(o, base, modifiers, type_)
    values = [o.source(each, source) for source, each in zip(row.sources, operands, strict=True)]
    return row.expression(values, cpp_type(type_)), row.result


def _logic(o: Operation, base: str) -> None:
    target, *operands = o.item.operands
    value = _combined(base, [o.predicate(each) for each in operands])
    if target != "_":
        o.guarded(f"const Mask r = {value};", o.decide(target, "r"))


def _combined(base: str, masks: Sequence[str]) -> str:
    sign = {"and": "&", "or": "|", "xor": "^", "mov": "", "not": ""}[base]
    if base in ("and", "or") and any(map(_WIDE_COMPARISON.search, masks)):
        first, second = sorted(masks, key=lambda mask: bool(_WIDE_COMPARISON.search(mask)))
        undecided = "r" if base == "and" else "~r"
        return f"[&] {{ Mask r = {first}; if ({undecided} & exec) r {sign}= {second}; return r; }}()"
    value = f" {sign} ".join(masks)
    return f"~({value})" if base == "not" else value


_WIDE_COMPARISON = re.compile(r"V<[fiu]64> a\b")
"""A comparison of 64 bits. It is slow, and is skipped if the other operand decides for all threads."""


def _packing(o: Operation, type_: str) -> None:
    """Emit a ``mov`` that splits a register into parts, or joins parts."""
    target, source = o.item.operands
    size = size_of(type_)
    if target.startswith("{"):
        parts = split_operands(target.strip("{}"))
        bits = 8 * size // len(parts)
        whole = f"as<u{8 * size}>({o.source(source, f'b{8 * size}')})"
        lines = [f"const V<u{8 * size}> x = {whole};"]
        for i, part in enumerate(parts):
            if part != "_":
                lines.append(o.result(part, f"b{bits}", f"to<u{bits}>(x >> (u{8 * size}){bits * i})"))
        o.guarded(*lines)
        return
    parts = split_operands(source.strip("{}"))
    bits = 8 * size // len(parts)
    pieces = [
        f"to<u{8 * size}>({o.source(part, f'b{bits}')}) << (u{8 * size}){bits * i}" for i, part in enumerate(parts)
    ]
    o.guarded(o.result(target, f"b{8 * size}", " | ".join(f"({piece})" for piece in pieces)))


def _dot(o: Operation, base: str, modifiers: Sequence[str], types: Sequence[str]) -> None:
    target, a, b, c = o.item.operands
    first = 2 if "hi" in modifiers else 0
    bits = "8" if base == "dp4a" else "16"
    signs = ["true" if each[0] == "s" else "false" for each in types]
    values = [o.source(each, "u32") for each in (a, b, c)]
    value = f"dot_of<{bits}>({values[0]}, {signs[0]}, {values[1]}, {signs[1]}, {values[2]}, {first})"
    o.guarded(o.result(target, "b32", value))


def _lop3(o: Operation, modifiers: Sequence[str]) -> None:
    """Emit ``lop3``. With a boolean operator, it also tests the result for 0 and combines that with a predicate."""
    target, a, b, c, table, *more = o.item.operands
    number = integer_literal(table)
    if number is None:
        raise Unknown(f"operand {table} of {o.item.mnemonic}")
    values = [o.source(each, "b32") for each in (a, b, c)]
    value = f"logic3({', '.join(values)}, (u32)N({o.n(number)}))"
    first, second = split_results(target)
    if not more:
        o.guarded(o.result(first, "b32", value))
        return
    holds = combine_masks(modifiers[0], "holds(r != 0)", o.predicate(more[0]))
    o.guarded(f"const V<u32> r = {value}; const Mask p = {holds};", o.result(first, "b32", "r"), o.decide(second, "p"))


def _isspacep(o: Operation, words: list[str]) -> None:
    target, a = o.item.operands
    address = o.source(a, "u64")
    inside = {
        "shared": "holds(x - c->lds < (u64)c->lds_bytes)",
        "local": "holds(x - c->scratch < c->variables - c->scratch)",
        "global": "~(holds(x >= c->lds) | holds(x - c->scratch < c->variables - c->scratch))",
        "const": "holds(x < x)",
        "param": "holds(x < x)",
    }[words[0]]
    o.guarded(f"const V<u64> x = {address};", o.decide(target, inside))


def _cvta(o: Operation, words: list[str]) -> None:
    """Convert between generic addresses and offsets in shared memory. Other spaces have generic addresses."""
    target, a = o.item.operands
    space = next((word for word in words if word in SPACES), "global")
    value = o.source(a, words[-1])
    if space == "shared":
        value = f"{value} {'-' if 'to' in words else '+'} all<u64>(c->lds)"
    o.guarded(o.result(target, words[-1], value))


# --- carries ---------------------------------------------------------------------------------------------------------


def _carry(o: Operation, base: str, words: list[str]) -> None:
    """Emit ``add.cc``, ``addc``, ``sub.cc``, ``subc``, ``mad.cc`` or ``madc``. Each thread has one carry."""
    target, *operands = o.item.operands
    type_ = words[-1]
    values, bits = [o.source(each, type_) for each in operands], 8 * size_of(type_)
    if base.startswith("mad"):
        a, b, _ = values
        values[:2] = [f"V<{cpp_type(type_)}>({f'high({a}, {b})' if 'hi' in words else f'{a} * {b}'})"]
    first, second = (f"as<u{bits}>({value})" for value in values)
    form = ", ".join(str(each).lower() for each in (base.startswith("sub"), base.endswith("c"), "cc" in words))
    o.guarded(o.result(target, f"b{bits}", f"with_carry<u{bits}, {form}>(t, on, {first}, {second})"))


def _add(o: Operation, words: list[str]) -> None:
    base = o.item.base
    if "cc" in words or base in ("addc", "subc", "madc"):
        _carry(o, base, words)
    else:
        compute(o, base, words)


COMPUTE: dict[str, Callable[[Operation, list[str]], None]] = {
    "isspacep": _isspacep, "cvta": _cvta,
    "add": _add, "sub": _add, "mad": _add, "addc": _add, "subc": _add, "madc": _add,
}  # fmt: skip
