// Tensors of images and signals, (batch, channel, row, column), and the types of sums of their elements.
#pragma once

#include "convert.cuh"
#include "elementwise.cuh"

/** Dims and strides, in elements. A stride of 0 broadcasts. */
struct Planes {
    size_t dims[4], strides[4];

    __device__ __forceinline__ size_t offset(size_t batch, size_t channel, size_t row, size_t column) const {
        return batch * strides[0] + channel * strides[1] + row * strides[2] + column * strides[3];
    }
};

/** Reads four dims and four strides. */
__device__ __forceinline__ Planes planes(const size_t* info) {
    return {{info[0], info[1], info[2], info[3]}, {info[4], info[5], info[6], info[7]}};
}

/** Reads three dims and three strides; a signal is an image with one row. */
__device__ __forceinline__ Planes lines(const size_t* info) {
    return {{info[0], info[1], 1, info[2]}, {info[3], info[4], 0, info[5]}};
}

/** The coordinates of an element of a contiguous output. */
struct Place {
    size_t batch, channel, row, column;
};

__device__ __forceinline__ Place place(size_t i, size_t channels, size_t rows, size_t columns) {
    const size_t line = quotient(i, columns), plane = quotient(line, rows), batch = quotient(plane, channels);
    return {batch, plane - batch * channels, line - plane * rows, i - line * columns};
}

/** The type of sums of T, and the conversions to and from it. Sums of u8 wrap at 256. */
template <class T> struct Element;
#define ELEMENT(T, A)                                                                   \
    template <> struct Element<T> {                                                     \
        using Sum = A;                                                                  \
        static __device__ __forceinline__ A widen(T x) { return to_##A(x); }            \
        template <class S>                                                              \
        static __device__ __forceinline__ T from(S x) { return to_##T(x); }             \
    };
ELEMENT(f16, f32)
ELEMENT(bf16, f32)
ELEMENT(f32, f32)
ELEMENT(f64, f64)
ELEMENT(u8, u8)
ELEMENT(u32, u32)
#undef ELEMENT
