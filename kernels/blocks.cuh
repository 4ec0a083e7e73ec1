// The block formats of quantized weights, and of the activations that they are multiplied with.
//
// A block holds VALUES weights of a row in BYTES bytes, at addresses that are multiples of ALIGN. Every GROUP of them
// share a scale, and in some formats a minimum: a weight is scale * (q - BIAS) - minimum, where q is a small integer.
// Four such q make a quad: a word with one of them in each byte, in the order of the row.
//
// The quads of one word of the block lie in PLANES planes, STRIDE quads apart: in the low and the high half of its bytes
// for 4 bits, for example.
#pragma once

#include "elementwise.cuh"
#include "packed.cuh"

/** How an activation enters where a weight has a minimum or a bias, in a product with blocks of q8_1. */
enum class Offset {
    NONE,   // not at all: the bias is taken off each q
    SUM,    // by the sum of its quants
    WHOLE,  // by the sum before it was quantized, which its block holds
};

/** Blocks of 32 with one scale. */
template <u32 SIZE, u32 SHIFT>
struct Simple {
    static constexpr u32 VALUES = 32, BYTES = SIZE, ALIGN = SIZE % 4 ? 2 : 4, GROUP = 32;
    static constexpr u32 PLANES = 2, STRIDE = 4;
    static constexpr i32 BIAS = 0;
    static constexpr bool MINIMUM = false;
    static constexpr Offset VECTOR = Offset::WHOLE, MATRIX = Offset::WHOLE;

    static __device__ __forceinline__ f32 scale(const u8* block, u32) { return half_at(block); }
    static __device__ __forceinline__ f32 minimum(const u8* block, u32) { return -half_at(block + 2); }
    /** Four bits of each byte of the quants, which are at SHIFT: those of quads 0 to 3 are low, of 4 to 7 high. */
    static __device__ __forceinline__ u32 nibbles(const u8* block, u32 quad) {
        return word<ALIGN>(block + SHIFT + quad % 4 * 4) >> quad / 4 * 4 & 15 * ONES;
    }
    /** The fifth bits of a quad, of the 32 at SHIFT - 4. */
    static __device__ __forceinline__ u32 fifth_bits(const u8* block, u32 quad) {
        return bit_per_byte<4>(word<ALIGN>(block + SHIFT - 4) >> quad * 4);
    }
};

struct q4_0 : Simple<18, 2> {
    static constexpr i32 BIAS = 8;
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) { return nibbles(block, n); }
};

struct q4_1 : Simple<20, 4> {
    static constexpr bool MINIMUM = true;
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) { return nibbles(block, n); }
};

struct q5_0 : Simple<22, 6> {
    static constexpr i32 BIAS = 16;
    static constexpr Offset MATRIX = Offset::NONE;
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) { return nibbles(block, n) | fifth_bits(block, n); }
};

struct q5_1 : Simple<24, 8> {
    static constexpr bool MINIMUM = true;
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) { return nibbles(block, n) | fifth_bits(block, n); }
};

struct q8_0 : Simple<34, 2> {
    static constexpr u32 PLANES = 1, STRIDE = 8;
    static constexpr Offset VECTOR = Offset::NONE, MATRIX = Offset::NONE;
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) { return word<ALIGN>(block + 2 + n * 4); }
};

/** Blocks of 256. */
template <u32 SIZE, u32 VALUES_PER_SCALE>
struct Super {
    static constexpr u32 VALUES = 256, BYTES = SIZE, ALIGN = SIZE % 4 ? 2 : 4, GROUP = VALUES_PER_SCALE;
    static constexpr i32 BIAS = 0;
    static constexpr bool MINIMUM = false;
    static constexpr Offset VECTOR = Offset::NONE, MATRIX = Offset::NONE;

    static __device__ __forceinline__ f32 minimum(const u8*, u32) { return 0; }
    /** Two bits of each byte of the quants at p: 32 bytes hold the quads n of four planes. */
    static __device__ __forceinline__ u32 pairs(const u8* p, u32 n) {
        return word<ALIGN>(p + n / 32 * 32 + n % 8 * 4) >> n / 8 % 4 * 2 & 3 * ONES;
    }
};

