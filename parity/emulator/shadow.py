"""Shadow runs: a kernel is executed once more, and every operation that rounds does so up or down, not to nearest.

What an output changes by is its response to errors of one ULP in every operation that led to it: the estimate of
CESTAC (Vignes, "A stochastic arithmetic for reliable scientific computation", Math. Comput. Simul. 35, 1993), with
Kahan's advice to round a whole program up, and then down ("How futile are mindless assessments of roundoff in
floating-point computation?", 2006). In half of the runs a multiply-add is two operations, as it is where a compiler
does not contract. Approximate instructions give results that are drawn from all that AMD's manual allows. A matrix core
rounds each product that it adds as the largest sum does that any order may come to on the way.

Conversions of integers round to nearest, and so does what a compiler makes of a division of integers: these have one
right result on every device.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Sequence

from parity.emulator.amdgpu.approximate import APPROXIMATE
from parity.emulator.parse import Instruction
from parity.model.launch import Arithmetic

__all__ = [
    "MORE", "MOVED", "NARROWED", "UNFLUSHED", "arithmetic_of", "divisions", "round_to_nearest", "shadow_seed",
    "shadowed",
]  # fmt: skip

DOWN, APART, PATTERN, RANDOM, NARROW, KEPT, LANES = 1, 2, 4, 7 * 4, 32, 64, 128
"""The parts of a run's number: all operations round down, else up; multiply-adds are two operations; the operations
round up at every second place, or at every second two, four, ... thirty-two, so that any two of them that are near each
other go different ways in some run; they do so at random, by place, by how often it came there and by wavefront;
products of two bf16 are bf16; matrix cores keep subnormal numbers which they take for zeros otherwise; at random, each
lane goes its own way. What is higher draws anew.
"""
_RUNS = 256

MOVED = (
    *(0, DOWN, APART, APART | DOWN),
    *(n * PATTERN | more for n in range(1, 7) for more in (0, APART | DOWN)),
    *(RANDOM, RANDOM | APART),
    *(RANDOM | LANES | n % 2 * APART | _RUNS * (n // 2) for n in range(6)),
)
"""The runs whose differences show what roundings matter to a result."""

MORE = tuple(RANDOM | n % 2 * APART | _RUNS * (1 + n // 2) for n in range(16))
"""Further ones, for a launch of which those moved nothing."""

NARROWED = (APART | NARROW, APART | NARROW | DOWN)
"""The runs that show the roundings of a compiler that does not contract, where this one computes with bf16 in f32."""

UNFLUSHED = tuple(KEPT | number for number in MOVED)
"""The runs of a matrix core that keeps subnormal numbers, as CUDA's do, where AMD's takes them for zeros (D25)."""

_FLOATS = re.compile(r"f16|f32|f64|dot2")

_HELPERS = """
#ifndef SHADOW
#define SHADOW
extern u32 drawing[]; // results, seed
INLINE u32 shadow_run() { return drawing[1] % 256; }
INLINE u64 shadow_drawn(const State *t, const Operation *o) {
  u64 h = ((u64)(o - t->code) << 40 ^ (u64)t->wave << 32 ^ (u64)t->left ^ drawing[1]) * 0x9e3779b97f4a7c15ul;
  return (h ^ h >> 29) * 0xbf58476d1ce4e5b9ul;
}
INLINE bool shadow_up(const State *t, const Operation *o) {
  const u64 place = o - t->code, pattern = shadow_run() >> 2 & 7;
  return ((pattern == 7 ? shadow_drawn(t, o) >> 63 : pattern ? place >> (pattern - 1) : 1) ^ shadow_run()) & 1;
}
INLINE Mask shadow_ups(const State *t, const Operation *o) { // the lanes that round up
  const u64 h = shadow_drawn(t, o);
  return shadow_run() & 128 ? (Mask)(h ^ h >> 31) : shadow_up(t, o) ? ALL : 0;
}
enum Direction { NEAR, BELOW, ABOVE };
#ifdef __aarch64__
INLINE void shadow_round(Direction to) { // FPCR.RMode
  u64 mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  mode = (mode & ~(3ul << 22)) | (to == ABOVE ? 1ul << 22 : to == BELOW ? 2ul << 22 : 0);
  asm volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}
