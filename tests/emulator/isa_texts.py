"""Interpret the texts: approximate functions, corrections, and the equality of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import gmpy2
from isa_harness import Machine, width
from isa_values import EXACT, FORMATS, Value, compute, exponent_bits, rounded

#: Approximations of the hardware, computed correctly rounded by the emulator: one ULP apart is agreement.
APPROXIMATE = re.compile(r"v_(?:s_)?(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)_(f16|f32|f64)$")
#: Those of f32 take subnormal operands as zero and give zero for subnormal results.
FLUSHED = re.compile(r"v_(?:s_)?(exp|log|rcp|rcp_iflag|rsq|sqrt)_f32$")
#: The sign of a zero result is not specified.
SIGNLESS = re.compile(r"v_(sin|cos)_")
#: CDNA's text does not order the zeros as RDNA's does; the compiler counts on +0 > -0 everywhere.
UNORDERED_ZEROS = re.compile(r"v_(pk_)?(max|min|med)3?_f")
#: Results with a float in each half.
HALVES = ("v_cvt_pk_rtz_f16_f32",)
#: Moves, whose results are the bits of a source even where the table calls them floats.
MOVES = re.compile(r"v_(cndmask|mov|swap)_")


def float_value(kind: str, bits: int) -> Value:
    return Value("F", width(kind), bits)


def _turns(function: Callable[[Any], Any]) -> Callable[[str, Sequence[int]], int]:
    """Sine and cosine of revolutions. The text first rounds 2 pi to the type, which the hardware does not."""

    def value(kind: str, operands: Sequence[int]) -> int:
        x = float_value(kind, operands[0]).number
        with gmpy2.context(EXACT):
            turn = x - gmpy2.rint(x)  # a NaN for infinities
            if turn * 2 == gmpy2.rint(turn * 2) and function is gmpy2.sin:
                result = gmpy2.mpfr(0)
            else:
                result = function(turn * 2 * gmpy2.const_pi())
            if turn * 4 == gmpy2.rint(turn * 4) and function is gmpy2.cos:
                result = gmpy2.rint(result)
        return rounded(result, "F", width(kind)).bits

    return value


def _nearest_even(kind: str, operands: Sequence[int]) -> int:
    """IEEE roundToIntegralTiesToEven. The text adds 0.5 in the type, which rounds and loses the sign of zero."""
    x = float_value(kind, operands[0])
    return compute(gmpy2.rint, x).bits | x.bits & 1 << x.width - 1


def _fract(kind: str, operands: Sequence[int]) -> int:
    """Return the fraction x - floor(x), or the largest number below 1 if the difference rounds to 1."""
    x = float_value(kind, operands[0])
    r = compute(lambda n: n - gmpy2.rint_floor(n), x)
    return rounded(1, "F", r.width).bits - 1 if r.number == 1 else r.bits


def _trig_preop(kind: str, operands: Sequence[int]) -> int:
    """Bits ``shift`` to ``shift + 53`` of 2 / pi (1201 bits). The text masks the low bits, contrary to its
    description.
    """
    x, part = float_value(kind, operands[0]), operands[1] & 31
    exponent = exponent_bits(x)
    shift = part * 53 + max(exponent - 1077, 0)
    with gmpy2.context(precision=1600):
        two_over_pi = int(gmpy2.rint_floor(gmpy2.exp2(1202) / gmpy2.const_pi()))
    bits = (two_over_pi << shift >> 1201 - 53) & (1 << 53) - 1
    with gmpy2.context(EXACT):
        return rounded(bits * gmpy2.exp2(-53 - shift + 128 * (exponent >= 1968)), "F", 64).bits


#: Instructions that compute something other than their text; these functions follow the manual's description.
OWN: dict[str, Callable[[str, Sequence[int]], int]] = {
    **{f"v_sin_{t}": _turns(gmpy2.sin) for t in ("f16", "f32")},
    **{f"v_cos_{t}": _turns(gmpy2.cos) for t in ("f16", "f32")},
    **{f"v_rndne_{t}": _nearest_even for t in ("f16", "f32", "f64")},
    **{f"v_fract_{t}": _fract for t in ("f16", "f32", "f64")},
    "v_trig_preop_f64": _trig_preop,
}
#: Corrections of texts with an obvious error: the replaced text, its replacement and the reason.
AMENDED = (
    (r"v_div_fmas_(f32|f64)", r"2\.0F? \*\* (32|64) \* fma", lambda m: f"({_far(m[1])}) * fma_unrounded",
     "the factor equals v_div_scale, up or down by the size of the addend, and the product is rounded once"),
    (r"v_div_fixup_f32", r"exponent\(S1\.f32\) == 255", "exponent(S2.f32) - exponent(S1.f32) > 128",
     "a denominator of exponent 255 was dealt with above; the scaled quotient may be inf - inf"),
    (r"v_div_fixup_f64", r"exponent\(S1\.f64\) == 2047", "exponent(S2.f64) - exponent(S1.f64) > 1024",
     "a denominator of exponent 2047 was dealt with above; the scaled quotient may be inf - inf"),
    (r"v_div_scale_(f32|f64)", r"(?s)\A.+\Z", lambda m: _scaled("f32" if "f32" in m[0] else "f64"),
     "the encoded exponents decide, as captured from gfx1100 and gfx1201 (AMD's rocjitsu, division.h)"),
    (r"v_pk_mov_b32", r"(S[01])\.u32\[", r"\g<1>.u64[", "the operands are pairs of registers"),
    (r"v_frexp_exp_i(?:16|32)_(f\d+)", r"exponent\(S0\.f\d+\)", lambda m: f"exponent_of_normalised(S0.f{m[0][-3:-1]})",
     "the description is original = mantissa * 2 ** exponent, which the exponent field of a subnormal does not give"),
)  # fmt: skip


def _far(power: str) -> str:
    kind, up, bias = ("f32", 64, 127) if power == "32" else ("f64", 128, 1023)
    return f"exponent(S2.{kind}) > {bias} ? 2.0 ** {up} : 2.0 ** (0 - {up})"


def _scaled(kind: str) -> str:
    far, by, bottom, tiny = (96, 64, 253, 24) if kind == "f32" else (768, 128, 2045, 53)
    return f"""
