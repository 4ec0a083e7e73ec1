"""Executed inline PTX: several instructions, the carry flag, shared memory, barriers and matrices of a warp."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from execution import THREADS, program

TARGETS = ("gfx1100", "gfx90a")  # one target for each wavefront size

SOURCE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

typedef unsigned long long u64;
#define ADD_CC(d, a, b) asm volatile("add.cc.u32 %0, %1, %2;\n\t" : "=r"(d) : "r"(a), "r"(b))
#define ADDC(d, a, b) asm volatile("addc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
__device__ __forceinline__ unsigned sub_cc(unsigned a, unsigned b) {
    unsigned d; asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d;
}
__device__ __forceinline__ unsigned subc(unsigned a, unsigned b) {
    unsigned d; asm volatile("subc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d;
}

// 64-bit results: a + b, a - b, words 1 and 2 of a * b without the product of the upper halves, min(a, b), and votes.
extern "C" __global__ void numbers(const u64* in, const u64* other, u64* out) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned a = in[t], A = in[t] >> 32, b = other[t], B = other[t] >> 32;
    unsigned d[2];
    ADD_CC(d[0], a, b);
    ADDC(d[1], A, B);
    out[5 * t] = d[0] | (u64)d[1] << 32;
    d[0] = sub_cc(a, b);
    d[1] = subc(A, B);
    out[5 * t + 1] = d[0] | (u64)d[1] << 32;
    u64 product;
    asm("{\n\t.reg .u32 r<4>, t;\n\t"
        "mul.lo.u32 r0, %1, %3;  mul.hi.u32 r1, %1, %3;\n\t"
        "mad.lo.cc.u32 r1, %1, %4, r1; madc.hi.u32 r2, %1, %4, 0; // the second row\n\t"
        "mad.lo.cc.u32 r1, %2, %3, r1; madc.hi.cc.u32 r2, %2, %3, r2; addc.u32 r3, 0, 0;\n\t"
        "mov.b64 %0, {r1, r2}; }"
        : "=l"(product) : "r"(a), "r"(A), "r"(b), "r"(B));
    out[5 * t + 2] = product;
    u64 least;
    asm("{ .reg .pred %%p, q; setp.lt.u64 %%p, %1, %2; not.pred q, %%p; @%%p mov.u64 %0, %1; @!%%p mov.u64 %0, %2; }"
        : "=l"(least) : "l"(in[t]), "l"(other[t]));
    out[5 * t + 3] = least;
    float x = (float)(int)a;
    unsigned votes;
    asm("{ .reg .pred p; setp.ge.f32 p, %1, 0f3F800000; vote.ballot.b32 %0, p; }" : "=r"(votes) : "f"(x));
    out[5 * t + 4] = votes;
}

// PTX advances a pointer and an element of an array of pointers.
extern "C" __global__ void pointers(const int* in, int* out) {
    const int t = threadIdx.x, *from[2];
    asm("{ .reg .u64 by; mul.wide.s32 by, %2, 4; add.s64 %0, %1, by; }" : "=l"(from[1]) : "l"(in), "r"(t));
    int* to;
    asm("mad.wide.s32 %0, %1, 4, %2;" : "=l"(to) : "r"(t), "l"(out));
    *to = *from[1] + 1;
}

// Reductions of lanes 8 to 31 of a warp, and scans of all its lanes.
extern "C" __global__ void reductions(const int* in, int* out) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    out += 6 * t;
    // The predicate is true if the source lane is in the warp.
    out[4] = out[5] = in[t];
    for (int step = 1; step < 32; step *= 2) {
        asm("{ .reg .u32 r; .reg .pred p; shfl.up.b32 r|p, %0, %1, 0; @p add.s32 %0, r, %0; }"
            : "+r"(out[4]) : "r"(step));
        asm("{ .reg .u32 r; .reg .pred p; shfl.sync.down.b32 r|p, %0, %1, 31, 0xffffffff; @p add.s32 %0, r, %0; }"
            : "+r"(out[5]) : "r"(step));
    }
    if (t % 32 < 8) return;
    asm("redux.sync.add.s32 %0, %1, 0xffffff00;" : "=r"(out[0]) : "r"(in[t]));
    asm("redux.sync.max.s32 %0, %1, 0xffffff00;" : "=r"(out[1]) : "r"(in[t]));
    asm("redux.sync.min.u32 %0, %1, 0xffffff00;" : "=r"(out[2]) : "r"(in[t]));
    asm("redux.sync.xor.b32 %0, %1, 0xffffff00;" : "=r"(out[3]) : "r"(in[t]));
}

// Copies of 16 bytes through shared memory: complete, with only 6 source bytes, and by __pipeline functions.
extern "C" __global__ void copies(const uint4* in, uint4* out) {
    __shared__ __align__(16) uint4 tile[3][128];
    const unsigned t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(&tile[0][t]));
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" :: "r"(place), "l"(&in[g]), "n"(16));
    asm volatile("{ .reg .u64 a; .reg .u32 b; cvta.to.shared.u64 a, %0; cvt.u32.u64 b, a; "
                 "cp.async.ca.shared.global [b], [%1], 16, %2; }" :: "l"(&tile[1][t]), "l"(&in[g]), "r"(6));
    asm volatile("cp.async.commit_group;\n" ::);
    asm volatile("cp.async.wait_group %0;\n" :: "n"(0));
    __pipeline_memcpy_async(&tile[2][t], &in[g], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[3 * g] = tile[0][t ^ 1];
    out[3 * g + 1] = tile[1][t];
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4+2048];" : "=r"(out[3 * g + 2].x), "=r"(out[3 * g + 2].y),
                 "=r"(out[3 * g + 2].z), "=r"(out[3 * g + 2].w) : "r"(place + 2048));
}

// Copies of tiles through a two-stage pipeline, a pipeline of one thread, a barrier, and a group copy.
extern "C" __global__ void stages(const unsigned* in, unsigned* out) {
    const auto block = cooperative_groups::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ __align__(16) unsigned tile[2][128], own[128];
    auto pipe = cuda::make_pipeline(block, &state);
    auto mine = cuda::make_pipeline();
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    const unsigned t = threadIdx.x, other = 127 - t;
    unsigned sum = 0;
    for (int k = 0; k < 4; ++k) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, tile[k % 2], in + 128 * k, cuda::aligned_size_t<16>(512), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        sum += tile[k % 2][other] << k;
        pipe.consumer_release();
    }
    cuda::memcpy_async(&own[t], &in[t], 4, mine);
    mine.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(mine);
    sum += own[t];
    auto token = bar.arrive();
    bar.wait(std::move(token));
    cooperative_groups::memcpy_async(block, own, in + 3, 500);
    cooperative_groups::wait(block);
    bar.arrive_and_wait();
    out[t] = sum + (t < 125 ? own[t] << 8 : 0);
}

// Each warp loads four 8x8 matrices unchanged and transposed, and stores them in both ways.
extern "C" __global__ void matrices(const unsigned short* in, unsigned* out) {
    __shared__ __align__(16) unsigned short tile[4][256], stored[2][4][256];
    const unsigned t = threadIdx.x, warp = t / 32, lane = t % 32;
    for (int k = 0; k < 8; ++k) tile[warp][8 * lane + k] = in[8 * (blockIdx.x * blockDim.x + t) + k];
    __syncthreads();
    unsigned a[4], b[4], c, place = __cvta_generic_to_shared(&tile[warp][8 * lane]);
    unsigned to = __cvta_generic_to_shared(&stored[0][warp][8 * lane]), other = to + 2048;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(place));
    asm volatile("ldmatrix.sync.aligned.x4.trans.m8n8.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(place));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(c) : "r"(a[2]));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(to), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(other), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));
    __syncthreads();
    out += 17 * (blockIdx.x * blockDim.x + t);
    for (int k = 0; k < 4; ++k) {
        out[k] = a[k];
        out[4 + k] = b[k];
        out[8 + k] = ((const unsigned*)stored[0][warp])[4 * lane + k];
        out[12 + k] = ((const unsigned*)stored[1][warp])[4 * lane + k];
    }
    out[16] = c;
}
"""


