// Pooling over windows of rows and columns, without padding.
#pragma once

#include "functions.cuh"
#include "tensors.cuh"

/** A window along one axis: its size, and the distance between neighboring windows. */
struct Pool {
    size_t size, stride;

    __device__ __forceinline__ size_t count(size_t length) const { return quotient(length - size, stride) + 1; }
};

/** Computes dst[b, c, y, x] = body(first element of the window). */
template <class T, class Body>
__device__ __forceinline__ void for_each_window(Pool rows, Pool columns, const Planes& at, const T* src, T* dst,
                                                Body body) {
    const size_t h_out = rows.count(at.dims[2]), w_out = columns.count(at.dims[3]);
    for_each_index(at.dims[0] * at.dims[1] * h_out * w_out, [&](size_t i) {
        const Place out = place(i, at.dims[1], h_out, w_out);
        dst[i] = body(src + at.offset(out.batch, out.channel, out.row * rows.stride, out.column * columns.stride));
    });
}

/** Multiplies the sum by 1 / count, an f32 even for f64. It turns u32 sums into f32; u8 and u32 results truncate. */
template <class T>
__device__ __forceinline__ void avg_pool(Pool rows, Pool columns, Planes at, const T* src, T* dst) {
    using Sum = typename Element<T>::Sum;
    const f32 scale = f32(1.0 / f64(rows.size * columns.size));
    for_each_window(rows, columns, at, src, dst, [&](const T* window) {
        Sum sum = 0;
        for (size_t y = 0; y < rows.size; ++y) {
            for (size_t x = 0; x < columns.size; ++x) {
                sum = Sum(sum + Element<T>::widen(window[at.offset(0, 0, y, x)]));
            }
        }
        return Element<T>::from(sum * scale);
    });
}

template <class T> __device__ __forceinline__ T larger(T x, T y) { return math::maximum(x, y); }
template <> __device__ __forceinline__ u8 larger(u8 x, u8 y) { return wrapping::maximum(x, y); }
template <> __device__ __forceinline__ u32 larger(u32 x, u32 y) { return wrapping::maximum(x, y); }

/** Finds the largest element. f32 and f64 ignore NaN unless all elements are NaN; half types propagate it. */
template <class T>
__device__ __forceinline__ void max_pool(Pool rows, Pool columns, Planes at, const T* src, T* dst) {
    for_each_window(rows, columns, at, src, dst, [&](const T* window) {
        T largest = window[0];
        for (size_t y = 0; y < rows.size; ++y) {
            for (size_t x = 0; x < columns.size; ++x) largest = larger(largest, window[at.offset(0, 0, y, x)]);
        }
        return largest;
    });
}
