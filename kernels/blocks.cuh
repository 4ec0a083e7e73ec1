// The block formats of quantized weights, and of the activations that they are multiplied with.
//
// A block holds VALUES weights of a row in BYTES bytes, at addresses that are multiples of ALIGN. Every GROUP of them
// share a scale, and in some formats a minimum: a weight is scale * (q - BIAS) - minimum, where q is a small integer.
// Four such q make a quad: a word with one of them in each byte, in the order of the row.
//
// The low bits of the q lie in words from byte QUANTS on. Such a word has one quad in each of PLANES planes, which are
// STRIDE quads apart: one in the low and one in the high halves of its bytes, for example. So STRIDE words make a chunk
// of PLANES * STRIDE quads.
#pragma once

#include "elementwise.cuh"
#include "packed.cuh"

/** How an activation enters where a weight has a minimum or a bias, in a product with blocks of q8_1. */
enum class Offset {
    NONE,   // not at all: the bias is taken off each q
    SUM,    // by the sum of its quants
    WHOLE,  // by the sum before it was quantized, which its block holds
};

/** What the formats have in common, unless they say otherwise. */
template <u32 VALUES_, u32 BYTES_, u32 GROUP_, u32 QUANTS_, u32 PLANES_, u32 STRIDE_>
struct Format {
    static constexpr u32 VALUES = VALUES_, BYTES = BYTES_, GROUP = GROUP_, ALIGN = BYTES % 4 ? 2 : 4;
    static constexpr u32 QUANTS = QUANTS_, PLANES = PLANES_, STRIDE = STRIDE_;
    static constexpr i32 BIAS = 0;
    static constexpr bool MINIMUM = false;
    static constexpr Offset VECTOR = Offset::NONE, MATRIX = Offset::NONE;  // in mul_mat_vec and in mul_mat

    using Scales = f32[PLANES];
    template <u32 N> using Quads = u32[PLANES][N];

    /** Adds the high bits of the N quads from number n of a chunk on, in each plane. */
    template <u32 N> static __device__ __forceinline__ void add_high_bits(const u8*, u32, u32, Quads<N>&) {}
};

/** 32 values with one scale, which comes first; a minimum, if there is one, is stored with the other sign. */
template <u32 BYTES, u32 QUANTS, u32 PLANES = 2>
struct Block : Format<32, BYTES, 32, QUANTS, PLANES, 8 / PLANES> {
    using Base = Format<32, BYTES, 32, QUANTS, PLANES, 8 / PLANES>;

    template <class F>
    static __device__ __forceinline__ void load_scales(const u8* block, u32, u32, typename Base::Scales& scales,
                                                       typename Base::Scales& minima) {
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p) {
            scales[p] = half_at(block);
            if (F::MINIMUM) minima[p] = -half_at(block + 2);
        }
    }
};

/** As Block, with a fifth bit for each value in the word before the quants. */
template <u32 BYTES, u32 QUANTS>
struct FiveBitBlock : Block<BYTES, QUANTS> {
    using Base = typename Block<BYTES, QUANTS>::Base;

    template <u32 N>
    static __device__ __forceinline__ void add_high_bits(const u8* block, u32, u32 n,
                                                         typename Base::template Quads<N>& quads) {
        const u32 bits = word<Base::ALIGN>(block + QUANTS - 4) >> n * 4;
#pragma unroll
        for (u32 p = 0; p < 2; ++p)
#pragma unroll
            for (u32 k = 0; k < N; ++k) quads[p][k] |= bit_per_byte<4>(bits >> (p * 4 + k) * 4);
    }
};

struct q4_0 : Block<18, 2> {
    static constexpr i32 BIAS = 8;
    static constexpr Offset VECTOR = Offset::WHOLE, MATRIX = Offset::WHOLE;
};

struct q4_1 : Block<20, 4> {
    static constexpr bool MINIMUM = true;
    static constexpr Offset VECTOR = Offset::WHOLE, MATRIX = Offset::WHOLE;
};

struct q5_0 : FiveBitBlock<22, 6> {
    static constexpr i32 BIAS = 16;
    static constexpr Offset VECTOR = Offset::WHOLE, MATRIX = Offset::NONE;
};

