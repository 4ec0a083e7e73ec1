// `__hip_bfloat16`, with the operators and conversions of <cuda_bf16.h>. Values are stored as 16 bits. Operators
// compute in float and round once; clang's __bf16 keeps float precision within an expression instead. binary32 has more
// than twice the precision of bfloat16, so + - * / are correctly rounded.
#pragma once

#include <hip/host_defines.h>
#include <hip/math_functions.h>

struct __hip_bfloat16 {
    unsigned short __x;

    __hip_bfloat16() = default;
    __device__ __forceinline__ __hip_bfloat16(float value) {
        const unsigned bits = __float_as_uint(value);
        const unsigned nearest_even = bits + 0x7fffu + (bits >> 16 & 1u);
        __x = (value != value ? bits | 0x400000u : nearest_even) >> 16;
    }
    __device__ __forceinline__ operator float() const { return __uint_as_float(static_cast<unsigned>(__x) << 16); }
};

#define __HIP_BF16_ARITHMETIC(op)                                                                                  \
    __HIP_INLINE__ __hip_bfloat16 operator op(__hip_bfloat16 x, __hip_bfloat16 y) { return float(x) op float(y); } \
    __HIP_INLINE__ __hip_bfloat16& operator op##=(__hip_bfloat16& x, __hip_bfloat16 y) { return x = x op y; }
#define __HIP_BF16_COMPARISON(op) \
    __HIP_INLINE__ bool operator op(__hip_bfloat16 x, __hip_bfloat16 y) { return float(x) op float(y); }
__HIP_BF16_ARITHMETIC(+)
__HIP_BF16_ARITHMETIC(-)
__HIP_BF16_ARITHMETIC(*)
__HIP_BF16_ARITHMETIC(/)
__HIP_BF16_COMPARISON(==)
__HIP_BF16_COMPARISON(!=)
__HIP_BF16_COMPARISON(<)
__HIP_BF16_COMPARISON(<=)
__HIP_BF16_COMPARISON(>)
__HIP_BF16_COMPARISON(>=)
#undef __HIP_BF16_ARITHMETIC
#undef __HIP_BF16_COMPARISON

__HIP_INLINE__ float __bfloat162float(__hip_bfloat16 x) { return x; }
__HIP_INLINE__ __hip_bfloat16 __float2bfloat16(float x) { return x; }
__HIP_INLINE__ __hip_bfloat16 __float2bfloat16_rn(float x) { return x; }
__HIP_INLINE__ unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.__x; }
__HIP_INLINE__ __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __builtin_bit_cast(__hip_bfloat16, x); }

__HIP_INLINE__ bool __hisnan(__hip_bfloat16 x) { return (x.__x & 0x7fffu) > 0x7f80u; }
__HIP_INLINE__ __hip_bfloat16 __habs(__hip_bfloat16 x) { return __ushort_as_bfloat16(x.__x & 0x7fffu); }
__HIP_INLINE__ __hip_bfloat16 __hneg(__hip_bfloat16 x) { return __ushort_as_bfloat16(x.__x ^ 0x8000u); }
__HIP_INLINE__ __hip_bfloat16 operator+(__hip_bfloat16 x) { return x; }
__HIP_INLINE__ __hip_bfloat16 operator-(__hip_bfloat16 x) { return __hneg(x); }
__HIP_INLINE__ __hip_bfloat16 __hadd(__hip_bfloat16 x, __hip_bfloat16 y) { return x + y; }
__HIP_INLINE__ __hip_bfloat16 __hsub(__hip_bfloat16 x, __hip_bfloat16 y) { return x - y; }
__HIP_INLINE__ __hip_bfloat16 __hmul(__hip_bfloat16 x, __hip_bfloat16 y) { return x * y; }
__HIP_INLINE__ __hip_bfloat16 __hdiv(__hip_bfloat16 x, __hip_bfloat16 y) { return x / y; }
