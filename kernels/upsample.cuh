// Resampling of images to another number of rows and columns.
#pragma once

#include "tensors.cuh"

/** Computes dst[b, c, y, x] = src[b, c, floor(y * row_scale), floor(x * column_scale)], clamped to the image. */
template <class T>
__device__ __forceinline__ void upsample_nearest(size_t h_out, size_t w_out, f64 row_scale, f64 column_scale, Planes at,
                                                 const T* src, T* dst) {
    const auto nearest = [](size_t o, f64 scale, size_t size) {
        const size_t i = size_t(f64(o) * scale);
        return i < size ? i : size - 1;
    };
    for_each_index(at.dims[0] * at.dims[1] * h_out * w_out, [&](size_t i) {
        const Place out = place(i, at.dims[1], h_out, w_out);
        const size_t y = nearest(out.row, row_scale, at.dims[2]), x = nearest(out.column, column_scale, at.dims[3]);
        dst[i] = src[at.offset(out.batch, out.channel, y, x)];
    });
}

/** The two input positions around an output position, and its relative distance from `low`. */
struct Between {
    size_t low, high;
    f64 weight;
};

/** Maps `in` input positions to `out` output positions along one axis. */
struct Resample {
    size_t in, out;
    bool align_corners, has_factor;
    f64 factor;

    __device__ __forceinline__ f64 scale() const {
        if (align_corners) return out > 1 ? f64(in - 1) / f64(out - 1) : 0.0;
        return has_factor ? 1.0 / factor : f64(in) / f64(out);
    }

    /** Returns the position of output o between the input positions. */
    __device__ __forceinline__ Between operator()(size_t o) const {
        const f64 at = align_corners ? scale() * f64(o) : scale() * (f64(o) + 0.5) - 0.5;
        const f64 coordinate = at > 0.0 ? at : 0.0;
        // The factor may not fit the sizes, so the lower position is clamped, too.
        const size_t below = size_t(coordinate), last = in - 1;
        const size_t low = below < last ? below : last;
        const f64 rest = coordinate - f64(low);
        return {low, low < last ? low + 1 : last, rest < 1.0 ? rest : 1.0};
    }
};

/** Bilinear interpolation, in f64 until the result is converted to T. */
template <class T>
__device__ __forceinline__ void upsample_bilinear(Resample rows, Resample columns, Planes at, const T* src, T* dst) {
    for_each_index(at.dims[0] * at.dims[1] * rows.out * columns.out, [&](size_t i) {
        const Place out = place(i, at.dims[1], rows.out, columns.out);
        const Between y = rows(out.row), x = columns(out.column);
        const auto row = [&](size_t r) {
            const T* line = src + at.offset(out.batch, out.channel, r, 0);
            const f64 left = to_f64(line[x.low * at.strides[3]]), right = to_f64(line[x.high * at.strides[3]]);
            return left * (1.0 - x.weight) + right * x.weight;
        };
        dst[i] = Element<T>::from(row(y.low) * (1.0 - y.weight) + row(y.high) * y.weight);
    });
}
