// Functions of __hip_bfloat16 and __hip_bfloat162 that HIP 6.2 lacks.
#pragma once

#include <hip/hip_bf16.h>
#include <parity/compat/base.h>

namespace parity_compat {

using Bfloat16 = __hip_bfloat16;
using Bfloat162 = __hip_bfloat162;

__device__ __forceinline__ unsigned short pattern(Bfloat16 x) { return bits<unsigned short>(x); }
__device__ __forceinline__ Bfloat16 of_pattern(unsigned short x) { return bits<Bfloat16>(x); }
__device__ __forceinline__ float number(Bfloat16 x) { return bits<float>(unsigned(pattern(x)) << 16); }

enum Rounding { nearest, to_zero, down, up };

// Rounds a double to float "to odd": truncates, and sets the last bit if the result is inexact. Rounding the result to
// fewer bits then equals rounding x.
__device__ __forceinline__ float to_odd(double x) {
    const float near = float(x);
    if (double(near) == x || x != x) return near;
    unsigned word = bits<unsigned>(near);
    if (__builtin_fabs(double(near)) > __builtin_fabs(x)) --word;
    return bits<float>(word | 1);
}

__device__ __forceinline__ Bfloat16 rounded(double exact, Rounding how) {
    if (exact != exact) return of_pattern(0x7fff);
    const unsigned word = bits<unsigned>(to_odd(exact)), kept = word >> 16, lost = word & 0xffff;
    const bool negative = word >> 31;
    bool away = how == nearest ? lost > 0x8000 || (lost == 0x8000 && kept & 1) : lost != 0;
    if (how == to_zero || (how == down && !negative) || (how == up && negative)) away = false;
    return of_pattern((unsigned short)(kept + away));
}

// Converts an integer to double, rounded to odd.
template <class Integer>
__device__ __forceinline__ double exactly(Integer x) {
    if (sizeof(Integer) < 8) return double(x);
    const bool negative = x < Integer(0);
    unsigned long long magnitude = negative ? 0ull - (unsigned long long)x : (unsigned long long)x;
    if (magnitude >> 53) magnitude = (magnitude & ~0x7ffull) | (magnitude & 0x7ff ? 0x800 : 0);
    return negative ? -double(magnitude) : double(magnitude);
}

__device__ __forceinline__ float integral(float x, Rounding how) {
    return how == nearest ? __builtin_rintf(x) : how == down ? __builtin_floorf(x) : how == up ? __builtin_ceilf(x)
                                                                                              : __builtin_truncf(x);
}

// Saturates at the ends of the range. NaN becomes 0, or 2^63 for 64-bit integers.
template <class Integer>
__device__ __forceinline__ Integer integer_of(Bfloat16 h, Rounding how) {
    constexpr bool is_signed = Integer(-1) < Integer(0);
    constexpr int width = 8 * sizeof(Integer) - is_signed;
    constexpr Integer top = Integer(~0ull >> (64 - width));
    const float x = integral(number(h), how), limit = width == 64 ? 0x1p64f : float(1ull << (width & 63));
    if (x != x) return sizeof(Integer) == 8 ? Integer(1ull << 63) : Integer(0);
    if (x >= limit) return top;
    if (x <= (is_signed ? -limit : 0.0f)) return is_signed ? Integer(-top - 1) : Integer(0);
    return Integer(x);
}

// As for half: +0 is greater than -0. A NaN loses against a number, or wins if keep_nan is set.
__device__ __forceinline__ Bfloat16 larger(Bfloat16 a, Bfloat16 b, bool keep_nan) {
    const float x = number(a), y = number(b);
    if (x != x || y != y) {
        if (keep_nan || (x != x && y != y)) return of_pattern(0x7fff);
        return x != x ? b : a;
    }
    if (x == y) return pattern(a) >> 15 ? b : a;
    return x > y ? a : b;
}
__device__ __forceinline__ Bfloat16 smaller(Bfloat16 a, Bfloat16 b, bool keep_nan) {
    const float x = number(a), y = number(b);
    if (x != x || y != y) return larger(a, b, keep_nan);
    if (x == y) return pattern(a) >> 15 ? a : b;
    return x < y ? a : b;
}

// Computes a * b + c, rounded to odd. The product of two bfloat16 has 16 significant bits and is exact.
__device__ __forceinline__ double fused(Bfloat16 a, Bfloat16 b, Bfloat16 c) {
#pragma clang fp contract(off)
    const double x = double(number(a)) * double(number(b)), y = double(number(c)), sum = x + y;
    const double other = sum - x, lost = (x - (sum - other)) + (y - other);
    if (!(__builtin_fabs(sum) < __builtin_inf()) || lost == 0.0) return sum;
    unsigned long long word = bits<unsigned long long>(sum);
    if ((lost < 0.0) != (sum < 0.0)) --word;
    return bits<double>(word | 1);
}
__device__ __forceinline__ double sum(Bfloat16 a, Bfloat16 b) { return fused(a, of_pattern(0x3f80), b); }
__device__ __forceinline__ double difference(Bfloat16 a, Bfloat16 b) {
    return fused(of_pattern(0xbf80), b, a);
}
__device__ __forceinline__ double product(Bfloat16 a, Bfloat16 b) { return double(number(a)) * double(number(b)); }

// Clamps to [0, 1]; NaN becomes +0.
__device__ __forceinline__ double saturated(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

}  // namespace parity_compat

#define PARITY_COMPAT_ROUNDINGS(apply) apply(rn, nearest) apply(rz, to_zero) apply(rd, down) apply(ru, up)
#define PARITY_COMPAT_FROM_FLOAT(suffix, how) \
    PARITY_COMPAT __hip_bfloat16 __float2bfloat16_##suffix(float x) { return parity_compat::rounded(x, parity_compat::how); }
PARITY_COMPAT_ROUNDINGS(PARITY_COMPAT_FROM_FLOAT)
#undef PARITY_COMPAT_FROM_FLOAT

#define PARITY_COMPAT_CONVERSIONS(name, Integer, suffix, how)                                      \
    PARITY_COMPAT __hip_bfloat16 __##name##2bfloat16_##suffix(Integer x) {                         \
        return parity_compat::rounded(parity_compat::exactly(x), parity_compat::how);              \
    }                                                                                              \
    PARITY_COMPAT Integer __bfloat162##name##_##suffix(__hip_bfloat16 x) {                         \
        return parity_compat::integer_of<Integer>(x, parity_compat::how);                          \
    }
