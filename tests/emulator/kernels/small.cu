// Kernels for tests of the emulator: one instruction family each.
#include <cuda_fp16.h>

#define EACH size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; if (i < n)
#define UNARY(name, T, R, value) \
    extern "C" __global__ void name(size_t n, const T* x, R* y) { EACH { const T a = x[i]; y[i] = value; } }
#define BINARY(name, T, R, value) \
    extern "C" __global__ void name(size_t n, const T* x, const T* z, R* y) { EACH { const T a = x[i], b = z[i]; y[i] = value; } }

typedef unsigned char u8;
typedef long long i64;
typedef unsigned long long u64;

BINARY(div_f32, float, float, a / b)
BINARY(div_f64, double, double, a / b)
BINARY(div_i64, i64, i64, a / b)
BINARY(mod_u64, u64, u64, a % b)
BINARY(add_f32, float, float, a + b)
BINARY(max_f32, float, float, fmaxf(a, b))
BINARY(fma_f16, _Float16, _Float16, __builtin_fmaf16(a, b, b))
BINARY(mul_f16, _Float16, _Float16, a * b)
BINARY(shl_u64, u64, u64, a << (b & 63))
BINARY(less_f64, double, u8, a < b)
UNARY(sqrt_f32, float, float, sqrtf(a))
UNARY(sqrt_f64, double, double, sqrt(a))
UNARY(exp_f32, float, float, expf(a))
UNARY(exp_f64, double, double, exp(a))
UNARY(sin_f32, float, float, sinf(a))
UNARY(sin_f64, double, double, sin(a))
UNARY(log_f32, float, float, logf(a))
UNARY(half_of_double, double, _Float16, (_Float16)a)
UNARY(half_of_float, float, _Float16, (_Float16)a)
UNARY(float_of_half, _Float16, float, (float)a)
UNARY(float_of_double, double, float, (float)a)
UNARY(i64_of_float, float, i64, (i64)a)
UNARY(float_of_i64, i64, float, (float)a)
UNARY(double_of_i64, i64, double, (double)a)
UNARY(i32_of_double, double, int, (int)a)
UNARY(clz_u32, unsigned, int, __builtin_clz(a | 1))

extern "C" __global__ void collatz(size_t n, const int* x, int* y) {
    EACH {
        int steps = 0;
        for (int v = x[i]; v != 1; v = v & 1 ? 3 * v + 1 : v >> 1) ++steps;
        y[i] = steps;
    }
}
extern "C" __global__ void every_other(size_t n, const int* x, int* y) { EACH { if (i & 1) y[i] = x[i]; } }
extern "C" __global__ void reversed(size_t n, const int* x, int* y) { EACH { y[i] = x[n - 1 - i]; } }
extern "C" __global__ void shifted(size_t n, const int* x, int* y) { EACH { y[i] = x[i + 1]; } }
extern "C" __global__ void store_at(size_t n, const i64* at, int* y) { EACH { y[at[i]] = (int)i; } }
extern "C" __global__ void forever(size_t n, volatile int* y) { for (;;) { if (y[0] == 12345) break; } }
extern "C" __global__ void where(size_t n, int* y) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    y[x + gridDim.x * blockDim.x * (r + gridDim.y * blockDim.y * z)] = x * 10000 + r * 100 + z;
}

extern "C" __global__ void last(size_t n, const int* __restrict__ x, int* out) { out[0] = x[n - 1]; }
