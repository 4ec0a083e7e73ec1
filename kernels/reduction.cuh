// Folds many values into one: over the threads of a block, and over a group of 32 lanes.
//
// Folds of half types round after every addition. All threads of the block must call these functions together.
#pragma once

#include "functions.cuh"

constexpr u32 MAX_THREADS = 1024;

/**
 * The number of lanes that exchange values directly: CUDA's warp. On AMD GPUs with 64 lanes in a wavefront, each half
 * of a wavefront forms a group. All hardware uses the same number.
 */
constexpr u32 GROUP = 32;

struct Sum {
    template <class T> __device__ __forceinline__ T operator()(T x, T y) const { return x + y; }
    __device__ __forceinline__ u8 operator()(u8 x, u8 y) const { return wrapping::add(x, y); }
    __device__ __forceinline__ u32 operator()(u32 x, u32 y) const { return wrapping::add(x, y); }
    __device__ __forceinline__ i64 operator()(i64 x, i64 y) const { return wrapping::add(x, y); }
};

struct Minimum {
    template <class T> __device__ __forceinline__ T operator()(T x, T y) const {
        using math::minimum, wrapping::minimum;
        return minimum(x, y);
    }
};

struct Maximum {
    template <class T> __device__ __forceinline__ T operator()(T x, T y) const {
        using math::maximum, wrapping::maximum;
        return maximum(x, y);
    }
};

/**
 * Folds the values of every `count` consecutive threads of the block into the first of them, over a halving tree: t
 * takes the value of t + ceil(count / 2), and so on. The order depends only on `count`, which may be any number.
 */
template <class T, class Fold>
__device__ __forceinline__ T over_threads(u32 count, T value, Fold fold) {
    __shared__ T slots[MAX_THREADS];
    const u32 t = threadIdx.x, first = t - t % count;
    __syncthreads();  // a previous call may still be reading
    slots[t] = value;
    for (u32 n = count; n > 1;) {
        const u32 half = (n + 1) / 2, other = t + half;
        __syncthreads();
        if (other < first + n && other < blockDim.x) slots[t] = value = fold(value, slots[other]);
        n = half;
    }
    return value;
}

/**
 * Calls body(i, x[i]) for i = first, first + step, ... < n, in this order. Issues several loads before their first use,
 * because memory throughput depends on the number of loads in flight.
 */
template <u32 AHEAD, class T, class Index, class Body>
__device__ __forceinline__ void for_each_loaded(const T* x, Index n, Index first, u32 step, Body body) {
    Index i = first;
    for (; i + Index(AHEAD - 1) * step < n; i += Index(AHEAD) * step) {
        T loaded[AHEAD];
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) loaded[k] = x[i + Index(k) * step];
#pragma unroll
        for (u32 k = 0; k < AHEAD; ++k) body(i + Index(k) * step, loaded[k]);
    }
#pragma unroll 1
    for (; i < n; i += step) body(i, x[i]);
}

template <class T> __device__ __forceinline__ T of_lane_xor(T x, u32 mask) {
    return __shfl_xor_sync(0xffffffffu, x, mask, GROUP);
}
// Shuffles half types as f32, because the overloads for 16 bits differ between versions of HIP.
template <> __device__ __forceinline__ f16 of_lane_xor(f16 x, u32 mask) {
    return to_f16(of_lane_xor(to_f32(x), mask));
}
template <> __device__ __forceinline__ bf16 of_lane_xor(bf16 x, u32 mask) {
    return to_bf16(of_lane_xor(to_f32(x), mask));
}

/** Folds over a butterfly; every lane gets the result over all lanes of its group, or over every APART-th lane. */
template <u32 APART = 1, class T, class Fold>
__device__ __forceinline__ T over_group(T value, Fold fold) {
    for (u32 mask = GROUP / 2; mask >= APART; mask /= 2) value = fold(value, of_lane_xor(value, mask));
    return value;
}

/** Folds N values over a halving tree: value k takes value k + N / 2, and so on. */
template <u32 N, class V, class Fold>
__device__ __forceinline__ V over_values(V* values, Fold fold) {
    if constexpr (N > 1) {
#pragma unroll
        for (u32 k = 0; k < N / 2; ++k) values[k] = fold(values[k], values[k + N / 2]);
        return over_values<N / 2>(values, fold);
    } else {
        return values[0];
    }
}

/**
 * Computes a lane's part of the fold of load(x[i], i), i < count, over a halving tree of MAX_THREADS slots, where slots
 * from `count` on are `empty`: slot i takes slot i + 512, then i + 256, and so on. A lane has the slots lane, lane +
 * 32, ... and processes them in four passes, to limit the registers for loads. over_group_in_order completes the fold.
 */
template <class V, class T, class Load, class Fold>
__device__ __forceinline__ V over_slots(const T* x, size_t count, V nothing, T empty, Load load, Fold fold) {
    constexpr u32 PASSES = 4, EACH = MAX_THREADS / GROUP / PASSES, STEP = PASSES * GROUP;
    V total = nothing, half = nothing;
#pragma unroll 1
    for (u32 n = 0; n < PASSES; ++n) {
        const u32 pass = n % 2 * 2 + n / 2;  // in the order 0, 2, 1, 3: pass 0 takes 2, 1 takes 3, then 0 takes 1
        const u32 first = pass * GROUP + threadIdx.x % GROUP;
        const u32 filled = count < MAX_THREADS ? (u32(count) + STEP - 1 - first) / STEP : EACH;
        T loaded[EACH];
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            loaded[k] = empty;
            if (k < filled) loaded[k] = x[first + k * STEP];
        }
        V values[EACH];
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) values[k] = load(loaded[k], first + k * STEP);
        const V value = over_values<EACH>(values, fold);
        half = n % 2 ? fold(half, value) : value;
        if (n % 2) total = fold(total, half);
    }
    return total;
}

/** Folds over the lanes of a group into the first lane: lane t takes lane t + 16, then t + 8, and so on. */
template <class V, class Fold>
__device__ __forceinline__ V over_group_in_order(V value, Fold fold) {
    for (u32 half = GROUP / 2; half > 0; half /= 2) value = fold(value, of_lane_xor(value, half));
    return value;
}

/** Returns the sum over a thread's team: threads team * size to team * size + size - 1, where 32 divides size. */
__device__ __forceinline__ f32 sum_over_team(f32 value, u32 team, u32 size) {
    __shared__ f32 sums[MAX_THREADS / GROUP];
    const u32 group = threadIdx.x / GROUP, lane = threadIdx.x % GROUP;
    value = over_group(value, Sum());
    __syncthreads();  // a previous call may still be reading
    if (lane == 0) sums[group] = value;
    __syncthreads();
    return over_group(lane < size / GROUP ? sums[team * (size / GROUP) + lane] : 0.0f, Sum());
}
