// Conversions between element types: to_<type>(x).
//
// In C, a cast from float to integer is undefined outside the target's range, and the vendors differ there and for NaN.
// These functions implement the results of CUDA's conversion instructions (PTX ISA, "cvt"). Conversions to float types
// round once, to nearest, ties to even, and keep NaN. Arithmetic reads an f8_e4m3 as an f32.
#pragma once

#include "dtypes.cuh"

__device__ inline f32 to_f32(u8 x) { return x; }
__device__ inline f32 to_f32(u32 x) { return f32(x); }
__device__ inline f32 to_f32(i32 x) { return f32(x); }
__device__ inline f32 to_f32(i64 x) { return f32(x); }
__device__ inline f32 to_f32(f16 x) { return __half2float(x); }
__device__ inline f32 to_f32(bf16 x) { return __bfloat162float(x); }
__device__ inline f32 to_f32(f32 x) { return x; }
__device__ inline f32 to_f32(f64 x) { return f32(x); }

__device__ inline f64 to_f64(u8 x) { return x; }
__device__ inline f64 to_f64(u32 x) { return x; }
__device__ inline f64 to_f64(i64 x) { return f64(x); }
__device__ inline f64 to_f64(f16 x) { return to_f32(x); }
__device__ inline f64 to_f64(bf16 x) { return to_f32(x); }
__device__ inline f64 to_f64(f32 x) { return x; }
__device__ inline f64 to_f64(f64 x) { return x; }

/**
 * Rounds to odd: returns x if f32 can represent it, otherwise the neighbor with an odd significand. Rounding the result
 * again, to at most 22 bits, equals rounding x once (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded
 * sums"). Rounding through the nearest f32 could create a tie that x is not.
 */
__device__ inline f32 round_to_odd(f64 x) {
    const f32 nearest = f32(x);
    const u32 bits = __float_as_uint(nearest);
    const f64 magnitude = fabs(x), rounded = fabs(f64(nearest));
    const bool even = (bits & 1) == 0;
    if (even && rounded > magnitude) return __uint_as_float(bits - 1);
    if (even && rounded < magnitude) return __uint_as_float(bits + 1);
    return nearest;
}

__device__ inline f16 to_f16(f16 x) { return x; }
__device__ inline f16 to_f16(f32 x) { return __float2half(x); }
__device__ inline f16 to_f16(f64 x) { return to_f16(round_to_odd(x)); }
__device__ inline f16 to_f16(bf16 x) { return to_f16(to_f32(x)); }
__device__ inline f16 to_f16(u8 x) { return to_f16(to_f32(x)); }
// Rounds once: the f32 is exact below 2^24, and the result is infinite from 65520 on.
__device__ inline f16 to_f16(u32 x) { return to_f16(to_f32(x)); }

__device__ inline bf16 to_bf16(bf16 x) { return x; }
__device__ inline bf16 to_bf16(f32 x) { return __float2bfloat16(x); }
__device__ inline bf16 to_bf16(f64 x) { return to_bf16(round_to_odd(x)); }
__device__ inline bf16 to_bf16(f16 x) { return to_bf16(to_f32(x)); }
__device__ inline bf16 to_bf16(u8 x) { return to_bf16(to_f32(x)); }
__device__ inline bf16 to_bf16(u32 x) { return to_bf16(to_f64(x)); }

__device__ inline f8_e4m3 to_f8_e4m3(f8_e4m3 x) { return x; }
/** Converts through f32, as the original kernels do, so that an f64 rounds twice. */
template <class S>
__device__ __forceinline__ f8_e4m3 to_f8_e4m3(S x) {
    return to_f32(x);
}

/** Truncates and saturates. NaN and negative values return 0. */
template <class F>
__device__ __forceinline__ u32 saturated_u32(F x) {
    if (!(x >= F(1))) return 0;
    return x < F(4294967296.0) ? u32(x) : 0xffffffffu;
}

/** Truncates and saturates. NaN and values below the range return the smallest integer. */
template <class F>
__device__ __forceinline__ i64 saturated_i64(F x) {
    const F limit = F(9223372036854775808.0);
    if (!(x >= -limit)) return i64(1ull << 63);
    return x < limit ? i64(x) : i64(~(1ull << 63));
}

__device__ inline u32 to_u32(u8 x) { return x; }
__device__ inline u32 to_u32(u32 x) { return x; }
__device__ inline u32 to_u32(i64 x) { return u32(x); }
__device__ inline u32 to_u32(f32 x) { return saturated_u32(x); }
__device__ inline u32 to_u32(f16 x) { return to_u32(to_f32(x)); }
__device__ inline u32 to_u32(bf16 x) { return to_u32(to_f32(x)); }
// The PTX conversion returns 0x80000000 for an f64 NaN and 0 for an f32 NaN.
__device__ inline u32 to_u32(f64 x) { return x != x ? 0x80000000u : saturated_u32(x); }

// Every f8 is in range.
__device__ inline i32 to_i32(f8_e4m3 x) { return x == x ? i32(x) : 0; }

__device__ inline i64 to_i64(u8 x) { return x; }
__device__ inline i64 to_i64(u32 x) { return x; }
__device__ inline i64 to_i64(i64 x) { return x; }
__device__ inline i64 to_i64(f32 x) { return saturated_i64(x); }
__device__ inline i64 to_i64(f64 x) { return saturated_i64(x); }

/** Converts float types through u32 and keeps the low byte: 256 gives 0, 300 gives 44, infinity 255, negatives 0. */
template <class S>
__device__ __forceinline__ u8 to_u8(S x) {
    return u8(to_u32(x));
}
