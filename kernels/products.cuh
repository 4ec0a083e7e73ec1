// Products of rows of quantized weights with vectors: of f32, and of activations in blocks of q8_1.
#pragma once

#include "blocks.cuh"
#include "reduction.cuh"

/**
 * What one thread takes at a time: WORDS consecutive words of a block, in all planes. Each plane's share lies in one
 * group, and in one block of activations.
 */
template <class F, u32 WORDS>
struct Share {
    static constexpr u32 PER_PLANE = F::STRIDE / WORDS, PER_BLOCK = F::VALUES / 4 / F::PLANES / WORDS;
    static_assert(F::STRIDE % WORDS == 0 && F::GROUP / 4 % WORDS == 0 && 8 % WORDS == 0);

    const u32 block, first;

    /** Number n of the shares of a row. */
    __device__ __forceinline__ explicit Share(u32 n)
        : block(n / PER_BLOCK),
          first(n % PER_BLOCK / PER_PLANE * F::PLANES * F::STRIDE + n % PER_PLANE * WORDS) {}

    /** The first quad of the share in a plane. */
    __device__ __forceinline__ u32 quad(u32 plane) const { return first + plane * F::STRIDE; }
};

/** Some quads of one group of weights, as a product with q8_1 takes them. */
template <class F, u32 WORDS, Offset OFFSET>
struct Weights {
    u32 quads[WORDS];
    f32 scale, offset;

    __device__ __forceinline__ void load(const u8* block, u32 quad) {
#pragma unroll
        for (u32 k = 0; k < WORDS; ++k) {
            quads[k] = F::quad(block, quad + k);
            if (OFFSET == Offset::NONE && F::BIAS) quads[k] = bytes_minus(quads[k], F::BIAS);
        }
        const u32 group = quad * 4 / F::GROUP;
        scale = F::scale(block, group);
        if (OFFSET != Offset::NONE) offset = F::BIAS ? scale * f32(F::BIAS) : F::minimum(block, group);
    }
};

/** The product of some weights with activations, whose block has the scale d and the sum s: without what s is for. */
template <class F, u32 WORDS, Offset OFFSET>
__device__ __forceinline__ f32 product(const Weights<F, WORDS, OFFSET>& weights, const u32* activations, f32 d) {
    i32 dot = 0, sum = 0;
#pragma unroll
    for (u32 k = 0; k < WORDS; ++k) {
        dot = dot4(weights.quads[k], activations[k], dot);
        if (OFFSET == Offset::SUM) sum = dot4(ONES, activations[k], sum);
    }
    const f32 scaled = weights.scale * (d * f32(dot));
    return OFFSET == Offset::SUM ? scaled - weights.offset * (d * f32(sum)) : scaled;
}

/** How many words a thread takes at a time: a row of some thousand weights should keep all threads of a block busy. */
template <class F> constexpr u32 WORDS = F::VALUES == 32 || F::PLANES == 4 ? 2 : 4;

/**
 * The products of ROWS rows of weights, which lie `row_bytes` apart, with COLUMNS vectors, which lie `stride` blocks of
 * q8_1 apart: store(row, column, product). A row has `blocks` blocks. All threads of the block work on them, THREADS.
 */
template <class F, u32 ROWS, u32 COLUMNS, u32 THREADS, class Store>
__device__ __forceinline__ void multiply(const u8* const (&rows)[ROWS], const q8_1* y, u32 stride, u32 blocks,
                                         Store store) {
    constexpr u32 N = WORDS<F>;
    constexpr Offset OFFSET = F::VECTOR;
    using Part = Share<F, N>;
    const u32 t = threadIdx.y * GROUP + threadIdx.x;
    f32 sums[ROWS][COLUMNS] = {};
    for (u32 n = t; n < blocks * Part::PER_BLOCK; n += THREADS) {
        const Part part(n);
        const q8_1* vector = y + size_t(part.block) * (F::VALUES / 32);
#pragma unroll
        for (u32 plane = 0; plane < F::PLANES; ++plane) {
            const u32 quad = part.quad(plane);
            Weights<F, N, OFFSET> weights[ROWS];
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) weights[r].load(rows[r] + size_t(part.block) * F::BYTES, quad);
#pragma unroll
            for (u32 c = 0; c < COLUMNS; ++c) {
                const q8_1& block = vector[size_t(c) * stride + quad / 8];
                u32 activations[N];
#pragma unroll
                for (u32 k = 0; k < N; ++k) activations[k] = block.quads[quad % 8 + k];
                const f32 d = to_f32(block.d);
#pragma unroll
                for (u32 r = 0; r < ROWS; ++r) {
                    sums[r][c] += product<F, N, OFFSET>(weights[r], activations, d);
                    if (OFFSET == Offset::WHOLE && quad % 8 == 0) sums[r][c] -= weights[r].offset * to_f32(block.s);
                }
            }
        }
    }

    __shared__ f32 of_groups[THREADS / GROUP][ROWS * COLUMNS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r)
#pragma unroll
        for (u32 c = 0; c < COLUMNS; ++c) {
            const f32 sum = over_group(sums[r][c], Sum());
            if (threadIdx.x == 0) of_groups[threadIdx.y][r * COLUMNS + c] = sum;
        }
    __syncthreads();
    if (t < ROWS * COLUMNS) {
        f32 sum = 0;
#pragma unroll
        for (u32 group = 0; group < THREADS / GROUP; ++group) sum += of_groups[group][t];
        store(t / COLUMNS, t % COLUMNS, sum);
    }
}

/** One row of weights times a vector of f32, by one group of lanes, each of which gets it. */
template <class F>
__device__ __forceinline__ f32 multiply(const u8* row, const f32* y, u32 blocks) {
    constexpr u32 N = WORDS<F>;
    using Part = Share<F, N>;
    f32 total = 0;
    for (u32 n = threadIdx.x; n < blocks * Part::PER_BLOCK; n += GROUP) {
        const Part part(n);
        const u8* block = row + size_t(part.block) * F::BYTES;
        const f32* vector = y + size_t(part.block) * F::VALUES;
#pragma unroll
        for (u32 plane = 0; plane < F::PLANES; ++plane) {
            const u32 quad = part.quad(plane), group = quad * 4 / F::GROUP;
            f32 dot = 0, sum = 0;
#pragma unroll
            for (u32 k = 0; k < N * 4; ++k) {
                const f32 activation = vector[quad * 4 + k];
                dot += f32(signed_byte(F::quad(block, quad + k / 4), k % 4) - F::BIAS) * activation;
                sum += activation;
            }
            total += F::scale(block, group) * dot;
            if (F::MINIMUM) total -= F::minimum(block, group) * sum;
        }
    }
    return over_group(total, Sum());
}
