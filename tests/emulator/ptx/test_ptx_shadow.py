"""Shadow runs of PTX: operations round up or down, and approximate instructions move by their error."""

from __future__ import annotations

import numpy as np
import pytest

from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Launch, Pointer
from parity.runners.ptx import PtxSession
from tests.emulator.ptx.ptx_runs import kernel, module

ULP = 2.0**-24
"""Of the numbers in [1/4, 1/2)."""
HALF = "cvt.rn.f16.f32 %h1, %f1;"
CASES = {
    "quotient": ("div.rn.f32 %f2, %f1, 0f40400000;", 1.0, 1 / 3, ULP / 2, 2 * ULP),
    "fused": ("fma.rn.f32 %f2, %f1, 0f3DCCCCCD, 0f3DCCCCCD;", 2.9, 0.39, ULP / 2, 2 * ULP),
    "separated": ("fma.rn.f32 %f2, %f1, %f1, 0fBC23D70A;", 0.1, 0.0, 2.0**-31, 2.0**-28),
    "separated f16": (
        f"{HALF} mul.rn.f16 %h2, %h1, %h1; neg.f16 %h2, %h2; fma.rn.f16 %h2, %h1, %h1, %h2; cvt.f32.f16 %f2, %h2;",
        0.3125 + 2**-12,
        0.0,
        2.0**-14,
        2.0**-12,
    ),
    "separated bf16": (
        "cvt.rn.bf16.f32 %h1, %f1; mul.rn.bf16 %h2, %h1, %h1; neg.bf16 %h2, %h2; fma.rn.bf16 %h2, %h1, %h1, %h2; "
        "cvt.f32.bf16 %f2, %h2;",
        0.3125 + 2**-9,
        -0.00024,
        2.0**-11,
        2.0**-9,
    ),
    "root": ("sqrt.rn.f32 %f2, %f1;", 0.1, 0.1**0.5, ULP / 2, 2 * ULP),
    "single": (
        "cvt.f64.f32 %e1, %f1; div.rn.f64 %e1, %e1, 0d4008000000000000; cvt.rn.f32.f64 %f2, %e1;",
        1.0,
        1 / 3,
        ULP / 2,
        2 * ULP,
    ),
    "approximate": ("ex2.approx.f32 %f2, %f1;", -1.5, 2**-1.5, 2 * ULP, 12 * ULP),
    "cosine": ("cos.approx.f32 %f2, %f1;", 1.25, 0.3153, 4 * ULP, 20 * ULP),
    "f16": ("cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f2, %h1;", 0.333, 0.333, 2.0**-12, 2.0**-12),
    "f16 product": (
        f"{HALF} mul.rn.f16 %h2, %h1, %h1; cvt.f32.f16 %f2, %h2;",
        0.3125 + 2**-12,
        0.0978,
        2.0**-14,
        2.0**-14,
    ),
    "f16 fused": (
        f"{HALF} fma.rn.f16 %h2, %h1, %h1, %h1; cvt.f32.f16 %f2, %h2;",
        0.3125 + 2**-12,
        0.4106,
        2.0**-12,
        2.0**-12,
    ),
    "bf16": ("cvt.rn.bf16.f32 %h1, %f1; cvt.f32.bf16 %f2, %h1;", 0.334, 0.334, 2.0**-9, 2.0**-9),
    "whole bf16": ("cvt.rn.bf16.f32 %h1, %f1; cvt.f32.bf16 %f2, %h1;", 0.375, 0.375, 0, 0),
    "matrix": (
        "mov.b32 %r1, 0x2e662e66; mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, "
        "{%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f1, %f1, %f1, %f1};",
        0.1,
        0.1 + 16 * 0.1**2,
        ULP,
        40 * ULP,
    ),
    "power": ("ex2.approx.f32 %f2, %f1;", -2.0, 0.25, 0, 0),
    "product": ("mul.rn.f32 %f2, %f1, 0f3F000000;", 0.75, 0.375, 0, 0),
    "downward": ("div.rm.f32 %f2, %f1, 0f40400000;", 1.0, 1 / 3, 0, 2 * ULP),
    "integer": ("cvt.rni.s32.f32 %r1, %f1; cvt.rn.f32.s32 %f2, %r1;", 2.5, 2.0, 0, 0),
    "quiet": ("mov.b32 %r1, %f1; add.u32 %r1, %r1, 1; mov.b32 %f2, %r1;", 1.0, 1.0, 0, 0),
}
"""Instructions from %f1 to %f2, the operand, about the result, and limits of the spread."""


@pytest.mark.parametrize("name", CASES)
def test_ptx_shadow_runs_move_what_is_rounded(name):
    body, operand, value, least, most = CASES[name]
    code = parse_ptx(
        module(kernel(f"ld.global.f32 %f1, [%x]; {body} st.global.f32 [%y], %f2;")), "module", target("sm_90")
    )
    x = np.full(32, operand, np.float32)
    buffers = {"x": Buffer(dtype("f32"), x), "y": Buffer(dtype("f32"), np.zeros_like(x), writable=True)}
    found = PtxSession().shadows(code, Launch("k", (1, 1, 1), (32, 1, 1), (Pointer("x"), Pointer("y"))), buffers)
    assert not [each.fault for each in (found.nearest, *found.moved) if each.fault]
    runs = np.array([each.buffers["y"].astype(np.float64) for each in (found.nearest, *found.moved)])
    assert abs(runs[0] - value).max() < 1e-4
    assert least <= runs.max() - runs.min() <= most
    assert np.float32(1) / np.float32(3) == np.float32(0.33333334)  # the host rounds to nearest again
