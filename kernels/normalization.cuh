// Softmax and norms of one contiguous row of n elements.
#pragma once

#include "reduction.cuh"

/** For one group of lanes along threadIdx.y. The sum has the type Sum; half types round every other step. */
template <class Wide, class T>
__device__ __forceinline__ void softmax(const T* x, T* out, size_t n) {
    const size_t lane = threadIdx.y;
    T largest = constant<T>(-HUGE_VAL);
    for (size_t i = lane; i < n; i += GROUP) largest = math::maximum(largest, x[i]);
    largest = over_group(largest, Maximum());

    Wide sum = 0;
    for (size_t i = lane; i < n; i += GROUP) {
        out[i] = math::exp(x[i] - largest);
        sum += Wide(out[i]);
    }
    const T scale = T(1 / over_group(sum, Sum()));
    for (size_t i = lane; i < n; i += GROUP) out[i] = out[i] * scale;
}

/** In f32 for every type, f64 included. A null alpha is a factor of 1. */
template <class T>
__device__ __forceinline__ void rms_norm(const T* x, T* out, const T* alpha, size_t n, f32 eps) {
    f32 squares = 0;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) squares += to_f32(x[i]) * to_f32(x[i]);
    const f32 scale = rsqrtf(sum_over_groups(squares) / n + eps);
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
        const f32 normed = to_f32(x[i]) * scale;
        out[i] = T(alpha ? normed * to_f32(alpha[i]) : normed);
    }
}

/**
 * In f32 for every type, f64 included. A null alpha is a factor of 1, a null beta a term of 0.
 *
 * The variance is the mean square of the deviations, in a pass of its own. The usual difference mean(x^2) - mean(x)^2
 * cancels where the mean is large beside the deviations; it may even be negative, which makes the row NaN.
 */
template <class T>
__device__ __forceinline__ void layer_norm(const T* x, T* out, const T* alpha, const T* beta, size_t n, f32 eps) {
    f32 sum = 0, squares = 0;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) sum += to_f32(x[i]);
    const f32 mean = sum_over_groups(sum) / n;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
        const f32 deviation = to_f32(x[i]) - mean;
        squares += deviation * deviation;
    }
    const f32 scale = rsqrtf(sum_over_groups(squares) / n + eps);
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
        const f32 normed = (to_f32(x[i]) - mean) * scale;
        const f32 scaled = alpha ? normed * to_f32(alpha[i]) : normed;
        out[i] = T(beta ? scaled + to_f32(beta[i]) : scaled);
    }
}
