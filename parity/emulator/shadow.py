"""Shadow runs: a kernel is executed once more, and every operation that rounds does so up or down, not to nearest.

What an output changes by is its response to errors of one ULP in every operation that led to it: the estimate of
CESTAC (Vignes, "A stochastic arithmetic for reliable scientific computation", Math. Comput. Simul. 35, 1993), with
Kahan's advice to round a whole program up, and then down ("How futile are mindless assessments of roundoff in
floating-point computation?", 2006). In half of the runs a multiply-add is two operations, as it is where a compiler
does not contract. Approximate instructions give results that are drawn from all that AMD's manual allows.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable

from parity.emulator.approximate import APPROXIMATE
from parity.launch import Arithmetic

__all__ = ["SHADOWS", "arithmetic_of", "round_to_nearest", "shadow_seed", "shadowed"]

SHADOWS = 8
"""Shadow runs of a launch: all up, all down, and these with multiply-adds apart; then, four times, at random."""

_FLOATS = re.compile(r"f16|f32|f64|dot2")
_FMA = re.compile(r"\bfma\(")
# Most targets round to bf16 with integers: 0x7fff, and the last bit that stays, are added to an f32.
_BF16 = "(V<u32>)(a + b + c)"
_BF16_DIRECTED = "(V<u32>)(a + b + sel(c == 0x7fffu, all(shadow_up ? 0xfffeu : 0u), c))"

# The number of a run are the three low bits of the seed: 1 is down, 2 takes multiply-adds apart, 4 is at random. At
# random means: by the place of the operation, by how often it came there, and by the wavefront.
_CHOICE = """
extern u32 drawing[];
const u32 shadow = drawing[1];
u64 shadow_hash = ((u64)(o - t->code) << 40 ^ (u64)wave << 32 ^ (u64)left ^ shadow >> 3) * 0x9e3779b97f4a7c15ul;
shadow_hash = (shadow_hash ^ shadow_hash >> 29) * 0xbf58476d1ce4e5b9ul;
const bool shadow_up = shadow & 4 ? (shadow_hash ^ shadow * 0x9e3779b97f4a7c15ul) >> 63 : !(shadow & 1);
const auto shadow_fma = [&](auto a, auto b, auto c) {
  decltype(a) product = a * b;
  return shadow & 2 ? decltype(a)(product + c) : fma(a, b, c);
};
"""
_DIRECTION = {
    "aarch64": """
const u64 shadow_mode = shadow_up ? 0x400000ul : 0x800000ul;
asm volatile("msr fpcr, %0" : : "r"(shadow_mode) : "memory");
""",
    "x86_64": """
const u32 shadow_mode = 0x1f80u | (shadow_up ? 0x4000u : 0x2000u);
asm volatile("ldmxcsr %0" : : "m"(shadow_mode) : "memory");
""",
}
"""The direction of what rounds, by the kind of processor (FPCR.RMode; MXCSR.RC). Operands are read after it."""


_MNEMONIC = re.compile(r"\b(?:v|s|ds|global|flat|buffer|scratch)_[a-z0-9_]+")
_OF_FLOATS = re.compile(r"_b?f(?:16|32|64)(?:_|$)")
_EXACT = re.compile(
    r"_(?:cmpx?|max|min|med3|max3|min3|maximum3?|minimum3?|maxmin|minmax|maximumminimum|minimummaximum)_"
    r"|_(?:floor|ceil|trunc|rndne|frexp_mant|frexp_exp_i\d+)_"
    r"|_cvt_(?:[iu]\d+_f\d+|f32_f16|f64_f32|f32_ubyte\d|f64_[iu]32)(?:_|$)"
)
"""The instructions with floating-point numbers that have one right result which needs no rounding."""


def arithmetic_of(code: str) -> Arithmetic:
    """The most that a kernel does with floating-point numbers; ``code`` is its listing, and that of what it calls.

    A conversion to fewer bits counts as a rounding: two of them in a row are not one.
    """
    if APPROXIMATE.search(code):
        return Arithmetic.APPROXIMATES
    found = {name for name in _MNEMONIC.findall(code) if _OF_FLOATS.search(name)}
    if not found:
        return Arithmetic.MOVES
    return Arithmetic.COMPARES if all(map(_EXACT.search, found)) else Arithmetic.ROUNDS


def shadowed(step: str, machine: str) -> str:
    """The C++ of a step of threaded code that rounds as a shadow run does; ``machine`` is "aarch64" or "x86_64"."""
    if _BF16 in step:
        return _CHOICE + step.replace(_BF16, _BF16_DIRECTED)
    if not _FLOATS.search(step):
        return step
    return _CHOICE + _DIRECTION[machine] + _FMA.sub("shadow_fma(", step)


def shadow_seed(seed: int, number: int) -> int:
    """The seed (32 bits) of the shadow run of that number, below ``SHADOWS``, of a launch with that seed."""
    return (seed * SHADOWS + number) & 0xFFFFFFFF


def round_to_nearest() -> None:
    """Let this thread round to nearest again, after a shadow run."""
    _fesetround()(0)  # FE_TONEAREST, on either kind of processor


@functools.cache
def _fesetround() -> Callable[[int], int]:
    function = ctypes.CDLL(None).fesetround
    function.argtypes, function.restype = [ctypes.c_int], ctypes.c_int
    found: Callable[[int], int] = function
    return found