@pytest.fixture(scope="module", params=TARGETS)
def built(request, cache, tmp_path_factory):
    return program(tmp_path_factory.mktemp(request.param), SOURCE, request.param, cache)


def test_inline_ptx_with_registers_predicates_and_carry_matches_numpy(built):
    rng = np.random.default_rng(1)
    ends = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1], np.uint64)
    a, b = (np.concatenate([rng.choice(ends, 64), rng.integers(0, 2**64, 64, np.uint64)]) for _ in "ab")
    found = built.run("numbers", np.zeros((THREADS, 5), np.uint64), a, b)
    with np.errstate(over="ignore"):
        assert (found[:, 0] == a + b).all() and (found[:, 1] == a - b).all()
    for x, y, middle in zip(map(int, a), map(int, b), map(int, found[:, 2]), strict=True):
        low = 2**32 - 1
        assert middle == (x & low) * (y & low) // 2**32 + (x & low) * (y >> 32) + (x >> 32) * (y & low) & 2**64 - 1
    assert (found[:, 3] == np.minimum(a, b)).all()
    votes = (a.astype(np.uint32).view(np.int32) >= 1).reshape(-1, 32) @ (1 << np.arange(32))
    assert (found[:, 4] == np.repeat(votes, 32)).all()


def test_inline_ptx_lane_reductions_match_numpy(built):
    given = np.random.default_rng(6).integers(-(2**20), 2**20, THREADS).astype(np.int32)
    found = built.run("reductions", np.zeros((THREADS, 6), np.int32), given).reshape(-1, 32, 6)
    every = given.reshape(-1, 32)
    assert (found[..., 4] == every.cumsum(1)).all() and (found[..., 5] == every[:, ::-1].cumsum(1)[:, ::-1]).all()
    found, lanes = found[..., :4], every[:, 8:]
    least = lanes.view(np.uint32).min(1).view(np.int32)
    expected = np.stack([lanes.sum(1), lanes.max(1), least, np.bitwise_xor.reduce(lanes, 1)], 1)
    assert not found[:, :8].any() and (found[:, 8:] == expected[:, None]).all()


