"""Device code that uses libcu++: atomics, semaphores, arrays and functions."""

from __future__ import annotations

import numpy as np
import pytest
from execution import THREADS, program

SOURCE = r"""
#include <cuda/atomic>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/semaphore>
#include <cuda/std/atomic>
#include <cuda/std/cstdint>

__device__ cuda::atomic<int, cuda::thread_scope_device> tickets{0};
struct Counters {
    cuda::atomic<unsigned, cuda::thread_scope_block> count;
    cuda::std::atomic<unsigned long long> bits;
};

// Counts of every thread by block and by device, and the ticket of each thread.
extern "C" __global__ void counted(const unsigned* in, unsigned long long* out) {
    __shared__ Counters counters;
    __shared__ cuda::atomic<float, cuda::thread_scope_block> sum;
    const unsigned t = threadIdx.x;
    if (t == 0) {
        counters.count = 0u;
        new (&counters.bits) cuda::std::atomic<unsigned long long>{0};
        sum.store(0, cuda::memory_order_relaxed);
    }
    __syncthreads();
    counters.count.fetch_add(in[t], cuda::std::memory_order_relaxed);
    ++counters.count;
    counters.bits |= 1ull << (in[t] % 64);
    sum += 0.5f;
    out[blockDim.x + t] = tickets++;
    __syncthreads();
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_block);
    out[t] = t == 0 ? counters.count.load() : t == 1 ? counters.bits.load() : t == 2 ? (unsigned long long)sum : 0;
}

// One thread of each warp in two blocks updates a sum, which is correct only with mutual exclusion.
__device__ cuda::binary_semaphore<cuda::thread_scope_device> open{1};
extern "C" __global__ void excluded(const int* in, int* out) {
    volatile int* sum = out;
    const int first = (threadIdx.x / 32) * 32, x = in[blockIdx.x * blockDim.x + first];
    if (threadIdx.x == first) {
        open.acquire();
        sum[0] = sum[0] + x;
        sum[1] = sum[1] + 1;
        open.release();
    }
}

extern "C" __global__ void functions(const int* in, int* out) {
    const int x = in[threadIdx.x];
    out += 8 * threadIdx.x;
    out[0] = cuda::ceil_div(x, 7u);
    out[1] = cuda::round_up(x, 16);
    out[2] = cuda::round_down(x, 16);
    out[3] = cuda::ilog2(x);
    out[4] = cuda::next_power_of_two(x) + cuda::is_power_of_two(x);
    out[5] = cuda::prev_power_of_two(x);
    out[6] = cuda::maximum<>{}(x, 9.5f) + cuda::minimum<int>{}(x, 5);
    const auto half = cuda::proclaim_return_type<int>([=] __device__(int by) { return x / 2.0 + by; });
    out[7] = half(1);
}

struct Pair { cuda::std::uint32_t key, value; };

// References to plain memory: minimum, maximum, an update loop, bytes, a double, and a pair exchanged as a whole.
extern "C" __global__ void referred(const int* in, int* out) {
    const int t = threadIdx.x, x = in[t];
    cuda::atomic_ref<int, cuda::thread_scope_device> least(out[0]), most(out[1]), changed(out[2]);
    least.fetch_min(x);
    most.fetch_max(x, cuda::memory_order_acq_rel);
    int seen = changed.load(cuda::memory_order_relaxed);
    while (!changed.compare_exchange_weak(seen, seen * 2 + 1 > 1000 ? 7 : seen + 3)) {}
    cuda::atomic_ref<unsigned char> byte(((unsigned char*)&out[3])[t % 4]);
    byte.fetch_add(1);
    cuda::std::atomic_ref<double>(*(double*)&out[4]).fetch_add(x);
    cuda::atomic_ref<Pair, cuda::thread_scope_device> pair(*(Pair*)&out[6]);
    Pair old = pair.load(), next;
    do next = {old.key + 1, old.value + x};
    while (!pair.compare_exchange_strong(old, next, cuda::memory_order_release, cuda::memory_order_relaxed));
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory, cache):
    return program(tmp_path_factory.mktemp("atomics"), SOURCE, "gfx1100", cache)


def test_atomics_of_block_and_device_count_every_thread(built):
    given = np.random.default_rng(1).integers(0, 1000, THREADS, np.uint32)
    found = built.run("counted", np.zeros((2, THREADS), np.uint64), given)
    bits = np.bitwise_or.reduce(np.uint64(1) << (given % 64).astype(np.uint64))
    assert found[0, :3].tolist() == [given.sum() + THREADS, bits, THREADS // 2]
    assert sorted(found[1]) == list(range(THREADS))


def test_atomic_ref_uses_size_of_its_type(built):
    given = np.random.default_rng(2).integers(-1000, 1000, THREADS, np.int32)
    found = built.run("referred", np.zeros(8, np.int32), given)
    assert found[:3].tolist() == [min(0, given.min()), max(0, given.max()), 3 * THREADS]
    assert found[3:4].view(np.uint8).tolist() == [THREADS // 4] * 4
    assert found[4:6].view(np.float64)[0] == given.sum()
    assert found[6:].tolist() == [THREADS, given.sum()]


def test_semaphore_admits_one_thread_at_a_time(built):
    given = np.random.default_rng(3).integers(0, 1000, 2 * THREADS, np.int32)
    found = built.run("excluded", np.zeros(2, np.int32), given)
    assert found.tolist() == [given[::32].sum(), 2 * THREADS // 32]


def test_integer_functions_and_function_objects_match_cuda(built):
    given = np.arange(1, THREADS + 1, dtype=np.int32)
    found = built.run("functions", np.zeros((THREADS, 8), np.int32), given)
    logs = [int(x).bit_length() - 1 for x in given]
    for row, x, log in zip(found.tolist(), given.tolist(), logs, strict=True):
        next_ = (1 << (x - 1).bit_length()) + (x.bit_count() == 1)
        pair = int(max(x, 9.5) + min(x, 5))
        assert row == [-(-x // 7), -(-x // 16) * 16, x // 16 * 16, log, next_, 1 << log, pair, int(x / 2 + 1)]


COMPARED = r"""
#include <cuda/std/array>

using Three = cuda::std::array<unsigned char, 3>;
__host__ __device__ bool same(const Three& a, const Three& b) { return a == b; }
extern "C" __global__ void compared(const unsigned char* in, int* out) {
    const unsigned char* at = in + 3 * threadIdx.x;
    const Three a{at[0], at[1], at[2]}, b{1, 2, 0};
    out[threadIdx.x] = same(a, b) | (a != b) << 1 | (a < b) << 2 | (a > b) << 3 | (a <= b) << 4 | (a >= b) << 5;
}
"""


def test_arrays_compare_in_device_code(tmp_path, cache):
    rows = [tuple(map(int, np.base_repr(i, 3).zfill(3))) for i in range(27)]
    x = np.array(rows + rows[:5], np.uint8)
    got = program(tmp_path, COMPARED, "gfx1100", cache).run("compared", np.zeros(32, np.int32), x, block=32)
    rows, b = [*rows, *rows[:5]], (1, 2, 0)
    kinds = [(a == b, a != b, a < b, a > b, a <= b, a >= b) for a in rows]
    assert got.tolist() == [sum(is_so << bit for bit, is_so in enumerate(each)) for each in kinds]
