// The block formats of quantized weights and of the activations that multiply them.
//
// A block stores VALUES weights of a row in BYTES bytes, at addresses that are multiples of ALIGN. GROUP consecutive
// weights share a scale and, in some formats, a minimum. A weight is d * scale * (q - BIAS) - dmin * minimum: the block
// contains d and dmin, and scale, minimum and q are small integers. A quad is a word with four consecutive q, one per
// byte.
//
// The words that start at byte QUANTS contain the low bits of the q. Each word contains one quad in each of PLANES
// planes, for example one in the low halves of its bytes and one in the high halves. The quads of neighboring planes
// are STRIDE quads apart, so STRIDE words form a chunk of PLANES * STRIDE quads.
#pragma once

#include "elementwise.cuh"
#include "packed.cuh"

/** How a product with blocks of q8_1 applies the minimum or the bias of a weight. */
enum class Offset {
    NONE,   // subtracts the bias from each q
    SUM,    // multiplies it by the sum of the quants of the activations
    WHOLE,  // multiplies it by the sum of the activations before quantization, which their block stores
};

/** Defaults that a format can override. */
template <u32 VALUES_, u32 BYTES_, u32 GROUP_, u32 QUANTS_, u32 PLANES_, u32 STRIDE_>
struct Format {
    static constexpr u32 VALUES = VALUES_, BYTES = BYTES_, GROUP = GROUP_, ALIGN = BYTES % 4 ? 2 : 4;
    static constexpr u32 QUANTS = QUANTS_, PLANES = PLANES_, STRIDE = STRIDE_;
    static constexpr i32 BIAS = 0;
    static constexpr bool MINIMUM = false;
    static constexpr Offset VECTOR = Offset::NONE, MATRIX = Offset::NONE;  // for mul_mat_vec and for mul_mat

    /** The power of two by which a share scales the quads of this plane, which saves shifts. */
    static __device__ constexpr u32 raised(u32) { return 0; }

    /** The scales of N quads in each plane, which belong to one group. */
    struct Scales {
        f32 d, dmin;
        i32 scale[PLANES], minimum[PLANES];
    };
    template <u32 N> using Quads = u32[PLANES][N];

    /** Adds the high bits of N quads in each plane, starting at quad n of a chunk. */
    template <u32 N> static __device__ __forceinline__ void add_high_bits(const u8*, u32, u32, Quads<N>&) {}
};

/** 32 values with one scale, stored first. A minimum is stored with the opposite sign. */
template <u32 BYTES, u32 QUANTS, u32 PLANES = 2>
struct Block : Format<32, BYTES, 32, QUANTS, PLANES, 8 / PLANES> {
    using Base = Format<32, BYTES, 32, QUANTS, PLANES, 8 / PLANES>;

    template <class F>
    static __device__ __forceinline__ typename Base::Scales scales(const u8* block, u32, u32) {
        typename Base::Scales found = {half_at(block), F::MINIMUM ? -half_at(block + 2) : 0};
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p) found.scale[p] = found.minimum[p] = 1;
        return found;
    }
};

/** Like Block, with a fifth bit for each value in the word before the quants. */
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

/** Groups of 16, with 4 bits each for scale and minimum. */
struct q2_K : Format<256, 84, 16, 16, 4, 8> {
    static constexpr bool MINIMUM = true;
    static constexpr Offset VECTOR = Offset::SUM, MATRIX = Offset::SUM;

    static __device__ constexpr u32 raised(u32 plane) { return (plane + 1) / 2 * 2; }

    template <class F>
    static __device__ __forceinline__ Scales scales(const u8* block, u32 chunk, u32 n) {
        const Vector<f32, 2> ds = two_halves(word<ALIGN>(block + 80));
        Scales found = {ds.of[0], ds.of[1]};
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p) {
            const u32 both = word<ALIGN>(block + chunk * 8 + p / 2 * 4) >> (n / 4 * 8 + p % 2 * 16);
            found.scale[p] = both & 15, found.minimum[p] = both >> 4 & 15;
        }
        return found;
    }
};

