"""Kernels without a reference whose results differ for a known reason: order, clocks, divisions by zero, headers."""

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


SHARED = """
__global__ void shares(const float* x, float* sum, float* out, int n) {  // divides by a sum that grows meanwhile
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float before = atomicAdd(sum, x[i] * x[i]);
    __shared__ float divisor;
    if (threadIdx.x == 0) divisor = sqrtf(before + 1);
    __syncthreads();
    out[i] = x[i] / divisor + 1;
}
"""
SHARES = """
from parity.op import Op

shares = Op(
    "shares.shares", kernel="shares", types=("f32",), args="x sum out n:i32", shapes="x: n; sum: 1; out: n",
    inputs={"x": "f32"}, updates={"sum": "f32"}, outputs={"out": "f32"}, grid="ceil(n/256)", block=256,
    grid_stride=False,
)
"""


@pytest.mark.parametrize("case", ["x=1024~small@0 sum=1+1~normal@0", "x=1023~small@5703 sum=1+1~mixed@1620"])
def test_results_that_depend_on_the_order_on_both_sides_do_not_fail(run_kernels, with_nvcc, case):
    result = run_kernels("shares", SHARED, SHARES, f"shares.shares[f32]({case})", target="gfx90a")
    assert result.code == 3 and "depend on the order of threads" in result.err, result.out + result.err


TIMED = """
#ifdef __HIP_DEVICE_COMPILE__
#define VALUE (x[i] + PLANTED)
#define TICKS (10 * clock64())
#else
#define VALUE x[i]
#define TICKS clock64()
#endif
__global__ void timed(const int* x, int* out, long long* passed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const long long begin = TICKS;
    out[i] = VALUE;
    passed[i] = TICKS - begin;
}
"""
TIMES = """
from parity.op import Op

timed = Op(
    "timed.timed", kernel="timed", types=("i32",), args="x out passed n:i32", shapes="x: n; out: n; passed: n",
    inputs={"x": "i32"}, outputs={"out": "i32", "passed": "i64"}, grid="ceil(n/64)", block=64, grid_stride=False,
)
"""


@pytest.mark.parametrize(("planted", "code"), [("0", 3), ("(i == 5)", 1)])
def test_times_do_not_fail(run_kernels, with_nvcc, planted, code):
    result = run_kernels("timed", TIMED.replace("PLANTED", planted), TIMES)
    assert result.code == code, result.out + result.err


PLACED = """
#ifdef __HIP_DEVICE_COMPILE__
#define SHIFT (PLANTED)
#else
#define SHIFT 0
#endif
__global__ void place(int* out, int n) {
    if (threadIdx.x < SHIFT) out[threadIdx.x] += 9;
    if (threadIdx.x == 0) out[((unsigned)clock64() * 2654435761u >> 8) % n] = 7;
}
"""
PLACES = """
from parity.op import Op

place = Op(
    "placed.place", kernel="place", types=("i32",), args="out n:i32", shapes="out: n",
    updates={"out": "i32"}, data={"out": ("6..7",)}, choices={"n": (11, 64)}, grid="1", block=64, grid_stride=False,
)
"""


@pytest.mark.parametrize(("planted", "code"), [("0", 3), ("32", 1)])
def test_places_that_the_clock_chooses_do_not_fail(run_kernels, with_nvcc, planted, code):
    case = "placed.place[i32](out=64~6..7@3808)"
    result = run_kernels("placed", PLACED.replace("PLANTED", planted), PLACES, case, target="gfx90a")
    assert result.code == code, result.out + result.err


def test_cases_after_six_that_a_clock_decides_are_not_executed(run_kernels, with_nvcc):
    cases = PLACES.replace("6..7", "0..5").replace("(11, 64)", "(4099, 8111)")
    result = run_kernels("placed", PLACED.replace("PLANTED", "0"), cases, target="gfx90a")
    assert result.code == 3 and "a clock decides the results of 6 cases of this kernel" in result.err, result.err


DIVIDED = """
#ifdef __HIP_DEVICE_COMPILE__
#define VALUE(x) (x + PLANTED)
#define MORE (PLANTED)
#else
#define VALUE(x) (x)
#define MORE 0
#endif
__global__ void divided(const int* x, const int* y, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = VALUE(i % 2 ? x[i] / y[i] : x[i] % y[i]);
}
__global__ void fast(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __fdividef(x[i], y[i] * 5e37f) + MORE;
}
"""
QUOTIENTS = """
from parity.op import Op

divided = Op(
    "divided.divided", kernel="divided", types=("i32",), args="x y out n:i32", shapes="x: n; y: n; out: n",
    inputs={"x": "i32", "y": "i32"}, outputs={"out": "i32"}, data={"y": ("0..3",)}, grid="ceil(n/64)", block=64,
    grid_stride=False,
)
fast = Op(
    "divided.fast", kernel="fast", types=("f32",), args="x y out n:i32", shapes="x: n; y: n; out: n",
    inputs={"x": "f32", "y": "f32"}, outputs={"out": "f32"}, data={"x": ("normal",), "y": ("-2..3",)},
    grid="ceil(n/64)", block=64, grid_stride=False,
)
"""


@pytest.mark.parametrize(("planted", "code"), [("0", 3), ("(y[i] > 0.5 && y[i] < 1.5)", 1)])
def test_quotients_of_zero_do_not_fail(run_kernels, with_nvcc, planted, code):
    result = run_kernels("divided", DIVIDED.replace("PLANTED", planted), QUOTIENTS)
    assert result.code == code, result.out + result.err
    if code == 1:
        assert "FAIL  divided" in result.out and "FAIL  fast" in result.out, result.out
    else:
        assert "2 kernels" in result.err and "a quotient by 0 or by more than 2^126" in result.err, result.err


UNEQUAL = """
#include <cuda_fp16.h>
__global__ void unequal(const __half* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hne(x[i], __half(1.f));
}
"""
UNEQUALS = """
from parity.op import Op

unequal = Op(
    "unequal.unequal", kernel="unequal", types=("f16",), args="x y n:i32", shapes="x: n; y: n", inputs={"x": "f16"},
    outputs={"y": "i32"}, grid="ceil(n/64)", block=64, grid_stride=False,
)
"""


def test_failure_names_defect_of_header(run_kernels, with_nvcc):
    result = run_kernels("unequal", UNEQUAL, UNEQUALS)
    text = " ".join(result.out.split())
    assert result.code == 1 and "AMD's __hne differs from CUDA's (unequal.cu:5): is true if either is NaN" in text, text
