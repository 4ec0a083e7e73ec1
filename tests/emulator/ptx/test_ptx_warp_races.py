"""Races between threads of one warp, which CUDA only orders by ``__syncwarp``."""

import re

import numpy as np
import pytest
from ptx_runs import kernel, module, run, u32

from parity.emulator.faults import DataRace, WarpRace

X = np.arange(32, dtype=np.uint32)
SHARED = ".shared .align 16 .b8 tile[1024];"
PLACES = """
    mov.u32 %r1, tile; mad.lo.u32 %r2, %t, 4, %r1;
    xor.b32 %r3, %t, 1; mad.lo.u32 %r4, %r3, 4, %r1;
    ld.global.u32 %r5, [%x];
"""
"""%r2 is the address of the thread, %r4 the address of its neighbour, %r5 the thread's input."""


def launched(body, cache, *arrays, **options):
    """Launch a kernel with shared memory and an address per thread. Returns the arrays afterwards."""
    arrays = arrays or (X.copy(), np.zeros(32, np.uint32))
    found, _ = run(module(SHARED, kernel(PLACES + body, len(arrays))), cache, *arrays, **options)
    return found


def told(body, cache, *arrays, **options):
    """Return the race that such a launch reports."""
    with pytest.raises(WarpRace) as caught:
        launched(body, cache, *arrays, **options)
    return caught.value


EXCHANGE = "st.shared.u32 [%r2], %r5; {between} ld.shared.u32 %r6, [%r4]; st.global.u32 [%y], %r6;"


