"""Compatibility functions of integers: SIMD words, dot products, warp functions and atomics match NumPy models."""

from __future__ import annotations

import numpy as np
import pytest
from execution import THREADS, calls, program

from parity.compilers.targets import TARGETS
from parity.porting import compat

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

EXECUTED = ("gfx1100", "gfx90a")  # one target for each wavefront size
N = 4 * THREADS


@pytest.fixture(scope="module", params=EXECUTED)
def target(request):
    return request.param


def words(seed: int) -> np.ndarray:
    """Return random words and words at the limits of the integer types."""
    edges = np.array(
        [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x80808080, 0x7F7F7F7F, 0x7FFFFFFF, 2**31], np.uint32
    )
    ends = np.array([*edges, *~edges], np.uint32)
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.choice(ends, N // 2), rng.integers(0, 2**32, N // 2, np.uint32)])


A, B, C = words(1), words(2), words(3)


# --- SIMD words -------------------------------------------------------------------------------------------------------


def lanes(x: np.ndarray, kind: type) -> np.ndarray:
    return x.view(kind).astype(np.int64)


def joined(x: np.ndarray, kind: type) -> np.ndarray:
    return x.astype(kind).view(np.uint32)


def limited(x, kind):
    return np.clip(x, np.iinfo(kind).min, np.iinfo(kind).max)


COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less,
}  # fmt: skip