#define PARITY_COMPAT_INTEGER(suffix, how)                                  \
    PARITY_COMPAT_CONVERSIONS(short, short, suffix, how)                    \
    PARITY_COMPAT_CONVERSIONS(ushort, unsigned short, suffix, how)          \
    PARITY_COMPAT_CONVERSIONS(int, int, suffix, how)                        \
    PARITY_COMPAT_CONVERSIONS(uint, unsigned, suffix, how)                  \
    PARITY_COMPAT_CONVERSIONS(ll, long long, suffix, how)                   \
    PARITY_COMPAT_CONVERSIONS(ull, unsigned long long, suffix, how)
PARITY_COMPAT_ROUNDINGS(PARITY_COMPAT_INTEGER)
#undef PARITY_COMPAT_INTEGER
#undef PARITY_COMPAT_CONVERSIONS
#undef PARITY_COMPAT_ROUNDINGS
PARITY_COMPAT signed char __bfloat162char_rz(__hip_bfloat16 x) {
    return parity_compat::integer_of<signed char>(x, parity_compat::to_zero);
}
PARITY_COMPAT unsigned char __bfloat162uchar_rz(__hip_bfloat16 x) {
    return parity_compat::integer_of<unsigned char>(x, parity_compat::to_zero);
}

PARITY_COMPAT __hip_bfloat162 __floats2bfloat162_rn(float x, float y) {
    using namespace parity_compat;
    return __hip_bfloat162(rounded(x, nearest), rounded(y, nearest));
}
PARITY_COMPAT __hip_bfloat162 __float2bfloat162_rn(float x) { return __floats2bfloat162_rn(x, x); }
PARITY_COMPAT __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return __hip_bfloat162(x, y); }