#else
INLINE void shadow_round(Direction to) { // MXCSR.RC
  u32 mode;
  asm volatile("stmxcsr %0" : "=m"(mode));
  mode = (mode & ~0x6000u) | (u32)to << 13;
  asm volatile("ldmxcsr %0" : : "m"(mode) : "memory");
}
#endif
template <class X> INLINE X shadow_product(X a, X b, bool) { return a * b; }
INLINE V<f32> shadow_product(V<f32> a, V<f32> b, bool up) {
  const V<f32> product = a * b;
  const V<u32> bits = as<u32>(product), cut = (up ? bits + 0xffffu : bits) & 0xffff0000u;
  const B narrow = bools(((as<u32>(a) | as<u32>(b)) & 0xffffu) == 0) & bools(product - product == 0.0f);
  return shadow_run() & 32 ? sel(narrow, as<f32>(cut), product) : product;
}
template <class X> INLINE X shadow_fma(X a, X b, X c, bool up) {
  return shadow_run() & 2 ? X(shadow_product(a, b, up) + c) : fma(a, b, c);
}
// Most targets round to bf16 with integers: 0x7fff, and the last bit that stays, are added to the bits of an f32.
INLINE V<u32> shadow_add3(V<u32> a, V<u32> b, V<u32> c, Mask up) {
  const V<u32> number = max(a, b), away = number + 0xffffu;
  return sel(c == 0x7fffu, sel((number >> 31) != bit(unmask(up)), away, number), a + b + c);
}
#endif
"""
_MOVES = "const bool shadow_is_up = shadow_up(t, o);\nshadow_round(shadow_is_up ? ABOVE : BELOW);\n"
# Those of each direction execute by themselves, where an instruction concerns each lane alone.
_BY_LANES = (
    "const Mask shadow_all = exec, shadow_those = shadow_ups(t, o);\n"
    "for (u32 shadow_is_up = 0; shadow_is_up < 2; shadow_is_up++) {{\n"
    "exec = shadow_all & (shadow_is_up ? shadow_those : ~shadow_those);\n"
    "if (!exec) continue;\n"
    "shadow_round(shadow_is_up ? ABOVE : BELOW);\n"
    "{}\n}}\nexec = shadow_all;"
)
_OTHERS = re.compile(r"(?:S\(\d+\)|vcc|scc|exec|left|\bd) ?(?:\[\d+\])? = |return|GO_|shuffle")
_STAYS = "shadow_round(NEAR);\n"
_FUNCTIONS = (
    (re.compile(r"\bfma\(([abcd]), ([abcd]), ([abcd])\)"), r"shadow_fma(\1, \2, \3, shadow_is_up)"),
    (re.compile(r"\ba \* b\b"), "shadow_product(a, b, shadow_is_up)"),
)
_BF16 = "(V<u32>)(a + b + c)"

NEAREST = "/* to nearest */\n"
"""The beginning of a step's text if its operation has to round to nearest."""


def shadowed(step: str, symbol: str) -> str:
    """The C++ of a function that executes a step of threaded code as a shadow run does."""
    if _BF16 in step:
        return f"{_HELPERS}STEP({symbol}, {step.replace(_BF16, 'shadow_add3(a, b, c, shadow_ups(t, o))')})"
    if not _FLOATS.search(step):
        return f"STEP({symbol}, {step})"
    if step.startswith(NEAREST):
        return f"{_HELPERS}STEP({symbol}, {_STAYS}{step})"
    for call, other in _FUNCTIONS:
        step = call.sub(other, step)
    if "sel(unmask(exec)" in step and not _OTHERS.search(step):
        return f"{_HELPERS}STEP({symbol}, {_BY_LANES.format(step)})"
    return f"{_HELPERS}STEP({symbol}, {_MOVES}{step})"


_FROM_INTEGER = re.compile(r"v_(?:dual_)?cvt_f\d+_(?:[iu]\d+|ubyte\d)")
_TO_INTEGER = re.compile(r"v_cvt_[iu]\d+_f")
_SCALED = re.compile(r"v_(?:dual_)?(?:ldexp|mul|fma\w*|mad\w*|mac)_f(?:32|64)")
_RECIPROCAL = re.compile(r"v_(?:rcp(?:_iflag)?|rsq)_f(?:32|64)")
_REGISTERS = re.compile(r"([va])(?:(\d+)|\[(\d+):(\d+)\])")


