// Softmax and norms of contiguous rows of n elements.
//
// Every pass reads the row again, which comes from the cache.
#pragma once

#include "reduction.cuh"

/** For one group of lanes along threadIdx.y. The sum has the type Wide; half types round every other step. */
template <class Wide, class T>
__device__ __forceinline__ void softmax(const T* x, T* out, u32 n) {
    const u32 lane = threadIdx.y;
    T largest = constant<T>(-HUGE_VAL);
    for_each_loaded<8>(x, n, lane, GROUP, [&](u32, T value) { largest = math::maximum(largest, value); });
    largest = over_group(largest, Maximum());

    Wide sum = 0;
    for_each_loaded<4>(x, n, lane, GROUP, [&](u32, T value) { sum += Wide(math::exp(value - largest)); });
    const T scale = T(1 / over_group(sum, Sum()));
    for_each_loaded<4>(x, n, lane, GROUP, [&](u32 i, T value) { out[i] = math::exp(value - largest) * scale; });
}

/**
 * The threads of a block that share a row. Where a row has an element for each thread at most, they are two groups of
 * lanes, and one block in several has the rows of them all.
 */
struct Team {
    u32 several, size;

    __device__ __forceinline__ explicit Team(u32 n) {
        constexpr u32 SMALL = 2 * GROUP;
        const bool small = n <= blockDim.x && (blockDim.x & (blockDim.x - 1)) == 0 && blockDim.x > SMALL;
        several = small ? blockDim.x / SMALL : 1;
        size = small ? SMALL : blockDim.x;
    }

    __device__ __forceinline__ bool idle() const { return blockIdx.x & (several - 1); }
    __device__ __forceinline__ u32 number() const { return several > 1 ? threadIdx.x / (2 * GROUP) : 0; }
    __device__ __forceinline__ size_t row() const { return size_t(blockIdx.x) + number(); }

    /** body(i, x[i]) for the elements of the team's row that are this thread's. */
    template <class T, class Body>
    __device__ __forceinline__ void for_each(const T* x, u32 n, Body body) const {
        if (row() < gridDim.x) for_each_loaded<8>(x + row() * n, n, threadIdx.x - number() * size, size, body);
    }

    __device__ __forceinline__ f32 sum(f32 value) const { return sum_over_team(value, number(), size); }
};

/** In f32 for every type, f64 included. A null alpha is a factor of 1. */
template <class T>
__device__ __forceinline__ void rms_norm(const T* x, T* out, const T* alpha, u32 n, f32 eps) {
    const Team team(n);
    if (team.idle()) return;
    f32 squares = 0;
    team.for_each(x, n, [&](u32, T value) { squares += to_f32(value) * to_f32(value); });
    const f32 scale = rsqrtf(team.sum(squares) / n + eps);
    out += team.row() * n;
    team.for_each(x, n, [&](u32 i, T value) {
        const f32 normed = to_f32(value) * scale;
        out[i] = T(alpha ? normed * to_f32(alpha[i]) : normed);
    });
}

/**
 * In f32 for every type, f64 included. A null alpha is a factor of 1, a null beta a term of 0.
 *
 * The variance is the mean square of the deviations, in a pass of its own. The usual difference mean(x^2) - mean(x)^2
 * cancels where the mean is large beside the deviations; it may even be negative, which makes the row NaN.
 */
template <class T>
__device__ __forceinline__ void layer_norm(const T* x, T* out, const T* alpha, const T* beta, u32 n, f32 eps) {
    const Team team(n);
    if (team.idle()) return;
    f32 sum = 0, squares = 0;
    team.for_each(x, n, [&](u32, T value) { sum += to_f32(value); });
    const f32 mean = team.sum(sum) / n;
    team.for_each(x, n, [&](u32, T value) {
        const f32 deviation = to_f32(value) - mean;
        squares += deviation * deviation;
    });
    const f32 scale = rsqrtf(team.sum(squares) / n + eps);
    out += team.row() * n;
    team.for_each(x, n, [&](u32 i, T value) {
        const f32 normed = (to_f32(value) - mean) * scale;
        const f32 scaled = alpha ? normed * to_f32(alpha[i]) : normed;
        out[i] = T(beta ? scaled + to_f32(beta[i]) : scaled);
    });
}
