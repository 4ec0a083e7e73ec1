"""Instructions that compare or select: ``setp``, ``set``, ``selp``, ``slct``, ``testp``."""

from __future__ import annotations

import re
from collections.abc import Callable

from parity.emulator.instruction import Unknown
from parity.emulator.ptx.instruction_table import COMPARES, FLOAT_COMPARES, TESTS
from parity.emulator.ptx.operands import cpp_type, split_results, split_types
from parity.emulator.ptx.operation import Operation

_OF_WARP = re.compile(r"K\(\w+, \d+\)")
"""A warp-uniform value."""


def _condition(o: Operation, compare: str, floats: bool) -> str:
    """Return the mask of a comparison of ``a`` with ``b``."""
    if compare not in (FLOAT_COMPARES if floats else COMPARES):
        raise Unknown(f"comparison {compare} of {o.item.mnemonic}")
    return FLOAT_COMPARES[compare] if floats else f"holds({COMPARES[compare]})"


def comparison(o: Operation, words: list[str], a: str, b: str) -> str:
    """Return statements that compute the mask ``r`` of a comparison."""
    modifiers, types = split_types(words)
    type_ = types[-1]
    own = {"bf16": "f32"}.get(type_, cpp_type(type_))
    values = []
    for operand in (a, b):
        value = o.source(operand, type_)
        value = f"of_bf16({value})" if type_ == "bf16" else value
        values.append(f"ftz({value})" if "ftz" in modifiers else value)
    condition = _condition(o, modifiers[0], type_ in ("f16", "f32", "f64", "bf16"))
    kind = f"V<{own}>"
    if type_[0] in "bsu" and all(map(_OF_WARP.fullmatch, values)):  # warp-uniform values are compared once
        kind, values = own, [value.replace("K(", "C(") for value in values]
    return f"const {kind} a = {values[0]}, b = {values[1]}; Mask r = {condition};"


def _halves_comparison(o: Operation, words: list[str], a: str, b: str) -> str:
    """Return statements that compute the masks ``r0`` and ``r1`` of the two halves."""
    modifiers, types = split_types(words)
    own, read = ("f32", "of_bf16({0}16({1}))") if types[-1] == "bf16x2" else ("f16", "half_{0}<f16>({1})")
    read = f"ftz({read})" if "ftz" in modifiers else read
    condition = _condition(o, modifiers[0], True)
    lines = [f"const V<u32> pa = {o.source(a, 'b32')}, pb = {o.source(b, 'b32')};"]
    for i, half in enumerate(("lo", "hi")):
        values = f"const V<{own}> a = {read.format(half, 'pa')}, b = {read.format(half, 'pb')};"
        lines.append(f"const Mask r{i} = [&] {{ {values} return (Mask)({condition}); }}();")
    return "\n".join(lines)


_OPERATORS = {"and": "&", "or": "|", "xor": "^"}


def combine_masks(operator: str, mask: str, other: str) -> str:
    return f"({mask}) {_OPERATORS[operator]} ({other})"


def _masks(o: Operation, words: list[str]) -> tuple[str, list[str]]:
    """Return statements for a comparison, and the masks of both halves, or of the comparison and its inverse.

    A boolean operator combines each mask with a predicate, the last operand.
    """
    _, a, b, *more = o.item.operands
    halves = words[-1].endswith("x2")
    text = (_halves_comparison if halves else comparison)(o, words, a, b)
    masks = ["r0", "r1"] if halves else ["r", "~r"]
    if operator := next((word for word in words if word in _OPERATORS), ""):
        text += f" const Mask other = {o.predicate(more[0])};"
        masks = [combine_masks(operator, mask, "other") for mask in masks]
    return text, masks


def _setp(o: Operation, words: list[str]) -> None:
    text, masks = _masks(o, words)
    o.guarded(text, *map(o.decide, split_results(o.item.operands[0]), masks))


def _setr(o: Operation, words: list[str]) -> None:
    """Emit ``set``, whose result is all ones or 1.0 if the comparison holds."""
    target, result = o.item.operands[0], split_types(words)[1][0]
    text, masks = _masks(o, words)
    if words[-1].endswith("x2"):
        ones = {"f16x2": "0x3c00", "bf16x2": "0x3f80"}.get(result, "0xffff")
        values = [f"sel({mask}, all((u16){ones}), all((u16)0))" for mask in masks]
        o.guarded(text, o.result(target, "b32", f"of_halves({', '.join(values)})"))
        return
    c = cpp_type(result)
    one = "0x3f80" if result == "bf16" else "1" if c[0] == "f" else "-1"
    o.guarded(text, o.result(target, result, f"sel({masks[0]}, all<{c}>(({c}){one}), all<{c}>(({c})0))"))


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
    o.guarded(f"const V<{type_}> x = {o.source(a, type_)};", o.decide(target, TESTS[kind]))


COMPARISONS: dict[str, Callable[[Operation, list[str]], None]] = {
    "setp": _setp, "set": _setr, "selp": _selp, "slct": _slct, "testp": _testp,
}  # fmt: skip
