// Conversions between element types: to_<type>(x).
//
// A C cast from float to integer is undefined outside of the target's range, and the vendors differ there and for NaN.
// These functions spell out what CUDA's conversion instructions give (PTX ISA, "cvt"). Conversions to float types round
// once, to nearest, ties to even; NaN stays NaN. An f8_e4m3 is an f32 wherever it is read.
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
 * Rounds to odd: to the f32 that is equal, else to the neighbour with an odd significand. Rounding the result again, to
 * at most 22 bits, gives what rounding x at once gives (Boldo and Melquiond 2008, "Emulation of FMA and correctly
 * rounded sums"). By way of the nearest f32 a tie could arise that x is not.
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
// Rounds once: below 2^24 the f32 is exact, and from 65520 on the result is infinite anyway.
__device__ inline f16 to_f16(u32 x) { return to_f16(to_f32(x)); }

__device__ inline bf16 to_bf16(bf16 x) { return x; }
__device__ inline bf16 to_bf16(f32 x) { return __float2bfloat16(x); }
__device__ inline bf16 to_bf16(f64 x) { return to_bf16(round_to_odd(x)); }
__device__ inline bf16 to_bf16(f16 x) { return to_bf16(to_f32(x)); }
__device__ inline bf16 to_bf16(u8 x) { return to_bf16(to_f32(x)); }
__device__ inline bf16 to_bf16(u32 x) { return to_bf16(to_f64(x)); }

__device__ inline f8_e4m3 to_f8_e4m3(f8_e4m3 x) { return x; }
/** By way of f32, as the kernels under test do it: an f64 rounds twice. */
template <class S>
__device__ __forceinline__ f8_e4m3 to_f8_e4m3(S x) {
    return to_f32(x);
}

/** Truncates and saturates; NaN, like everything below 1, gives 0. */
template <class F>
__device__ __forceinline__ u32 saturated_u32(F x) {
    if (!(x >= F(1))) return 0;
    return x < F(4294967296.0) ? u32(x) : 0xffffffffu;
}

/** Truncates and saturates; NaN, like everything below the range, gives the smallest integer. */
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
// The PTX conversion gives 0x80000000 for a NaN of type f64, and 0 for one of type f32.
__device__ inline u32 to_u32(f64 x) { return x != x ? 0x80000000u : saturated_u32(x); }

// No f8 is out of range.
__device__ inline i32 to_i32(f8_e4m3 x) { return x == x ? i32(x) : 0; }

__device__ inline i64 to_i64(u8 x) { return x; }
__device__ inline i64 to_i64(u32 x) { return x; }
__device__ inline i64 to_i64(i64 x) { return x; }
__device__ inline i64 to_i64(f32 x) { return saturated_i64(x); }
__device__ inline i64 to_i64(f64 x) { return saturated_i64(x); }

/** From float types by way of u32, keeping the low byte: 256 gives 0, 300 gives 44, infinity 255, negatives 0. */
template <class S>
__device__ __forceinline__ u8 to_u8(S x) {
    return u8(to_u32(x));
}