@pytest.mark.parametrize("block", [32, 96])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_read_after_warp_barrier_is_not_race(cache, seed, block):
    x = np.arange(block, dtype=np.uint32)
    for between in ("bar.warp.sync -1;", "bar.sync 0;", "barrier.sync 0;"):
        _, found = launched(EXCHANGE.format(between=between), cache, x.copy(), 0 * x, block=block, seed=seed)
        assert found.tolist() == (x ^ 1).tolist()
    race = told(EXCHANGE.format(between=""), cache, x.copy(), 0 * x, block=block, seed=seed)
    assert (race.kind, race.other[:9], race.instruction[:9]) == ("data race in a warp", "st.shared", "ld.shared")
    assert "two threads of one warp, one of them writes, no __syncwarp between them" in str(race)
    assert re.search(r"byte (\d+) of LDS", str(race))[1] in [str(128 * warp + 4) for warp in range(block // 32)]


@pytest.mark.parametrize(
    "between",
    ["shfl.sync.bfly.b32 %r7, %r5, 1, 31, -1;", "vote.sync.ballot.b32 %r7, 1, -1;", "membar.cta;", "fence.sc.cta;"],
)
def test_exchanges_votes_and_fences_do_not_order_accesses(cache, between):
    told(EXCHANGE.format(between=between), cache)


def test_halves_of_warp_have_separate_barriers(cache):
    between = "shr.u32 %r7, %t, 4; setp.eq.u32 %p1, %r7, 0; selp.b32 %r8, 0xffff, 0xffff0000, %p1; bar.warp.sync %r8;"
    _, found = launched(EXCHANGE.format(between=between), cache)
    assert found.tolist() == (X ^ 1).tolist()


def test_write_of_value_read_by_other_thread_is_race(cache):
    race = told(
        "st.shared.u32 [%r2], %r5; bar.warp.sync -1; ld.shared.u32 %r6, [%r4]; st.shared.u32 [%r2], %r6;"
        "st.global.u32 [%y], %r6;",
        cache,
    )
    assert (race.other[:9], race.instruction[:9]) == ("ld.shared", "st.shared")
    launched(
        "st.shared.u32 [%r2], %r5; bar.warp.sync -1; ld.shared.u32 %r6, [%r4]; bar.warp.sync -1;"
        "st.shared.u32 [%r2], %r6; st.global.u32 [%y], %r6;",
        cache,
    )


def test_write_of_value_read_by_several_threads_is_race(cache):
    both = "st.shared.u32 [%r2], %r5; bar.warp.sync -1; ld.shared.u32 %r6, [%r4]; ld.shared.u32 %r7, [%r2]; {}"
    told(both.format("st.shared.u32 [%r2], %r6;"), cache)
    launched(both.format("bar.warp.sync -1; st.shared.u32 [%r2], %r6;"), cache)


def test_write_by_one_thread_read_by_all_is_race(cache):
    first = "setp.ne.u32 %p1, %t, 5; @%p1 bra L; st.shared.u32 [tile], %t; L: {} ld.shared.u32 %r6, [tile];"
    race = told(first.format(""), cache)
    assert race.lane == 0
    assert told(first.format("").replace("%t, 5", "%t, 0"), cache).lane == 1
    launched(first.format("bar.warp.sync -1;"), cache)


def test_race_in_global_memory_names_buffer(cache):
    body = "st.global.u32 [%y], %r5; {} xor.b32 %r6, %i, 1; mad.wide.u32 %d1, %r6, 4, %b1; ld.global.u32 %r7, [%d1];"
    assert "buffer 'buffer 1'" in str(told(body.format(""), cache))
    launched(body.format("bar.warp.sync -1;"), cache)


def test_private_accesses_need_no_barrier(cache):
    """Holds for accesses of any sizes in any order."""
    _, found = launched(
        """
    mul.lo.u32 %r6, %t, 16; add.u32 %r6, %r6, %r1;
    st.shared.v4.u32 [%r6], {%r5, %r5, %r5, %r5}; ld.shared.u8 %h1, [%r6+1]; ld.shared.u16 %h2, [%r6+2];
    st.shared.u16 [%r6+6], %h1; ld.shared.v2.u32 {%r7, %r8}, [%r6]; st.shared.v2.u32 [%r6+8], {%r7, %r8};
    st.shared.u8 [%r6+15], %h2; ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];
    st.global.u32 [%y], %r9;
""",
        cache,
    )
    assert found.tolist() == X.tolist()


def test_overlapping_accesses_of_different_sizes_are_race(cache):
    wide = "mul.lo.u32 %r6, %t, 8; add.u32 %r6, %r6, %r1;"
    half = "setp.ge.u32 %p2, %t, 16; @%p2 bra L;"
    one = f"{wide} st.shared.u32 [%r2], %r5; {{}} {half} ld.shared.u32 %r7, [%r6]; L:"
    assert told(one.format(""), cache).lane == 1  # thread 0 reads what it wrote
    launched(one.format("bar.warp.sync -1;"), cache)
    first = f"setp.ne.u32 %p1, %t, 0; @%p1 bra L; {wide} st.shared.u32 [%r2], %r5; ld.shared.u16 %h1, [%r6+2]; L:"
    launched(first, cache)


def test_write_after_reads_of_different_sizes_races_with_other_readers(cache):
    """One thread reads bytes of a word that several threads read."""
    body = """
    st.shared.u32 [%r2], %r5; bar.warp.sync -1;
    ld.shared.u32 %r6, [%r2]; mul.lo.u32 %r7, %t, 2; mad.lo.u32 %r7, %r7, 1, %r1; ld.shared.u16 %h1, [%r7];
    setp.ne.u32 %p1, %t, {thread}; @%p1 bra L; st.shared.{type} [tile], {value}; L:
"""
    launched(body.format(thread=0, type="u16", value="%h1"), cache)
    told(body.format(thread=0, type="u32", value="%r6"), cache)
    told(body.format(thread=1, type="u16", value="%h1"), cache)


def test_writes_of_one_address_race_only_if_values_differ(cache):
    """CUDA guarantees one of the values if one instruction writes them all."""
    launched("st.shared.u32 [tile], %r5; bar.warp.sync -1; ld.shared.u32 %r6, [tile];", cache)
    launched("st.shared.u32 [tile], 7; st.shared.u32 [tile], 7; ld.shared.u32 %r6, [tile];", cache)
    told("st.shared.u32 [tile], %r5; ld.shared.u32 %r6, [tile];", cache)
    parts = "setp.lt.u32 %p1, %t, 16; @%p1 bra L; st.shared.u32 [tile], {}; bra.uni M; L: st.shared.u32 [tile], {}; M:"
    launched(parts.format(7, 7), cache)
    told(parts.format(7, 8), cache)


def test_store_executed_by_diverged_threads_is_not_race(cache):
    """The threads arrive over paths of different lengths."""
    body = """
    and.b32 %r7, %t, 3; mov.u32 %r8, 0;
LOOP:
    add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r7; @%p1 bra LOOP;
    st.shared.u32 [tile], %t; bar.warp.sync -1; ld.shared.u32 %r6, [tile]; st.global.u32 [%y], %r6;
"""
    for seed in range(8):
        _, found = launched(body, cache, seed=seed)
        assert len({*found.tolist()}) == 1


def test_volatile_accesses_are_atomic(cache):
    """Code older than ``__syncwarp``: the value read is unspecified, but there is no race (PTX ISA)."""
    launched(EXCHANGE.format(between="").replace(".shared", ".volatile.shared"), cache)
    told("st.shared.u32 [%r2], %r5; ld.volatile.shared.u32 %r6, [%r4];", cache)


def test_atomic_without_barrier_after_store_is_race(cache):
    zero = "setp.ne.u32 %p1, %t, 3; @%p1 bra L; st.shared.u32 [tile], 0; L: {} red.shared.add.u32 [tile], 1;"
    race = told(zero.format(""), cache)
    assert (race.other[:9], race.instruction[:10]) == ("st.shared", "red.shared")
    launched(zero.format("bar.warp.sync -1;"), cache)
    told(zero.format("bar.warp.sync -1;") + "ld.shared.u32 %r6, [tile];", cache)
    unused = zero.format("bar.warp.sync -1;").replace("red.shared.add.u32", "atom.shared.add.u32 %r7,")
    told(unused + "ld.shared.u32 %r6, [tile];", cache)
    launched(unused + "bar.warp.sync -1; ld.shared.u32 %r6, [tile];", cache)


@pytest.mark.parametrize("seed", range(4))
def test_lock_guarded_access_is_not_race(cache, seed):
    text = module(
        kernel(
            """
SPIN:
    atom.global.cas.b32 %r1, [%b1], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra SPIN;
    ld.global.u32 %r2, [%b0]; add.u32 %r2, %r2, 1; st.global.u32 [%b0], %r2;
    membar.gl; atom.global.exch.b32 %r3, [%b1], 0;
"""
        )
    )
    (found, _), _ = run(text, cache, u32(0), u32(0), seed=seed, budget=2_000_000)
    assert found.tolist() == [32]


def test_compare_and_swap_loop_is_not_race(cache):
    """The compare-and-swap verifies the value of the first load."""
    text = module(
        kernel(
            """
    ld.global.u32 %r1, [%b0];
AGAIN:
    add.u32 %r2, %r1, 1; mov.u32 %r3, %r1;
    atom.global.cas.b32 %r1, [%b0], %r3, %r2;
    setp.ne.u32 %p1, %r1, %r3;
    @%p1 bra AGAIN;
""",
            1,
        )
    )
    (found,), _ = run(text, cache, u32(0), budget=2_000_000)
    assert found.tolist() == [32]


def test_race_between_warps_is_reported_as_such(cache):
    with pytest.raises(DataRace, match="two wavefronts") as caught:
        launched(
            "xor.b32 %r3, %t, 32; mad.lo.u32 %r4, %r3, 4, %r1;" + EXCHANGE.format(between="bar.warp.sync -1;"),
            cache, np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32), block=64, seed=1,
        )  # fmt: skip
    assert caught.value.kind == "data race"


REDUCTION = """
    st.shared.u32 [%r2], %r5; bar.warp.sync -1;
    {16}{8}{4}{2}{1}
    ld.shared.u32 %r9, [tile]; st.global.u32 [%y], %r9;
"""


def test_reduction_without_one_barrier_is_race(cache):
    def step(distance, barrier):
        guard = f"setp.ge.u32 %p1, %t, {distance}; @%p1 bra L{distance};"
        sum_ = f"ld.shared.u32 %r6, [%r2]; ld.shared.u32 %r7, [%r2+{4 * distance}]; add.u32 %r6, %r6, %r7;"
        return f"{guard} {sum_} st.shared.u32 [%r2], %r6; L{distance}: {'bar.warp.sync -1;' if barrier else ''}\n"

    for lacks in (None, 16, 8, 4, 2, 1):
        body = REDUCTION
        for distance in (16, 8, 4, 2, 1):
            body = body.replace(f"{{{distance}}}", step(distance, distance != lacks))
        if lacks:
            told(body, cache)
        else:
            _, found = launched(body, cache)
            assert found.tolist() == [496] * 32


def test_barrier_phases_wrap_around(cache):
    """Accesses from before the wrap-around are forgotten. Only every 64th of the many phases is checked."""

    def looked_at(phase):
        return phase * 0x9E3779B9 % (1 << 32) >> 26 == 0

    many = range((1 << 20) + 1, (1 << 20) + 400)
    seen = next(n for n in many if looked_at(n))
    unseen = next(n for n in many if not looked_at(n))
    body = """
    st.shared.u32 [%r2], %r5; mov.u32 %r8, 0;
LOOP:
    bar.warp.sync -1; add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, {rounds}; @%p1 bra LOOP;
    ld.shared.u32 %r6, [%r4]; {barrier} st.shared.u32 [%r2], %r6; st.global.u32 [%y], %r6;
"""
    _, found = launched(body.format(rounds=seen, barrier="bar.warp.sync -1;"), cache, budget=10 * seen)
    assert found.tolist() == (X ^ 1).tolist()
    told(body.format(rounds=seen, barrier=""), cache, budget=10 * seen)
    launched(body.format(rounds=unseen, barrier=""), cache, budget=10 * unseen)


_STORED = "and.b32 %r6, %t, 31; st.shared.u32 [%r1], %r6; bar.sync 0; ld.shared.u32 %r7, [%r1]; bar.sync 0;"


@pytest.mark.parametrize("before", ["", _STORED], ids=["at first", "later"])
@pytest.mark.parametrize(("mask", "races"), [(31, False), (255, True)], ids=["same values", "other values"])
def test_warps_that_store_same_values_of_lanes_at_one_place_do_not_race(cache, mask, races, before):
    """Any lane's value may remain. The order of the warps only matters if they store other values."""
    body = f"{before} and.b32 %r6, %t, {mask}; st.shared.u32 [%r1], %r6;"
    arrays = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    if not races:
        launched(body, cache, *arrays, block=256)
        return
    with pytest.raises(DataRace) as caught:
        launched(body, cache, *arrays, block=256)
    assert caught.value.kind == "data race"


@pytest.mark.parametrize(("mask", "races"), [(31, False), (255, True)], ids=["same values", "other values"])
def test_warps_that_store_same_vectors_at_one_place_do_not_race(cache, mask, races):
    body = f"and.b32 %r6, %t, {mask}; st.shared.v2.u32 [%r1], {{%r6, %r6}};"
    arrays = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    if races:
        with pytest.raises(DataRace):
            launched(body, cache, *arrays, block=256)
    else:
        launched(body, cache, *arrays, block=256)


def test_threads_of_kernel_that_executes_together_are_not_compared(cache):
    """Triton relies on the order of a warp's instructions."""
    body = EXCHANGE.format(between="") + "atom.shared.add.u32 %r7, [%r1], 1;"
    told(body, cache)
    _, found = launched(body, cache, converged=True)
    assert found.tolist() == (X ^ 1).tolist()
    arrays = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    with pytest.raises(DataRace) as caught:  # warps still are
        launched("st.shared.u32 [%r1], %t;", cache, *arrays, block=64, converged=True)
    assert caught.value.kind == "data race"