struct q5_1 : FiveBitBlock<24, 8> {
    static constexpr bool MINIMUM = true;
    static constexpr Offset VECTOR = Offset::WHOLE, MATRIX = Offset::WHOLE;
};

struct q8_0 : Block<34, 2, 1> {};

/** Groups of 16; 4 bits for a scale and 4 for a minimum. */
struct q2_K : Format<256, 84, 16, 16, 4, 8> {
    static constexpr bool MINIMUM = true;
    static constexpr Offset VECTOR = Offset::SUM, MATRIX = Offset::SUM;

    template <class F>
    static __device__ __forceinline__ void load_scales(const u8* block, u32 chunk, u32 n, Scales& scales,
                                                       Scales& minima) {
        const f32 d = half_at(block + 80), dmin = half_at(block + 82);
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p) {
            const u32 both = word<ALIGN>(block + chunk * 8 + p / 2 * 4) >> (n / 4 * 8 + p % 2 * 16);
            scales[p] = d * f32(both & 15), minima[p] = dmin * f32(both >> 4 & 15);
        }
    }
};

/** Groups of 16; scales of 6 bits, whose low 4 are in one place and high 2 in another. */
struct q3_K : Format<256, 110, 16, 32, 4, 8> {
    static constexpr i32 BIAS = 4;

    template <u32 N>
    static __device__ __forceinline__ void add_high_bits(const u8* block, u32 chunk, u32 n, Quads<N>& quads) {
        u32 bits[N];
        words<ALIGN>(block + n * 4, bits);
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p)
#pragma unroll
            for (u32 k = 0; k < N; ++k) quads[p][k] |= (bits[k] >> (chunk * 4 + p) & ONES) << 2;
    }

    template <class F>
    static __device__ __forceinline__ void load_scales(const u8* block, u32 chunk, u32 n, Scales& scales, Scales&) {
        const f32 d = half_at(block + 108);
        const u32 high = word<ALIGN>(block + 104) >> (n / 4 * 8 + chunk * 4);
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p) {
            const u32 low = word<ALIGN>(block + 96 + p / 2 * 4) >> (n / 4 * 8 + chunk * 4);
            const u32 scale = (low >> p % 2 * 16 & 15) | (high >> (p % 2 * 16 + p / 2 * 2) & 3) << 4;
            scales[p] = d * f32(i32(scale) - 32);
        }
    }
};

/** Groups of 32, two to a chunk; a scale and a minimum of 6 bits each, in 12 bytes. */
template <u32 BYTES, u32 QUANTS>
struct SixBitScales : Format<256, BYTES, 32, QUANTS, 2, 8> {
    using Base = Format<256, BYTES, 32, QUANTS, 2, 8>;
    static constexpr bool MINIMUM = true;
    static constexpr Offset VECTOR = Offset::SUM, MATRIX = Offset::WHOLE;

    template <class F>
    static __device__ __forceinline__ void load_scales(const u8* block, u32 chunk, u32, typename Base::Scales& scales,
                                                       typename Base::Scales& minima) {
        const f32 d = half_at(block), dmin = half_at(block + 2);
        // Those of both groups of the chunk at once: bytes 0 to 3 are of the scales, 4 to 7 of the minima, each with six
        // bits of groups 0 to 3 and the top two of 4 to 7, whose other four are in bytes 8 to 11, scales below minima.
        const uint16_t* pairs = reinterpret_cast<const uint16_t*>(block + 4) + chunk % 2;
        const u32 first = pairs[0], second = pairs[2], third = pairs[4];
        const u32 scale = chunk < 2 ? first & 0x3f3f : (third & 0x0f0f) | (first >> 2 & 0x3030);
        const u32 minimum = chunk < 2 ? second & 0x3f3f : (third >> 4 & 0x0f0f) | (second >> 2 & 0x3030);
        scales[0] = d * f32(scale & 255), scales[1] = d * f32(scale >> 8);
        minima[0] = dmin * f32(minimum & 255), minima[1] = dmin * f32(minimum >> 8);
    }
};

struct q4_K : SixBitScales<144, 16> {};