struct q2_K : Super<84, 16> {
    static constexpr u32 PLANES = 4, STRIDE = 8;
    static constexpr bool MINIMUM = true;
    static constexpr Offset VECTOR = Offset::SUM, MATRIX = Offset::SUM;
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) { return pairs(block + 16, n); }
    static __device__ __forceinline__ f32 scale(const u8* block, u32 group) {
        return half_at(block + 80) * f32(block[group] & 15);
    }
    static __device__ __forceinline__ f32 minimum(const u8* block, u32 group) {
        return half_at(block + 82) * f32(block[group] >> 4);
    }
};

struct q3_K : Super<110, 16> {
    static constexpr u32 PLANES = 4, STRIDE = 8;
    static constexpr i32 BIAS = 4;
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) {
        const u32 third_bits = word<ALIGN>(block + n % 8 * 4) >> n / 8 & ONES;
        return pairs(block + 32, n) | third_bits << 2;
    }
    static __device__ __forceinline__ f32 scale(const u8* block, u32 group) {
        const u32 low = block[96 + group % 8] >> group / 8 * 4 & 15, high = block[104 + group % 4] >> group / 4 * 2 & 3;
        return half_at(block + 108) * f32(i32(low | high << 4) - 32);
    }
};

/** The formats with 4 and 5 bits. */
template <u32 SIZE>
struct Wide : Super<SIZE, 32> {
    using Super<SIZE, 32>::ALIGN;
    static constexpr u32 PLANES = 2, STRIDE = 8;
    static constexpr bool MINIMUM = true;
    static constexpr Offset VECTOR = Offset::SUM, MATRIX = Offset::WHOLE;

    /** Six bits of the 12 bytes at block[4]: the scale of a group, or its minimum (`second`). */
    static __device__ __forceinline__ u32 six_bits(const u8* block, u32 group, u32 second) {
        const u8 *scales = block + 4, first = scales[group % 4 + second * 4];
        if (group < 4) return first & 63;
        return (scales[group + 4] >> second * 4 & 15) | first >> 6 << 4;
    }
    static __device__ __forceinline__ f32 scale(const u8* block, u32 group) {
        return half_at(block) * f32(six_bits(block, group, 0));
    }
    static __device__ __forceinline__ f32 minimum(const u8* block, u32 group) {
        return half_at(block + 2) * f32(six_bits(block, group, 1));
    }
    /** Four bits of each byte of the quants at p: 32 bytes hold the quads n of two planes. */
    static __device__ __forceinline__ u32 nibbles(const u8* p, u32 n) {
        return word<ALIGN>(p + n / 16 * 32 + n % 8 * 4) >> n / 8 % 2 * 4 & 15 * ONES;
    }
};

struct q4_K : Wide<144> {
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) { return nibbles(block + 16, n); }
};

struct q5_K : Wide<176> {
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) {
        const u32 fifth_bits = word<ALIGN>(block + 16 + n % 8 * 4) >> n / 8 & ONES;
        return nibbles(block + 48, n) | fifth_bits << 4;
    }
};

struct q6_K : Super<210, 16> {
    static constexpr u32 PLANES = 2, STRIDE = 16;
    static constexpr i32 BIAS = 32;
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) {
        const u32 low = word<ALIGN>(block + n / 32 * 64 + n % 16 * 4) >> n / 16 % 2 * 4 & 15 * ONES;
        return low | pairs(block + 128, n) << 4;
    }
    static __device__ __forceinline__ f32 scale(const u8* block, u32 group) {
        return half_at(block + 208) * f32(int8_t(block[192 + group]));
    }
};

struct q8_K : Super<292, 256> {
    static constexpr u32 PLANES = 1, STRIDE = 64;
    static __device__ __forceinline__ u32 quad(const u8* block, u32 n) { return word<ALIGN>(block + 4 + n * 4); }
    static __device__ __forceinline__ f32 scale(const u8* block, u32) { return *reinterpret_cast<const f32*>(block); }
};

/** A block of 32 activations: its scale, the sum of the activations before they were quantized, and their quants. */
struct q8_1 {
    f16 d, s;
    u32 quads[8];
};

/** The four weights of a quad, in f32. They round once, and only where there is a minimum or a scale in f32. */
template <class F>
__device__ __forceinline__ Vector<f32, 4> weights(const u8* block, u32 n) {
    const u32 quad = F::quad(block, n), group = n * 4 / F::GROUP;
    const f32 scale = F::scale(block, group), minimum = F::MINIMUM ? F::minimum(block, group) : 0;
    Vector<f32, 4> values;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        const f32 product = scale * f32(signed_byte(quad, k) - F::BIAS);
        values.of[k] = F::MINIMUM ? product - minimum : product;
    }
    return values;
}
