"""The hipRAND stub: cuRAND's numbers on both sides, exact Sobol sequences, and moments of a distribution."""

import numpy as np
import pytest
from execution import program

SOURCE = """#include <curand_kernel.h>
extern "C" __global__ void sobol(unsigned* direction, unsigned* out) {
    const unsigned t = threadIdx.x;
    curandStateSobol32_t state;
    curand_init(direction, 8 * t, &state);
    for (int k = 0; k < 8; ++k) out[8 * t + k] = curand(&state);
    curandStateScrambledSobol32 other;
    curand_init(direction, 0xabcdefu, 8 * t, &other);
    out[256 + t] = curand(&other);
}
extern "C" __global__ void counts(const unsigned* seed, float* out) {
    const unsigned t = threadIdx.x;
    curandState state;
    curand_init(seed[t], t, 0, &state);
    for (int k = 0; k < 64; ++k) out[64 * t + k] = curand_poisson(&state, k % 2 ? 2.5 : 900.0);
}
template <class State> __device__ void draw(unsigned seed, unsigned t, float* out) {
    State state;
    curand_init(seed, t, 3 * t, &state);
    out[0] = curand_uniform(&state);
    out[1] = (float)curand_uniform_double(&state);
    out[2] = curand_normal(&state);
    out[3] = (float)curand_log_normal_double(&state, 0.25, 0.5);
}
extern "C" __global__ void numbers(const unsigned* seed, float* out) {
    draw<curandState>(seed[threadIdx.x], threadIdx.x, out + 8 * threadIdx.x);
    draw<curandStatePhilox4_32_10_t>(seed[threadIdx.x], threadIdx.x, out + 8 * threadIdx.x + 4);
}
extern "C" __global__ void states(const unsigned* seed, curandState* out) {
    curand_init(seed[threadIdx.x], 1 + threadIdx.x, 5, out + threadIdx.x);
}
"""
SEEDS = np.arange(32, dtype=np.uint32) * 0x9E3779B9


@pytest.fixture
def sides(tmp_path, cache, with_nvcc):
    return [program(tmp_path, SOURCE, target, cache) for target in ("gfx1100", "sm_90")]


def test_hiprand_stub_draws_the_numbers_of_curand(sides):
    amd, nvidia = (each.run("numbers", np.zeros((32, 2, 4), np.float32), SEEDS, block=32) for each in sides)
    assert (amd[..., :2] == nvidia[..., :2]).all() and len(np.unique(amd[..., 0])) == 64
    np.testing.assert_allclose(amd[..., 2:], nvidia[..., 2:], rtol=1e-5, atol=1e-6)
    amd, nvidia = (each.run("states", np.zeros((32, 12), np.uint32), SEEDS, block=32) for each in sides)
    assert (amd == nvidia).all() and amd[:, :6].all()


def test_hiprand_stub_draws_exact_sobol_numbers(sides):
    direction = (1 << np.arange(31, -1, -1)).astype(np.uint32)  # the first dimension: van der Corput's sequence
    gray = np.arange(256) ^ np.arange(256) >> 1
    wanted = np.array([int(f"{word:032b}"[::-1], 2) for word in gray], np.uint32)
    for side in sides:
        found = side.run("sobol", np.zeros(288, np.uint32), direction, block=32)
        assert (found[:256] == wanted).all()
        assert (found[256:] == wanted[::8] ^ 0xABCDEF).all()


def test_hiprand_stub_draws_poisson_numbers(sides):
    drawn = sides[0].run("counts", np.zeros((32, 64), np.float32), SEEDS, block=32)
    for numbers, mean in ((drawn[:, ::2], 900), (drawn[:, 1::2], 2.5)):
        assert abs(numbers.mean() - mean) < 4 * mean**0.5 / numbers.size**0.5
        assert 0.9 < numbers.std() / mean**0.5 < 1.1
