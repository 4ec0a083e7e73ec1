"""Instructions that compare or select: ``setp``, ``set``, ``selp``, ``slct``, ``testp``."""

from __future__ import annotations

import re
from collections.abc import Callable

from parity.emulator.instruction import Unknown
from parity.emulator.ptx.instruction_table import COMPARES, UNORDERED
from parity.emulator.ptx.operands import cpp_type, split_results, split_types
from parity.emulator.ptx.operation import Operation

_OF_WARP = re.compile(r"K\(\w+, \d+\)")
"""A warp-uniform value."""


def _condition(o: Operation, compare: str, floats: bool) -> str:
    """Return the mask of a comparison of ``a`` with ``b``."""
    if compare in ("ne", "equ") and floats:  # in contrast to C++, ``ne`` is false for a NaN and ``equ`` is true
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


def comparison(o: Operation, words: list[str], a: str, b: str) -> tuple[str, list[str]]:
    """Return statements that compute the mask ``r`` of a comparison, and the remaining words (boolean operators)."""
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
    if type_[0] in "bsu" and all(map(_OF_WARP.fullmatch, values)):  # warp-uniform values are compared once
        kind, values = own, [value.replace("K(", "C(") for value in values]
    text = f"const {kind} a = {values[0]}, b = {values[1]}; Mask r = {condition};"
    return text, [word for word in modifiers[1:] if word != "ftz"]


def _halves_comparison(o: Operation, words: list[str], a: str, b: str) -> str:
    """Return statements that compute the masks ``r0`` and ``r1`` of the two halves."""
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


def combine_masks(operator: str, mask: str, other: str) -> str:
    return f"({mask}) {dict(zip(('and', 'or', 'xor'), '&|^', strict=True))[operator]} ({other})"


def _setp(o: Operation, words: list[str]) -> None:
    target, a, b, *more = o.item.operands
    first, second = split_results(target)
    if words[-1].endswith("x2"):
        text = _halves_comparison(o, words, a, b)
        operator = next((word for word in words if word in ("and", "or", "xor")), None)
        lines = [text]
        for name, mask in ((first, "r0"), (second, "r1")):
            lines.append(o.decide(name, combine_masks(operator, mask, o.predicate(more[0])) if operator else mask))
        o.guarded(*lines)
        return
    text, rest = comparison(o, words, a, b)
    lines = [text]
    value, inverse = "r", "~r"
    if rest:
        other = o.predicate(more[0])
        lines.append(f"const Mask other = {other};")
        value, inverse = combine_masks(rest[0], "r", "other"), combine_masks(rest[0], "~r", "other")
    lines.append(f"const Mask p = {value}, q = {inverse};")
    o.guarded(*lines, o.decide(first, "p"), o.decide(second, "q"))


def _setr(o: Operation, words: list[str]) -> None:
    """Emit ``set``, whose result is all ones or 1.0 if the comparison holds."""
    target, a, b, *more = o.item.operands
    _, types = split_types(words)
    if words[-1].endswith("x2"):
        text = _halves_comparison(o, words, a, b)
        if operator := next((word for word in words if word in ("and", "or", "xor")), None):
            lines = [f"const Mask other = {o.predicate(more[0])};"]
            lower, upper = (combine_masks(operator, mask, "other") for mask in ("r0", "r1"))
        else:
            lines, lower, upper = [], "r0", "r1"
        ones = {"f16x2": "0x3c00", "bf16x2": "0x3f80"}.get(types[0], "0xffff")
        values = [f"sel({mask}, all((u16){ones}), all((u16)0))" for mask in (lower, upper)]
        o.guarded(text, *lines, o.result(target, "b32", f"of_halves({', '.join(values)})"))
        return
    result = types[0]
    text, rest = comparison(o, [word for word in words if word != result] if types[0] != types[-1] else words, a, b)
    lines = [text]
    if rest:
        lines.append(f"r = {combine_masks(rest[0], 'r', o.predicate(more[0]))};")
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
    if o.is_shared(target):  # the first thread may be inactive
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


COMPARISONS: dict[str, Callable[[Operation, list[str]], None]] = {
    "setp": _setp, "set": _setr, "selp": _selp, "slct": _slct, "testp": _testp,
}  # fmt: skip
