"""The Thrust stub: pairs, tuples, pointers, complex and random numbers, and algorithms in device code."""

from statistics import NormalDist

import numpy as np
from execution import program

from parity.build.modules import build

SOURCE = """#include <thrust/pair.h>
#include <thrust/system/cuda/experimental/pinned_allocator.h>
#include <thrust/tuple.h>
extern "C" __global__ void pairs(const int* x, int* y) {
    const int t = threadIdx.x;
    thrust::pair<int, int> best(x[t], t);
    const auto last = thrust::make_pair(x[63 - t], 63 - t);
    auto other = last;
    if (best < other) thrust::swap(best, other);
    int a, b, c, d, e;
    thrust::tie(a, b) = best;
    thrust::tie(c, d, e) = thrust::make_tuple(x[t], t, 7);
    y[t] = thrust::max(thrust::min(a, a + 1), a - 1);
    y[t + 64] = thrust::get<1>(best) == b ? b : -1;
    y[t + 128] = c + 100 * d + e;
    y[t + 192] = best != last;
}
extern "C" __global__ void pointers(const int* x, int* y) {
    thrust::device_ptr<const int> at = thrust::device_pointer_cast(x), end = at + 64;
    at += threadIdx.x;
    y[threadIdx.x] = *at++ + 100 * (end - at) + (at != end ? 10000 * at[0] : 0);
}
struct Scene {
    thrust::device_vector<int> parts;
    std::vector<int, thrust::system::cuda::experimental::pinned_allocator<int>>* pinned;
    __device__ int sum() const {
        int sum = parts[0];
        for (const int& part : parts) sum += part;
        return sum + parts.size();
    }
};
extern "C" __global__ void elements(const Scene* scene, int* y) { *y = scene->sum(); }
"""


def test_thrust_stub_pairs_tuples_and_pointers_match_python(tmp_path, cache):
    x = (np.arange(64, dtype=np.int32) * 29) % 17
    best = [max((int(x[t]), t), (int(x[63 - t]), 63 - t)) for t in range(64)]
    wanted = np.zeros((4, 64), np.int32)
    wanted[0], wanted[1] = zip(*best, strict=True)
    wanted[2] = x + 100 * np.arange(64) + 7
    wanted[3] = [pair != (x[63 - t], 63 - t) for t, pair in enumerate(best)]
    run = program(tmp_path, SOURCE, "gfx1100", cache)
    assert (run.run("pairs", np.zeros((4, 64), np.int32), x, block=64) == wanted).all()
    after = np.append(x[1:], 0)
    pointed = x + 100 * (63 - np.arange(64)) + 10000 * after
    assert (run.run("pointers", np.zeros(64, np.int32), x, block=64) == pointed).all()


NUMBERS = """#include <thrust/complex.h>
#include <thrust/random.h>
extern "C" __global__ void draw(const unsigned* seed, float* out) {
    const int t = threadIdx.x;
    thrust::default_random_engine rng(seed[t]);
    thrust::uniform_real_distribution<float> u(-1.0f, 3.0f);
    thrust::uniform_int_distribution<int> dice(1, 6);
    thrust::normal_distribution<float> normal(2.0f, 0.5f);
    rng.discard(t);
    out[4 * t] = u(rng);
    out[4 * t + 1] = dice(rng);
    out[4 * t + 2] = normal(rng);
    thrust::complex<float> z(t, 1);
    z = (z * z + 2.0f * z - 1.0f) / z;
    z *= thrust::complex<float>(0, 1);
    out[4 * t + 3] = thrust::norm(z);
}
"""


def test_thrust_stub_random_and_complex_numbers_match_model(tmp_path, cache):
    seeds = np.random.default_rng(1).integers(0, 2**31 - 1, 64, np.uint32)
    seeds[0] = 0
    found = program(tmp_path, NUMBERS, "gfx1100", cache).run("draw", np.zeros((64, 4), np.float32), seeds, block=64)
    for t, seed in enumerate(map(int, seeds)):
        states = [seed or 1]
        for _ in range(t + 3):
            states.append(states[-1] * 48271 % (2**31 - 1))
        real, whole, normal = ((state - 1) / (2**31 - 2) for state in states[t + 1 :])
        z = ((z := t + 1j) * z + 2 * z - 1) / z * 1j
        wanted = (real * 4 - 1, int(whole * 6 + 1), 2 + 0.5 * NormalDist().inv_cdf(normal), abs(z) ** 2)
        np.testing.assert_allclose(found[t], wanted, rtol=1e-5, atol=1e-5)