#define PARITY_COMPAT_CHOICE(suffix, function, keep_nan)                                                  \
    PARITY_COMPAT __hip_bfloat16 __h##suffix(__hip_bfloat16 a, __hip_bfloat16 b) {                        \
        return parity_compat::function(a, b, keep_nan);                                                   \
    }
PARITY_COMPAT_CHOICE(max_nan, larger, true)
PARITY_COMPAT_CHOICE(min_nan, smaller, true)
#undef PARITY_COMPAT_CHOICE
PARITY_COMPAT __hip_bfloat162 __hmax2_nan(__hip_bfloat162 a, __hip_bfloat162 b) {
    return __hip_bfloat162(parity_compat::larger(a.x, b.x, true), parity_compat::larger(a.y, b.y, true));
}
PARITY_COMPAT __hip_bfloat162 __hmin2_nan(__hip_bfloat162 a, __hip_bfloat162 b) {
    return __hip_bfloat162(parity_compat::smaller(a.x, b.x, true), parity_compat::smaller(a.y, b.y, true));
}

#define PARITY_COMPAT_ARITHMETIC(name, function)                                                          \
    PARITY_COMPAT __hip_bfloat16 name##_rn(__hip_bfloat16 a, __hip_bfloat16 b) {                          \
        return parity_compat::rounded(parity_compat::function(a, b), parity_compat::nearest);             \
    }                                                                                                     \
    PARITY_COMPAT __hip_bfloat162 name##2_rn(__hip_bfloat162 a, __hip_bfloat162 b) {                      \
        return __hip_bfloat162(name##_rn(a.x, b.x), name##_rn(a.y, b.y));                                 \
    }                                                                                                     \
    PARITY_COMPAT __hip_bfloat16 name##_sat(__hip_bfloat16 a, __hip_bfloat16 b) {                         \
        using namespace parity_compat;                                                                    \
        return rounded(saturated(function(a, b)), nearest);                                               \
    }                                                                                                     \
    PARITY_COMPAT __hip_bfloat162 name##2_sat(__hip_bfloat162 a, __hip_bfloat162 b) {                     \
        return __hip_bfloat162(name##_sat(a.x, b.x), name##_sat(a.y, b.y));                               \
    }
PARITY_COMPAT_ARITHMETIC(__hadd, sum)
PARITY_COMPAT_ARITHMETIC(__hsub, difference)
PARITY_COMPAT_ARITHMETIC(__hmul, product)
#undef PARITY_COMPAT_ARITHMETIC