struct q5_K : SixBitScales<176, 48> {
    template <u32 N>
    static __device__ __forceinline__ void add_high_bits(const u8* block, u32 chunk, u32 n, Quads<N>& quads) {
        u32 bits[N];
        words<ALIGN>(block + 16 + n * 4, bits);
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p)
#pragma unroll
            for (u32 k = 0; k < N; ++k) quads[p][k] |= (bits[k] >> (chunk * 2 + p) & ONES) << 4;
    }
};

/** Groups of 16; scales of 8 bits, with sign. */
struct q6_K : Format<256, 210, 16, 0, 2, 16> {
    static constexpr i32 BIAS = 32;

    template <u32 N>
    static __device__ __forceinline__ void add_high_bits(const u8* block, u32 chunk, u32 n, Quads<N>& quads) {
        u32 bits[N];
        words<ALIGN>(block + 128 + chunk * 32 + n % 8 * 4, bits);
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p)
#pragma unroll
            for (u32 k = 0; k < N; ++k) quads[p][k] |= (bits[k] >> (n / 8 * 2 + p * 4) & 3 * ONES) << 4;
    }

    template <class F>
    static __device__ __forceinline__ void load_scales(const u8* block, u32 chunk, u32 n, Scales& scales, Scales&) {
        const f32 d = half_at(block + 208);
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p) scales[p] = d * f32(int8_t(block[192 + chunk * 8 + n / 4 + p * 4]));
    }
};

struct q8_K : Format<256, 292, 256, 4, 1, 64> {
    template <class F>
    static __device__ __forceinline__ void load_scales(const u8* block, u32, u32, Scales& scales, Scales&) {
        scales[0] = *reinterpret_cast<const f32*>(block);
    }
};

/** A block of 32 activations: its scale, the sum of the activations before they were quantized, and their quants. */
struct q8_1 {
    f16 d, s;
    u32 quads[8];
};

/**
 * The share of a row that a thread takes at a time: N consecutive words of a block, which are N quads in each plane.
 * Those of one plane are in one group, and in one block of activations.
 */
template <class F, u32 N>
struct Share {
    static constexpr u32 PER_BLOCK = F::VALUES / 4 / F::PLANES / N;
    static_assert(F::STRIDE % N == 0 && F::GROUP / 4 % N == 0 && 8 % N == 0);

    u32 quads[F::PLANES][N];
    f32 scales[F::PLANES], minima[F::PLANES];

    /** Share number n of the block. */
    __device__ __forceinline__ void load(const u8* block, u32 n) {
        u32 low[N];
        words<F::ALIGN>(block + F::QUANTS + n * N * 4, low);
#pragma unroll
        for (u32 p = 0; p < F::PLANES; ++p)
#pragma unroll
            for (u32 k = 0; k < N; ++k) quads[p][k] = low[k] >> p * (8 / F::PLANES) & (0xff >> (8 - 8 / F::PLANES)) * ONES;
        const u32 chunk = n * N / F::STRIDE, first = n * N % F::STRIDE;
        F::template add_high_bits<N>(block, chunk, first, quads);
        F::template load_scales<F>(block, chunk, first, scales, minima);
    }

    /** The number in the block of the first quad of share n in a plane. */
    static __device__ __forceinline__ u32 quad(u32 n, u32 plane) {
        return n * N / F::STRIDE * F::PLANES * F::STRIDE + plane * F::STRIDE + n * N % F::STRIDE;
    }

    /** Four weights in f32. They round once, and only where there is a minimum or a scale in f32. */
    __device__ __forceinline__ Vector<f32, 4> weights(u32 plane, u32 k) const {
        Vector<f32, 4> values;
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            const f32 product = scales[plane] * f32(signed_byte(quads[plane][k], i) - F::BIAS);
            values.of[i] = F::MINIMUM ? product - minima[plane] : product;
        }
        return values;
    }

    /** Makes the quads and minima those of a product with q8_1, and the minima what its OFFSET is a factor of. */
    template <Offset OFFSET> __device__ __forceinline__ void prepare() {
#pragma unroll
        for (u32 p = 0; p < F::PLANES; ++p) {
            if (F::BIAS && OFFSET != Offset::NONE) minima[p] = scales[p] * f32(F::BIAS);
#pragma unroll
            for (u32 k = 0; F::BIAS && OFFSET == Offset::NONE && k < N; ++k)
                quads[p][k] = bytes_minus(quads[p][k], F::BIAS);
        }
    }
};
