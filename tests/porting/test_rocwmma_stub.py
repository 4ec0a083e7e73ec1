"""The rocWMMA stub: products of matrix fragments that the lanes of a wavefront share."""

from __future__ import annotations

import numpy as np
import pytest
from execution import program

SOURCE = """
#include <mma.h>
using namespace nvcuda;

template <class T> using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major>;
template <class T> using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major>;

extern "C" __global__ void f32(const __half* a, const __half* b, const float* c, float* d) {
    A<__half> left; B<__half> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums, given;
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::load_matrix_sync(given, c, 16, wmma::mem_col_major);
    wmma::fill_fragment(sums, 1.0f);
    wmma::mma_sync(sums, left, right, sums);
    for (int k = 0; k < sums.num_elements; ++k) sums.x[k] += 2 * given.x[k];
    wmma::store_matrix_sync(d, sums, 16, wmma::mem_row_major);
}

extern "C" __global__ void s32(const signed char* a, const signed char* b, const int*, int* d) {
    nvcuda::wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::col_major> left;
    nvcuda::wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> right;
    nvcuda::wmma::fragment<wmma::accumulator, 32, 8, 16, int> sums;
    wmma::fill_fragment(sums, 0);
    wmma::load_matrix_sync(left, a, 32);
    wmma::load_matrix_sync(right, b, 8);
    wmma::mma_sync(sums, left, right, sums);
    wmma::store_matrix_sync(d, sums, 8, wmma::mem_row_major);
}
"""


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
def test_rocwmma_stub_fragment_products_match_numpy(cache, tmp_path, target):
    lanes = 32 if target == "gfx1100" else 64
    built = program(tmp_path, SOURCE, target, cache)
    assert "nvcuda" in {hazard.name for hazard in built.built.changes.hazards}
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-8, 9, (16, 16)).astype(np.float16) for _ in "ab")
    c = rng.normal(size=(16, 16)).astype(np.float32)

    def run(kernel, out, a, b, c):
        return built.run(kernel, out, a.reshape(lanes, -1), b.reshape(lanes, -1), c.reshape(lanes, -1), block=lanes)

    found = run("f32", np.zeros((16, 16), np.float32), a, b, c)
    assert (found == a.astype(np.float32) @ b.T.astype(np.float32) + 1 + 2 * c.T).all()
    a, b = rng.integers(-128, 128, (16, 32), np.int8), rng.integers(-128, 128, (16, 8), np.int8)
    found = run("s32", np.zeros((32, 8), np.int32), a, b, np.zeros((32, 8), np.int32))
    assert (found == a.T.astype(int) @ b.astype(int)).all()
