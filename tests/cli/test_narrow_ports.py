"""Ports that are less precise than the CUDA kernel fail without a reference; correct ports pass."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("with_nvcc")

KERNELS = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifdef __HIPCC__
__device__ inline __nv_bfloat16 truncated(float x) {
    unsigned short bits = __float_as_uint(x) >> 16;
    return reinterpret_cast<__nv_bfloat16&>(bits);
}
__device__ inline float stored(float x) { return PORT(x); }
__device__ inline float growth(float x) { return GROWTH(x); }
__device__ inline __nv_bfloat16 rounded(float x) { return ROUND(x); }
template <class T> using Sum = SUM;
using Wide = WIDE;
/** Keeps the upper bits of a NaN, which may all be 0. */
__device__ inline unsigned short bfloat_bits(__half x) {
    const unsigned short bits = __half_as_ushort(x);
    if (x != x) return (bits & 0x8000) | 0x7f80 | KEPT | (bits >> 3 & 0x7f);
    return __float_as_uint(__half2float(x)) >> 16;
}
__device__ inline __half larger(__half x) {
    _Float16 result;
    asm volatile("v_max_f16 %0, %1, 1.0" : "=v"(result) : "v"(reinterpret_cast<_Float16&>(x)));
    return reinterpret_cast<__half&>(result);
}
#else
__device__ inline unsigned short bfloat_bits(__half x) { return __float_as_uint(__half2float(x)) >> 16; }
__device__ inline __half larger(__half x) { return __hmax(x, __float2half(1.0f)); }
__device__ inline float stored(float x) { return x; }
__device__ inline float growth(float x) { return expm1f(x); }
__device__ inline __nv_bfloat16 rounded(float x) { return __float2bfloat16(x); }
template <class T> using Sum = float;
using Wide = double;
#endif
template <class T> __device__ void total(const T* x, T* out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    Sum<T> sum = 0.0f;
    for (int i = 0; i < cols; ++i) sum = (Sum<T>)((float)sum + (float)x[row * cols + i]);
    out[row] = (T)(float)sum;
}
extern "C" __global__ void total_f16(const __half* x, __half* out, int rows, int cols) { total(x, out, rows, cols); }
extern "C" __global__ void total_bf16(const __nv_bfloat16* x, __nv_bfloat16* out, int rows, int cols) {
    total(x, out, rows, cols);
}
extern "C" __global__ void dot_f64(const double* x, const double* y, double* out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    Wide sum = 0;
    for (int i = 0; i < cols; ++i) sum += x[row * cols + i] * y[row * cols + i];
    out[row] = sum;
}
extern "C" __global__ void variance_f32(const float* x, float* out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0, squares = 0;
    for (int i = 0; i < cols; ++i) {
        sum += x[row * cols + i];
        squares += x[row * cols + i] * x[row * cols + i];
    }
    const float mean = sum / cols;
    float total = 0;
    for (int i = 0; i < cols; ++i) total += (x[row * cols + i] - mean) * (x[row * cols + i] - mean);
    out[row] = sizeof(Wide) == 4 ? squares / cols - mean * mean : total / cols;
}
/** Multiplies with x split into three numbers of bf16. */
extern "C" __global__ void split_f32(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float high = __bfloat162float(__float2bfloat16(x[i])), rest = x[i] - high;
    const float middle = __bfloat162float(__float2bfloat16(rest));
    out[i] = sizeof(Wide) == 4 ? high * y[i] : (rest - middle) * y[i] + middle * y[i] + high * y[i];
}
extern "C" __global__ void scale_f32(const float* x, float* out, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = stored(x[i] * a) + 0.5f;
}
extern "C" __global__ void growth_f32(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = growth(x[i]);
}
extern "C" __global__ void product_bf16(const __nv_bfloat16* x, const __nv_bfloat16* y, __nv_bfloat16* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = rounded(__bfloat162float(x[i]) * __bfloat162float(y[i]));
}
extern "C" __global__ void bfloat_f16(const __half* x, __nv_bfloat16* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) reinterpret_cast<unsigned short*>(out)[i] = bfloat_bits(x[i]);
}
extern "C" __global__ void larger_f16(const __half* x, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = larger(x[i]);
}
"""
CASES = """
from parity.op import Op

scale = Op("mine.scale", kernel="scale_{T}", types=("f32",), args="x out a n:i32=numel", inputs={"x": "T"},
           params={"a": "T"}, block=64, grid_stride=False)
growth = Op("mine.growth", kernel="growth_{T}", types=("f32",), args="x out n:i32=numel", inputs={"x": "T"}, block=64,
            grid_stride=False)
product = Op("mine.product", kernel="product_{T}", types=("bf16",), args="x y out n:i32=numel",
             inputs={"x": "T", "y": "T"}, block=64, grid_stride=False)
bfloat = Op("mine.bfloat", kernel="bfloat_{T}", types=("f16",), args="x out n:i32=numel", inputs={"x": "T"},
            outputs={"out": "bf16"}, block=64, grid_stride=False)
larger = Op("mine.larger", kernel="larger_{T}", types=("f16",), args="x out n:i32=numel", inputs={"x": "T"}, block=64,
            grid_stride=False)
total = Op("mine.total", kernel="total_{T}", types=("f16", "bf16"), args="x out rows:i32 cols:i32", inputs={"x": "T"},
           outputs={"out": "T"}, shapes="x: rows cols; out: rows", grid="ceil(rows/64)", block=64, grid_stride=False)
variance = Op("mine.variance", kernel="variance_{T}", types=("f32",), args="x out rows:i32 cols:i32",
              inputs={"x": "T"}, outputs={"out": "T"}, shapes="x: rows cols; out: rows", grid="ceil(rows/64)", block=64,
              grid_stride=False)
dot = Op("mine.dot", kernel="dot_{T}", types=("f64",), args="x y out rows:i32 cols:i32", inputs={"x": "T", "y": "T"},
         outputs={"out": "T"}, shapes="x: rows cols; y: rows cols; out: rows", grid="ceil(rows/64)", block=64,
         grid_stride=False)
split = Op("mine.split", kernel="split_{T}", types=("f32",), args="x y out n:i32=numel", inputs={"x": "T", "y": "T"},
           block=64, grid_stride=False)
"""
PRODUCT = "mine.product[bf16](x=400~normal@0 y=400~normal@0)"


