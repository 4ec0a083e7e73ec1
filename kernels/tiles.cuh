// Multiplies quantized weights by many vectors of q8_1. Tiles of the result are computed from tiles in shared memory.
#pragma once

#include "products.cuh"

/**
 * A tile of weights (ROWS rows of SPAN values) and a tile of activations (COLUMNS vectors of SPAN values). Elements
 * beyond the last row, the last vector or the end of a row are 0. They are not read: the first block is read instead,
 * so that loads do not branch and many are in flight.
 */
template <class F, u32 COLUMNS, u32 ROWS>
struct Tile {
    static constexpr u32 SPAN = 128, QUADS = SPAN / 4, BLOCKS = SPAN / 32, THREADS = 128;
    static constexpr u32 GROUPS = SPAN / F::GROUP, PER_GROUP = QUADS / GROUPS;
    static constexpr bool HAS_OFFSET = F::MATRIX != Offset::NONE;

    // One extra word per row, so that the lanes of a group, which have one row each, use different banks.
    u32 quads[ROWS][QUADS + 1];
    f32 scales[ROWS][GROUPS + 1], offsets[HAS_OFFSET ? ROWS : 1][GROUPS + 1];
    Vector<u32, 4> activations[COLUMNS][QUADS / 4];
    f32 d[COLUMNS][BLOCKS], s[COLUMNS][BLOCKS];

    /** Loads the values from `first` on of the rows from `w` on. */
    __device__ __forceinline__ void load_weights(u32 t, const u8* w, size_t bytes, u32 rows, u32 first, u32 values) {
        constexpr u32 WORDS = QUADS / F::PLANES;
#pragma unroll 8
        for (u32 i = t; i < ROWS * WORDS; i += THREADS) {
            const u32 row = i / WORDS, n = first / 4 / F::PLANES + i % WORDS;
            const bool exists = row < rows && n * 4 * F::PLANES < values;
            const u32 word = exists ? n : 0;
            Share<F, 1> share;
            share.load(w + (exists ? row : 0) * bytes + size_t(word / share.PER_BLOCK) * F::BYTES,
                       word % share.PER_BLOCK);
#pragma unroll
            for (u32 p = 0; p < F::PLANES; ++p) {
                const u32 quad = Share<F, 1>::quad(i % WORDS, p), group = quad / PER_GROUP;
                const u32 raw = share.quads[p][0] >> F::raised(p);
                const u32 found = F::BIAS && !HAS_OFFSET ? bytes_minus(raw, F::BIAS) : raw;
                quads[row][quad] = exists ? found : 0;
                if (quad % PER_GROUP == 0) {
                    scales[row][group] = exists ? share.scales.d * f32(share.scales.scale[p]) : 0;
                    if (HAS_OFFSET) offsets[row][group] = exists ? share.offset() * f32(share.scales.minimum[p]) : 0;
                }
            }
        }
    }

    /** Loads the blocks from number `first` on of the vectors from y on, which are `stride` blocks apart. */
    __device__ __forceinline__ void load_activations(u32 t, const q8_1* y, size_t stride, u32 columns, u32 first,
                                                     u32 blocks) {
#pragma unroll 8
        for (u32 i = t; i < COLUMNS * QUADS; i += THREADS) {
            const u32 column = i / QUADS, n = i % QUADS, number = first + n / 8;
            const bool exists = column < columns && number < blocks;
            const q8_1& block = y[exists ? column * stride + number : 0];
            const u32 quad = block.quads[n % 8];
            activations[column][n / 4].of[n % 4] = exists ? quad : 0;
            if (n % 8 == 0) {
                d[column][n / 8] = exists ? to_f32(block.d) : 0;
                s[column][n / 8] = exists ? to_f32(block.s) : 0;
            }
        }
    }
};

/**
 * Computes dst[column * dst_stride + row] for the tile of this block of 32 x 4 threads. A thread computes every 32nd
 * row and every fourth column.
 */
template <class F, u32 COLUMNS, u32 ROWS>
__device__ __forceinline__ void multiply_tiles(const u8* w, const q8_1* y, f32* dst, u32 values, u32 rows, u32 columns,
                                               u32 stride, size_t dst_stride) {
    using T = Tile<F, COLUMNS, ROWS>;
    constexpr u32 QUADS = T::PER_GROUP, MY_ROWS = ROWS / 32, MY_COLUMNS = COLUMNS / 4;
    __shared__ T tile;
    const u32 lane = threadIdx.x, t = threadIdx.y * 32 + lane;
    const u32 row0 = blockIdx.x * ROWS, column0 = blockIdx.y * COLUMNS;
    const size_t bytes = row_bytes<F>(values / F::VALUES);
    w += row0 * bytes, y += size_t(column0) * stride, rows -= row0, columns -= column0;

    f32 sums[MY_ROWS][MY_COLUMNS] = {};
    for (u32 first = 0; first < values; first += T::SPAN) {
        __syncthreads();  // the previous tile may still be in use
        tile.load_weights(t, w, bytes, rows, first, values);
        tile.load_activations(t, y, stride, columns, first / 32, values / 32);
        __syncthreads();
#pragma unroll 1
        for (u32 quad = 0; quad < T::QUADS; quad += QUADS) {
            u32 weights[MY_ROWS][QUADS];
            f32 scales[MY_ROWS], offsets[MY_ROWS];
#pragma unroll
            for (u32 r = 0; r < MY_ROWS; ++r) {
                const u32 row = lane + r * 32;
#pragma unroll
                for (u32 k = 0; k < QUADS; ++k) weights[r][k] = tile.quads[row][quad + k];
                scales[r] = tile.scales[row][quad / QUADS];
                if (T::HAS_OFFSET) offsets[r] = tile.offsets[row][quad / QUADS];
            }
#pragma unroll
            for (u32 c = 0; c < MY_COLUMNS; ++c) {
                if (c / 2 * 8 >= columns) continue;  // the whole block skips two columns per warp; extra columns are 0
                const u32 column = threadIdx.y + c * 4;
                u32 activations[QUADS];
#pragma unroll
                for (u32 k = 0; k < QUADS; k += 4) {
                    const Vector<u32, 4> four = tile.activations[column][(quad + k) / 4];
#pragma unroll
                    for (u32 i = 0; i < 4; ++i) activations[k + i] = four.of[i];
                }
                const f32 d = tile.d[column][quad / 8];
                const f32 factor = F::MATRIX == Offset::SUM ? d * f32(sum_of(activations)) : tile.s[column][quad / 8];
#pragma unroll
                for (u32 r = 0; r < MY_ROWS; ++r) {
                    sums[r][c] += scales[r] * (d * f32(dot(weights[r], activations)));
                    if (T::HAS_OFFSET) sums[r][c] -= offsets[r] * factor;
                }
            }
        }
    }
#pragma unroll
    for (u32 r = 0; r < MY_ROWS; ++r)
#pragma unroll
        for (u32 c = 0; c < MY_COLUMNS; ++c) {
            const u32 row = lane + r * 32, column = threadIdx.y + c * 4;
            if (row < rows && column < columns) dst[(column0 + column) * dst_stride + row0 + row] = sums[r][c];
        }
}