def test_inline_ptx_asynchronous_copies_complete_at_wait(built):
    given = np.random.default_rng(2).integers(0, 256, (THREADS, 16), np.uint8)
    found = built.run("copies", np.zeros((THREADS, 3, 16), np.uint8), given)
    assert (found[:, 0] == given[np.arange(THREADS) ^ 1]).all()
    assert (found[:, 1, :6] == given[:, :6]).all() and not found[:, 1, 6:].any()
    assert (found[:, 2] == given).all()


def test_inline_ptx_output_may_be_pointer(built):
    given = np.arange(THREADS, dtype=np.int32)
    assert (built.run("pointers", np.zeros(THREADS, np.int32), given) == given + 1).all()


def test_block_pipelines_and_barriers_deliver_copied_data(built):
    given = np.random.default_rng(6).integers(0, 2**20, (4, THREADS), np.uint32)
    found = built.run("stages", np.zeros(THREADS, np.uint32), given.reshape(-1), block=4 * THREADS // 4)
    wanted = sum(given[k, ::-1] << k for k in range(4)) + given[0]
    wanted[:125] += given.reshape(-1)[3:128] << 8
    assert (found == wanted.astype(np.uint32)).all()


def by_lanes(matrix):
    """Return the words [..., 32] that the lanes of a warp hold of 16-bit matrices [..., 8, 8]."""
    return np.ascontiguousarray(matrix).reshape(*matrix.shape[:-2], 64).view(np.uint32)


def test_inline_ptx_matrices_are_loaded_stored_and_transposed(built):
    given = np.random.default_rng(3).integers(0, 2**16, (THREADS // 32, 4, 8, 8), np.uint16)
    found = built.run("matrices", np.zeros((THREADS, 17), np.uint32), given.reshape(THREADS, 8))
    of_warps = found.reshape(-1, 32, 17).transpose(0, 2, 1)  # warp, word, lane
    turned = given.transpose(0, 1, 3, 2)
    assert (of_warps[:, :4] == by_lanes(given)).all()
    assert (of_warps[:, 4:8] == by_lanes(turned)).all()
    assert (found[:, 8:12].reshape(-1, 4, 32) == by_lanes(given)).all()
    assert (found[:, 12:16].reshape(-1, 4, 32) == by_lanes(turned)).all()
    assert (of_warps[:, 16] == by_lanes(turned[:, 2])).all()


BF16 = ml_dtypes.bfloat16
SHAPES = {
    "gfx1100": [
        ("f32", "f16", 16, np.float16, np.float32),
        ("f16", "f16", 8, np.float16, np.float16),
        ("f32", "tf32", 4, np.float32, np.float32),
        ("s32", "s8", 32, np.int8, np.int32),
        ("f32", "e4m3", 32, ml_dtypes.float8_e4m3fn, np.float32),
    ],
    "gfx90a": [
        ("f32", "bf16", 8, BF16, np.float32),
        ("s32", "u8", 16, np.uint8, np.int32),
        ("f32", "e5m2", 32, ml_dtypes.float8_e5m2, np.float32),
    ],
}
"""Type of the sums, type of the elements, K, and the NumPy types of elements and sums."""


def product_kernel(number, total, kind, k, words):
    """Return a kernel that loads each lane's registers of a, b and c and stores its registers of the product."""
    letter = {"f32": "f", "s32": "r", "f16": "r"}[total]
    c = 2 if total == "f16" else 4
    type_ = {"f32": "float", "s32": "int", "f16": "unsigned"}[total]
    counts = (c, 2 * words, words, c)
    places = iter(range(99))
    operands = ", ".join("{" + ", ".join(f"%{next(places)}" for _ in range(count)) + "}" for count in counts)
    outputs = ", ".join(f'"={letter}"(d[{i}])' for i in range(c))
    inputs = [f'"r"(a[{i}])' for i in range(2 * words)] + [f'"r"(b[{i}])' for i in range(words)]
    inputs += [f'"{letter}"(c[{i}])' for i in range(c)]
    name = f"mma.sync.aligned.m16n8k{k}.row.col.{total}.{kind}.{kind}.{total}"
    return (
        f'extern "C" __global__ void k{number}(const unsigned* in, const unsigned* in_b,\n'
        f"const {type_}* in_c, {type_}* d) {{\n"
        f"const unsigned t = threadIdx.x, *a = in + {2 * words} * t, *b = in_b + {words} * t;\n"
        f"const {type_}* c = in_c + {c} * t; d += {c} * t;\n"
        f'asm volatile("{name} {operands};" : {outputs} : {", ".join(inputs)});\n}}\n'
    )


def registers(matrix, rows, k_words):
    """Return the words of a matrix [rows, K] by lane of the warp, then by half of K and group of eight rows."""
    words = np.ascontiguousarray(matrix).view(np.uint32).reshape(rows // 8, 8, k_words, 4)
    return np.ascontiguousarray(words.transpose(1, 3, 2, 0).reshape(32, -1))


@pytest.mark.parametrize("target", TARGETS)
def test_inline_ptx_matrix_products_match_numpy(cache, tmp_path, target):
    shapes = SHAPES[target]
    sizes = [k * np.dtype(kind).itemsize // 16 for _, _, k, kind, _ in shapes]
    kernels = [product_kernel(n, *shape[:3], size) for n, (shape, size) in enumerate(zip(shapes, sizes, strict=True))]
    f64 = (
        'extern "C" __global__ void f64(const double* a, const double* b, const double* c, double* d) {\n'
        "const unsigned t = threadIdx.x; double x = c[2 * t], y = c[2 * t + 1];\n"
        'asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"'
        ' : "+d"(x), "+d"(y) : "d"(a[t]), "d"(b[t]));\nd[2 * t] = x; d[2 * t + 1] = y;\n}\n'
    )
    built = program(tmp_path, "".join([*kernels, f64]), target, cache)
    rng = np.random.default_rng(4)
    warps = 2
    for number, ((total, _, k, kind, sum_), words) in enumerate(zip(shapes, sizes, strict=True)):
        low = 0 if kind is np.uint8 else -8
        a = rng.integers(low, 9, (warps, 16, k)).astype(kind)  # sums of these are exact
        b = rng.integers(low, 9, (warps, 8, k)).astype(kind)
        c = rng.integers(-64, 64, (warps, 16, 8)).astype(sum_)
        given = [np.concatenate([registers(m, rows, words) for m in ms]) for ms, rows in ((a, 16), (b, 8))]
        sums = c.reshape(warps, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4).reshape(32 * warps, 4)
        sums = np.ascontiguousarray(sums)
        found = built.run(f"k{number}", np.zeros_like(sums), *given, sums, block=32 * warps)
        exact = c.astype(np.float64) + np.einsum("wik,wjk->wij", a.astype(np.float64), b.astype(np.float64))
        wanted = exact.astype(sum_).reshape(warps, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4).reshape(32 * warps, 4)
        assert (found == wanted).all(), (total, k, kind)
    a, b, c = (rng.normal(size=shape) for shape in ((8, 4), (8, 4), (8, 8)))
    found = built.run("f64", np.zeros((32, 2)), a.reshape(32), b.reshape(32), c.reshape(32, 2), block=32)
    np.testing.assert_allclose(found.reshape(8, 8), a @ b.T + c, rtol=1e-13, atol=1e-13)