@pytest.fixture
def port(tmp_path, parity, monkeypatch):
    """Return a function that runs a case with a port's conversion and rounding."""

    def run(
        case: str,
        conversion: str = "x",
        rounding: str = "__float2bfloat16(x)",
        kept: int = 0x40,
        growth: str = "expm1f(x)",
        total: str = "float",
        wide: str = "double",
    ):
        for folder, name, text in (("kernels", "mine.cu", KERNELS), ("cases", "mine.py", CASES)):
            (tmp_path / folder).mkdir(exist_ok=True)
            text = text.replace("PORT(x)", conversion).replace("ROUND(x)", rounding).replace("KEPT", str(kept))
            text = text.replace("GROWTH(x)", growth).replace("SUM;", f"{total};").replace("WIDE;", f"{wide};")
            (tmp_path / folder / name).write_text(text)
        (tmp_path / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
        monkeypatch.chdir(tmp_path)
        return parity("run", case, "--target", "gfx1100", "-j", "1")

    return run


@pytest.mark.parametrize("data", ["normal", "1e5..1e30"])
def test_port_through_half_fails(port, data):
    case = f"mine.scale[f32](x=64~{data}@0 a=1.7)"
    assert port(case).code == 0
    result = port(case, "float(_Float16(x))")
    assert result.code == 1 and "FAIL  scale_f32 on gfx1100" in result.out, result.out


def test_port_with_terms_that_cancel_fails(port):
    case = "mine.growth[f32](x=64~1e-5..1e-3@0)"
    assert port(case).code == 0
    result = port(case, growth="expf(x) - 1.0f")
    assert result.code == 1 and "ULP in CUDA's code: AMD's side is less precise" in result.out, result.out


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_port_that_keeps_a_sum_in_a_narrow_type_fails(port, kind):
    case = f"mine.total[{kind}](x=4x3000~0.1..0.12@0)"
    assert port(case).code == 0
    result = port(case, total="T")
    assert result.code == 1 and "ULP in CUDA's code: AMD's side is less precise" in result.out, result.out


@pytest.mark.parametrize(
    "case",
    [
        "mine.dot[f64](x=4x30~0.1..0.2@0 y=4x30~0.1..0.2@0)",
        "mine.variance[f32](x=4x30~100..101@0)",
        "mine.split[f32](x=64~normal@0 y=64~normal@0)",
    ],
)
def test_port_that_keeps_intermediate_results_with_fewer_digits_fails(port, case):
    assert port(case).code == 0
    result = port(case, wide="float")
    assert result.code == 1 and ": value" in result.out, result.out


def test_port_that_truncates_fails(port):
    assert port(PRODUCT).code == 0
    result = port(PRODUCT, rounding="truncated(x)")
    assert result.code == 1 and "differences from CUDA's values are towards 0" in result.out, result.out


def test_signalling_nan_that_becomes_infinity_fails(port):
    case = "mine.bfloat[f16](x=64~patterns@31744)"
    assert port(case).code == 0
    result = port(case, kept=0)
    assert result.code == 1 and "FAIL  bfloat_f16 on gfx1100" in result.out, result.out


def test_signalling_nan_in_maximum_is_known_divergence(port, tmp_path):
    result = port("mine.larger[f16](x=64~patterns@31744)")
    assert result.code == 0, result.out
    assert "D7" in (tmp_path / "out" / "matrix.txt").read_text()
