"""Weights that AMD's exponential flushes to 0, times numbers of any size, in kernels without a reference."""

from __future__ import annotations

import pytest

WEIGHTED = """
#ifdef __HIP_DEVICE_COMPILE__
#define KEPT(i) (PLANTED)
#else
#define KEPT(i) true
#endif
__global__ void weighted(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = KEPT(i) ? __expf(-80.0f - i % 16) * x[i] : 0;
}
"""
CASES = """
from parity.op import Op

weighted = Op("lost.weighted", kernel="weighted", types=("f32",), args="x y n:i32=numel", inputs={"x": "f32"},
              outputs={"y": "f32"}, block=64, grid_stride=False, data=("special", "normal", "extreme"))
"""


@pytest.mark.parametrize(("planted", "code"), [("true", 0), ("i % 16 != 3", 1)])
def test_lost_weights_explain_only_what_they_change(run_kernels, with_nvcc, planted, code):
    result = run_kernels("lost", WEIGHTED.replace("PLANTED", planted), CASES)
    assert result.code == code, result.out + result.err
