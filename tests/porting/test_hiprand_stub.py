"""The hipRAND stub: exact Sobol sequences, and moments of the distributions."""

import numpy as np
from execution import program

SOURCE = """#include <curand_kernel.h>
extern "C" __global__ void sobol(const unsigned* direction, unsigned* out) {
    const unsigned t = threadIdx.x;
    curandStateSobol32_t state;
    curand_init(direction, 8 * t, &state);
    for (int k = 0; k < 8; ++k) out[8 * t + k] = curand(&state);
    curandStateScrambledSobol32 other;
    curand_init(direction, 0xabcdefu, 8 * t, &other);
    out[256 + t] = curand(&other);
}
extern "C" __global__ void moments(const unsigned* seed, float* out) {
    const unsigned t = threadIdx.x;
    curandState state;
    curand_init(seed[t], t, 0, &state);
    for (int k = 0; k < 64; ++k) {
        out[128 * t + k] = curand_poisson(&state, k % 2 ? 2.5 : 900.0);
        out[128 * t + 64 + k] = (float)curand_log_normal_double(&state, 0.25, 0.5);
    }
}
"""


def test_hiprand_stub_draws_exact_sobol_numbers_and_expected_moments(tmp_path, cache):
    built = program(tmp_path, SOURCE, "gfx1100", cache)
    direction = (1 << np.arange(31, -1, -1)).astype(np.uint32)  # the first dimension: van der Corput's sequence
    found = built.run("sobol", np.zeros(288, np.uint32), direction, block=32)
    gray = np.arange(256) ^ np.arange(256) >> 1
    wanted = np.array([int(f"{word:032b}"[::-1], 2) for word in gray], np.uint32)
    assert (found[:256] == wanted).all()
    assert (found[256:] == wanted[::8] ^ 0xABCDEF).all()
    drawn = built.run("moments", np.zeros((32, 2, 64), np.float32), np.arange(32, dtype=np.uint32), block=32)
    for numbers, mean, deviation in (
        (drawn[:, 0, ::2], 900, 30),
        (drawn[:, 0, 1::2], 2.5, 2.5**0.5),
        (np.log(drawn[:, 1]), 0.25, 0.5),
    ):
        assert abs(numbers.mean() - mean) < 4 * deviation / numbers.size**0.5
        assert 0.9 < numbers.std() / deviation < 1.1