/** Groups of 16, with scales of 6 bits: the low 4 bits and the high 2 bits are stored apart. */
struct q3_K : Format<256, 110, 16, 32, 4, 8> {
    static constexpr i32 BIAS = 4;

    static __device__ constexpr u32 raised(u32 plane) { return (plane + 1) / 2 * 2; }

    template <u32 N>
    static __device__ __forceinline__ void add_high_bits(const u8* block, u32 chunk, u32 n, Quads<N>& quads) {
        u32 bits[N];
        words<ALIGN, 0>(block, n * 4, bits);
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p)
#pragma unroll
            for (u32 k = 0; k < N; ++k)
                quads[p][k] |= moved(bits[k], chunk * 4 + p, 2 + raised(p)) & (4 * ONES << raised(p));
    }

    template <class F>
    static __device__ __forceinline__ Scales scales(const u8* block, u32 chunk, u32 n) {
        Scales found = {half_at(block + 108)};
        const u32 shift = n / 4 * 8 + chunk * 4;
        u32 packed[3];
        words<ALIGN, 96>(block, 0, packed);
#pragma unroll
        for (u32 p = 0; p < PLANES; p += 2) {  // decodes two scales at a time, 16 bits apart
            const u32 low = packed[p / 2] >> shift & 0x000f000f, high = packed[2] >> shift >> p & 0x00030003;
            const u32 pair = low | high << 4;
            found.scale[p] = i32(pair & 255) - 32, found.scale[p + 1] = i32(pair >> 16) - 32;
        }
        return found;
    }
};

/** Groups of 32, two per chunk, with a scale and a minimum of 6 bits each, in 12 bytes. */
template <u32 BYTES, u32 QUANTS>
struct SixBitScales : Format<256, BYTES, 32, QUANTS, 2, 8> {
    using Base = Format<256, BYTES, 32, QUANTS, 2, 8>;
    static constexpr bool MINIMUM = true;
    static constexpr Offset VECTOR = Offset::SUM, MATRIX = Offset::WHOLE;

    template <class F>
    static __device__ __forceinline__ typename Base::Scales scales(const u8* block, u32 chunk, u32) {
        // Decodes both groups of the chunk. Bytes 0 to 3 store scales and bytes 4 to 7 minima: six bits of groups 0 to
        // 3, and the high two bits of groups 4 to 7. Bytes 8 to 11 store the low four bits: scales low, minima high.
        const uint16_t* pairs = reinterpret_cast<const uint16_t*>(block + 4) + chunk % 2;
        const u32 first = pairs[0], second = pairs[2], third = pairs[4];
        const u32 scale = chunk < 2 ? first & 0x3f3f : (third & 0x0f0f) | (first >> 2 & 0x3030);
        const u32 minimum = chunk < 2 ? second & 0x3f3f : (third >> 4 & 0x0f0f) | (second >> 2 & 0x3030);
        const Vector<f32, 2> ds = two_halves(word<Base::ALIGN>(block));
        return {ds.of[0], ds.of[1], {i32(scale & 255), i32(scale >> 8)}, {i32(minimum & 255), i32(minimum >> 8)}};
    }
};

struct q4_K : SixBitScales<144, 16> {};

struct q5_K : SixBitScales<176, 48> {
    static __device__ constexpr u32 raised(u32 plane) { return plane; }

    template <u32 N>
    static __device__ __forceinline__ void add_high_bits(const u8* block, u32 chunk, u32 n, Quads<N>& quads) {
        u32 bits[N];
        words<ALIGN, 16>(block, n * 4, bits);
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p)
#pragma unroll
            for (u32 k = 0; k < N; ++k)
                quads[p][k] |= moved(bits[k], chunk * 2 + p, 4 + raised(p)) & (16 * ONES << raised(p));
    }
};

/** Groups of 16, with signed scales of 8 bits. */
struct q6_K : Format<256, 210, 16, 0, 2, 16> {
    static constexpr i32 BIAS = 32;

