"""The table of PTX instructions that compute, with one line per instruction.

A line has the form ``name : types : modifiers : sources : expression``:

* ``types``: the types that the instruction exists for. ``T`` is the type of an instruction, ``W`` the type of twice its
  width.
* ``modifiers``: ``rnd`` (rn, rz, rm, rp; f16 and bf16 only have rn), ``ftz``, ``sat``, ``relu``, others by name.
* ``sources``: the types of the sources. The result has type ``T``, or the type before ``=``.
* ``expression``: C++ for the sources ``a b c``, which are vectors with one lane per thread. ``$`` is the rounding mode
  (``RN RZ RM RP``). ``$!`` adds ``true`` if the instruction has ``.ftz``: the exact result, not only the rounded
  one, then decides whether a product is flushed.

Operations on f16x2 and bf16x2 apply to both halves. Source: PTX ISA, "Instruction Set".
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

__all__ = ["COMPARES", "PtxInstructionRow", "instruction_row", "table_entries"]

_SETS = {
    "i16": "u16 s16",
    "i32": "u32 s32",
    "i64": "u64 s64",
    "int": "u16 s16 u32 s32 u64 s64",
    "b": "b16 b32 b64",
    "f": "f32 f64",
    "half": "f16 f16x2 bf16 bf16x2",
}

TABLE = """
add       : int        :                   : T T     : a + b
sub       : int        :                   : T T     : a - b
add.sat   : s32        :                   : T T     : limited<i32>(to<i64>(a) + to<i64>(b))
sub.sat   : s32        :                   : T T     : limited<i32>(to<i64>(a) - to<i64>(b))
add       : f half     : rnd ftz sat       : T T     : add<$>(a, b)
sub       : f half     : rnd ftz sat       : T T     : subtract<$>(a, b)
fma       : bf16 bf16x2: rnd ftz sat relu  : T T T   : bf16_fused(a, b, c)
mul       : f32 f16 f16x2 : rnd ftz sat    : T T     : multiply<$!>(a, b)
mul       : f64 bf16 bf16x2 : rnd          : T T     : multiply<$>(a, b)
fma       : f32 f16 f16x2 : rnd ftz sat relu : T T T : fused<$!>(a, b, c)
fma       : f64        : rnd               : T T T   : fused<$>(a, b, c)
fma.oob   : f16 f16x2  : rnd relu          : T T T   : in_bounds(a, b, fused<$>(a, b, c))
fma.oob   : bf16 bf16x2: rnd relu          : T T T   : in_bounds(a, b, bf16_fused(a, b, c))
mad       : f32        : rnd ftz sat       : T T T   : fused<$!>(a, b, c)
mad       : f64        : rnd               : T T T   : fused<$>(a, b, c)
div       : f32        : rnd ftz           : T T     : divided<$!>(a, b)
div       : f64        : rnd               : T T     : divided<$>(a, b)
sqrt      : f          : rnd ftz           : T       : square_root<$>(a)
rcp       : f32        : rnd ftz           : T       : divided<$!>(all<T>(1), a)
rcp       : f64        : rnd               : T       : divided<$>(all<T>(1), a)
abs       : f half     : ftz               : T       : with_nan(mag(a), a)
neg       : f half     : ftz               : T       : with_nan(neg(a), a)
min       : f half     : ftz               : T T     : least<false>(a, b)
max       : f half     : ftz               : T T     : greatest<false>(a, b)
min.NaN   : f half     : ftz               : T T     : least<true>(a, b)
max.NaN   : f half     : ftz               : T T     : greatest<true>(a, b)
min.xorsign.abs     : f32 half : ftz       : T T     : xor_signed(a, b, least<false>(mag(a), mag(b)))
max.xorsign.abs     : f32 half : ftz       : T T     : xor_signed(a, b, greatest<false>(mag(a), mag(b)))
min.NaN.xorsign.abs : f32 half : ftz       : T T     : xor_signed(a, b, least<true>(mag(a), mag(b)))
max.NaN.xorsign.abs : f32 half : ftz       : T T     : xor_signed(a, b, greatest<true>(mag(a), mag(b)))
copysign  : f          :                   : T T     : signed_by(a, b)
div.approx      : f32  :                   : T T     : h200::div_approx(a, b)
div.approx.ftz  : f32  :                   : T T     : h200::div_approx_ftz(a, b)
div.full        : f32  :                   : T T     : h200::div_full(a, b)
div.full.ftz    : f32  :                   : T T     : h200::div_full_ftz(a, b)
rcp.approx      : f32  :                   : T       : h200::rcp_approx(a)
rcp.approx.ftz  : f    :                   : T       : h200::rcp_approx_ftz(a)
sqrt.approx     : f32  :                   : T       : h200::sqrt_approx(a)
sqrt.approx.ftz : f32  :                   : T       : h200::sqrt_approx_ftz(a)
rsqrt.approx    : f    :                   : T       : h200::rsqrt_approx(a)
rsqrt.approx.ftz: f    :                   : T       : h200::rsqrt_approx_ftz(a)
sin.approx      : f32  :                   : T       : h200::sin_approx(a)
sin.approx.ftz  : f32  :                   : T       : h200::sin_approx(a)
cos.approx      : f32  :                   : T       : h200::cos_approx(a)
cos.approx.ftz  : f32  :                   : T       : h200::cos_approx(a)
lg2.approx      : f32  :                   : T       : h200::lg2_approx(a)
lg2.approx.ftz  : f32  :                   : T       : h200::lg2_approx_ftz(a)
ex2.approx      : f32 f16 f16x2 :          : T       : h200::ex2_approx(a)
ex2.approx.ftz  : f32  :                   : T       : h200::ex2_approx_ftz(a)
ex2.approx.ftz  : bf16 bf16x2   :          : T       : of_bf16(h200::ex2_approx_ftz_bf16(bf16_of(a)))
tanh.approx     : f32 f16 f16x2 :          : T       : h200::tanh_approx(a)
tanh.approx     : bf16 bf16x2   :          : T       : of_bf16(h200::tanh_approx_bf16(bf16_of(a)))
mul.lo    : int        :                   : T T     : a * b
mul.hi    : int        :                   : T T     : high(a, b)
mul.wide  : i16 i32    :                   : W=T T   : widened(a) * widened(b)
mad.lo    : int        :                   : T T T   : a * b + c
mad.hi    : int        :                   : T T T   : high(a, b) + c
mad.hi.sat: s32        :                   : T T T   : limited<i32>(to<i64>(high(a, b)) + to<i64>(c))
mad.wide  : i16 i32    :                   : W=T T W : widened(a) * widened(b) + c
mul24.lo  : i32        :                   : T T     : field24(a) * field24(b)
mul24.hi  : i32        :                   : T T     : high24(a, b)
mad24.lo  : i32        :                   : T T T   : field24(a) * field24(b) + c
mad24.hi  : i32        :                   : T T T   : high24(a, b) + c
mad24.hi.sat : s32     :                   : T T T   : limited<i32>(to<i64>(high24(a, b)) + to<i64>(c))
sad       : int        :                   : T T T   : c + sel(bools(a < b), b - a, a - b)
div       : int        :                   : T T     : quotient(a, b)
rem       : int        :                   : T T     : remainder_(a, b)
abs       : s16 s32 s64:                   : T       : absolute(a)
neg       : s16 s32 s64:                   : T       : (T)0 - a
min       : int        : relu              : T T     : min(a, b)
max       : int        : relu              : T T     : max(a, b)
add       : u16x2 s16x2 :                  : T T     : a + b
min       : u16x2 s16x2 : relu             : T T     : min(a, b)
max       : u16x2 s16x2 : relu             : T T     : max(a, b)
popc      : b32 b64    :                   : u32=T   : popcount(a)
clz       : b32 b64    :                   : u32=T   : leading(a)
bfind     : i32 i64    :                   : u32=T   : found(a)
bfind.shiftamt : i32 i64 :                 : u32=T   : found_shift(a)
fns       : b32        :                   : b32=b32 b32 s32 : nth_set(a, b, c)
brev      : b32 b64    :                   : T       : bitreverse(a)
bfe       : u32        :                   : T u32 u32 : field<u32, u32>(a, b, c)
bfe       : s32        :                   : T u32 u32 : field<i32, u32>(a, b, c)
bfe       : u64        :                   : T u32 u32 : field<u64, u64>(a, b, c)
bfe       : s64        :                   : T u32 u32 : field<i64, u64>(a, b, c)
bfi       : b32 b64    :                   : T T u32 u32 : inserted(a, b, c, d)
bmsk.clamp: b32        :                   : T T     : bits_mask(a, b, false)
bmsk.wrap : b32        :                   : T T     : bits_mask(a, b, true)
szext.clamp : i32      :                   : T u32   : extended(a, b, false)
szext.wrap  : i32      :                   : T u32   : extended(a, b, true)
and       : b          :                   : T T     : a & b
or        : b          :                   : T T     : a | b
xor       : b          :                   : T T     : a ^ b
not       : b          :                   : T       : ~a
cnot      : b          :                   : T       : sel(bools(a == (T)0), all<T>(1), all<T>(0))
shl       : b          :                   : T u32   : shifted_left(a, b)
shr       : b int      :                   : T u32   : shifted_right(a, b)
shf.l.clamp : b32      :                   : T T u32 : funnel_left(a, b, min(c, all(32u)))
shf.l.wrap  : b32      :                   : T T u32 : funnel_left(a, b, c & 31)
shf.r.clamp : b32      :                   : T T u32 : funnel_right(a, b, min(c, all(32u)))
shf.r.wrap  : b32      :                   : T T u32 : funnel_right(a, b, c & 31)
prmt      : b32        :                   : T T T   : permuted(a, b, c)
prmt.f4e  : b32        :                   : T T T   : permuted(a, b, c, F4E)
prmt.b4e  : b32        :                   : T T T   : permuted(a, b, c, B4E)
prmt.rc8  : b32        :                   : T T T   : permuted(a, b, c, RC8)
prmt.ecl  : b32        :                   : T T T   : permuted(a, b, c, ECL)
prmt.ecr  : b32        :                   : T T T   : permuted(a, b, c, ECR)
prmt.rc16 : b32        :                   : T T T   : permuted(a, b, c, RC16)
mov       : b int f f16 f16x2 bf16 bf16x2 :: T       : a
"""

COMPARES = {
    "eq": "a == b", "ne": "a != b", "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b",
    "lo": "a < b", "ls": "a <= b", "hi": "a > b", "hs": "a >= b",
}  # fmt: skip
"""Comparisons. On floats they are false for a NaN; comparisons.py handles ``ne``."""

UNORDERED = {"ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}
"""Float comparisons that are true for a NaN (besides ``equ`` and ``neu``): each is the negation of the named one."""


@dataclass(frozen=True, slots=True)
class PtxInstructionRow:
    """The semantics of one instruction. ``sources`` and ``result`` are types, possibly ``T`` or ``W``."""

    modifiers: frozenset[str]
    result: str
    sources: tuple[str, ...]
    expression: str


def _types(text: str) -> list[str]:
    return [each for word in text.split() for each in _SETS.get(word, word).split()]


@functools.cache
def _rows() -> dict[tuple[str, str], PtxInstructionRow]:
    rows: dict[tuple[str, str], PtxInstructionRow] = {}
    for line in TABLE.strip().splitlines():
        name, types, modifiers, sources, expression = (part.strip() for part in line.split(":", 4))
        result, _, rest = sources.rpartition("=")
        for type_ in _types(types):
            known = frozenset(modifiers.split())
            rows.setdefault((name, type_), PtxInstructionRow(known, result or "T", tuple(rest.split()), expression))
    return rows


def instruction_row(name: str, type_: str) -> PtxInstructionRow | None:
    """Look up an instruction by its name, without generic modifiers, and its type; None if it is not in the table."""
    return _rows().get((name, type_))


def table_entries() -> list[tuple[str, str]]:
    """Return the names and types of all rows."""
    return list(_rows())
