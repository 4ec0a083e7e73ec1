// Products of rows of quantized weights with vectors of f32, and with activations in blocks of q8_1.
#pragma once

#include "blocks.cuh"
#include "reduction.cuh"

/**
 * How the threads of a block share rows of weights. They form TEAMS teams. Neighboring threads belong to different
 * teams, so that they load the same activations. A team processes ROWS rows at a time and reuses its activations for
 * each of them. A share has WORDS words. A thread takes one share from each of SECTIONS sections of a block, whose high
 * bits and scales are in the same bytes. RESIDENT is the number of thread blocks that should fit in a multiprocessor
 * (0: the compiler chooses), because fewer registers also mean fewer loads in flight. The values were tuned on an H200.
 */
template <class F, u32 COLUMNS>
struct Work {
    static constexpr u32 TEAMS = 1, ROWS = 2, WORDS = 8 / F::PLANES, SECTIONS = 1;
    static constexpr u32 RESIDENT = COLUMNS == 1 ? 8 : COLUMNS > 4 && F::VALUES == 32 ? 16 : 0;
};
template <u32 COLUMNS>
struct Work<q2_K, COLUMNS> {
    static constexpr u32 TEAMS = 2, ROWS = COLUMNS == 1 ? 4 : 2, WORDS = 4, SECTIONS = 1, RESIDENT = 0;
};
template <u32 COLUMNS>
struct Work<q3_K, COLUMNS> {
    static constexpr u32 TEAMS = 2, ROWS = 2, WORDS = 2, SECTIONS = 2, RESIDENT = 0;
};

/** The number of rows of weights that a block of threads processes. */
template <class F, u32 COLUMNS> constexpr u32 ROWS_OF = Work<F, COLUMNS>::TEAMS * Work<F, COLUMNS>::ROWS;

/** Returns the dot product of some quads. */
template <u32 N>
__device__ __forceinline__ i32 dot(const u32 (&a)[N], const u32 (&b)[N]) {
    i32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < N; ++k) sum = dot4(a[k], b[k], sum);
    return sum;
}

/** Returns the sum of the quants of some quads. */
template <u32 N>
__device__ __forceinline__ i32 sum_of(const u32 (&quads)[N]) {
    i32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < N; ++k) sum = dot4(ONES, quads[k], sum);
    return sum;
}

/**
 * Multiplies ROWS_OF rows of weights, starting at w, by COLUMNS vectors that are `stride` blocks of q8_1 apart, and
 * calls store(row, column, product). A row has `blocks` blocks. Only `rows` rows exist; further rows read the last one.
 * All THREADS threads of the block take part.
 */
template <class F, u32 COLUMNS, u32 THREADS, class Store>
__device__ __forceinline__ void multiply(const u8* w, u32 rows, const q8_1* y, u32 stride, u32 blocks, Store store) {
    using W = Work<F, COLUMNS>;
    using Part = Share<F, W::WORDS>;
    constexpr u32 N = W::WORDS, ROWS = W::ROWS, PARTS = Part::PER_BLOCK / W::SECTIONS;
    constexpr Offset OFFSET = F::VECTOR;
    const u32 t = threadIdx.y * GROUP + threadIdx.x, team = t % W::TEAMS;
    const u8* of_row[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        const u32 row = team * ROWS + r;
        of_row[r] = w + (row < rows ? row : rows - 1) * row_bytes<F>(blocks);
    }
    f32 sums[ROWS][COLUMNS] = {};
    for (u32 n = t / W::TEAMS; n < blocks * PARTS; n += THREADS / W::TEAMS) {
        const u32 block = n / PARTS;
#pragma unroll
        for (u32 section = 0; section < W::SECTIONS; ++section) {
            const u32 part = section * PARTS + n % PARTS, first = Part::quad(part, 0);
            Part parts[ROWS];
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r) parts[r].load(of_row[r] + size_t(block) * F::BYTES, part);
#pragma unroll
            for (u32 c = 0; c < COLUMNS; ++c) {
                const q8_1* vector = y + size_t(c) * stride + size_t(block) * (F::VALUES / 32) + first / 8;
                f32 scaled[ROWS] = {}, offset[ROWS] = {};
#pragma unroll
                for (u32 plane = 0; plane < F::PLANES; ++plane) {
                    const u32 quad = first % 8 + plane * F::STRIDE, raised = F::raised(plane);
                    const q8_1& activations = vector[quad / 8];
                    u32 quads[N];
#pragma unroll
                    for (u32 k = 0; k < N; ++k) quads[k] = activations.quads[quad % 8 + k];
                    const f32 d = to_f32(activations.d), lowered = d / f32(1 << raised);
                    const i32 sum = sum_of(quads);
#pragma unroll
                    for (u32 r = 0; r < ROWS; ++r) {
                        const auto& scales = parts[r].scales;
                        i32 product = dot(parts[r].quads[plane], quads);
                        if (OFFSET == Offset::NONE) product -= (F::BIAS << raised) * sum;
                        scaled[r] += lowered * f32(scales.scale[plane] * product);
                        if (OFFSET == Offset::SUM) offset[r] += f32(scales.minimum[plane]) * (d * f32(sum));
                        if (OFFSET == Offset::WHOLE && quad % 8 == 0)
                            offset[r] += f32(scales.minimum[plane]) * to_f32(activations.s);
                    }
                }
#pragma unroll
                for (u32 r = 0; r < ROWS; ++r) {
                    sums[r][c] += parts[r].scales.d * scaled[r];
                    if (OFFSET != Offset::NONE) sums[r][c] -= parts[r].offset() * offset[r];
                }
            }
        }
    }

    __shared__ f32 of_groups[THREADS / GROUP][ROWS_OF<F, COLUMNS> * COLUMNS];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r)
#pragma unroll
        for (u32 c = 0; c < COLUMNS; ++c) {
            const f32 sum = over_group<W::TEAMS>(sums[r][c], Sum());
            if (threadIdx.x < W::TEAMS) of_groups[threadIdx.y][(team * ROWS + r) * COLUMNS + c] = sum;
        }
    __syncthreads();
    if (t < ROWS_OF<F, COLUMNS> * COLUMNS && t / COLUMNS < rows) {
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

/** Multiplies a row of weights by a vector of f32, with one group of lanes. Each lane gets the product. */
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
