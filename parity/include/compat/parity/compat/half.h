// Functions of __half and __half2 that HIP lacks.
#pragma once

#include <hip/hip_fp16.h>
#include <parity/compat/base.h>

namespace parity_compat {

__device__ __forceinline__ _Float16 number(__half x) { return static_cast<__half_raw>(x).data; }
__device__ __forceinline__ __half half_of(_Float16 x) { return __half(__half_raw{x}); }
__device__ __forceinline__ __half half_of_bits(unsigned short x) { return half_of(bits<_Float16>(x)); }

// +0 is greater than -0. A NaN loses against a number, or wins if keep_nan is set. A NaN result is canonical.
__device__ __forceinline__ __half larger(__half a, __half b, bool keep_nan) {
    const _Float16 x = number(a), y = number(b);
    if (x != x || y != y) {
        if (keep_nan || (x != x && y != y)) return half_of_bits(0x7fff);
        return x != x ? b : a;
    }
    if (x == y) return bits<unsigned short>(x) >> 15 ? b : a;
    return x > y ? a : b;
}
__device__ __forceinline__ __half smaller(__half a, __half b, bool keep_nan) {
    const _Float16 x = number(a), y = number(b);
    if (x != x || y != y) return larger(a, b, keep_nan);
    if (x == y) return bits<unsigned short>(x) >> 15 ? a : b;
    return x < y ? a : b;
}

// Prevents contraction with another operation. The pragma applies to its block only.
__device__ __forceinline__ _Float16 sum(_Float16 x, _Float16 y) {
#pragma clang fp contract(off)
    return x + y;
}
__device__ __forceinline__ _Float16 difference(_Float16 x, _Float16 y) {
#pragma clang fp contract(off)
    return x - y;
}
__device__ __forceinline__ _Float16 product(_Float16 x, _Float16 y) {
#pragma clang fp contract(off)
    return x * y;
}

template <class Operation>
__device__ __forceinline__ __half2 both(__half2 a, __half2 b, Operation operation) {
    return __half2(operation(a.x, b.x), operation(a.y, b.y));
}

__device__ __forceinline__ __half fma_relu(__half a, __half b, __half c) {
    return larger(half_of(__builtin_fmaf16(number(a), number(b), number(c))), half_of(0), true);
}

}  // namespace parity_compat

PARITY_COMPAT __half __double2half(double x) { return parity_compat::half_of(_Float16(x)); }
PARITY_COMPAT signed char __half2char_rz(__half h) {
    const float x = float(parity_compat::number(h));
    return x != x ? 0 : (signed char)(x <= -128.0f ? -128.0f : x >= 127.0f ? 127.0f : x);
}
PARITY_COMPAT unsigned char __half2uchar_rz(__half h) {
    const float x = float(parity_compat::number(h));
    return x > 0.0f ? (unsigned char)(x >= 255.0f ? 255.0f : x) : 0;
}

#define PARITY_COMPAT_HALF2(name, expression)                                                              \
    PARITY_COMPAT __half2 name(__half2 a, __half2 b) {                                                     \
        return parity_compat::both(a, b, [](__half x, __half y) { return parity_compat::expression; });    \
    }
PARITY_COMPAT_HALF2(__hmax2, larger(x, y, false))
PARITY_COMPAT_HALF2(__hmin2, smaller(x, y, false))
PARITY_COMPAT_HALF2(__hmax2_nan, larger(x, y, true))
PARITY_COMPAT_HALF2(__hmin2_nan, smaller(x, y, true))
#undef PARITY_COMPAT_HALF2
PARITY_COMPAT __half __hmax(__half a, __half b) { return parity_compat::larger(a, b, false); }
PARITY_COMPAT __half __hmin(__half a, __half b) { return parity_compat::smaller(a, b, false); }
PARITY_COMPAT __half __hmax_nan(__half a, __half b) { return parity_compat::larger(a, b, true); }
PARITY_COMPAT __half __hmin_nan(__half a, __half b) { return parity_compat::smaller(a, b, true); }

#define PARITY_COMPAT_ROUNDED(name, operation)                                                                   \
    PARITY_COMPAT __half name##_rn(__half a, __half b) {                                                         \
        return parity_compat::half_of(parity_compat::operation(parity_compat::number(a), parity_compat::number(b))); \
    }                                                                                                            \
    PARITY_COMPAT __half2 name##2_rn(__half2 a, __half2 b) {                                                     \
        return __half2(name##_rn(a.x, b.x), name##_rn(a.y, b.y));                                                \
    }
PARITY_COMPAT_ROUNDED(__hadd, sum)
PARITY_COMPAT_ROUNDED(__hsub, difference)
PARITY_COMPAT_ROUNDED(__hmul, product)
#undef PARITY_COMPAT_ROUNDED

PARITY_COMPAT __half __hfma_relu(__half a, __half b, __half c) { return parity_compat::fma_relu(a, b, c); }
PARITY_COMPAT __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) {
    return __half2(parity_compat::fma_relu(a.x, b.x, c.x), parity_compat::fma_relu(a.y, b.y, c.y));
}
// Complex a * b + c.
PARITY_COMPAT __half2 __hcmadd(__half2 a, __half2 b, __half2 c) {
    using parity_compat::number;
    const _Float16 real = __builtin_fmaf16(number(a.x), number(b.x), number(c.x));
    const _Float16 imaginary = __builtin_fmaf16(number(a.x), number(b.y), number(c.y));
    return __half2(parity_compat::half_of(__builtin_fmaf16(-number(a.y), number(b.y), real)),
                   parity_compat::half_of(__builtin_fmaf16(number(a.y), number(b.x), imaginary)));
}
#define PARITY_COMPAT_TANH(suffix)                                                                                  \
    PARITY_COMPAT __half htanh##suffix(__half x) {                                                                  \
        return parity_compat::half_of(_Float16(tanhf(float(parity_compat::number(x)))));                            \
    }                                                                                                               \
    PARITY_COMPAT __half2 h2tanh##suffix(__half2 x) { return __half2(htanh##suffix(x.x), htanh##suffix(x.y)); }
PARITY_COMPAT_TANH()
PARITY_COMPAT_TANH(_approx)
#undef PARITY_COMPAT_TANH

// All ones in each half where the comparison holds. The u forms hold if an operand is NaN.
#define PARITY_COMPAT_MASK(name, expression)                                                        \
    PARITY_COMPAT unsigned name##_mask(__half2 a, __half2 b) {                                      \
        const auto holds = [](_Float16 x, _Float16 y) { return (expression) ? 0xffffu : 0u; };      \
        return holds(parity_compat::number(a.x), parity_compat::number(b.x)) |                      \
               holds(parity_compat::number(a.y), parity_compat::number(b.y)) << 16;                 \
    }
PARITY_COMPAT_MASK(__heq2, x == y)
PARITY_COMPAT_MASK(__hne2, x < y || x > y)
PARITY_COMPAT_MASK(__hle2, x <= y)
PARITY_COMPAT_MASK(__hge2, x >= y)
PARITY_COMPAT_MASK(__hlt2, x < y)
PARITY_COMPAT_MASK(__hgt2, x > y)
PARITY_COMPAT_MASK(__hequ2, !(x < y || x > y))
PARITY_COMPAT_MASK(__hneu2, x != y)
PARITY_COMPAT_MASK(__hleu2, !(x > y))
PARITY_COMPAT_MASK(__hgeu2, !(x < y))
PARITY_COMPAT_MASK(__hltu2, !(x >= y))
PARITY_COMPAT_MASK(__hgtu2, !(x <= y))
#undef PARITY_COMPAT_MASK
