"""Conversions between types (``cvt``)."""

from __future__ import annotations

from collections.abc import Sequence

from parity.emulator.instruction import Unknown
from parity.emulator.ptx.operands import ROUNDINGS, cpp_type, split_types
from parity.emulator.ptx.operation import Operation

_FLOATS = ("f16", "bf16", "f32", "f64")


def convert(o: Operation, words: list[str]) -> None:
    if words[:2] == ["pack", "sat"]:
        _cvt_pack(o, words[2])
        return
    modifiers, (to, of) = split_types(words)[0], split_types(words)[1][-2:]
    target, *operands = o.item.operands
    mode = _rounding(modifiers)
    sat, relu, limit = (word in modifiers for word in ("sat", "relu", "satfinite"))
    unknown = set(modifiers) - {*ROUNDINGS, "ftz", "sat", "satfinite", "relu", "rna"}
    if unknown:
        raise Unknown(f"modifier .{unknown.pop()} of {o.item.mnemonic}")
    if to in ("f16x2", "bf16x2", "e4m3x2", "e5m2x2") or of in ("e4m3x2", "e5m2x2"):
        _cvt_pair(o, to, of, mode or "RN", relu, limit)
        return
    (operand,) = operands
    if to == "tf32":
        x = o.source(operand, "f32")
        x = f"relu<f32>({x})" if relu else x
        value = f"tf32_finite({x})" if limit else f"tf32_of<{'AWAY' if 'rna' in modifiers else mode}>({x})"
        o.guarded(o.result(target, "b32", value))
        return
    x = o.source(operand, of)
    if of in _FLOATS:
        x = f"of_bf16({x})" if of == "bf16" else x
        # For f16, a subnormal operand is not flushed, as measured.
        if "ftz" in modifiers and of in ("f32", "bf16") and to != "f16":
            x = f"ftz({x})"
        if to in _FLOATS:
            o.guarded(*_to_float(o, of, to, modifiers, x))
            return
        type_, value = to, f"to_integer<{cpp_type(to)}, {mode or 'RZ'}>({x})"
    elif to in _FLOATS:
        type_, value = _of_integer(of, to, mode, x)
        value = f"saturated<{to}>({value})" if sat and to != "bf16" else value
    else:
        type_, value = to, _limited(cpp_type(to), cpp_type(of), x) if sat else f"to<{cpp_type(to)}>({x})"
    o.guarded(o.result(target, type_, value))


def _of_integer(of: str, to: str, mode: str, x: str) -> tuple[str, str]:
    """Return the type and the value of an integer that is converted to a floating-point type."""
    if to in ("f32", "f64") and mode in ("", "RN"):
        return to, f"to<{to}>({x})"
    x = f"to<{'i64' if of[0] == 's' else 'u64'}>({x})"
    if to in ("f32", "f64"):
        return to, f"float_of<{mode}, {to}>({x})"
    return "b16" if to == "bf16" else to, f"narrow_{to}<{mode or 'RN'}>(odd_f64({x}))"


