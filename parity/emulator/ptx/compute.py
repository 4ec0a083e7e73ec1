"""Instructions that compute: those of the table, comparisons, selections, carries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from parity.emulator.ptx.instruction_table import COMPARES, UNORDERED, PtxInstructionRow, instruction_row
from parity.emulator.ptx.operation import (
    ROUNDINGS,
    SPACES,
    Operation,
    cpp_type,
    integer_literal,
    split_results,
    split_types,
)
from parity.emulator.ptx.parse import size_of, split_operands
from parity.emulator.writer import Missing, Unknown

__all__ = ["COMPUTE", "compute", "value_of"]

_GENERIC = (*ROUNDINGS, "ftz", "sat", "relu")


def _looked_up(base: str, words: Sequence[str], type_: str) -> tuple[PtxInstructionRow, list[str]]:
    """The row of an instruction, and which of its words are modifiers."""
    for generic in ((), _GENERIC):
        kept = [word for word in words if word not in generic]
        name = ".".join((base, *kept))
        for spelled in (type_, _SAME.get(type_, type_)):
            if known := instruction_row(name, spelled):
                removed = [word for word in words if word in generic]
                for word in removed:
                    allowed = "rnd" if word in ROUNDINGS else word
                    if allowed not in known.modifiers and f"{allowed}!" not in known.modifiers:
                        raise Unknown(f"modifier .{word}")
                return known, removed
    raise Unknown("instruction")


_SAME = {"b16": "u16", "b32": "u32", "b64": "u64", "f16": "b16", "u16": "b16", "u32": "b32", "u64": "b64", "s32": "b32"}
_WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def compute(o: Operation, base: str, words: list[str]) -> None:
    modifiers, types = split_types(words)
    if base in ("mov", "and", "or", "xor", "not") and types == ["pred"]:
        _logic(o, base)
        return
    if base == "mov" and (o.item.operands[0].startswith("{") or o.item.operands[1].startswith("{")):
        _packing(o, types[-1])
        return
    if not types:
        raise Unknown(f"instruction {o.item.mnemonic}")
    type_ = types[-1]
    if base in ("dp4a", "dp2a"):
        _dot(o, base, modifiers, types)
        return
    if base == "lop3":
        _lop3(o, modifiers)
        return
    try:
        known, removed = _looked_up(base, modifiers, type_)
    except Unknown as unknown:
        raise Unknown(
            f"{unknown} of {o.item.mnemonic}" if "modifier" in str(unknown) else f"instruction {o.item.mnemonic}"
        ) from None
    mode = next((ROUNDINGS[word] for word in removed if word in ROUNDINGS), "RN")
    flush = "ftz" in removed and "ftz" in known.modifiers
    rename = {"T": type_, "W": _WIDE.get(type_, type_)}
    sources = [rename.get(each, each) for each in known.sources]
    result = rename.get(known.result, known.result)
    target, *operands = o.item.operands
    if len(operands) != len(sources):
        raise Unknown(f"{len(operands)} operands of {o.item.mnemonic}, not {len(sources)}")
    values = [o.source(operand, each) for operand, each in zip(operands, sources, strict=True)]

    def computed(values: Sequence[str], kind: str) -> str:
        """An expression of the values, which are of a type that C++ computes in."""
        lines = []
        for name, value, source in zip("abcd", values, sources, strict=False):
            own = _COMPUTED.get(source, cpp_type(source))
            text = f"ftz({value})" if flush and own[0] == "f" else value
            lines.append(f"const V<{own}> {name} = {text};")
        text = re.sub(r"\bT\b", kind, known.expression)
        text = text.replace("$!", f"{mode}, true" if flush else mode).replace("$", mode)
        if flush and kind[0] == "f":
            text = f"ftz({text})"
        if "sat" in removed and kind[0] == "f":
            text = f"saturated<{kind}>({text})"
        if "relu" in removed:
            text = f"relu<{kind}>({text})" if kind[0] == "f" else f"max({text}, all<{kind}>(0))"
        given = kind if result == type_ else cpp_type(result)
        return f"[&] {{ {' '.join(lines)} return V<{given}>({text}); }}()"

    if type_ in ("f16x2", "bf16x2", "u16x2", "s16x2"):
        kind = {"f16x2": "f16", "bf16x2": "f32", "u16x2": "u16", "s16x2": "i16"}[type_]
        names = [f"p{i}" for i in range(len(values))]
        begin = [f"const V<u32> {name} = {value};" for name, value in zip(names, values, strict=True)]
        parts = []
        for half in ("lo", "hi"):
            halves = [
                f"of_bf16({half}16({name}))" if kind == "f32" else f"half_{half}<{kind}>({name})" for name in names
            ]
            part = computed(halves, kind)
            parts.append(f"bf16_of({part})" if kind == "f32" else part)
        o.guarded(*begin, o.result(target, "b32", f"of_halves({parts[0]}, {parts[1]})"))
    elif type_ == "bf16":
        value = computed([f"of_bf16({value})" for value in values], "f32")
        o.guarded(o.result(target, "b16", f"bf16_of({value})"))
    else:
        o.guarded(o.result(target, result, computed(values, cpp_type(type_))))


def value_of(o: Operation, operand: str) -> tuple[str, str]:
    """An instruction that stands as an operand, ``(shl.b64 %rd1, 3)``: its value as C++, and the type of that."""
    mnemonic, _, rest = operand[1:-1].partition(" ")
    base, *words = mnemonic.split(".")
    operands = split_operands(rest)
    if base == "setp":
        text, _ = _comparison(o, words, *operands)
        return f"[&] {{ {text} return r; }}()", "pred"
    if words == ["pred"]:
        return f"({_combined(base, [o.predicate(each) for each in operands])})", "pred"
    if base == "cvt":
        *_, type_, source = words  # of those that are folded, all convert as C++ does
        return f"to<{cpp_type(type_)}>({o.source(operands[0], source)})", type_
    modifiers, (type_,) = split_types(words)
    known, _ = _looked_up(base, modifiers, type_)
    rename = {"T": type_, "W": _WIDE.get(type_, type_)}
    sources = [rename.get(each, each) for each in known.sources]
    lines = [
        f"const V<{cpp_type(source)}> {name} = {o.source(each, source)};"
        for name, source, each in zip("abc"[: len(sources)], sources, operands, strict=True)
    ]
    text, result = re.sub(r"\bT\b", cpp_type(type_), known.expression), rename.get(known.result, known.result)
    return f"[&] {{ {' '.join(lines)} return V<{cpp_type(result)}>({text}); }}()", result


_COMPUTED = {"bf16": "f32", "bf16x2": "f32", "f16x2": "f16", "u16x2": "u16", "s16x2": "i16"}


def _logic(o: Operation, base: str) -> None:
    target, *operands = o.item.operands
    _set(o, target, _combined(base, [o.predicate(each) for each in operands]))


def _combined(base: str, masks: Sequence[str]) -> str:
    sign = {"and": "&", "or": "|", "xor": "^", "mov": "", "not": ""}[base]
    if base in ("and", "or") and any(map(_WIDE_COMPARISON.search, masks)):
        first, second = sorted(masks, key=lambda mask: bool(_WIDE_COMPARISON.search(mask)))
        undecided = "r" if base == "and" else "~r"
        return f"[&] {{ Mask r = {first}; if ({undecided} & exec) r {sign}= {second}; return r; }}()"
    value = f" {sign} ".join(masks)
    return f"~({value})" if base == "not" else value


_WIDE_COMPARISON = re.compile(r"V<[fiu]64> a\b")
"""A comparison of 64 bits takes so long that it is left out where another one decides for all threads."""


_OF_WARP = re.compile(r"K\(\w+, \d+\)")
"""A number that all threads of a warp share."""


def _set(o: Operation, target: str, value: str) -> None:
    if target != "_":
        o.guarded(f"const Mask r = {value};", o.decide(target, "r"))


def _packing(o: Operation, type_: str) -> None:
    """``mov`` that splits a register into parts, or joins parts to one."""
    target, source = o.item.operands
    size = size_of(type_)
    if size > 8:
        raise Missing("registers of 128 bits")
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
    o.guarded(
        o.result(
            target, "b32", f"dot_of<{bits}>({values[0]}, {signs[0]}, {values[1]}, {signs[1]}, {values[2]}, {first})"
        )
    )


def _lop3(o: Operation, modifiers: Sequence[str]) -> None:
    """``lop3``; with a boolean operator, also whether the result is not 0, combined with a predicate."""
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
    holds = _boolean(modifiers[0], "holds(r != 0)", o.predicate(more[0]))
    o.guarded(
        f"const V<u32> r = {value}; const Mask p = {holds};",
        o.result(first, "b32", "r"),
        o.decide(second, "p"),
    )


# --- comparisons -----------------------------------------------------------------------------------------------------


def _condition(o: Operation, compare: str, floats: bool) -> str:
    """A mask of the comparison of ``a`` with ``b``."""
    if compare in ("ne", "equ") and floats:  # not as in C++ for a NaN: false, and true
        return f"{'~' * (compare == 'equ')}(holds(a < b) | holds(a > b))"
    if compare in COMPARES:
        return f"holds({COMPARES[compare]})"
    if compare == "neu":
        return "holds(a != b)"
    if compare in UNORDERED:
        return f"~holds({COMPARES[UNORDERED[compare]]})"
    if compare not in ("num", "nan"):
        raise Unknown(f"comparison {compare} of {o.item.mnemonic}")
    return "holds(a == a) & holds(b == b)" if compare == "num" else "holds(a != a) | holds(b != b)"


def _comparison(o: Operation, words: list[str], a: str, b: str) -> tuple[str, list[str]]:
    """Statements that make a mask ``r`` of a comparison, and the words that are left: boolean operators."""
    modifiers, types = split_types(words)
    type_, compare = types[-1], modifiers[0]
    own = {"bf16": "f32"}.get(type_, cpp_type(type_))
    values = []
    for operand in (a, b):
        value = o.source(operand, type_)
        value = f"of_bf16({value})" if type_ == "bf16" else value
        values.append(f"ftz({value})" if "ftz" in modifiers else value)
    condition = _condition(o, compare, type_ in ("f16", "f32", "f64", "bf16"))
    kind = f"V<{own}>"
    if type_[0] in "bsu" and all(map(_OF_WARP.fullmatch, values)):  # numbers of the warp are compared once
        kind, values = own, [value.replace("K(", "C(") for value in values]
    text = f"const {kind} a = {values[0]}, b = {values[1]}; Mask r = {condition};"
    return text, [word for word in modifiers[1:] if word != "ftz"]


def _halves_comparison(o: Operation, words: list[str], a: str, b: str) -> str:
    """Statements that make the masks ``r0`` and ``r1`` of the halves of a pair."""
    modifiers, types = split_types(words)
    kind = types[-1].removesuffix("x2")
    condition = _condition(o, modifiers[0], True)
    lines = [f"const V<u32> pa = {o.source(a, 'b32')}, pb = {o.source(b, 'b32')};"]
    for i, half in enumerate(("lo", "hi")):
        read = "of_bf16({half}16({name}))" if kind == "bf16" else "half_{half}<f16>({name})"
        x, y = (read.format(half=half, name=name) for name in ("pa", "pb"))
        if "ftz" in modifiers:
            x, y = f"ftz({x})", f"ftz({y})"
        own = "f32" if kind == "bf16" else "f16"
        lines.append(f"const Mask r{i} = [&] {{ const V<{own}> a = {x}, b = {y}; return (Mask)({condition}); }}();")
    return "\n".join(lines)


def _boolean(operator: str, mask: str, other: str) -> str:
    return f"({mask}) {dict(zip(('and', 'or', 'xor'), '&|^', strict=True))[operator]} ({other})"


def _setp(o: Operation, words: list[str]) -> None:
    target, a, b, *more = o.item.operands
    first, second = split_results(target)
    if words[-1].endswith("x2"):
        text = _halves_comparison(o, words, a, b)
        operator = next((word for word in words if word in ("and", "or", "xor")), None)
        lines = [text]
        for name, mask in ((first, "r0"), (second, "r1")):
            lines.append(o.decide(name, _boolean(operator, mask, o.predicate(more[0])) if operator else mask))
        o.guarded(*lines)
        return
    text, rest = _comparison(o, words, a, b)
    lines = [text]
    value, inverse = "r", "~r"
    if rest:
        other = o.predicate(more[0])
        lines.append(f"const Mask other = {other};")
        value, inverse = _boolean(rest[0], "r", "other"), _boolean(rest[0], "~r", "other")
    lines.append(f"const Mask p = {value}, q = {inverse};")
    o.guarded(*lines, o.decide(first, "p"), o.decide(second, "q"))


def _setr(o: Operation, words: list[str]) -> None:
    """``set``: all ones, or 1.0, where the comparison holds."""
    target, a, b, *more = o.item.operands
    _, types = split_types(words)
    if words[-1].endswith("x2"):
        text = _halves_comparison(o, words, a, b)
        if operator := next((word for word in words if word in ("and", "or", "xor")), None):
            lines = [f"const Mask other = {o.predicate(more[0])};"]
            lower, upper = (_boolean(operator, mask, "other") for mask in ("r0", "r1"))
        else:
            lines, lower, upper = [], "r0", "r1"
        ones = {"f16x2": "0x3c00", "bf16x2": "0x3f80"}.get(types[0], "0xffff")
        values = [f"sel({mask}, all((u16){ones}), all((u16)0))" for mask in (lower, upper)]
        o.guarded(text, *lines, o.result(target, "b32", f"of_halves({', '.join(values)})"))
        return
    result = types[0]
    text, rest = _comparison(o, [word for word in words if word != result] if types[0] != types[-1] else words, a, b)
    lines = [text]
    if rest:
        lines.append(f"r = {_boolean(rest[0], 'r', o.predicate(more[0]))};")
    if result in ("f32", "f64", "f16"):
        value = f"sel(r, all<{result}>(({result})1), all<{result}>(({result})0))"
        lines.append(o.result(target, result, value))
    elif result == "bf16":
        lines.append(o.result(target, "b16", "sel(r, all((u16)0x3f80), all((u16)0))"))
    else:
        c = cpp_type(result)
        lines.append(o.result(target, result, f"sel(r, all<{c}>(({c})-1), all<{c}>(({c})0))"))
    o.guarded(*lines)


def _selp(o: Operation, words: list[str]) -> None:
    target, a, b, p = o.item.operands
    type_ = words[-1]
    c = cpp_type(type_)
    chosen = o.predicate(p)
    if o.is_shared(target):  # the first thread may have ended
        chosen = f"({chosen} & on ? ALL : 0)"
    value = f"sel({chosen}, V<{c}>({o.source(a, type_)}), V<{c}>({o.source(b, type_)}))"
    o.guarded(o.result(target, type_, value))


def _slct(o: Operation, words: list[str]) -> None:
    target, a, b, condition = o.item.operands
    modifiers, types = split_types(words)
    c = cpp_type(types[0])
    tested = o.source(condition, types[1])
    tested = f"ftz({tested})" if "ftz" in modifiers else tested
    zero = "0.0f" if types[1] == "f32" else "0"
    value = f"sel(bools({tested} >= {zero}), V<{c}>({o.source(a, types[0])}), V<{c}>({o.source(b, types[0])}))"
    o.guarded(o.result(target, types[0], value))


def _testp(o: Operation, words: list[str]) -> None:
    target, a = o.item.operands
    kind, type_ = words[0], words[-1]
    x = o.source(a, type_)
    tests = {
        "finite": "holds(finite(x))", "infinite": "holds(x == x) & ~holds(finite(x))", "number": "holds(x == x)",
        "notanumber": "holds(x != x)", "subnormal": "holds(subnormal(x))",
        "normal": "holds(finite(x)) & ~holds(subnormal(x))",  # zero counts as normal, as measured
    }  # fmt: skip
    o.guarded(f"const V<{type_}> x = {x};", o.decide(target, tests[kind]))


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
    """Addresses are generic in all spaces but shared memory's, where they are offsets."""
    target, a = o.item.operands
    space = next((word for word in words if word in SPACES), "global")
    value = o.source(a, words[-1])
    if space == "shared":
        value = f"{value} {'-' if 'to' in words else '+'} all<u64>(c->lds)"
    o.guarded(o.result(target, words[-1], value))