FUNCTIONS = """#include <thrust/complex.h>
extern "C" __global__ void functions(const float2* x, const float2* y, float2* out) {
    const int t = threadIdx.x;
    const thrust::complex<float> a(x[t].x, x[t].y), b(y[t].x, y[t].y);
    const thrust::complex<float> all[] = {
        thrust::exp(a), thrust::log(a), thrust::sqrt(a), thrust::pow(a, 2.5f), a / b, 2.0f - a * 3.0f, 2.0f / a};
    for (int k = 0; k < 7; k++) out[7 * t + k] = {all[k].real(), all[k].imag()};
}
"""


def test_thrust_stub_functions_of_complex_numbers_match_numpy(tmp_path, cache):
    draw = np.random.default_rng(2)
    x, y = (draw.normal(0, 2, (64, 2)).astype(np.float32) for _ in range(2))
    x[0], x[1], x[2] = (0, 0), (100, 1e-20), (3e19, 0)
    code = program(tmp_path, FUNCTIONS, "gfx1100", cache)
    found = code.run("functions", np.zeros((64, 7, 2), np.float32), x, y, block=64).astype(np.float64)
    a, b = (each[3:].astype(np.float64) @ (1, 1j) for each in (x, y))
    wanted = np.stack([np.exp(a), np.log(a), np.sqrt(a), a**2.5, a / b, 2 - 3 * a, 2 / a], axis=1)
    np.testing.assert_allclose(found[3:] @ (1, 1j), wanted, rtol=2e-6)
    assert found[0, 2].tolist() == found[0, 3].tolist() == [0, 0]
    np.testing.assert_allclose(found[1, 0], (np.inf, np.exp(100) * 1e-20), rtol=1e-5)
    np.testing.assert_allclose(found[2, 4] @ (1, 1j), 3e19 / (y[2].astype(np.float64) @ (1, 1j)), rtol=1e-6)


SEQUENTIAL = """#include <thrust/complex.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sort.h>
template <class F> __host__ __device__ void apply(int n, F f) {
    thrust::for_each_n(thrust::seq, thrust::make_counting_iterator(0), n, f);
}
extern "C" __global__ void k(const int* x, int* y) {
    int own[8], order[8], before[8];
    apply(8, [&](int i) { own[i] = x[8 * threadIdx.x + i]; });
    thrust::sequence(thrust::device, order, order + 8);
    thrust::exclusive_scan(thrust::seq, own, own + 8, before);
    thrust::stable_sort_by_key(own, own + 8, order, thrust::greater<int>());
    const auto low = thrust::lower_bound(thrust::seq, before, before + 8, 20);
    const thrust::complex<float> c = thrust::complex<__half>(__half(1.5f), __half(own[0]));
    const int most = thrust::reduce(thrust::seq, own, own + 8, 0, thrust::maximum<int>()) - int(c.imag());
    for (int i = 0; i < 8; ++i) y[8 * threadIdx.x + i] = 1000 * own[i] + 100 * order[i] + (low - before) + most;
}
void host(int* x) { thrust::sort(thrust::device, x, x + 8); }
"""


def test_thrust_stub_algorithms_in_kernel_run_sequentially_in_each_thread(tmp_path, cache):
    x = np.random.default_rng(2).integers(0, 9, (32, 8), np.int32)
    kernels = program(tmp_path, SEQUENTIAL, "gfx1100", cache)
    y = kernels.run("k", np.zeros((32, 8), np.int32), x, block=32)
    order = np.argsort(-x, axis=1, kind="stable")
    before = np.cumsum(x, axis=1) - x
    low = (before < 20).sum(axis=1, keepdims=True)
    assert (y == 1000 * np.take_along_axis(x, order, 1) + 100 * order + low).all()


def test_thrust_and_cub_in_wrapped_namespace_compile(tmp_path, cache):
    (tmp_path / "CMakeLists.txt").write_text(
        "add_definitions(-DTHRUST_CUB_WRAPPED_NAMESPACE=own)\nadd_library(m m.cu)\n"
    )
    (tmp_path / "m.cu").write_text(
        """#include <cub/warp/warp_reduce.cuh>
#include <thrust/device_ptr.h>
#include <thrust/version.h>
#if THRUST_VERSION < 100500
#error "an old Thrust"
#endif
namespace own { namespace thrust { typedef int more; } }
template <class T> struct Of { typedef own::cub::WarpReduce<T> Reduce; own::thrust::device_ptr<T> data; };
extern "C" __global__ void k(own::thrust::more* x) {
    __shared__ Of<int>::Reduce::TempStorage storage;
    *x = Of<int>::Reduce(storage).Sum(*x);
}
"""
    )
    (one,) = build(tmp_path, ["m"], ["gfx1100"], cache=cache)
    assert not one.error and list(one.entries) == ["k"], one.error
    assert [each.flag for each in one.switches] == ["-DTHRUST_CUB_WRAPPED_NAMESPACE=own"]
