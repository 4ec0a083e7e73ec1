"""PTX threads that diverge, exchange values and wait for each other."""

import numpy as np
import pytest
from ptx_runs import kernel, module, run, u32

from parity.emulator.faults import (
    DataRace,
    DivergentBarrier,
    InstructionBudgetExceeded,
    NoProgress,
    UnsupportedFeature,
    WarpMask,
)

SEEDS = range(8)
LANES = np.arange(32, dtype=np.uint32)


@pytest.mark.parametrize("seed", SEEDS)
def test_loops_of_different_lengths_end_per_thread(cache, seed):
    text = module(
        kernel(
            """
    mov.u32 %r1, 0; mov.u32 %r2, %t;
LOOP:
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra DONE;
    add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1;
    bra.uni LOOP;
DONE:
    st.global.u32 [%x], %r1;
""",
            1,
        )
    )
    (found,), _ = run(text, cache, np.zeros(32, np.uint32), seed=seed)
    assert found.tolist() == [n * (n + 1) // 2 for n in range(32)]


APPEND = "atom.global.add.u32 %r2, [%b1], 1; mad.wide.u32 %d1, %r2, 4, %b0; st.global.u32 [%d1], %t;"
DIVERGED = f"""
    and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1;
    @%p1 bra ODD;
    {APPEND}
    bra.uni END;
ODD:
    {APPEND}
END:
"""


@pytest.mark.parametrize("body", [pytest.param(APPEND, id="together"), pytest.param(DIVERGED, id="diverged")])
def test_shuffled_lanes_append_in_another_order(cache, body):
    text, arrays = module(kernel(body)), (np.zeros(32, np.uint32), np.zeros(32, np.uint32))
    (usual, _), _ = run(text, cache, *arrays)
    (found, size), _ = run(text, cache, *arrays, shuffled=True)
    assert size[0] == 32 and sorted(found) == sorted(usual) == LANES.tolist()
    assert found.tolist() != usual.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_registers_of_diverged_threads_are_kept(cache, seed):
    """Uses registers of 16, 32 and 64 bits that share slots, on both sides of divergent branches."""
    text = module(
        kernel(
            """
    and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1;
    and.b32 %r2, %t, 2; setp.eq.u32 %p2, %r2, 2;
    @%p1 bra ODD;
    cvt.u16.u32 %h1, %t; mul.lo.u16 %h2, %h1, 3; cvt.u32.u16 %r5, %h2;
    @%p2 bra JOIN;
    add.u32 %r5, %r5, 1000;
    bra.uni JOIN;
ODD:
    cvt.u64.u32 %d1, %t; mul.lo.u64 %d2, %d1, 5; cvt.u32.u64 %r5, %d2;
    @!%p2 bra JOIN;
    add.u32 %r6, %r5, %r5; mov.u32 %r5, %r6;
JOIN:
    st.global.u32 [%x], %r5;
""",
            1,
        )
    )
    (found,), _ = run(text, cache, np.zeros(32, np.uint32), seed=seed)
    expected = [t * 5 * (2 if t & 2 else 1) if t & 1 else 3 * t + (0 if t & 2 else 1000) for t in range(32)]
    assert found.tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_indexed_branch_jumps_to_selected_target(cache, seed):
    text = module(
        kernel(
            """
    and.b32 %r1, %t, 3;
    table: .branchtargets A, B, C, A;
    brx.idx %r1, table;
A:
    mov.u32 %r2, 10; bra.uni END;
B:
    mov.u32 %r2, 20; bra.uni END;
C:
    mov.u32 %r2, 30;
END:
    st.global.u32 [%x], %r2;
""",
            1,
        )
    )
    (found,), _ = run(text, cache, np.zeros(32, np.uint32), seed=seed)
    assert found.tolist() == [(10, 20, 30, 10)[t & 3] for t in range(32)]


SUM = """
    ld.global.u32 %r1, [%x];
    {before}
    shfl.sync.bfly.b32 %r2, %r1, 16, 31, {mask}; add.u32 %r1, %r1, %r2;
    shfl.sync.bfly.b32 %r2, %r1, 8, 31, {mask}; add.u32 %r1, %r1, %r2;
    shfl.sync.bfly.b32 %r2, %r1, 4, 31, {mask}; add.u32 %r1, %r1, %r2;
    shfl.sync.bfly.b32 %r2, %r1, 2, 31, {mask}; add.u32 %r1, %r1, %r2;
    shfl.sync.bfly.b32 %r2|%p3, %r1, 1, 31, {mask}; add.u32 %r1, %r1, %r2;
    {after}
    st.global.u32 [%x], %r1;
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_diverged_threads_meet_at_shuffle(cache, seed):
    """The threads arrive over two paths of different lengths."""
    apart = """
    and.b32 %r5, %t, 1; setp.eq.u32 %p1, %r5, 1;
    @%p1 bra ODD;
    add.u32 %r1, %r1, 1; bra.uni MEET;
ODD:
    add.u32 %r1, %r1, 2; add.u32 %r1, %r1, 3;
MEET:
"""
    text = module(kernel(SUM.format(before=apart, mask=-1, after=""), 1))
    (found,), _ = run(text, cache, LANES.copy(), seed=seed)
    assert found.tolist() == [sum(range(32)) + 16 * 1 + 16 * 5] * 32


@pytest.mark.parametrize("lane", [*range(32), 33])
def test_shuffle_reads_constant_or_computed_source_lane(cache, lane):
    take = "shfl.sync.bfly.b32 %r1, %r1, {lane}, 31, {mask}; st.global.u32 [%x], %r1;"
    known = take.format(lane=lane, mask=-1)
    constants = f"mov.u32 %r2, {lane}; mov.u32 %r3, -1;" + take.format(lane="%r2", mask="%r3")
    loaded = "ld.global.u32 %r2, [%y];" + take.format(lane="%r2", mask="0xffffffff")
    expected = np.arange(32, dtype=np.uint32) ^ (lane & 31)
    for body in (known, constants, loaded):
        text = module(kernel(f"ld.global.u32 %r1, [%x]; {body}"))
        found, _ = run(text, cache, np.arange(32, dtype=np.uint32), np.full(32, lane, np.uint32))
        np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize("seed", [0, 3])
def test_mask_with_absent_threads_is_fault(cache, seed):
    half = "setp.ge.u32 %p1, %t, 16; @%p1 bra OTHERS;"
    others = "bra.uni END; OTHERS: bar.sync 0; END:"
    with pytest.raises(DivergentBarrier, match="lane 0 of a wavefront"):
        run(module(kernel(SUM.format(before=half, mask=-1, after=others), 1)), cache, LANES.copy(), seed=seed)
    others = "bra.uni END; OTHERS: bar.warp.sync -1; END:"
    with pytest.raises(WarpMask, match="wait for others of their warp that the mask names and that do not arrive"):
        run(module(kernel(SUM.format(before=half, mask=-1, after=others), 1)), cache, LANES.copy(), seed=seed)
    # A barrier does not wait for threads that have exited.
    left = "setp.ge.u32 %p1, %t, 16; @%p1 bra END;"
    (found,), _ = run(
        module(kernel(SUM.format(before=left, mask=-1, after="END:").replace("16, 31", "0, 31"), 1)),
        cache,
        LANES.copy(),
    )
    assert found[:16].tolist() == [sum(range(16)) * 2] * 16


def test_thread_not_in_its_mask_is_fault(cache):
    with pytest.raises(WarpMask, match="a thread executes it that the mask does not name") as info:
        run(module(kernel(SUM.format(before="", mask=0xFFFF, after=""), 1)), cache, LANES.copy())
    assert "block (0, 0, 0), thread (16, 0, 0)" in str(info.value)


@pytest.mark.parametrize("seed", SEEDS)
def test_halves_of_warp_exchange_separately(cache, seed):
    """Both halves execute the same instruction with different masks."""
    masks = "setp.lt.u32 %p1, %t, 16; selp.b32 %r9, 0xffff, 0xffff0000, %p1;"
    text = module(kernel(SUM.format(before=masks, mask="%r9", after="").replace("16, 31", "0, 31"), 1))
    (found,), _ = run(text, cache, LANES.copy(), seed=seed)
    assert found.tolist() == [240] * 16 + [2 * sum(range(16, 32))] * 16


@pytest.mark.parametrize("seed", SEEDS)
def test_votes_matches_and_reductions_combine_warp(cache, seed):
    text = module(
        kernel(
            """
    setp.lt.u32 %p1, %t, 5;
    vote.sync.ballot.b32 %r1, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1; selp.u32 %r2, 1, 0, %p2;
    vote.sync.all.pred %p3, %p1, -1; selp.u32 %r3, 1, 0, %p3;
    and.b32 %r4, %t, 3; match.any.sync.b32 %r5, %r4, -1;
    redux.sync.add.s32 %r6, %t, -1;
    redux.sync.max.u32 %r7, %t, -1;
    xor.b32 %r8, %r1, %r5; add.u32 %r8, %r8, %r2; add.u32 %r8, %r8, %r3; add.u32 %r8, %r8, %r6;
    add.u32 %r8, %r8, %r7;
    st.global.u32 [%x], %r8;
""",
            1,
        )
    )
    (found,), _ = run(text, cache, np.zeros(32, np.uint32), seed=seed)
    assert found.tolist() == [(31 ^ (0x11111111 << (t & 3))) + 1 + 0 + 496 + 31 for t in range(32)]


@pytest.mark.parametrize("seed", SEEDS)
def test_lock_is_passed_on_within_warp(cache, seed):
    """Threads of a warp wait for one of them, which makes progress on GPUs since Volta."""
    text = module(
        kernel(
            """
SPIN:
    atom.global.cas.b32 %r1, [%b1], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra SPIN;
    ld.volatile.global.u32 %r2, [%b0]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%b0], %r2;
    atom.global.exch.b32 %r3, [%b1], 0;