PARITY_COMPAT __hip_bfloat16 __hfma_sat(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
    using namespace parity_compat;
    return rounded(saturated(fused(a, b, c)), nearest);
}
PARITY_COMPAT __hip_bfloat162 __hfma2_sat(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
    return __hip_bfloat162(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
}
PARITY_COMPAT __hip_bfloat16 __hfma_relu(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
    using namespace parity_compat;
    return larger(rounded(fused(a, b, c), nearest), of_pattern(0), true);
}
PARITY_COMPAT __hip_bfloat162 __hfma2_relu(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
    return __hip_bfloat162(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
// Complex a * b + c.
PARITY_COMPAT __hip_bfloat162 __hcmadd(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
    using namespace parity_compat;
    const Bfloat16 real = rounded(fused(a.x, b.x, c.x), nearest), imaginary = rounded(fused(a.x, b.y, c.y), nearest);
    const Bfloat16 minus = of_pattern(pattern(a.y) ^ 0x8000);
    return Bfloat162(rounded(fused(minus, b.y, real), nearest), rounded(fused(a.y, b.x, imaginary), nearest));
}
#define PARITY_COMPAT_TANH(suffix)                                                                          \
    PARITY_COMPAT __hip_bfloat16 htanh##suffix(__hip_bfloat16 x) {                                          \
        return parity_compat::rounded(tanhf(parity_compat::number(x)), parity_compat::nearest);             \
    }                                                                                                       \
    PARITY_COMPAT __hip_bfloat162 h2tanh##suffix(__hip_bfloat162 x) {                                       \
        return __hip_bfloat162(htanh##suffix(x.x), htanh##suffix(x.y));                                     \
    }
PARITY_COMPAT_TANH()
PARITY_COMPAT_TANH(_approx)
#undef PARITY_COMPAT_TANH

// The u forms hold if an operand is NaN. Comparisons of pairs give 1 or 0 per half, with _mask all ones or 0.
#define PARITY_COMPAT_HOLDS(name, expression, ones, Result, pack)                                          \
    PARITY_COMPAT Result name(__hip_bfloat162 a, __hip_bfloat162 b) {                                      \
        const auto holds = [](float x, float y) { return (expression) ? ones : 0u; };                      \
        const unsigned low = holds(parity_compat::number(a.x), parity_compat::number(b.x));                \
        const unsigned high = holds(parity_compat::number(a.y), parity_compat::number(b.y));               \
        return pack(low | high << 16);                                                                     \
    }
#define PARITY_COMPAT_MASK(name, expression) PARITY_COMPAT_HOLDS(name##_mask, expression, 0xffffu, unsigned, unsigned)
#define PARITY_COMPAT_COMPARE(name, expression) \
    PARITY_COMPAT_HOLDS(name, expression, 0x3f80u, __hip_bfloat162, parity_compat::bits<__hip_bfloat162>)
PARITY_COMPAT_MASK(__heq2, x == y)
PARITY_COMPAT_MASK(__hne2, x < y || x > y)
PARITY_COMPAT_MASK(__hle2, x <= y)
PARITY_COMPAT_MASK(__hge2, x >= y)
PARITY_COMPAT_MASK(__hlt2, x < y)
PARITY_COMPAT_MASK(__hgt2, x > y)
#define PARITY_COMPAT_UNORDERED(name, expression) \
    PARITY_COMPAT_MASK(name, expression)          \
    PARITY_COMPAT_COMPARE(name, expression)
PARITY_COMPAT_UNORDERED(__hequ2, !(x < y || x > y))
PARITY_COMPAT_UNORDERED(__hneu2, x != y)
PARITY_COMPAT_UNORDERED(__hleu2, !(x > y))
PARITY_COMPAT_UNORDERED(__hgeu2, !(x < y))
PARITY_COMPAT_UNORDERED(__hltu2, !(x >= y))
PARITY_COMPAT_UNORDERED(__hgtu2, !(x <= y))
#undef PARITY_COMPAT_UNORDERED
#undef PARITY_COMPAT_COMPARE
#undef PARITY_COMPAT_MASK
#undef PARITY_COMPAT_HOLDS

// HIP 6.2 cannot shuffle these types. Its __shfl_sync calls this function.
#define PARITY_COMPAT_SHUFFLE(name, T, Which)                                            \
    PARITY_COMPAT T name(T value, Which which, int width = warpSize) {                   \
        int word = 0;                                                                    \
        __builtin_memcpy(&word, &value, sizeof(T));                                      \
        word = name(word, which, width);                                                 \
        __builtin_memcpy(&value, &word, sizeof(T));                                      \
        return value;                                                                    \
    }
#define PARITY_COMPAT_SHUFFLES(T)                      \
    PARITY_COMPAT_SHUFFLE(__shfl, T, int)              \
    PARITY_COMPAT_SHUFFLE(__shfl_up, T, unsigned)      \
    PARITY_COMPAT_SHUFFLE(__shfl_down, T, unsigned)    \
    PARITY_COMPAT_SHUFFLE(__shfl_xor, T, int)
PARITY_COMPAT_SHUFFLES(__hip_bfloat16)
PARITY_COMPAT_SHUFFLES(__hip_bfloat162)
#undef PARITY_COMPAT_SHUFFLES
#undef PARITY_COMPAT_SHUFFLE