def simd() -> dict[str, tuple[int, object]]:
    """Return the number of arguments and the model of each function."""
    models = {}
    for n, signed, unsigned in ((2, np.int16, np.uint16), (4, np.int8, np.uint8)):

        def of(kind, function, result=None):
            result = result or kind
            return lambda a, b: joined(function(lanes(a, kind), lanes(b, kind)), result)

        def summed(kind, function):
            def total(a, b):
                return function(lanes(a, kind), lanes(b, kind)).reshape(len(a), -1).sum(1).astype(np.uint32)

            return total

        two = {
            "add": of(unsigned, np.add),
            "addss": of(signed, lambda x, y, s=signed: limited(x + y, s)),
            "addus": of(unsigned, lambda x, y, u=unsigned: limited(x + y, u)),
            "sub": of(unsigned, np.subtract),
            "subss": of(signed, lambda x, y, s=signed: limited(x - y, s)),
            "subus": of(unsigned, lambda x, y, u=unsigned: limited(x - y, u)),
            "avgs": of(signed, lambda x, y: np.trunc((x + y) / 2 + 0.5 * np.sign(x + y)).astype(np.int64)),
            "avgu": of(unsigned, lambda x, y: (x + y + 1) // 2),
            "haddu": of(unsigned, lambda x, y: (x + y) // 2),
            "absdiffs": of(signed, lambda x, y: abs(x - y)),
            "absdiffu": of(unsigned, lambda x, y: abs(x - y)),
            "sads": summed(signed, lambda x, y: abs(x - y)),
            "sadu": summed(unsigned, lambda x, y: abs(x - y)),
            **{f"max{s}": of(kind, np.maximum) for s, kind in (("s", signed), ("u", unsigned))},
            **{f"min{s}": of(kind, np.minimum) for s, kind in (("s", signed), ("u", unsigned))},
        }
        one = {
            "abs": of(signed, lambda x, _: abs(x)),
            "absss": of(signed, lambda x, _, s=signed: limited(abs(x), s)),
            "neg": of(signed, lambda x, _: -x),
            "negss": of(signed, lambda x, _, s=signed: limited(-x, s)),
        }
        for name, holds in COMPARISONS.items():
            for sign, kind in (("", unsigned),) if name in ("eq", "ne") else (("s", signed), ("u", unsigned)):
                two[f"cmp{name}{sign}"] = of(kind, lambda x, y, h=holds: -h(x, y).astype(np.int64))
                two[f"set{name}{sign}"] = of(kind, lambda x, y, h=holds: h(x, y).astype(np.int64))
        models |= {f"__v{name}{n}": (2, model) for name, model in two.items()}
        models |= {f"__v{name}{n}": (1, lambda a, m=model: m(a, a)) for name, model in one.items()}
    for suffix, kind in (("s32", np.int32), ("u32", np.uint32), ("s16x2", np.int16), ("u16x2", np.uint16)):

        def of(function, kind=kind):
            return lambda *arguments: joined(function(*(lanes(each, kind) for each in arguments)), kind)

        three = {
            "imax3": lambda x, y, z: np.maximum(np.maximum(x, y), z),
            "imin3": lambda x, y, z: np.minimum(np.minimum(x, y), z),
            "iaddmax": lambda x, y, z, k=kind: np.maximum((x + y).astype(k), z),
            "iaddmin": lambda x, y, z, k=kind: np.minimum((x + y).astype(k), z),
        }
        models |= {f"__v{name}_{suffix}": (3, of(function)) for name, function in three.items()}
        if suffix[0] == "s":
            relu = {n: lambda x, y, z, f=f: np.maximum(f(x, y, z), 0) for n, f in three.items()}
            models |= {f"__v{name}_{suffix}_relu": (3, of(function)) for name, function in relu.items()}
            models[f"__vimax_{suffix}_relu"] = (2, of(lambda x, y: np.maximum(np.maximum(x, y), 0)))
            models[f"__vimin_{suffix}_relu"] = (2, of(lambda x, y: np.maximum(np.minimum(x, y), 0)))
    return models


SIMD = simd()
# These functions also report through pointers which argument they chose.
WITH_PREDICATES = {f"__vib{which}_{kind}" for which in ("max", "min") for kind in ("s32", "u32", "s16x2", "u16x2")}


def test_every_simd_function_in_table_has_model():
    table = {name for name, rows in compat.rules().items() for row in rows if row.header.endswith("simd.h")}
    assert table == {*SIMD, *WITH_PREDICATES}


@pytest.fixture(scope="module")
def simd_words(target, cache, tmp_path_factory):
    kernels = [
        calls(f"of_{n}", "unsigned, unsigned, unsigned", "unsigned", [f"{f}({', '.join('abc'[:n])})" for f in of_n])
        for n in (1, 2, 3)
        if (of_n := [name for name, (count, _) in SIMD.items() if count == n])
    ]
    predicates = [
        f"[&] {{ bool h = 0, l = 0; auto v = {f}(a, b, &h{', &l' * ('x2' in f)}); return v ^ (h << 1 | l); }}()"
        for f in sorted(WITH_PREDICATES)
    ]
    kernels.append(calls("predicates", "unsigned, unsigned", "unsigned", predicates))
    return program(tmp_path_factory.mktemp("simd"), "".join(kernels), target, cache)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_simd_functions_match_model(simd_words, count):
    models = {name: model for name, (n, model) in SIMD.items() if n == count}
    got = simd_words.run(f"of_{count}", np.zeros((len(models), N), np.uint32), A, B, C)
    for (name, model), values in zip(models.items(), got, strict=True):
        np.testing.assert_array_equal(values, model(A, B, C)[:N] if count == 3 else model(*(A, B)[:count]), name)


def test_simd_functions_with_predicates_match_model(simd_words):
    got = simd_words.run("predicates", np.zeros((len(WITH_PREDICATES), N), np.uint32), A, B)
    for name, values in zip(sorted(WITH_PREDICATES), got, strict=True):
        kind = {"s32": np.int32, "u32": np.uint32, "s16x2": np.int16, "u16x2": np.uint16}[name.rpartition("_")[2]]
        x, y = lanes(A, kind).reshape(N, -1), lanes(B, kind).reshape(N, -1)
        first, chosen = (x >= y, np.maximum(x, y)) if "max" in name else (x <= y, np.minimum(x, y))
        value = joined(np.ascontiguousarray(chosen), kind).reshape(-1)
        high, low = (first[:, 1], first[:, 0]) if first.shape[1] == 2 else (first[:, 0], first[:, 0] & False)
        np.testing.assert_array_equal(values, value ^ (high.astype(np.uint32) << 1 | low), name)


# --- dot products -----------------------------------------------------------------------------------------------------


def test_dot_products_and_bit_search_match_model(target, cache, tmp_path):
    expressions = [
        "__dp4a(int(a), int(b), int(c))", "__dp4a(a, b, c)",
        "__dp2a_lo(int(a), int(b), int(c))", "__dp2a_lo(a, b, c)",
        "__dp2a_hi(int(a), int(b), int(c))", "__dp2a_hi(a, b, c)",
        "__dp4a(make_char4(a, a >> 8, a >> 16, a >> 24), make_char4(b, b >> 8, b >> 16, b >> 24), int(c))",
        "__dp4a(make_uchar4(a, a >> 8, a >> 16, a >> 24), make_uchar4(b, b >> 8, b >> 16, b >> 24), c)",
        "__dp2a_hi(make_short2(a, a >> 16), make_char4(b, b >> 8, b >> 16, b >> 24), int(c))",
        "__ffsll(uint64_t(a) << 32 | (b & 1))", "__ffsll(int64_t(a & 1))",
        "__ffs(uint64_t(b) << 32 | a)", "__ffsll(int(a & 1))", "__ffsll(a | 1u << 31)",
        "__fns(a, b & 31, int(c % 67) - 33)",
    ]  # fmt: skip
    code = program(tmp_path, calls("dots", "unsigned, unsigned, unsigned", "unsigned", expressions), target, cache)
    got = code.run("dots", np.zeros((len(expressions), N), np.uint32), A, B, C)

    def bytes_of(signed):
        kind = np.int8 if signed else np.uint8
        products = lanes(A, kind) * lanes(B, kind)
        return (C + products.reshape(N, 4).sum(1)).astype(np.uint32)

    def halves_of(signed, at):
        x = lanes(A, np.int16 if signed else np.uint16).reshape(N, 2)
        y = lanes(B, np.int8 if signed else np.uint8).reshape(N, 4)[:, at : at + 2]
        return (C + (x * y).sum(1)).astype(np.uint32)

    model = [bytes_of(True), bytes_of(False), *(halves_of(s, at) for at in (0, 2) for s in (True, False))]
    model += [bytes_of(True), bytes_of(False), halves_of(True, 2)]
    lowest = np.log2((A & -A.astype(np.int64)).clip(1)).astype(np.uint32) + 33
    model += [np.where(B & 1, 1, np.where(A, lowest, 0)), A & 1]
    model += [np.where(A, lowest - 32, 0), A & 1, np.where(A, lowest - 32, 32)]
    for name, values, expected in zip(expressions, got, model, strict=False):
        np.testing.assert_array_equal(values, expected, name)
    places = [nth_set_bit(int(a), int(b) & 31, int(c) % 67 - 33) for a, b, c in zip(A, B, C, strict=True)]
    assert got[-1].tolist() == places


def nth_set_bit(mask: int, base: int, n: int) -> int:
    if n == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    ordered = range(base, 32) if n > 0 else range(base, -1, -1)
    found = [place for place in ordered if mask >> place & 1]
    return found[abs(n) - 1] if len(found) >= abs(n) else 0xFFFFFFFF


# --- lanes of a warp --------------------------------------------------------------------------------------------------

WARP = """
extern "C" __global__ void shuffles(const int* x, int* out) {
    const int v = x[threadIdx.x], n = blockDim.x, t = threadIdx.x;
    out[t] = __shfl_xor_sync(0xffffffff, v, 1);
    out[n + t] = __shfl_sync(-1, (short)v, 3);
    out[2 * n + t] = int(__shfl_down_sync(0xffffffffu, (unsigned char)v, 4));
    out[3 * n + t] = __shfl_up_sync(0xffffffffu, v > 40, 1, 8);
    out[4 * n + t] = *__shfl_sync(0xffffffffu, x + t, 2, 16);
}
extern "C" __global__ void votes(const int* x, unsigned long long* out) {
    const int v = x[threadIdx.x], n = blockDim.x, t = threadIdx.x;
    const unsigned tile = 0xffu << (t & 24);
    if (v == 0) return;
    out[t] = __ballot_sync(0xffffffff, v > 50);
    out[n + t] = __any_sync(0xffffffff, v > 126) | __all_sync(0xffffffff, v > 0) << 1;
    out[n + t] |= __uni_sync(0xffffffff, v > 200) << 2;
    out[2 * n + t] = __ballot_sync(tile, v & 1);
    out[3 * n + t] = __any_sync(tile, v % 8 == 3) | __all_sync(tile, v > 20) << 1;
    out[4 * n + t] = __match_any_sync(0xffffffff, v % 5);
    int same = 7;
    out[5 * n + t] = __match_all_sync(tile, v / 8, &same);
    out[6 * n + t] = same;
    __syncwarp();
    out[7 * n + t] = __match_any_sync(tile, double(v % 3));
}
extern "C" __global__ void reductions(const int* x, unsigned* out) {
    const int v = x[threadIdx.x], n = blockDim.x, t = threadIdx.x;
    const unsigned tile = 0xffu << (t & 24);
    out[t] = __reduce_add_sync(0xffffffff, v);
    out[n + t] = __reduce_min_sync(0xffffffff, v);
    out[2 * n + t] = __reduce_max_sync(0xffffffff, unsigned(v));
    out[3 * n + t] = __reduce_and_sync(tile, unsigned(v));
    out[4 * n + t] = __reduce_or_sync(tile, unsigned(v));
    out[5 * n + t] = __reduce_xor_sync(tile, unsigned(v));
    out[6 * n + t] = __reduce_add_sync(tile, unsigned(v));
    out[7 * n + t] = __reduce_max_sync(tile, v);
    __syncwarp(tile);
}
"""


@pytest.fixture(scope="module")
def warp(target, cache, tmp_path_factory):
    return program(tmp_path_factory.mktemp("warp"), WARP, target, cache)


def test_shuffles_without_width_span_wavefront(warp):
    wave = TARGETS[warp.built.target].wavefront
    x = (np.arange(THREADS) * 7 - 60).astype(np.int32)
    got = warp.run("shuffles", np.zeros((5, THREADS), np.int32), x)
    lane = np.arange(THREADS) % wave
    base = np.arange(THREADS) - lane
    narrow = x.astype(np.uint8)
    np.testing.assert_array_equal(got[0], x[base + (lane ^ 1)])
    np.testing.assert_array_equal(got[1], x[base + 3])
    np.testing.assert_array_equal(got[2], narrow[base + np.where(lane + 4 < wave, lane + 4, lane)])
    np.testing.assert_array_equal(got[3], (x > 40)[base + np.where(lane % 8, lane - 1, lane)])
    np.testing.assert_array_equal(got[4], x[base + lane // 16 * 16 + 2])


def test_votes_span_wavefront_or_threads_with_same_mask(warp):
    wave = TARGETS[warp.built.target].wavefront
    x = np.arange(THREADS, dtype=np.int32)
    x[[5, 40, 77]] = 0
    got = warp.run("votes", np.zeros((8, THREADS), np.uint64), x)
    for t in np.flatnonzero(x):
        active = [s for s in range(t // wave * wave, t // wave * wave + wave) if x[s]]
        tile = [s for s in active if s & 24 == t & 24]  # in a wavefront of 64 lanes, two warps pass the same mask

        def ballot(threads, holds):
            return sum(1 << s % wave for s in threads if holds(x[s]))

        assert got[0][t] == ballot(active, lambda v: v > 50), t
        assert got[1][t] == (any(x[s] > 126 for s in active) | 2 | 4), t
        assert got[2][t] == ballot(tile, lambda v: v & 1), t
        assert got[3][t] == (any(x[s] % 8 == 3 for s in tile) | all(x[s] > 20 for s in tile) << 1), t
        assert got[4][t] == ballot(active, lambda v, t=t: v % 5 == x[t] % 5), t
        alike = len({x[s] // 8 for s in tile}) == 1
        assert got[5][t] == (ballot(tile, lambda v: True) if alike else 0), t
        assert got[6][t] == alike, t
        assert got[7][t] == ballot(tile, lambda v, t=t: v % 3 == x[t] % 3), t


def test_warp_reductions_match_numpy(warp):
    wave = TARGETS[warp.built.target].wavefront
    x = (np.random.default_rng(5).integers(-(2**31), 2**31, THREADS)).astype(np.int32)
    got = warp.run("reductions", np.zeros((8, THREADS), np.uint32), x)
    u = x.view(np.uint32)
    for t in range(THREADS):
        group = np.arange(t // wave * wave, t // wave * wave + wave)
        tile = group[group & 24 == t & 24]
        expected = [
            u[group].sum(dtype=np.uint32), x[group].min().view(np.uint32), u[group].max(),
            np.bitwise_and.reduce(u[tile]), np.bitwise_or.reduce(u[tile]), np.bitwise_xor.reduce(u[tile]),
            u[tile].sum(dtype=np.uint32), x[tile].max().view(np.uint32),
        ]  # fmt: skip
        assert got[:, t].tolist() == [int(e) for e in expected], t


# --- atomics ----------------------------------------------------------------------------------------------------------

ATOMICS = """
extern "C" __global__ void words(const int* x, int* out) {
    const int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd_block(&out[0], v);
    atomicSub_system(&out[1], v);
    atomicMin_block(&out[2], v);
    atomicMax_block(&out[3], v);
    atomicAnd_block((unsigned*)&out[4], unsigned(v));
    atomicOr_block(&out[5], v);
    atomicXor_block(&out[6], v);
    atomicInc_block((unsigned*)&out[7], 100u);
    atomicDec_system((unsigned*)&out[8], 100u);
    atomicAdd_block((float*)&out[9], 1);
    atomicExch_block(&out[10], 5);
    atomicCAS_block(&out[11], 3, 4);
    atomicInc_system((unsigned*)&out[12], 1000u);
}
extern "C" __global__ void long_words(const long long* x, long long* out) {
    const long long v = x[threadIdx.x];
    atomicAnd(&out[0], v);
    atomicOr(&out[1], v);
    atomicXor(&out[2], v);
    atomicOr_system(&out[3], v);
}
extern "C" __global__ void halves_of_words(const unsigned short* x, unsigned short* out) {
    const unsigned short v = x[threadIdx.x];
    unsigned short* at = out + threadIdx.x % 3;  // two values share a word
    unsigned short seen = *at, expected;
    do {
        expected = seen;
        seen = atomicCAS(at, expected, (unsigned short)(expected + v));
    } while (seen != expected);
    if (threadIdx.x == 0) out[3] = atomicCAS(out + 4, (unsigned short)9, (unsigned short)1);
}
extern "C" __global__ void vectors(const float4* x, float4* out) {
    atomicAdd(out, x[threadIdx.x]);
    atomicAdd((float2*)(out + 1), make_float2(x[threadIdx.x].x, 1.0f));
}
"""


@pytest.fixture(scope="module")
def atomics(target, cache, tmp_path_factory):
    return program(tmp_path_factory.mktemp("atomics"), ATOMICS, target, cache)


def test_scoped_atomics_lose_no_update(atomics):
    x = (np.arange(THREADS) * 37 % 256 - 90).astype(np.int32)
    start = np.array([5, 7, 50, 60, -1, 0, 3, 0, 50, 0, 1, 3, 0], np.int32)
    got = atomics.run("words", start, x)
    total = int(x.sum())
    expected = [
        5 + total, 7 - total, min(50, x.min()), max(60, x.max()), np.bitwise_and.reduce(x), np.bitwise_or.reduce(x),
        np.bitwise_xor.reduce(x) ^ 3, THREADS % 101, (50 - THREADS) % 101,
    ]  # fmt: skip
    assert got[:9].tolist() == [int(e) for e in expected]
    assert got[9:10].view(np.float32)[0] == THREADS
    assert got[10:].tolist() == [5, 4, THREADS]


def test_bitwise_atomics_of_signed_64_bit_integers_match_numpy(atomics):
    x = (np.arange(THREADS, dtype=np.int64) * 0x0123456789ABCDEF) | (1 << 60)
    got = atomics.run("long_words", np.array([-1, 0, 0, 6], np.int64), x)
    expected = [
        np.bitwise_and.reduce(x),
        np.bitwise_or.reduce(x),
        np.bitwise_xor.reduce(x),
        np.bitwise_or.reduce(x) | 6,
    ]
    assert got.tolist() == [int(e) for e in expected]


def test_compare_and_swap_16_bit_keeps_adjacent_value(atomics):
    x = (np.arange(THREADS) * 997).astype(np.uint16)
    got = atomics.run("halves_of_words", np.array([1, 2, 3, 0, 9, 77], np.uint16), x)
    sums = [int(k + 1 + x[k::3].sum(dtype=np.uint16)) & 0xFFFF for k in range(3)]
    assert got.tolist() == [*sums, 9, 1, 77]


def test_vector_atomic_add_sums_each_element(atomics):
    x = (np.arange(4 * THREADS) % 23).astype(np.float32).reshape(THREADS, 4)
    got = atomics.run("vectors", np.zeros(8, np.float32), x)
    assert got.tolist() == [*x.sum(0).tolist(), x[:, 0].sum(), THREADS, 0, 0]