VCC = 0x0LL;
if S2.{kind} == 0.0 || S1.{kind} == 0.0 then
    D0.{kind} = NAN.{kind}
elsif exponent(S2.{kind}) - exponent(S1.{kind}) >= {far} then
    VCC = 0x1LL;
    if S0.{kind} == S1.{kind} then
        D0.{kind} = ldexp(S0.{kind}, {by})
    endif
elsif exponent(S1.{kind}) == 0 then
    D0.{kind} = ldexp(S0.{kind}, {by})
elsif exponent(S1.{kind}) >= {bottom} && exponent(S2.{kind}) - exponent(S1.{kind}) <= -{far} then
    VCC = 0x1LL;
    if S0.{kind} == S1.{kind} then
        D0.{kind} = ldexp(S0.{kind}, -{by})
    endif
elsif exponent(S1.{kind}) >= {bottom} then
    D0.{kind} = ldexp(S0.{kind}, -{by})
elsif exponent(S2.{kind}) - exponent(S1.{kind}) <= -{far} then
    VCC = 0x1LL;
    if S0.{kind} != S1.{kind} then
        D0.{kind} = ldexp(S0.{kind}, {by})
    endif
elsif exponent(S2.{kind}) <= {tiny} then
    D0.{kind} = ldexp(S0.{kind}, {by})
endif"""


def text_of(machine: Machine, entry: str) -> str:
    """Return the pseudo-code of an entry, with its errors corrected."""
    text = re.sub(r"//.*", "", machine.text(entry) or "")
    for name, old, new, _ in AMENDED:
        if re.fullmatch(name, entry):
            text, count = re.subn(old, new, text)
            assert count, f"nothing to amend in {entry}: {old}"
    return text


def same_floats(fields: Sequence[tuple[int, str]], ulps: int = 0, zeros: bool = False) -> Callable[[int, int], bool]:
    """Return whether floats at these bits are equal: all NaNs are equal, and so are numbers within ``ulps`` steps.

    With ``zeros``, both zeros are equal.
    """

    def same(got: int, want: int) -> bool:
        for low, kind in fields:
            bits = width(kind)
            ones = (1 << bits) - 1
            g, w = got >> low & ones, want >> low & ones
            infinity = (2 * FORMATS["F", bits][1] + 1) << FORMATS["F", bits][0]
            magnitude = ones >> 1
            if (
                (g & magnitude > infinity and w & magnitude > infinity)
                or (
                    ulps
                    and (g ^ w) >> bits - 1 == 0
                    and abs(g - w) <= ulps
                    and max(g & magnitude, w & magnitude) <= infinity
                )
                or (zeros and not (g | w) & magnitude)
            ):
                g = w
            if g != w:
                return False
            got, want = got & ~(ones << low), want & ~(ones << low)
        return got == want

    return same


def is_nan(kind: str, bits: int) -> bool:
    """Return whether the lowest bits of a register hold a NaN of this float type."""
    return bool(gmpy2.is_nan(float_value(kind, bits & (1 << width(kind)) - 1).number))


def flush(kind: str, bits: int) -> int:
    """Replace a subnormal number by a zero of its sign."""
    fraction, bias = FORMATS["F", width(kind)]
    return bits & 1 << width(kind) - 1 if not bits >> fraction & (2 * bias + 1) else bits
