"""Shadow runs: a kernel is executed once more, and every operation that rounds does so up or down, not to nearest.

The change of an output is its response to errors of one ULP in every operation that led to it: the estimate of CESTAC
(Vignes, "A stochastic arithmetic for reliable scientific computation", Math. Comput. Simul. 35, 1993), with Kahan's
advice to round a whole program up, and then down ("How futile are mindless assessments of roundoff in floating-point
computation?", 2006). In half of the runs, a multiply-add is two operations, as without contraction. Approximate
instructions give results that are drawn from all results that AMD's manual allows. A matrix core rounds each product
that it adds to the precision of the largest partial sum that any order of addition may have.

Conversions of integers round to nearest, and so does the code that compilers generate for a division of integers:
these have one correct result on every device.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from parity.emulator.amdgpu.approximate import APPROXIMATE
from parity.emulator.amdgpu.matrix import MATRIX
from parity.emulator.instruction import Instruction
from parity.model.launch import Arithmetic

_FLOATS = re.compile(r"f16|f32|f64|dot2")
_CROSSES_LANES = re.compile(r"(?:S\(\d+\)|vcc|scc|exec|left|\bd) ?(?:\[\d+\])? = |return|GO_|shuffle")
_FUNCTIONS = (
    (re.compile(r"\bfma\(([abcd]), ([abcd]), ([abcd])\)"), r"shadow_fma(\1, \2, \3, shadow_is_up)"),
    (re.compile(r"\ba \* b\b"), "shadow_product(a, b, shadow_is_up)"),
    (re.compile(r"\bto<f16>\(([ab])\)"), r"shadow_half(\1)"),
    (re.compile(r"\bto_bf16\(([ab])\)"), r"shadow_bf16(\1, shadow_is_up)"),
    (re.compile(r"\bto<f32>\(a\)"), "shadow_single(a)"),
)
_FIRST_HALF = re.compile(r"half\[0\] = .*\}$", re.MULTILINE)
_BF16 = "(V<u32>)(a + b + c)"

NEAREST = "/* to nearest */\n"
"""Precedes the text of a step whose operation must round to nearest."""


def shadow_step(step: str, symbol: str) -> str:
    """Return the C++ of a function that executes a step of threaded code in a shadow run (``runtime/shadow.h``)."""
    header = '#include "shadow.h"\n'
    if _BF16 in step:
        return f"{header}STEP({symbol}, {step.replace(_BF16, 'shadow_add3(a, b, c, shadow_ups(t, o))')})"
    if not _FLOATS.search(step):
        return f"STEP({symbol}, {step})"
    if step.startswith(NEAREST):
        return f"{header}STEP({symbol}, set_rounding(TO_NEAREST);\n{step})"
    for call, other in _FUNCTIONS:
        step = call.sub(other, step)
    # With one direction, the difference of two products in a packed instruction would not move.
    step = _FIRST_HALF.sub(r"\g<0> set_rounding(shadow_second(t, o, shadow_is_up));", step)
    by_lane = "sel(unmask(exec)" in step and not _CROSSES_LANES.search(step)
    return f"{header}{'SHADOW_LANES_STEP' if by_lane else 'SHADOW_STEP'}({symbol}, {step})"


_FROM_INTEGER = re.compile(r"v_(?:dual_)?cvt_f\d+_(?:[iu]\d+|ubyte\d)")
_TO_INTEGER = re.compile(r"v_cvt_[iu]\d+_f")
_SCALED = re.compile(r"v_(?:dual_)?(?:ldexp|mul|fma\w*|mad\w*|mac)_f(?:32|64)")
_RECIPROCAL = re.compile(r"v_(?:rcp(?:_iflag)?|rsq)_f(?:32|64)")
_REGISTERS = re.compile(r"([va])(?:(\d+)|\[(\d+):(\d+)\])")


def integer_divisions(items: Sequence[Instruction | str]) -> frozenset[int]:
    """Return the places of instructions that convert integers, and of instructions that divide integers.

    Such a division begins with the reciprocal of a converted integer, or of its multiple, and ends with the conversion
    back to an integer (LLVM, AMDGPUCodeGenPrepare.cpp and AMDGPUISelLowering.cpp: expandDivRem).
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


TYPES = ("f16", "f32")
"""Floating-point types that a port may use instead of a wider type of the CUDA kernel."""
_DIRECTIVE = "nearest_"


