// Float arithmetic with directed rounding, and other mathematical functions that HIP lacks.
#pragma once

#include <parity/compat/base.h>

namespace parity_compat {

enum FloatRounding { float_nearest, float_to_zero, float_down, float_up };

// Converts an inexact double to "round to odd": moves it towards zero and sets the last bit. Rounding it to float then
// equals rounding the exact value. `lost` is the rounding error of x, or a number of the same sign.
__device__ __forceinline__ double double_to_odd(double x, double lost) {
    if (lost == 0.0 || !(__builtin_fabs(x) < __builtin_inf())) return x;
    unsigned long long word = bits<unsigned long long>(x);
    if (x != 0.0 && (lost < 0.0) != (x < 0.0)) --word;
    return bits<double>(word | 1);
}

__device__ __forceinline__ float float_of(double x, FloatRounding how) {
    const float near = float(x);
    if (how == float_nearest || double(near) == x || x != x) return near;
    const bool too_large = double(near) > x;
    const bool lower = how == float_down || (how == float_to_zero && x > 0.0);
    if (too_large != lower) return near;
    // The neighbour of `near` on the other side of x.
    unsigned word = bits<unsigned>(near);
    if (near == 0.0f) return bits<float>(too_large ? 0x80000001u : 1u);
    word += (near > 0.0f) == too_large ? -1u : 1u;
    return bits<float>(word);
}

__device__ __forceinline__ float float_sum(double x, double y, FloatRounding how) {
#pragma clang fp contract(off)
    const double sum = x + y, other = sum - x, lost = (x - (sum - other)) + (y - other);
    // When rounding down, an exact zero sum is -0 if the operands differ in sign.
    if (sum == 0.0 && lost == 0.0 && how == float_down && (x != 0.0 || __builtin_signbit(x) || __builtin_signbit(y))) {
        return -0.0f;
    }
    return float_of(double_to_odd(sum, lost), how);
}
__device__ __forceinline__ float float_product(float x, float y, FloatRounding how) {
    return float_of(double(x) * double(y), how);
}
__device__ __forceinline__ float float_quotient(float x, float y, FloatRounding how) {
#pragma clang fp contract(off)
    const double quotient = double(x) / double(y);
    const bool finite = __builtin_fabs(quotient) < __builtin_inf() && __builtin_fabsf(y) < __builtin_inff();
    const double rest = finite ? __builtin_fma(-quotient, double(y), double(x)) : 0.0;
    return float_of(double_to_odd(quotient, y < 0.0f ? -rest : rest), how);
}
__device__ __forceinline__ float float_root(float x, FloatRounding how) {
#pragma clang fp contract(off)
    const double root = __builtin_sqrt(double(x));
    const double rest = root > 0.0 && root < __builtin_inf() ? __builtin_fma(-root, root, double(x)) : 0.0;
    return float_of(double_to_odd(root, rest), how);
}

}  // namespace parity_compat

#define PARITY_COMPAT_ROUNDED(suffix, how)                                                                           \
    PARITY_COMPAT float __fadd_##suffix(float x, float y) { return parity_compat::float_sum(x, y, parity_compat::how); } \
    PARITY_COMPAT float __fsub_##suffix(float x, float y) {                                                          \
        return parity_compat::float_sum(x, -double(y), parity_compat::how);                                          \
    }                                                                                                                \
    PARITY_COMPAT float __fmul_##suffix(float x, float y) {                                                          \
        return parity_compat::float_product(x, y, parity_compat::how);                                               \
    }                                                                                                                \
    PARITY_COMPAT float __fmaf_##suffix(float x, float y, float z) {                                                 \
        return parity_compat::float_sum(double(x) * double(y), z, parity_compat::how);                               \
    }                                                                                                                \
    PARITY_COMPAT float __fmaf_ieee_##suffix(float x, float y, float z) {                                            \
        return parity_compat::float_sum(double(x) * double(y), z, parity_compat::how);                               \
    }                                                                                                                \
    PARITY_COMPAT float __fdiv_##suffix(float x, float y) {                                                          \
        return parity_compat::float_quotient(x, y, parity_compat::how);                                              \
    }                                                                                                                \
    PARITY_COMPAT float __frcp_##suffix(float x) { return parity_compat::float_quotient(1.0f, x, parity_compat::how); } \
    PARITY_COMPAT float __fsqrt_##suffix(float x) { return parity_compat::float_root(x, parity_compat::how); }       \
    PARITY_COMPAT float2 __fadd2_##suffix(float2 x, float2 y) {                                                      \
        return float2(__fadd_##suffix(x.x, y.x), __fadd_##suffix(x.y, y.y));                                         \
    }                                                                                                                \
    PARITY_COMPAT float2 __fmul2_##suffix(float2 x, float2 y) {                                                      \
        return float2(__fmul_##suffix(x.x, y.x), __fmul_##suffix(x.y, y.y));                                         \
    }                                                                                                                \
    PARITY_COMPAT float2 __ffma2_##suffix(float2 x, float2 y, float2 z) {                                            \
        return float2(__fmaf_##suffix(x.x, y.x, z.x), __fmaf_##suffix(x.y, y.y, z.y));                               \
    }
PARITY_COMPAT_ROUNDED(rn, float_nearest)
PARITY_COMPAT_ROUNDED(rz, float_to_zero)
PARITY_COMPAT_ROUNDED(rd, float_down)
PARITY_COMPAT_ROUNDED(ru, float_up)
#undef PARITY_COMPAT_ROUNDED

PARITY_COMPAT double fdivide(double x, double y) { return x / y; }
PARITY_COMPAT float __tanhf(float x) { return tanhf(x); }
PARITY_COMPAT void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
PARITY_COMPAT void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }

#define PARITY_COMPAT_LEAST_MOST(prefix, T)                              \
    PARITY_COMPAT T prefix##min(T a, T b) { return b < a ? b : a; }      \
    PARITY_COMPAT T prefix##max(T a, T b) { return b > a ? b : a; }
PARITY_COMPAT_LEAST_MOST(u, unsigned)
PARITY_COMPAT_LEAST_MOST(ll, long long)
PARITY_COMPAT_LEAST_MOST(ull, unsigned long long)
#undef PARITY_COMPAT_LEAST_MOST

// Ignores the duration, which CUDA does not guarantee either. The hardware sleeps at most 127 * 64 cycles.
PARITY_COMPAT void __nanosleep(unsigned) { __builtin_amdgcn_s_sleep(2); }
