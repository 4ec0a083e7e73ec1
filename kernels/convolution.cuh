// Convolutions, transposed convolutions, and the gather and scatter kernels (im2col, col2im) that turn them into matrix
// products.
#pragma once

#include "tensors.cuh"

/** One axis of a convolution: output position o reads input position o * stride + k * dilation - padding. */
struct Window {
    size_t stride, padding, dilation;

    /** Returns the input position of tap k. A position before the input wraps around to a value beyond any size. */
    __device__ __forceinline__ size_t operator()(size_t o, size_t k) const {
        return o * stride + k * dilation - padding;
    }
};

/** One axis of the adjoint: output position o reads input position i if i * stride + k * dilation - padding == o. */
struct Spread {
    size_t stride, padding, dilation;

    /** Returns the input position of tap k, or a value beyond any size if it does not exist. */
    __device__ __forceinline__ size_t operator()(size_t o, size_t k) const {
        const size_t from = o + padding, tap = k * dilation;
        if (from < tap) return ~size_t(0);
        const size_t i = quotient(from - tap, stride);
        return i * stride == from - tap ? i : ~size_t(0);
    }
};

/**
 * dst[b, o, y, x] = sum of src[b, c, rows(y, ky), columns(x, kx)] * weight[o, c, ky, kx] over the taps inside the
 * input. The outermost loop is over kx, the innermost over channels.
 */
template <class T, class Axis>
__device__ __forceinline__ void convolve(size_t h_out, size_t w_out, Axis rows, Axis columns, Planes src_at,
                                         Planes weight_at, const T* src, const T* weight, T* dst) {
    using Sum = typename Element<T>::Sum;
    const size_t channels_out = weight_at.dims[0], channels_in = weight_at.dims[1];
    for_each_index(src_at.dims[0] * channels_out * h_out * w_out, [&](size_t i) {
        const Place out = place(i, channels_out, h_out, w_out);
        Sum sum = 0;
        for (size_t kx = 0; kx < weight_at.dims[3]; ++kx) {
            const size_t x = columns(out.column, kx);
            if (x >= src_at.dims[3]) continue;
            for (size_t ky = 0; ky < weight_at.dims[2]; ++ky) {
                const size_t y = rows(out.row, ky);
                if (y >= src_at.dims[2]) continue;
                const T* s = src + src_at.offset(out.batch, 0, y, x);
                const T* w = weight + weight_at.offset(out.channel, 0, ky, kx);
                for (size_t c = 0; c < channels_in; ++c) {
                    sum = Sum(sum + Element<T>::widen(s[c * src_at.strides[1]]) *
                                        Element<T>::widen(w[c * weight_at.strides[1]]));
                }
            }
        }
        dst[i] = Element<T>::from(sum);
    });
}

/** The weight of a transposed convolution has the dims (c_in, c_out, rows, columns). */
__device__ __forceinline__ Planes output_first(Planes at) {
    return {{at.dims[1], at.dims[0], at.dims[2], at.dims[3]},
            {at.strides[1], at.strides[0], at.strides[2], at.strides[3]}};
}

/** im2col of a signal: dst[b, l, c, k] = src[b, c, window(l, k)], or 0 outside. Each index writes all its taps. */
template <class T>
__device__ __forceinline__ void im2col1d(size_t count, size_t l_out, size_t l_k, Window window, Planes at, const T* src,
                                         T* dst) {
    const size_t channels = at.dims[1], length = at.dims[3];
    for_each_index(count, [&](size_t i) {
        const Place out = place(i, 1, l_out, channels);
        for (size_t k = 0; k < l_k; ++k) {
            const size_t l = window(out.row, k);
            dst[i * l_k + k] = l < length ? src[at.offset(out.batch, out.column, 0, l)] : Element<T>::from(0.0f);
        }
    });
}

/** im2col of an image: dst[b, y, x, c, ky, kx] = src[b, c, window(y, ky), window(x, kx)], or 0 outside. */
template <class T>
__device__ __forceinline__ void im2col(size_t dst_numel, size_t h_out, size_t w_out, size_t h_k, size_t w_k,
                                       Window window, Planes at, const T* src, T* dst) {
    for_each_index(dst_numel, [&](size_t i) {
        const Place in_column = place(i, at.dims[1], h_k, w_k);
        const Place out = place(in_column.batch, 1, h_out, w_out);
        const size_t y = window(out.row, in_column.row), x = window(out.column, in_column.column);
        const bool inside = y < at.dims[2] && x < at.dims[3];
        dst[i] = inside ? src[at.offset(out.batch, in_column.channel, y, x)] : Element<T>::from(0.0f);
    });
}

/**
 * col2im: dst[b, c, o] = sum of src[b, l, c, k] over l * stride + k == o, where src is contiguous. Sums have the type
 * T: half types round after every addition, in ascending order of k.
 */
template <class T>
__device__ __forceinline__ void col2im1d(size_t dst_numel, size_t l_out, size_t l_in, size_t channels, size_t k_size,
                                         size_t stride, const T* src, T* dst) {
    for_each_index(dst_numel, [&](size_t i) {
        const Place out = place(i, channels, 1, l_out);
        T sum = Element<T>::from(0.0f);
        const size_t whole = quotient(out.column, stride);
        for (size_t k = out.column - whole * stride, l = whole; k < k_size; k += stride, --l) {
            if (l < l_in) sum = T(sum + src[((out.batch * l_in + l) * channels + out.channel) * k_size + k]);
            if (l == 0) break;
        }
        dst[i] = sum;
    });
}