def divisions(items: Sequence[Instruction | str]) -> frozenset[int]:
    """The places of instructions that convert integers, and of those that a division of integers consists of.

    Such a division begins with the reciprocal of an integer that was converted, or of a multiple of one, and ends where
    that is converted back (LLVM, AMDGPUCodeGenPrepare.cpp and AMDGPUISelLowering.cpp: expandDivRem).
    """
    found: set[int] = set()
    integers: set[str] = set()
    quotients: set[str] = set()
    for place, item in enumerate(items):
        each = item if isinstance(item, Instruction) else None
        while each and each.operands and each.mnemonic.startswith("v_"):
            result, sources = _registers(each.operands[0]), _registers(" ".join(each.operands[1:]))
            if _ADDS.match(each.mnemonic):
                sources |= result
            kind = None
            if _FROM_INTEGER.match(each.mnemonic):
                found.add(place)
                kind = integers
            elif sources & quotients or (_RECIPROCAL.match(each.mnemonic) and sources & integers):
                if _OF_FLOATS.search(each.mnemonic):
                    found.add(place)
                    kind = None if _TO_INTEGER.match(each.mnemonic) else quotients
            elif _SCALED.match(each.mnemonic) and sources <= integers:
                kind = integers
            integers -= result
            quotients -= result
            if kind is not None:
                kind |= result
            each = each.paired
    return frozenset(found)


_ADDS = re.compile(r"v_(?:dual_)?(?:fmac|mac)_")


def _registers(operands: str) -> set[str]:
    """The vector registers of operands, one by one."""
    ranges = ((file, int(one or first), int(one or last)) for file, one, first, last in _REGISTERS.findall(operands))
    return {f"{file}{number}" for file, first, last in ranges for number in range(first, last + 1)}


def shadow_seed(seed: int, number: int) -> int:
    """The seed (32 bits) of the shadow run of that number, of a launch with that seed."""
    return (seed * _RUNS + number) & 0xFFFFFFFF


def round_to_nearest() -> None:
    """Let this thread round to nearest again, after a shadow run."""
    _fesetround()(0)  # FE_TONEAREST, on either kind of processor


@functools.cache
def _fesetround() -> Callable[[int], int]:
    function = ctypes.CDLL(None).fesetround
    function.argtypes, function.restype = [ctypes.c_int], ctypes.c_int
    found: Callable[[int], int] = function
    return found


_MNEMONIC = re.compile(r"\b(?:v|s|ds|global|flat|buffer|scratch)_[a-z0-9_]+")
_OF_FLOATS = re.compile(r"_b?f(?:16|32|64)(?:_|$)")
_EXACT = re.compile(
    r"_(?:cmpx?|max|min|med3|max3|min3|maximum3?|minimum3?|maxmin|minmax|maximumminimum|minimummaximum)_"
    r"|_(?:floor|ceil|trunc|rndne|frexp_mant|frexp_exp_i\d+)_"
    r"|_cvt_(?:[iu]\d+_f\d+|f32_f16|f64_f32|f32_ubyte\d|f64_[iu]32)(?:_|$)"
)
"""The instructions with floating-point numbers that have one right result which needs no rounding."""
_CONVERSION = re.compile(r"_cvt_(?:pk_|pkrtz_)?(f16_f32|f32_f64|f32_[iu]32)(?:_|$)")
"""Conversions that round once, each way as documented."""


def arithmetic_of(code: str) -> Arithmetic:
    """The most that a kernel does with floating-point numbers; ``code`` is its listing, and that of what it calls.

    Conversions to fewer bits count as a rounding if there are several kinds: two of them in a row are not one. One
    conversion of what is exact has one result.
    """
    found = {name for name in _MNEMONIC.findall(code) if _OF_FLOATS.search(name)}
    if not found:
        return Arithmetic.MOVES
    conversions = {name: match[1].replace("_u32", "_i32") for name in found if (match := _CONVERSION.search(name))}
    if len({*conversions.values()}) == 1:
        found -= {*conversions}
    exact = all(map(_EXACT.search, found)) and not APPROXIMATE.search(code)
    return Arithmetic.COMPARES if exact else Arithmetic.ROUNDS
