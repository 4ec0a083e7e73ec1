// Arithmetic and mathematical functions, under one name for all element types.
//
// f16 and bf16: arithmetic operators round to the type. Mathematical functions compute in f32 and round once, because
// the vendors' intrinsics for half types round differently. f8_e4m3 does not have arithmetic: it widens to f32, in
// which the whole expression is computed.
#pragma once

#include "convert.cuh"

/** Rounds a constant to T. */
template <class T> __device__ __forceinline__ T constant(f64 value);
template <> __device__ __forceinline__ f16 constant<f16>(f64 value) { return to_f16(value); }
template <> __device__ __forceinline__ bf16 constant<bf16>(f64 value) { return to_bf16(value); }
template <> __device__ __forceinline__ f32 constant<f32>(f64 value) { return to_f32(value); }
template <> __device__ __forceinline__ f64 constant<f64>(f64 value) { return value; }

namespace math {

#define FUNCTION(name, name_f32, name_f64)                                                  \
    __device__ __forceinline__ f16 name(f16 x) { return to_f16(::name_f32(to_f32(x))); }    \
    __device__ __forceinline__ bf16 name(bf16 x) { return to_bf16(::name_f32(to_f32(x))); } \
    __device__ __forceinline__ f32 name(f32 x) { return ::name_f32(x); }                    \
    __device__ __forceinline__ f64 name(f64 x) { return ::name_f64(x); }
FUNCTION(abs, fabsf, fabs)
FUNCTION(ceil, ceilf, ceil)
FUNCTION(cos, cosf, cos)
FUNCTION(erf, erff, erf)
FUNCTION(exp, expf, exp)
FUNCTION(floor, floorf, floor)
FUNCTION(log, logf, log)
FUNCTION(normcdf, normcdff, normcdf)
FUNCTION(round, roundf, round)
FUNCTION(sin, sinf, sin)
FUNCTION(sqrt, sqrtf, sqrt)
FUNCTION(tanh, tanhf, tanh)
#undef FUNCTION

__device__ __forceinline__ f32 pow(f32 x, f32 y) { return ::powf(x, y); }
__device__ __forceinline__ f64 pow(f64 x, f64 y) { return ::pow(x, y); }
__device__ __forceinline__ f16 pow(f16 x, f16 y) { return to_f16(::powf(to_f32(x), to_f32(y))); }
__device__ __forceinline__ bf16 pow(bf16 x, bf16 y) { return to_bf16(::powf(to_f32(x), to_f32(y))); }

// The f32 quotient has more than twice the bits of a half type, so rounding it once more is exact. Clang would narrow a
// rounded quotient to an f16 division, and turn 1/x into an approximate reciprocal. This conditional, which returns a
// NaN for a NaN, prevents that.
__device__ __forceinline__ f32 unnarrowed(f32 x) { return x == x ? x : __uint_as_float(0x7fffffffu); }

__device__ __forceinline__ f32 divide(f32 x, f32 y) { return x / y; }
__device__ __forceinline__ f64 divide(f64 x, f64 y) { return x / y; }
__device__ __forceinline__ f16 divide(f16 x, f16 y) { return to_f16(unnarrowed(to_f32(x) / to_f32(y))); }
__device__ __forceinline__ bf16 divide(bf16 x, bf16 y) { return to_bf16(to_f32(x) / to_f32(y)); }

// f32 and f64 ignore a NaN if the other operand is a number; half types propagate it.
#define EXTREMUM(name, name_f32, name_f64)                                                                             \
    __device__ __forceinline__ f32 propagating_##name(f32 x, f32 y) {                                                  \
        return x != x ? x : y != y ? y : ::name_f32(x, y);                                                             \
    }                                                                                                                  \
    __device__ __forceinline__ f16 name(f16 x, f16 y) { return to_f16(propagating_##name(to_f32(x), to_f32(y))); }     \
    __device__ __forceinline__ bf16 name(bf16 x, bf16 y) { return to_bf16(propagating_##name(to_f32(x), to_f32(y))); } \
    __device__ __forceinline__ f32 name(f32 x, f32 y) { return ::name_f32(x, y); }                                     \
    __device__ __forceinline__ f64 name(f64 x, f64 y) { return ::name_f64(x, y); }
EXTREMUM(maximum, fmaxf, fmax)
EXTREMUM(minimum, fminf, fmin)
#undef EXTREMUM

}  // namespace math

// Integers wrap. The low bits of sums and products modulo 2^64 are the results modulo 2^8, 2^16 and 2^32, and unsigned
// arithmetic avoids signed overflow, which is undefined.
namespace wrapping {

template <class T> __device__ __forceinline__ T add(T x, T y) { return T(uint64_t(x) + uint64_t(y)); }
template <class T> __device__ __forceinline__ T sub(T x, T y) { return T(uint64_t(x) - uint64_t(y)); }
template <class T> __device__ __forceinline__ T mul(T x, T y) { return T(uint64_t(x) * uint64_t(y)); }

/** Truncates toward zero. Division by zero, which neither vendor defines, returns 0; MIN / -1 wraps to MIN. */
template <class T> __device__ __forceinline__ T div(T x, T y) {
    if (y == 0) return 0;
    if (T(~T(0)) < T(0) && y == T(~T(0))) return sub(T(0), x);
    return x / y;
}

template <class T> __device__ __forceinline__ T maximum(T x, T y) { return x > y ? x : y; }
template <class T> __device__ __forceinline__ T minimum(T x, T y) { return x < y ? x : y; }

}  // namespace wrapping
