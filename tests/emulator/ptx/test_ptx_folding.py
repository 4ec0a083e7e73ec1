"""Folded instructions: which instructions are folded, and that results stay the same."""

import numpy as np
import pytest
from ptx_runs import kernel, module, run

from parity.emulator.ptx.folding import fold_instructions
from parity.emulator.ptx.pipeline import optimized_functions

X = np.arange(64, dtype=np.uint32) * 3 % 17
LOAD = "ld.global.u32 %r1, [%x]; ld.global.u32 %r2, [%y];"


@pytest.mark.parametrize(
    ("body", "expected", "gone"),
    [
        ("add.u32 %r3, %r1, 5; shl.b32 %r1, %r3, 2;", (X + 5) << 2, 1),
        ("add.u32 %r3, %r1, 5; mov.u32 %r1, 9; sub.u32 %r1, %r3, %r1;", X - 4, 0),
        ("add.u32 %r1, %r1, 5; add.u32 %r3, %r1, 1; mul.lo.u32 %r1, %r3, %r3;", (X + 6) ** 2, 0),
        ("add.u32 %r3, %r1, 5; add.u32 %r4, %r3, %r2; xor.b32 %r1, %r3, %r4;", (X + 5) ^ (2 * X + 5), 1),
        ("add.s32 %r3, %r1, -20; cvt.s64.s32 %d1, %r3; shr.s64 %d2, %d1, 1; cvt.u32.u64 %r1, %d2;",
         ((X.astype(np.int64) - 20) >> 1).astype(np.uint32), 2),
        ("setp.lt.u32 %p1, %r1, 8; @%p1 bra L; add.u32 %r1, %r1, 100; L:", np.where(X < 8, X, X + 100), 1),
        ("setp.lt.u32 %p1, %r1, 8; @!%p1 bra L; add.u32 %r1, %r1, 100; L:", np.where(X < 8, X + 100, X), 1),
        ("setp.lt.u32 %p1, %r1, 8; setp.ne.s32 %p2, %r1, 3; and.pred %p3, %p1, %p2; @%p3 bra L; mov.u32 %r1, 0; L:",
         np.where((X < 8) & (X != 3), X, 0), 3),
        ("cvt.u64.u32 %d1, %r1; setp.lt.u64 %p1, %d1, 8; setp.ne.s32 %p2, %r1, 3; and.pred %p3, %p1, %p2; @%p3 bra L;"
         "mov.u32 %r1, 0; L:", np.where((X < 8) & (X != 3), X, 0), 4),
        ("cvt.u64.u32 %d1, %r1; setp.lt.u64 %p1, %d1, 8; setp.ge.u32 %p2, %r1, 12; or.pred %p3, %p1, %p2; @%p3 bra L;"
         "mov.u32 %r1, 0; L:", np.where((X < 8) | (X >= 12), X, 0), 4),
        ("setp.lt.u32 %p1, %r1, 8; mov.u32 %r1, 0; @%p1 bra L; mov.u32 %r1, 1; L:", np.where(X < 8, 0, 1), 0),
        ("add.u32 %r3, %r1, 5; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; mov.u32 %r1, 1; L: add.u32 %r1, %r3, %r1;",
         X + 5 + np.where(X == 0, X, 1), 1),
        ("setp.eq.u32 %p1, %r2, 0; add.u32 %r3, %r1, 5; @%p1 add.u32 %r1, %r3, 1;", np.where(X == 0, X + 6, X), 1),
        ("mul.wide.u32 %d1, %t, 4; add.s64 %d2, %b1, %d1; ld.global.u32 %r1, [%d2+4];", X[1:33], 2),
        ("sub.s32 %r3, %r1, 9; cvt.rn.f32.s32 %f1, %r3; mul.f32 %f2, %f1, 0f40000000; mov.b32 %r1, %f2;",
         (2 * (X.astype(np.float32) - 9)).view(np.uint32), 1),
    ],
)  # fmt: skip
def test_folding_keeps_results(cache, body, expected, gone):
    assert inside(body) - inside("") == gone
    threads = len(expected)
    text = module(kernel(f"{LOAD} {body} st.global.u32 [%x], %r1;"))
    (found, _), _ = run(text, cache, X[:threads], np.append(X, X[:1])[: threads + 1], block=threads)
    np.testing.assert_array_equal(found, expected.astype(np.uint32))


def inside(body, constants=()):
    """Return the number of folded instructions."""
    (function,) = optimized_functions(module(kernel(f"{LOAD} {body} st.global.u32 [%x], %r1;")), "k")
    return len(function.items) - len(fold_instructions(function, constants))


def test_folding_skips_block_uniform_register():
    body = "add.u32 %r3, %g, 5; add.u32 %r1, %r3, %r1;"
    assert inside(body) - inside("") == 1
    assert inside(body, {"%r3"}) == inside("", {"%r3"})


def test_folding_limits_long_chains(cache):
    steps = "".join(f"add.u32 %s{k + 1}, %s{k}, {k};" for k in range(600))
    body = f".reg .b32 %s<601>; {LOAD} mov.b32 %s0, %r1; {steps} st.global.u32 [%x], %s600;"
    (found, _), _ = run(module(kernel(body)), cache, X[:32], X[:32])
    np.testing.assert_array_equal(found, X[:32] + sum(range(600)))
