// CUDA's and HIP's device mathematics. Transcendental functions come from AMD's device library (ocml.bc, linked as
// bitcode). Bit operations and other short exact operations use compiler builtins.
#pragma once

#include <hip/host_defines.h>

#define HUGE_VALF __builtin_huge_valf()
#define HUGE_VAL __builtin_huge_val()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

// Each C library function `name` defines name##f(float), name(double) and the C++ overload name(float).
#define __HIP_OCML1(name, ocml)                                                      \
    extern "C" __device__ __attribute__((const)) float __ocml_##ocml##_f32(float);   \
    extern "C" __device__ __attribute__((const)) double __ocml_##ocml##_f64(double); \
    __HIP_INLINE__ float name##f(float x) { return __ocml_##ocml##_f32(x); }         \
    __HIP_INLINE__ float name(float x) { return __ocml_##ocml##_f32(x); }            \
    __HIP_INLINE__ double name(double x) { return __ocml_##ocml##_f64(x); }

#define __HIP_OCML2(name, ocml)                                                              \
    extern "C" __device__ __attribute__((const)) float __ocml_##ocml##_f32(float, float);    \
    extern "C" __device__ __attribute__((const)) double __ocml_##ocml##_f64(double, double); \
    __HIP_INLINE__ float name##f(float x, float y) { return __ocml_##ocml##_f32(x, y); }     \
    __HIP_INLINE__ float name(float x, float y) { return __ocml_##ocml##_f32(x, y); }        \
    __HIP_INLINE__ double name(double x, double y) { return __ocml_##ocml##_f64(x, y); }

#define __HIP_BUILTIN1(name)                                                 \
    __HIP_INLINE__ float name##f(float x) { return __builtin_##name##f(x); } \
    __HIP_INLINE__ float name(float x) { return __builtin_##name##f(x); }    \
    __HIP_INLINE__ double name(double x) { return __builtin_##name(x); }

#define __HIP_BUILTIN2(name)                                                             \
    __HIP_INLINE__ float name##f(float x, float y) { return __builtin_##name##f(x, y); } \
    __HIP_INLINE__ float name(float x, float y) { return __builtin_##name##f(x, y); }    \
    __HIP_INLINE__ double name(double x, double y) { return __builtin_##name(x, y); }

__HIP_OCML1(acos, acos)
__HIP_OCML1(acosh, acosh)
__HIP_OCML1(asin, asin)
__HIP_OCML1(asinh, asinh)
__HIP_OCML1(atan, atan)
__HIP_OCML1(atanh, atanh)
__HIP_OCML1(cbrt, cbrt)
__HIP_OCML1(cos, cos)
__HIP_OCML1(cosh, cosh)
__HIP_OCML1(cospi, cospi)
__HIP_OCML1(erf, erf)
__HIP_OCML1(erfc, erfc)
__HIP_OCML1(erfcinv, erfcinv)
__HIP_OCML1(erfcx, erfcx)
__HIP_OCML1(erfinv, erfinv)
__HIP_OCML1(exp, exp)
__HIP_OCML1(exp10, exp10)
__HIP_OCML1(exp2, exp2)
__HIP_OCML1(expm1, expm1)
__HIP_OCML1(lgamma, lgamma)
__HIP_OCML1(log, log)
__HIP_OCML1(log10, log10)
__HIP_OCML1(log1p, log1p)
__HIP_OCML1(log2, log2)
__HIP_OCML1(normcdf, ncdf)
__HIP_OCML1(normcdfinv, ncdfinv)
__HIP_OCML1(rsqrt, rsqrt)
__HIP_OCML1(sin, sin)
__HIP_OCML1(sinh, sinh)
__HIP_OCML1(sinpi, sinpi)
__HIP_OCML1(tan, tan)
__HIP_OCML1(tanh, tanh)
__HIP_OCML1(tgamma, tgamma)
__HIP_OCML2(atan2, atan2)
__HIP_OCML2(fdim, fdim)
__HIP_OCML2(fmod, fmod)
__HIP_OCML2(hypot, hypot)
__HIP_OCML2(nextafter, nextafter)
__HIP_OCML2(pow, pow)
__HIP_OCML2(remainder, remainder)

__HIP_BUILTIN1(ceil)
__HIP_BUILTIN1(fabs)
__HIP_BUILTIN1(floor)
__HIP_BUILTIN1(nearbyint)
__HIP_BUILTIN1(rint)
__HIP_BUILTIN1(round)
__HIP_BUILTIN1(sqrt)
__HIP_BUILTIN1(trunc)
__HIP_BUILTIN2(copysign)
__HIP_BUILTIN2(fmax)
__HIP_BUILTIN2(fmin)

#undef __HIP_OCML1
#undef __HIP_OCML2
#undef __HIP_BUILTIN1
#undef __HIP_BUILTIN2

__HIP_INLINE__ float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__HIP_INLINE__ float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__HIP_INLINE__ double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

__HIP_INLINE__ int abs(int x) { return x < 0 ? -x : x; }
__HIP_INLINE__ float abs(float x) { return __builtin_fabsf(x); }
__HIP_INLINE__ double abs(double x) { return __builtin_fabs(x); }

#define __HIP_CLASSIFY(T)                                               \
    __HIP_INLINE__ bool isnan(T x) { return __builtin_isnan(x); }       \
    __HIP_INLINE__ bool isinf(T x) { return __builtin_isinf(x); }       \
    __HIP_INLINE__ bool isfinite(T x) { return __builtin_isfinite(x); } \
    __HIP_INLINE__ bool signbit(T x) { return __builtin_signbit(x); }
__HIP_CLASSIFY(float)
__HIP_CLASSIFY(double)
#undef __HIP_CLASSIFY

#define __HIP_MINMAX(T, smaller, larger)               \
    __HIP_INLINE__ T min(T x, T y) { return smaller; } \
    __HIP_INLINE__ T max(T x, T y) { return larger; }
__HIP_MINMAX(int, y < x ? y : x, x < y ? y : x)
__HIP_MINMAX(unsigned, y < x ? y : x, x < y ? y : x)
__HIP_MINMAX(long, y < x ? y : x, x < y ? y : x)
__HIP_MINMAX(unsigned long, y < x ? y : x, x < y ? y : x)
__HIP_MINMAX(long long, y < x ? y : x, x < y ? y : x)
__HIP_MINMAX(unsigned long long, y < x ? y : x, x < y ? y : x)
__HIP_MINMAX(float, __builtin_fminf(x, y), __builtin_fmaxf(x, y))
__HIP_MINMAX(double, __builtin_fmin(x, y), __builtin_fmax(x, y))
#undef __HIP_MINMAX

__HIP_INLINE__ unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__HIP_INLINE__ int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__HIP_INLINE__ float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__HIP_INLINE__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__HIP_INLINE__ long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__HIP_INLINE__ double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

__HIP_INLINE__ int __popc(unsigned x) { return __builtin_popcount(x); }
__HIP_INLINE__ int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__HIP_INLINE__ int __clz(int x) { return x ? __builtin_clz(x) : 32; }
__HIP_INLINE__ int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
__HIP_INLINE__ int __ffs(int x) { return __builtin_ffs(x); }
__HIP_INLINE__ int __ffsll(long long x) { return __builtin_ffsll(x); }
__HIP_INLINE__ unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__HIP_INLINE__ unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
