// Four signed or unsigned bytes in a word, and loads of words that are not aligned to four bytes.
#pragma once

#include "convert.cuh"

/** Loads the little-endian word at p, which is aligned to ALIGN bytes. */
template <u32 ALIGN>
__device__ __forceinline__ u32 word(const u8* p) {
    if constexpr (ALIGN >= 4) {
        return *reinterpret_cast<const u32*>(p);
    } else {
        const uint16_t* halves = reinterpret_cast<const uint16_t*>(p);
        return halves[0] | u32(halves[1]) << 16;
    }
}

/**
 * Loads N words of a block from byte START + offset on, where offset is a multiple of 4. For a block that is aligned to
 * two bytes, this takes N - 1 loads of aligned words and two of half words. If each word spans two aligned words, the
 * first half word is loaded separately and the words are shifted; otherwise the last half word is loaded separately.
 */
template <u32 ALIGN, u32 START, u32 N>
__device__ __forceinline__ void words(const u8* block, u32 offset, u32 (&out)[N]) {
    if constexpr (ALIGN >= 4 || N == 1) {
#pragma unroll
        for (u32 k = 0; k < N; ++k) out[k] = word<ALIGN>(block + START + offset + k * 4);
    } else {
        const bool between = (reinterpret_cast<size_t>(block) + START) % 4;
        const u8* aligned = block + (between ? 2 : 0) + offset + START;
        const u32 half = *reinterpret_cast<const uint16_t*>(block + (between ? 0 : N * 4 - 2) + offset + START);
        u32 before = half << 16;
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            const u8* at = aligned + k * 4;
            const u32 next = k < N - 1 ? *reinterpret_cast<const u32*>(at)
                                       : *reinterpret_cast<const uint16_t*>(at) | half << 16;
            out[k] = u32((u64(next) << 32 | before) >> (between ? 16 : 32));
            before = next;
        }
    }
}

__device__ __forceinline__ f32 half_at(const u8* p) { return to_f32(*reinterpret_cast<const f16*>(p)); }

/** Converts the two f16 values of a word, the low one first. */
__device__ __forceinline__ Vector<f32, 2> two_halves(u32 word) {
    f16 halves[2];
    __builtin_memcpy(halves, &word, sizeof word);
    return {to_f32(halves[0]), to_f32(halves[1])};
}

/** Returns byte k of a word as a signed number. */
__device__ __forceinline__ i32 signed_byte(u32 word, u32 k) { return int8_t(word >> 8 * k); }

/** A 1 in each of the four bytes; n times this constant is an n in each. */
constexpr u32 ONES = 0x01010101;

/** Distributes the low four bits of x: bit k becomes bit TO of byte k. */
template <u32 TO>
__device__ __forceinline__ u32 bit_per_byte(u32 x) {
    return (x & 15) * (0x00204081u << TO) & (ONES << TO);
}

/** Subtracts n from each byte, for bytes and n from 0 to 127, without a borrow between bytes. */
__device__ __forceinline__ u32 bytes_minus(u32 x, u32 n) {
    return ((x | 0x80 * ONES) - n * ONES) ^ 0x80 * ONES;
}

/** Moves bit `from` of each byte to bit `to`. The remaining bits of the byte are arbitrary. */
__device__ __forceinline__ u32 moved(u32 x, u32 from, u32 to) {
    return u32((u64(x) << 32 | x) >> (from - to & 31));
}

/** Returns sum + a[0] b[0] + ... + a[3] b[3] of signed bytes, with one instruction if the target has it. */
__device__ __forceinline__ i32 dot4(u32 a, u32 b, i32 sum) {
#ifdef __HIPCC__
#if __has_builtin(__builtin_amdgcn_sdot4)
    return __builtin_amdgcn_sdot4(i32(a), i32(b), sum, false);
#elif __has_builtin(__builtin_amdgcn_sudot4)
    return __builtin_amdgcn_sudot4(true, i32(a), true, i32(b), sum, false);
#else
    for (u32 k = 0; k < 4; ++k) sum += signed_byte(a, k) * signed_byte(b, k);
    return sum;
#endif
#else
    return __dp4a(i32(a), i32(b), sum);
#endif
}
