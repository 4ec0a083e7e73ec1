"""Kernels without a reference that append to a queue, so that the order of threads determines their results."""

from __future__ import annotations

import pytest

QUEUE = """
#ifdef __HIP_DEVICE_COMPILE__
#define VALUE(i, e) (100 * (i) + (e) + PLANTED)
#else
#define VALUE(i, e) (100 * (i) + (e))
#endif
__global__ void expand(const int* counts, int* out, int* size, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int e = 0; e < counts[i]; e++)
        if ((7 * i + 3 * e) % 5 < 3) out[atomicAdd(size, 1)] = VALUE(i, e);
}
"""
CASES = """
from parity.op import Op

expand = Op(
    "queue.expand", kernel="expand", types=("i32",), args="counts out size n:i32",
    shapes="counts: n; out: 16 n; size: 1",
    inputs={"counts": "i32"}, updates={"out": "i32", "size": "i32"}, data={"counts": ("0..15",), "size": ("0..0",)},
    grid="ceil(n/64)", block=64, grid_stride=False,
)
"""


@pytest.mark.parametrize(("planted", "code"), [("0", 0), ("(i == 5)", 1)])
def test_queue_may_have_any_order(run_kernels, with_nvcc, planted, code):
    result = run_kernels("queue", QUEUE.replace("PLANTED", planted), CASES)
    assert result.code == code, result.out + result.err
