"""Warp-uniform registers, which have one value for all threads of a warp until the threads diverge."""

import numpy as np
import pytest
from ptx_runs import HEAD, kernel, module, run, u32

from parity.emulator.faults import DataRace, MemoryFault
from parity.emulator.ptx.parse import function_texts, parse_function
from parity.emulator.ptx.translation import PtxMemoryLayout
from parity.emulator.ptx.warp_uniform import warp_uniform_registers

LAYOUT = PtxMemoryLayout({"k_0": 0}, {"tile": 0}, {("k", "own"): 0}, {"table": 0})
LOOP = "mov.u32 %r1, 0; $L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra $L;"
APART = "mov.u32 %r9, %tid.x; setp.lt.u32 %p9, %r9, 5;"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (LOOP, {"%r1"}),
        ("ld.global.u32 %r1, [%d0]; ld.shared.u16 %h1, [tile]; selp.u32 %r2, %r1, 3, %p0;", {"%r1", "%h1"}),
        ("ld.global.v2.u32 {%r1, %r2}, [%d0]; ld.volatile.global.u32 %r3, [%d0]; ld.local.u32 %r4, [own];", set()),
        (f"{APART} @%p9 mov.u32 %r1, 1;", set()),
        (f"setp.eq.u64 %p1, %d0, 0; @!%p1 mov.u32 %r1, 1; {APART}", {"%r1"}),
        (f"{APART} @%p9 bra $E; mov.u32 %r1, 1; $E: mov.u32 %r2, 2;", set()),
        (f"mov.u32 %r1, 1; {APART} @%p9 bra $E; add.u32 %r2, %r1, %r9; $E:", {"%r1"}),
        (f"{APART} @%p9 bra $E; mov.u32 %r1, 1; bra $F; $E: ret; $F: mov.u32 %r2, 2;", {"%r1", "%r2"}),
        (f"{APART} @%p9 ret; mov.u32 %r1, 1;", {"%r1"}),
        (f"{LOOP} {APART} @%p9 bra $L; mov.u32 %r2, 2;", set()),
        ("shfl.sync.idx.b32 %r2, %r9, 0, 31, -1; mov.u32 %r1, 1;", {"%r1"}),
        ("mov.u32 %r9, %tid.x; bar.warp.sync %r9; mov.u32 %r1, 1;", set()),
        ("mov.u32 %r9, %tid.x; bar.sync 0; mov.u32 %r1, 1;", {"%r1"}),
        ("call f; mov.u32 %r1, 1;", set()),
        ("mov.u32 %r1, 1; mov.u32 %r1, %tid.x; mov.u32 %r2, %laneid;", set()),
        ("add.cc.u32 %r1, 1, 2; addc.u32 %r2, 0, 0; ex2.approx.f32 %f1, 0f00000000;", set()),
    ],
    ids=[
        "loop", "loads", "other loads", "guard of some", "guard of all", "branch of some", "before a branch", "end",
        "exit", "loop of some", "exchange", "exchange of some", "barrier", "call", "index", "other instructions",
    ],
)  # fmt: skip
def test_warp_uniform_registers_are_found(body, expected):
    registers = ".reg .pred %p<10>; .reg .b16 %h<9>; .reg .b32 %r<10>; .reg .b64 %d<9>; .reg .f32 %f<9>;"
    text = f"{HEAD} .visible .entry k(.param .u64 k_0) {{ {registers} ld.param.u64 %d0, [k_0]; {body} ret; }}"
    found = warp_uniform_registers(parse_function(function_texts(text)["k"], {}), ["%d0"], LAYOUT)
    assert found - {"%p0"} == expected


def test_warps_alternating_at_barriers_keep_separate_values(cache):
    """A warp is one iteration ahead of warps that have not yet reached the barrier."""
    body = """
    mov.u32 %r1, 0; mov.u32 %r2, 0;
$L: add.u32 %r1, %r1, 3; bar.sync 0; mad.lo.u32 %r2, %r1, %n, %r2; add.u32 %r2, %r2, %t;
    setp.lt.u32 %p1, %r1, 12; @%p1 bra $L;
    st.global.u32 [%x], %r2;"""
    (found,), _ = run(module(kernel(body, 1)), cache, np.zeros(96, np.uint32), block=96)
    assert found.tolist() == [(3 + 6 + 9 + 12) * 96 + 4 * i for i in range(96)]


def test_long_uniform_loop_ends(cache):
    body = """
    ld.global.u32 %r1, [%b1];
$L: sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra $L;
    st.global.u32 [%x], %r1;"""
    arrays = np.ones(32, np.uint32), u32(1_500_000)
    (found, _), _ = run(module(kernel(body)), cache, *arrays, budget=10_000_000)
    assert not found.any()


def test_uniform_register_is_computed_after_first_thread_ended(cache):
    body = """
    setp.eq.u32 %p2, %n, 1; setp.lt.u32 %p1, %t, 16; @%p1 ret;
    ld.global.u32 %r1, [%b1]; setp.eq.u32 %p2, %r1, 8; selp.u32 %r2, 5, 7, %p2; add.u32 %r3, %r2, %r1;
    st.global.u32 [%x], %r3;"""
    (found, _), _ = run(module(kernel(body)), cache, np.zeros(32, np.uint32), u32(8))
    assert found.tolist() == [0] * 16 + [13] * 16


def test_guarded_uniform_register_keeps_fill_value(cache):
    body = """
    ld.global.u32 %r1, [%b1]; setp.eq.u32 %p1, %r1, 8; @%p1 mov.u32 %r2, 4; @!%p1 mov.u32 %r3, 6;
    add.u32 %r4, %r2, %t; st.global.u32 [%x], %r4; st.global.u32 [%x+128], %r3;"""
    (found, _), _ = run(module(kernel(body)), cache, np.zeros(64, np.uint32), u32(8))
    assert found.tolist() == [4 + i for i in range(32)] + [0xBAADF00D] * 32


def test_uniform_loads_are_checked(cache):
    load = "ld.global.u32 %r1, [%b1+{}]; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, %r1; st.global.u32 [%x], %r1;"
    arrays = np.zeros(32, np.uint32), u32(1, 2)
    with pytest.raises(MemoryFault, match="0 bytes past the end") as caught:
        run(module(kernel(load.format(8))), cache, *arrays)
    assert caught.value.lane == 0
    with pytest.raises(MemoryFault, match="aligned"):
        run(module(kernel(load.format(2))), cache, *arrays)
    race = "ld.global.u32 %r1, [%b0]; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, %r1; st.global.u32 [%x], %r1;"
    with pytest.raises(DataRace):
        run(module(kernel(race, 1)), cache, np.zeros(64, np.uint32), block=64)