def foreign_types(code: str, ptx: str) -> tuple[str, ...]:
    """Return the types of ``TYPES`` that code computes with, and PTX does not mention."""
    found = {kind for name in _MNEMONIC.findall(code) for kind in re.findall(r"(?<!b)f(?:16|32)", name)}
    return tuple(each for each in TYPES if each in found and not re.search(rf"\.{each}(?:x2)?\b", ptx))


def round_to_nearest(listing: str, kernel: str, types: Sequence[str]) -> str:
    """Return the listing with directives: operations of a kernel with these types round to nearest in shadow runs."""
    head = f"\t.amdhsa_kernel {kernel}\n"
    return listing.replace(head, head + "".join(f"\t\t.amdhsa_{_DIRECTIVE}{each} 1\n" for each in types))


def nearest_places(items: Sequence[Instruction | str], descriptor: Mapping[str, int]) -> frozenset[int]:
    """Return the places of the instructions that round to nearest in shadow runs.

    Matrix instructions are not among them: they add in another order than CUDA's, and may flush subnormal numbers.
    """
    kinds = "|".join(each for each in TYPES if descriptor.get(_DIRECTIVE + each))
    named = re.compile(rf"(?<!b)(?:{kinds})(?!\d)") if kinds else None
    typed = {
        i for i, item in enumerate(items)
        if named and isinstance(item, Instruction) and named.search(item.text) and not MATRIX.search(item.text)
    }  # fmt: skip
    return integer_divisions(items) | typed


_ADDS = re.compile(r"v_(?:dual_)?(?:fmac|mac)_")


def _registers(operands: str) -> set[str]:
    """The vector registers of operands."""
    ranges = ((file, int(one or first), int(one or last)) for file, one, first, last in _REGISTERS.findall(operands))
    return {f"{file}{number}" for file, first, last in ranges for number in range(first, last + 1)}


_MNEMONIC = re.compile(r"\b(?:v|s|ds|global|flat|buffer|scratch)_[a-z0-9_]+")
_OF_FLOATS = re.compile(r"_b?f(?:16|32|64)(?:_|$)")
_EXACT = re.compile(
    r"_(?:cmpx?|max|min|med3|max3|min3|maximum3?|minimum3?|maxmin|minmax|maximumminimum|minimummaximum)_"
    r"|_(?:floor|ceil|trunc|rndne|frexp_mant|frexp_exp_i\d+)_"
    r"|_cvt_(?:[iu]\d+_f\d+|f32_f16|f64_f32|f32_ubyte\d|f64_[iu]32)(?:_|$)"
)
"""Floating-point instructions with exact results."""
_CONVERSION = re.compile(r"_cvt_(?:pk_|pkrtz_)?(f16_f32|f32_f64|f32_[iu]32)(?:_|$)")
"""Conversions that round once, as documented."""


_TOGETHER = re.compile(r"\b(?:ds_|\w*(?:atomic|mfma|wmma|dot\d|readlane|permlane))|_dpp\b|\b(?:quad_perm|row_\w+)")
"""Matches instructions with which several threads may compute a sum, and sums of several products."""
_BRANCH_OR_LABEL = re.compile(r"^(\.?\w+):|^\s+s_c?branch\w*\s+(\.?\w+)", re.MULTILINE)


def is_reordering(code: str) -> bool:
    """Return True if a kernel or function may add numbers in another order than the source: it has a loop, or threads
    exchange numbers.
    """
    labels: set[str] = set()
    for label, wanted in _BRANCH_OR_LABEL.findall(code):
        if wanted in labels:
            return True
        labels |= {label} - {""}
    return bool(_TOGETHER.search(code))


def classify_arithmetic(code: str) -> Arithmetic:
    """Return what code does with floating-point numbers; ``code`` is the text of a kernel or of a function it calls.

    Conversions to fewer bits count as rounding if there are several kinds, because two conversions in a row round
    twice. A single conversion of an exact number has one result.
    """
    found = {name for name in _MNEMONIC.findall(code) if _OF_FLOATS.search(name)}
    if not found:
        return Arithmetic.MOVES
    conversions = {name: match[1].replace("_u32", "_i32") for name in found if (match := _CONVERSION.search(name))}
    if len({*conversions.values()}) == 1:
        found -= {*conversions}
    exact = all(map(_EXACT.search, found)) and not APPROXIMATE.search(code)
    return Arithmetic.COMPARES if exact else Arithmetic.ROUNDS
