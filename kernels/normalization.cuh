// Softmax and normalization of contiguous rows of n elements.
#pragma once

#include "reduction.cuh"

/** Softmax by a group of lanes along threadIdx.y. The sum has the type Wide; half types round every other step. */
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
 * A row of n elements and the threads that process it. In a block of 1024 threads, two groups of lanes process a short
 * row and keep it in registers. Such a block also processes the rows of the next 15 blocks, which return at once.
 */
template <class T>
struct Row {
    static constexpr u32 FEW = 2 * GROUP, KEPT = MAX_THREADS / FEW;
    const T* x;
    const u32 n;
    const bool is_short;
    T kept[KEPT];

    __device__ __forceinline__ Row(const T* x, u32 n)
        : x(x), n(n), is_short(blockDim.x == MAX_THREADS && n - 1 < MAX_THREADS) {}

    __device__ __forceinline__ bool idle() const { return is_short && blockIdx.x % (MAX_THREADS / FEW); }
    __device__ __forceinline__ u32 team() const { return is_short ? threadIdx.x / FEW : 0; }
    __device__ __forceinline__ u32 threads() const { return is_short ? FEW : blockDim.x; }
    __device__ __forceinline__ size_t number() const { return size_t(blockIdx.x) + team(); }

    __device__ __forceinline__ void load() {
        const bool exists = number() < gridDim.x;
        x += exists ? number() * n : 0;
#pragma unroll
        for (u32 k = 0; is_short && k < KEPT; ++k) {
            const u32 i = threadIdx.x % FEW + k * FEW;
            kept[k] = x[i < n ? i : 0];
        }
    }

    /** Calls body(i, x[i]) for this thread's elements of the row. */
    template <class Body>
    __device__ __forceinline__ void for_each(Body body) const {
        if (number() >= gridDim.x) return;
        if (!is_short) return for_each_loaded<4>(x, n, threadIdx.x, blockDim.x, body);
#pragma unroll
        for (u32 k = 0; k < KEPT; ++k) {
            const u32 i = threadIdx.x % FEW + k * FEW;
            if (i < n) body(i, kept[k]);
        }
    }

    __device__ __forceinline__ f32 sum(f32 value) const { return sum_over_team(value, team(), threads()); }
};

/** Computes in f32 for every type, including f64. A null alpha means a factor of 1. */
template <class T>
__device__ __forceinline__ void rms_norm(const T* x, T* out, const T* alpha, u32 n, f32 eps) {
    Row<T> row(x, n);
    if (row.idle()) return;
    row.load();
    f32 squares = 0;
    row.for_each([&](u32, T value) { squares += to_f32(value) * to_f32(value); });
    const f32 scale = rsqrtf(row.sum(squares) / n + eps);
    out += row.number() * n;
    row.for_each([&](u32 i, T value) {
        const f32 normed = to_f32(value) * scale;
        out[i] = T(alpha ? normed * to_f32(alpha[i]) : normed);
    });
}

/**
 * Computes in f32 for every type, including f64. A null alpha means a factor of 1, a null beta a term of 0.
 *
 * A separate pass computes the variance as the mean square of the deviations. mean(x^2) - mean(x)^2 would cancel if the
 * mean is much larger than the deviations. It can even be negative, which turns the row into NaN.
 */
template <class T>
__device__ __forceinline__ void layer_norm(const T* x, T* out, const T* alpha, const T* beta, u32 n, f32 eps) {
    Row<T> row(x, n);
    if (row.idle()) return;
    row.load();
    f32 sum = 0, squares = 0;
    row.for_each([&](u32, T value) { sum += to_f32(value); });
    const f32 mean = row.sum(sum) / n;
    row.for_each([&](u32, T value) {
        const f32 deviation = to_f32(value) - mean;
        squares += deviation * deviation;
    });
    const f32 scale = rsqrtf(row.sum(squares) / n + eps);
    out += row.number() * n;
    row.for_each([&](u32 i, T value) {
        const f32 normed = (to_f32(value) - mean) * scale;
        const f32 scaled = alpha ? normed * to_f32(alpha[i]) : normed;
        out[i] = T(beta ? scaled + to_f32(beta[i]) : scaled);
    });
}
