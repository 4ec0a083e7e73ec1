// Products of rows of quantized weights with vectors: of f32, and of activations in blocks of q8_1.
#pragma once

#include "blocks.cuh"
#include "reduction.cuh"

/** Of a share of 32 values: a row of some thousand weights keeps all threads of a block busy. */
template <class F> constexpr u32 WORDS = 8 / F::PLANES;

/** The sum of the products of some quads. */
template <u32 N>
__device__ __forceinline__ i32 dot(const u32 (&a)[N], const u32 (&b)[N]) {
    i32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < N; ++k) sum = dot4(a[k], b[k], sum);
    return sum;
}

/** The sum of the quants of some quads. */
template <u32 N>
__device__ __forceinline__ i32 sum_of(const u32 (&quads)[N]) {
    i32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < N; ++k) sum = dot4(ONES, quads[k], sum);
    return sum;
}

/**
 * The products of ROWS rows of weights with COLUMNS vectors, which lie `stride` blocks of q8_1 apart:
 * store(row, column, product). A row has `blocks` blocks. All threads of the block work on them, THREADS.
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
        const u32 block = n / Part::PER_BLOCK, part = n % Part::PER_BLOCK;
        Part parts[ROWS];
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) parts[r].load(rows[r] + size_t(block) * F::BYTES, part);
#pragma unroll
        for (u32 c = 0; c < COLUMNS; ++c) {
            f32 scaled[ROWS] = {}, offset[ROWS] = {};
#pragma unroll
            for (u32 plane = 0; plane < F::PLANES; ++plane) {
                const u32 quad = Part::quad(part, plane);
                const q8_1& activations = y[size_t(c) * stride + block * (F::VALUES / 32) + quad / 8];
                u32 quads[N];
#pragma unroll
                for (u32 k = 0; k < N; ++k) quads[k] = activations.quads[quad % 8 + k];
                const f32 d = to_f32(activations.d);
                const i32 sum = sum_of(quads);
#pragma unroll
                for (u32 r = 0; r < ROWS; ++r) {
                    i32 product = dot(parts[r].quads[plane], quads);
                    if (OFFSET == Offset::NONE) product -= F::BIAS * sum;
                    scaled[r] += d * f32(parts[r].scales.scale[plane] * product);
                    if (OFFSET == Offset::SUM) offset[r] += f32(parts[r].scales.minimum[plane]) * (d * f32(sum));
                    if (OFFSET == Offset::WHOLE && quad % 8 == 0)
                        offset[r] += f32(parts[r].scales.minimum[plane]) * to_f32(activations.s);
                }
            }
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) {
                sums[r][c] += parts[r].scales.d * scaled[r];
                if (OFFSET != Offset::NONE) sums[r][c] -= parts[r].offset() * offset[r];
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

__device__ __forceinline__ Vector<f32, 4> load_four(const f32* p) {
    if (aligned<4>(p)) return *vectors<4>(p);
    return {p[0], p[1], p[2], p[3]};
}

/** A row of weights times a vector of f32, by one group of lanes, each of which gets the product. */
template <class F>
__device__ __forceinline__ f32 multiply(const u8* row, const f32* y, u32 blocks) {
    using Part = Share<F, 1>;
    f32 total = 0;
    for (u32 n = threadIdx.x; n < blocks * Part::PER_BLOCK; n += GROUP) {
        const u32 block = n / Part::PER_BLOCK, part = n % Part::PER_BLOCK;
        Part weights;
        weights.load(row + size_t(block) * F::BYTES, part);
        const auto& scales = weights.scales;
#pragma unroll
        for (u32 plane = 0; plane < F::PLANES; ++plane) {
            const Vector<f32, 4> activations = load_four(y + size_t(block) * F::VALUES + Part::quad(part, plane) * 4);
            f32 dot = 0, sum = 0;
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                dot += f32(weights.quant(plane, k)) * activations.of[k];
                sum += activations.of[k];
            }
            total += scales.d * f32(scales.scale[plane]) * dot;
            if (F::MINIMUM) total -= scales.dmin * f32(scales.minimum[plane]) * sum;
        }
    }
    return over_group(total, Sum());
}
