"""Results of an H200 for operands and instructions that the sweep does not cover."""

import numpy as np
import pytest
from marks import thorough
from ptx_runs import kernel, module, run, u32

from parity.emulator.faults import UnsupportedFeature

# Products below the smallest normal number 2^-126 (f16: 2^-14) that round to it. With .ftz they are flushed, unless an
# unbounded exponent would give the same rounding. Instruction, operands, result.
BITS32 = [
    ("mul.rn.ftz.f32", (0x3F000800, 0x00FFF000), 0x00000000),  # (1 + 2^-12) / 2 by (1 - 2^-12) 2^-125
    ("mul.rn.ftz.f32", (0x3F000400, 0x00FFF800), 0x00800000),
    ("mul.rp.ftz.f32", (0x3F000800, 0x00FFF000), 0x00000000),
    ("mul.rp.ftz.f32", (0x3F000400, 0x00FFF800), 0x00800000),
    ("mul.rm.ftz.f32", (0x3F000400, 0x00FFF800), 0x00000000),
    ("mul.rn.ftz.f32", (0xBF000400, 0x00FFF800), 0x80800000),
    ("fma.rn.ftz.f32", (0x3F000800, 0x00FFF000, 0x00000000), 0x00000000),
    ("fma.rn.ftz.f32", (0x3F000400, 0x00FFF800, 0x00000000), 0x00800000),
]
# Factors with the NaN that tensor maps return for out-of-bounds reads.
BITS16 = [
    ("fma.rn.oob.f16", (0x7FF7, 0x3C00, 0x3C00), 0x0000),
    ("fma.rn.oob.f16", (0x3C00, 0xFFF7, 0x3C00), 0x0000),
    ("fma.rn.oob.f16", (0x3C00, 0x3C00, 0x7FF7), 0x7FFF),
    ("fma.rn.oob.f16", (0x7FFF, 0x3C00, 0x3C00), 0x7FFF),
    ("fma.rn.oob.bf16", (0x7FF7, 0x3F80, 0x3F80), 0x0000),
    ("fma.rn.oob.bf16", (0x3F80, 0x3F80, 0x7FF7), 0x7FFF),
    ("fma.rn.f16", (0x7FF7, 0x3C00, 0x3C00), 0x7FFF),
]
# PTX ISA, "Scalar Video Instructions": parts of operands and results.
VIDEO = [
    ("vadd.s32.s32.s32 %r5.b1, %r1.b0, %r2.h1, %r3", (0x000000FF, 0x00030000, 0x44332211), 0x44330211),
    ("vsub.s32.u32.u32.sat %r5.h1, %r1, %r2, %r3", (0x00000000, 0x00010000, 0x44332211), 0x80002211),
    ("vmad.s32.s32.s32 %r5, %r1.h0, %r2.b3, %r3", (0x0000FFFF, 0x02000000, 0x00000064), 0x00000062),
]


# f64 NaNs with the payloads 1, 2 and 3, computed in this order, and the payload of the result. ptxas orders operands.
PAYLOADS = [
    ("add.f64 %e4, %e1, %e2", 2),
    ("add.f64 %e4, %e2, %e1", 2),
    ("sub.f64 %e4, %e2, %e1", 2),
    ("mul.f64 %e4, %e3, %e1", 3),
    ("min.f64 %e4, %e2, %e1", 2),
    ("add.f64 %e5, %e1, %e2; add.f64 %e4, %e3, %e5", 2),
    ("neg.f64 %e5, %e1; mul.f64 %e4, %e5, %e2", 2),
    ("fma.rn.f64 %e4, %e2, %e1, %e3", 2),
    ("fma.rn.f64 %e4, %e1, %e3, %e2", 3),
    ("fma.rn.f64 %e4, %e3, %e2, %e1", 3),
    ("fma.rn.f64 %e4, %e1, 0d4000000000000000, %e3", 3),  # a literal is the second source, as measured on an H200
    ("fma.rn.f64 %e4, 0d4000000000000000, %e1, %e3", 3),
    ("div.rn.f64 %e4, %e2, %e1", 2),
    ("neg.f64 %e4, %e1", 1),
]


def nan(register, payload):
    return f"ld.global.f64 %q#{register}, [%x+{8 * payload}];"


def merged(register, payload):
    """Return a NaN that is assigned on both sides of a branch."""
    again = f"bar.sync 0; {nan(register, payload)}"
    return f"{nan(register, payload)} @%p1 bra J#{register}; {again}\nJ#{register}:\n"


