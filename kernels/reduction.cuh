// Folding many values into one: over the threads of a block, and over a group of 32 lanes.
//
// Half types fold in the half type: every addition rounds. All threads of the block must call these functions together.
#pragma once

#include "functions.cuh"

constexpr u32 MAX_THREADS = 1024;

/**
 * The number of lanes that exchange values directly. It is CUDA's warp; on AMD GPUs with 64 lanes in a wavefront, each
 * half of a wavefront is such a group. It does not depend on the hardware.
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
 * The first of every `count` consecutive threads of the block gets the values of all of them, folded over a halving
 * tree: t takes in t + ceil(count / 2), and so on. The order depends on nothing but `count`, which may be any number.
 */
template <class T, class Fold>
__device__ __forceinline__ T over_threads(u32 count, T value, Fold fold) {
    __shared__ T slots[MAX_THREADS];
    const u32 t = threadIdx.x, first = t - t % count;
    __syncthreads();  // a previous call may still read
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
 * body(i, x[i]) for i = first, first + step, ... < n, in this order. Loads are issued several at a time, ahead of their
 * use: what a memory gives depends on how many are on their way.
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
// Half types travel as f32, because versions of HIP differ in their overloads for 16 bits.
template <> __device__ __forceinline__ f16 of_lane_xor(f16 x, u32 mask) {
    return to_f16(of_lane_xor(to_f32(x), mask));
}
template <> __device__ __forceinline__ bf16 of_lane_xor(bf16 x, u32 mask) {
    return to_bf16(of_lane_xor(to_f32(x), mask));
}

/** Every lane of a group gets the values of all its lanes, or of every APART-th, folded over a butterfly. */
template <u32 APART = 1, class T, class Fold>
__device__ __forceinline__ T over_group(T value, Fold fold) {
    for (u32 mask = GROUP / 2; mask >= APART; mask /= 2) value = fold(value, of_lane_xor(value, mask));
    return value;
}

/** The fold of N values over a halving tree: value k takes in value k + N / 2, and so on. */
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
 * A lane's share of the fold of load(x[i], i), i < count, over the halving tree of MAX_THREADS slots, those from `count`
 * on being `empty`: slot i takes in i + 512, then i + 256, and so on. A lane has the slots lane, lane + 32, ... and takes
 * them in four passes, so that few registers hold many loads; over_group_in_order goes on from there.
 */
template <class V, class T, class Load, class Fold>
__device__ __forceinline__ V over_slots(const T* x, size_t count, V nothing, T empty, Load load, Fold fold) {
    constexpr u32 PASSES = 4, EACH = MAX_THREADS / GROUP / PASSES, STEP = PASSES * GROUP;
    V total = nothing, half = nothing;
#pragma unroll 1
    for (u32 n = 0; n < PASSES; ++n) {
        const u32 pass = n % 2 * 2 + n / 2;  // 0 and 2, whose fold takes in that of 1 and 3
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

/** The first lane of a group gets the fold over its lanes: lane t takes in t + 16, then t + 8, and so on. */
template <class V, class Fold>
__device__ __forceinline__ V over_group_in_order(V value, Fold fold) {
    for (u32 half = GROUP / 2; half > 0; half /= 2) value = fold(value, of_lane_xor(value, half));
    return value;
}

/** Every thread gets the sum over its team: the threads team * size, ..., team * size + size - 1, a multiple of 32. */
__device__ __forceinline__ f32 sum_over_team(f32 value, u32 team, u32 size) {
    __shared__ f32 sums[MAX_THREADS / GROUP];
    const u32 group = threadIdx.x / GROUP, lane = threadIdx.x % GROUP;
    value = over_group(value, Sum());
    __syncthreads();  // a previous call may still read
    if (lane == 0) sums[group] = value;
    __syncthreads();
    return over_group(lane < size / GROUP ? sums[team * (size / GROUP) + lane] : 0.0f, Sum());
}