    template <u32 N>
    static __device__ __forceinline__ void add_high_bits(const u8* block, u32 chunk, u32 n, Quads<N>& quads) {
        u32 bits[N];
        words<ALIGN, 128>(block, chunk * 32 + n % 8 * 4, bits);
#pragma unroll
        for (u32 p = 0; p < PLANES; ++p)
#pragma unroll
            for (u32 k = 0; k < N; ++k) quads[p][k] |= moved(bits[k], n / 8 * 2 + p * 4, 4) & 48 * ONES;
    }

    template <class F>
    static __device__ __forceinline__ Scales scales(const u8* block, u32 chunk, u32 n) {
        const u8* scale = block + 192 + chunk * 8 + n / 4;
        return {half_at(block + 208), 0, {int8_t(scale[0]), int8_t(scale[4])}};
    }
};

struct q8_K : Format<256, 292, 256, 4, 1, 64> {
    template <class F>
    static __device__ __forceinline__ Scales scales(const u8* block, u32, u32) {
        return {*reinterpret_cast<const f32*>(block), 0, {1}};
    }
};

/** A block of 32 activations: the scale, the sum of the activations before quantization, and the quants. */
struct q8_1 {
    f16 d, s;
    u32 quads[8];
};

/** Returns the size in bytes of a row of `blocks` blocks. */
template <class F>
__device__ __forceinline__ size_t row_bytes(u32 blocks) {
    return size_t(blocks) * F::BYTES;
}

/**
 * The part of a block that a thread processes at a time: N consecutive words, which are N quads in each plane. The
 * quads of a plane belong to one group, and their activations to one block.
 */
template <class F, u32 N>
struct Share {
    static constexpr u32 PER_BLOCK = F::VALUES / 4 / F::PLANES / N;
    static_assert(F::STRIDE % N == 0 && F::GROUP / 4 % N == 0 && 8 % N == 0);

    u32 quads[F::PLANES][N];
    typename F::Scales scales;

    /** Loads share n of the block. */
    __device__ __forceinline__ void load(const u8* block, u32 n) {
        constexpr u32 BITS = 8 / F::PLANES, MASK = (0xff >> (8 - BITS)) * ONES;
        u32 low[N];
        words<F::ALIGN, F::QUANTS>(block, n * N * 4, low);
#pragma unroll
        for (u32 p = 0; p < F::PLANES; ++p)
#pragma unroll
            for (u32 k = 0; k < N; ++k) quads[p][k] = low[k] >> (p * BITS - F::raised(p)) & (MASK << F::raised(p));
        const u32 chunk = n * N / F::STRIDE, first = n * N % F::STRIDE;
        F::template add_high_bits<N>(block, chunk, first, quads);
        scales = F::template scales<F>(block, chunk, first);
    }

    /** Returns the index in the block of the first quad of share n in a plane. */
    static __device__ __forceinline__ u32 quad(u32 n, u32 plane) {
        return n * N / F::STRIDE * F::PLANES * F::STRIDE + plane * F::STRIDE + n * N % F::STRIDE;
    }

    /** Returns q - BIAS of value k in a plane. */
    __device__ __forceinline__ i32 quant(u32 plane, u32 k) const {
        const u32 quad = quads[plane][k / 4];
        const i32 q = F::PLANES == 1 ? signed_byte(quad, k % 4) : (quad >> k % 4 * 8 & 255) >> F::raised(plane);
        return q - F::BIAS;
    }

    /** Returns the factor of the minimum in a product; a bias counts as a minimum of 1. */
    __device__ __forceinline__ f32 offset() const { return F::BIAS ? scales.d * f32(F::BIAS) : scales.dmin; }

    /** Returns four weights in f32. Only formats with a minimum or an f32 `d` round, once. */
    __device__ __forceinline__ Vector<f32, 4> weights(u32 plane) const {
        Vector<f32, 4> values;
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            const f32 product = scales.d * f32(scales.scale[plane] * quant(plane, k));
            values.of[k] = F::MINIMUM ? product - scales.dmin * f32(scales.minimum[plane]) : product;
        }
        return values;
    }
};