# --- carries ---------------------------------------------------------------------------------------------------------


def _carry(o: Operation, base: str, words: list[str]) -> None:
    """add.cc, addc, sub.cc, subc, mad.cc, madc: one carry a thread."""
    target, *operands = o.item.operands
    type_ = words[-1]
    c = f"u{8 * size_of(type_)}"
    signed = cpp_type(type_)
    values = [o.source(each, type_) for each in operands]
    has_in, out = base.endswith("c"), "cc" in words
    root = base.removesuffix("c")
    lines = [
        f"const V<{c}> in = {f'sel((Mask)t->scalar[CARRY], all<{c}>(1), all<{c}>(0))' if has_in else f'all<{c}>(0)'};"
    ]
    if root in ("add", "mad"):
        if root == "mad":
            product = "high(x, y)" if "hi" in words else "x * y"
            lines.append(f"const V<{signed}> x = {values[0]}, y = {values[1]};")
            lines.append(f"const V<{c}> a = as<{c}>(V<{signed}>({product})), b = as<{c}>({values[2]});")
        else:
            lines.append(f"const V<{c}> a = as<{c}>({values[0]}), b = as<{c}>({values[1]});")
        lines.append(f"const V<{c}> s = a + b, r = s + in;")
        carried = "holds(s < a) | holds(r < s)"
    else:
        lines.append(f"const V<{c}> a = as<{c}>({values[0]}), b = as<{c}>({values[1]});")
        lines.append(f"const V<{c}> s = a - b, r = s - in;")
        carried = "holds(a < b) | holds(s < in)"
    if out:
        lines.append(f"const Mask carried = {carried};")
    lines.append(o.result(target, f"b{8 * size_of(type_)}", "r"))
    if out:
        lines.append("t->scalar[CARRY] = (t->scalar[CARRY] & ~on) | (carried & on);")
    o.guarded(*lines)


def _add(o: Operation, words: list[str]) -> None:
    base = o.item.mnemonic.partition(".")[0]
    if "cc" in words or base in ("addc", "subc", "madc"):
        _carry(o, base, words)
    else:
        compute(o, base, words)


COMPUTE: dict[str, Callable[[Operation, list[str]], None]] = {
    "setp": _setp, "set": _setr, "selp": _selp, "slct": _slct, "testp": _testp, "isspacep": _isspacep, "cvta": _cvta,
    "add": _add, "sub": _add, "mad": _add, "addc": _add, "subc": _add, "madc": _add,
}  # fmt: skip
"""The instructions that are no rows of the table, or not always."""