"""
        )
    )
    (found, _), _ = run(text, cache, u32(0), u32(0), seed=seed, budget=2_000_000)
    assert found.tolist() == [32]


def test_endless_wait_is_fault(cache):
    text = module(kernel("SPIN: ld.volatile.global.u32 %r1, [%b0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra SPIN;", 1))
    with pytest.raises((NoProgress, InstructionBudgetExceeded)):
        run(text, cache, u32(0), budget=3_000_000)


SHARED = module(
    ".shared .align 4 .b8 tile[1024];",
    kernel(
        """
    mov.u32 %r1, tile; mad.lo.u32 %r2, %t, 4, %r1;
    ld.global.u32 %r3, [%x]; st.shared.u32 [%r2], %r3;
    {barrier}
    sub.u32 %r4, %n, 1; sub.u32 %r4, %r4, %t; mad.lo.u32 %r5, %r4, 4, %r1;
    ld.shared.u32 %r6, [%r5]; st.global.u32 [%y], %r6;
"""
    ),
)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_block_barrier_orders_shared_memory_accesses(cache, seed):
    x = np.arange(128, dtype=np.uint32)
    (_, found), _ = run(SHARED.replace("{barrier}", "bar.sync 0;"), cache, x, np.zeros_like(x), block=128, seed=seed)
    assert found.tolist() == x[::-1].tolist()


def test_missing_block_barrier_is_race(cache):
    x = np.arange(128, dtype=np.uint32)
    with pytest.raises(DataRace, match=r"tile|shared|LDS"):
        run(SHARED.replace("{barrier}", ""), cache, x, np.zeros_like(x), block=128, seed=1)


def test_barrier_missed_by_some_threads_is_fault(cache):
    apart = "setp.lt.u32 %p1, %t, 7; @%p1 bra A; bar.sync 0; bra.uni B; A: bar.sync 0; B:"
    x = np.arange(64, dtype=np.uint32)
    with pytest.raises(DivergentBarrier):
        run(SHARED.replace("{barrier}", apart), cache, x, np.zeros_like(x), block=64)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_barrier_reduction_combines_predicates_of_block(cache, seed):
    text = module(
        kernel(
            """
    setp.lt.u32 %p1, %t, 40;
    barrier.sync 0;
    bar.red.popc.u32 %r1, 0, %p1; barrier.red.or.pred %p2, 0, %p1; bar.red.and.pred %p3, 0, %p1;
    selp.u32 %r2, 1000, 0, %p2; selp.u32 %r3, 5000, 0, %p3; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
    st.global.u32 [%x], %r1;
""",
            1,
        )
    )
    (found,), _ = run(text, cache, np.zeros(192, np.uint32), grid=2, block=96, seed=seed)
    assert found.tolist() == [1040] * 192


def test_refused_feature_is_named(cache):
    for line, named in {
        "tex.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2, %f3, %f4}];": "cube maps",
        "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, sampler, {%r1}];": "texture references",
        "barrier.sync 1, 64;": "number of threads",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};": "matrix",
    }.items():
        with pytest.raises(UnsupportedFeature, match=named):
            run(module(kernel(line, 1)), cache, u32(0))