# The payload of the NaN in %q#9, where # is the number of the case. Every result is an H100's.
RANKS = [
    (nan(5, 1) + nan(3, 2) + "add.f64 %q#9, %q#3, %q#5;", 2),
    (merged(5, 1) + nan(3, 2) + "add.f64 %q#9, %q#5, %q#3;", 1),
    (merged(5, 1) + nan(3, 2) + "sub.f64 %q#9, %q#3, %q#5;", 1),
    (merged(5, 1) + nan(3, 2) + "min.f64 %q#9, %q#5, %q#3;", 1),
    (merged(5, 1) + nan(3, 2) + nan(4, 3) + "fma.rn.f64 %q#9, %q#5, %q#3, %q#4;", 1),
    (nan(6, 1) + "rcp.rn.f64 %q#5, %q#6;" + nan(8, 2) + "mul.f64 %q#9, %q#5, %q#8;", 1),
    (nan(6, 1) + "rcp.rn.f64 %q#5, %q#6;" + merged(8, 2) + "mul.f64 %q#9, %q#5, %q#8;", 1),
    (nan(6, 1) + "sqrt.rn.f64 %q#5, %q#6;" + nan(8, 2) + "add.f64 %q#9, %q#5, %q#8;", 1),
    (nan(6, 1) + nan(7, 3) + "div.rn.f64 %q#5, %q#6, %q#7;" + nan(8, 2) + "add.f64 %q#9, %q#5, %q#8;", 1),
    (nan(6, 2) + nan(7, 3) + "selp.f64 %q#4, %q#6, %q#7, %p2;" + merged(5, 1) + "add.f64 %q#9, %q#4, %q#5;", 3),
    (merged(9, 1) + "@%p1 bra K#; " + nan(3, 2) + "add.f64 %q#9, %q#9, %q#3;\nK#:\n", 2),
]


def results(cache, cases, register, letter):
    lines = []
    for i, (text, operands, _) in enumerate(cases):
        for k, bits in enumerate(operands, 1):
            lines.append(f"mov.{register} %{letter}{k}, {f'0f{bits:08x}' if register == 'f32' else bits};")
        names = ", ".join(f"%{letter}{k}" for k in range(1, len(operands) + 1))
        lines.append(f"{text};" if " " in text else f"{text} %{letter}5, {names};")
        lines.append(f"st.global.{register} [%x+{4 * i}], %{letter}5;")
    (found,), _ = run(module(kernel("\n".join(lines), params=1)), cache, np.zeros(len(cases), np.uint32), block=1)
    return [hex(word) for word in found]


@pytest.mark.parametrize(
    ("cases", "register", "letter"),
    [(BITS32, "f32", "f"), (BITS16, "b16", "h"), (VIDEO, "b32", "r")],
    ids=["f32", "16 bits", "video"],
)
def test_instruction_result_matches_h200(cache, cases, register, letter):
    assert results(cache, cases, register, letter) == [hex(result) for *_, result in cases]


def test_nan_payload_of_result_matches_h200(cache):
    nans = "".join(f"mov.f64 %e{k}, 0d7ff800000000000{k};\n" for k in (1, 2, 3))
    lines = [f"{nans}{text};\nst.global.f64 [%x+{8 * i}], %e4;" for i, (text, _) in enumerate(PAYLOADS)]
    (found,), _ = run(module(kernel("\n".join(lines), params=1)), cache, np.zeros(len(PAYLOADS), np.uint64), block=1)
    assert [int(word) - 0x7FF8000000000000 for word in found] == [payload for _, payload in PAYLOADS]


def test_nan_payload_of_merged_operands_matches_h100(cache):
    lines = [f".reg .f64 %q<{10 * len(RANKS) + 10}>; setp.eq.u32 %p1, %i, 1; setp.eq.u32 %p2, %i, 2;"]
    for i, (text, _) in enumerate(RANKS, 1):
        lines.append(f"{text}st.global.f64 [%x+{8 * (3 + i)}], %q#9;".replace("#", str(i)))
    memory = np.zeros(4 + len(RANKS), np.uint64)
    memory[1:4] = 0x7FF8000000000000 + np.arange(1, 4, dtype=np.uint64)
    (found,), _ = run(module(kernel("\n".join(lines), params=1)), cache, memory, block=1)
    assert [int(word) - 0x7FF8000000000000 for word in found[4:]] == [payload for _, payload in RANKS]


@pytest.mark.parametrize(
    ("between", "fuses"),
    [
        thorough("div.full.f32 %f5, %f1, %f2", True),
        thorough("rem.u32 %r5, %t, 3", True),
        ("bar.sync 0", True),
        thorough("div.rn.f32 %f5, %f1, %f2", False),
        thorough("sqrt.rn.f64 %e5, %e1", False),
        thorough("rem.s32 %r5, %t, 3", False),
        thorough("membar.cta", False),
    ],
)
def test_product_and_sum_are_fused_within_ptxas_block(cache, between, fuses):
    body = f"""
    mov.f32 %f1, 0f3f800001; mov.f32 %f2, 0fbf800002; mov.f64 %e1, 0d3ff0000000000000;
    mul.f32 %f3, %f1, %f1; {between}; add.f32 %f4, %f3, %f2;
    st.global.f32 [%x], %f4;"""
    (found,), _ = run(module(kernel(body, params=1)), cache, np.ones(1, np.float32), block=1)
    assert found[0] == (2.0**-46 if fuses else 0)


def test_video_element_selection_is_refused(cache):
    with pytest.raises(UnsupportedFeature, match=r"choose elements"):
        run(module(kernel("vadd2.u32.u32.u32 %r1.h0, %r2, %r3, %r4;", params=1)), cache, u32(0))