def _cvt_pack(o: Operation, to: str) -> None:
    """Emit ``cvt.pack``: two integers limited to a narrow type, above which bits of a third operand are placed."""
    target, *operands = o.item.operands
    bits = int(to[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
    pieces = [
        f"(as<u32>(min(max({o.source(operand, 's32')}, all<i32>({low})), all<i32>({high}))) & {(1 << bits) - 1}u)"
        for operand in operands[:2]
    ]
    value = f"{pieces[0]} << {bits} | {pieces[1]}"
    if len(operands) > 2:
        value += f" | {o.source(operands[2], 'b32')} << {2 * bits}"
    o.guarded(o.result(target, "b32", value))


def _limited(to: str, of: str, x: str) -> str:
    """Limit an integer to the range of another type."""
    if of == "u64":
        return f"at_most<{to}>({x})"
    return f"not_negative(to<i64>({x}))" if to == "u64" else f"limited<{to}>(to<i64>({x}))"


def _rounding(modifiers: Sequence[str]) -> str:
    """Return the rounding mode as C++, or an empty string."""
    return next((ROUNDINGS[word] for word in modifiers if word in ROUNDINGS), "")


def _to_float(o: Operation, of: str, to: str, modifiers: Sequence[str], x: str) -> list[str]:
    """Convert ``x``, of the C++ type that computes in place of ``of``, between floating-point types."""
    mode = _rounding(modifiers)
    whole = any(word.endswith("i") and word in ROUNDINGS for word in modifiers)  # to an integral value
    flush, sat, relu = (word in modifiers for word in ("ftz", "sat", "relu"))
    own = {"bf16": "f32"}.get(of, of)
    lines = [f"const V<{own}> x = {x};"]
    value, kind = "x", own
    if whole:
        value = f"with_nan(integral(x, {mode}), x)"
    if to != of:
        if to == "f64":
            value, kind = f"widen_f64({f'nan1({value})' if flush else value})", "f64"
        elif to == "f32":
            value = f"narrow_f32<{mode or 'RN'}>({value})" if own == "f64" else f"to<f32>({value})"
            if of == "f16" or flush:  # a NaN in bf16 without .ftz is unchanged
                value = f"nan1({value})" if own != "f64" else value
            kind = "f32"
        else:
            value = f"narrow_{to}<{mode or 'RN'}>(to<f64>({value}))"
            kind = "f16" if to == "f16" else "u16"
    elif of == "bf16":
        value, kind = f"bf16_of({value})", "u16"
    elif not whole and not sat and (own == "f16" or flush):  # otherwise the bits stay the same
        value = f"nan1({value})"
    if flush and kind == "f32":
        value = f"ftz({value})"
    if kind == "u16" and (sat or relu):
        value = f"bf16_of({'saturated' if sat else 'relu'}<f32>(of_bf16({value})))"
    elif sat:
        value = f"saturated<{kind}>({value})"
    elif relu:
        value = f"relu<{kind}>({value})"
    if of == "f64" and to in ("f16", "bf16") and not sat:
        value, kind = f"with_nan_of<{10 if to == 'f16' else 7}>(x, as<u16>({value}))", "u16"
    if "satfinite" in modifiers:
        value, kind = _finite(value, to), "u16"
    return [*lines, o.result(o.item.operands[0], "b16" if kind == "u16" else kind, value)]


def _finite(value: str, to: str) -> str:
    """Apply ``.satfinite``, which replaces infinity by the largest finite number."""
    return f"finite_bits(as<u16>({value}), {'0x7c00' if to.startswith('f') else '0x7f80'})"


def _cvt_pair(o: Operation, to: str, of: str, mode: str, relu: bool, limit: bool) -> None:
    target, *operands = o.item.operands
    mantissa = {"e4m3x2": 3, "e5m2x2": 2}
    if to in ("f16x2", "bf16x2") and of == "f32":
        pieces = []
        for operand in operands:  # the first operand is the upper half
            piece = f"narrow_{to.removesuffix('x2')}<{mode}>(to<f64>({o.source(operand, 'f32')}))"
            if relu:
                piece = f"relu<f16>({piece})" if to == "f16x2" else f"bf16_of(relu<f32>(of_bf16({piece})))"
            pieces.append(_finite(piece, to) if limit else piece)
        type_, value = "b32", f"of_halves({pieces[1]}, {pieces[0]})"
    elif to in mantissa:
        if of == "f32":
            hi, lo = (o.source(operand, "f32") for operand in operands)
        else:
            x = o.source(operands[0], "b32")
            hi, lo = f"to<f32>(half_hi<f16>({x}))", f"to<f32>(half_lo<f16>({x}))"
        pieces = [f"fp8_finite<{mantissa[to]}>({each}, {str(relu).lower()})" for each in (lo, hi)]
        type_, value = "b16", f"to<u16>({pieces[0]} | {pieces[1]} << 8)"
    elif of in mantissa and to == "f16x2":
        x = f"to<u32>({o.source(operands[0], 'b16')})"
        call = f"of_f8<false, {mantissa[of]}, {7 if mantissa[of] == 3 else 15}>"
        pieces = [f"nan1(to<f16>({call}({x} {shift} & 0xff)))" for shift in ("", ">> 8")]
        pieces = [f"relu<f16>({piece})" if relu else piece for piece in pieces]
        type_, value = "b32", f"of_halves({pieces[0]}, {pieces[1]})"
    else:
        raise Unknown(f"conversion {o.item.mnemonic}")
    o.guarded(o.result(target, type_, value))
