// `__half`, IEEE binary16, with the operators and conversions of <cuda_fp16.h>. The hardware computes in binary16, so
// every operator rounds to the type. The compiler may contract a product and a sum to an fma.
#pragma once

#include <hip/host_defines.h>
#include <hip/math_functions.h>

struct __half {
    _Float16 data;

    __half() = default;
    __device__ __forceinline__ constexpr __half(_Float16 x) : data(x) {}
    __device__ __forceinline__ constexpr __half(float x) : data(static_cast<_Float16>(x)) {}
    __device__ __forceinline__ constexpr __half(double x) : data(static_cast<_Float16>(x)) {}
    __device__ __forceinline__ constexpr __half(int x) : data(static_cast<_Float16>(x)) {}
    __device__ __forceinline__ constexpr __half(unsigned x) : data(static_cast<_Float16>(x)) {}
    __device__ __forceinline__ constexpr operator float() const { return data; }
};
typedef __half half;

#define __HIP_HALF_ARITHMETIC(op)                                                      \
    __HIP_INLINE__ __half operator op(__half x, __half y) { return x.data op y.data; } \
    __HIP_INLINE__ __half& operator op##=(__half& x, __half y) { return x = x op y; }
#define __HIP_HALF_COMPARISON(op) \
    __HIP_INLINE__ bool operator op(__half x, __half y) { return x.data op y.data; }
__HIP_HALF_ARITHMETIC(+)
__HIP_HALF_ARITHMETIC(-)
__HIP_HALF_ARITHMETIC(*)
__HIP_HALF_ARITHMETIC(/)
__HIP_HALF_COMPARISON(==)
__HIP_HALF_COMPARISON(!=)
__HIP_HALF_COMPARISON(<)
__HIP_HALF_COMPARISON(<=)
__HIP_HALF_COMPARISON(>)
__HIP_HALF_COMPARISON(>=)
#undef __HIP_HALF_ARITHMETIC
#undef __HIP_HALF_COMPARISON
__HIP_INLINE__ __half operator+(__half x) { return x; }
__HIP_INLINE__ __half operator-(__half x) { return -x.data; }

__HIP_INLINE__ float __half2float(__half x) { return x.data; }
__HIP_INLINE__ __half __float2half(float x) { return x; }
__HIP_INLINE__ __half __float2half_rn(float x) { return x; }
__HIP_INLINE__ __half __double2half(double x) { return x; }
__HIP_INLINE__ unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x); }
__HIP_INLINE__ __half __ushort_as_half(unsigned short x) { return __builtin_bit_cast(__half, x); }

__HIP_INLINE__ bool __hisnan(__half x) { return __builtin_isnan(x.data); }
__HIP_INLINE__ __half __habs(__half x) { return __builtin_fabsf16(x.data); }
__HIP_INLINE__ __half __hneg(__half x) { return -x; }
__HIP_INLINE__ __half __hadd(__half x, __half y) { return x + y; }
__HIP_INLINE__ __half __hsub(__half x, __half y) { return x - y; }
__HIP_INLINE__ __half __hmul(__half x, __half y) { return x * y; }
__HIP_INLINE__ __half __hdiv(__half x, __half y) { return x / y; }
__HIP_INLINE__ __half __hfma(__half x, __half y, __half z) { return __builtin_fmaf16(x.data, y.data, z.data); }
