// Rotary position embedding: rotates pairs of elements of a vector of d by angles. The tables of cosines and sines have
// the dims (time, d / 2), or (batch, time, d / 2) if stride_b is not 0. stride_b is the number of elements per batch.
#pragma once

#include "elementwise.cuh"

/** The position of a pair in the tensor and in the tables. */
struct Pair {
    size_t first, second, angle;
};

template <class T, class Place>
__device__ __forceinline__ void rope(size_t pairs, size_t angles, size_t stride_b, const T* src, const T* cos,
                                     const T* sin, T* dst, Place place) {
    for_each_index(pairs, [&](size_t i) {
        Pair pair = place(i);
        if (stride_b) pair.angle += quotient(2 * i, stride_b) * angles;
        const T x = src[pair.first], y = src[pair.second], c = cos[pair.angle], s = sin[pair.angle];
        dst[pair.first] = x * c - y * s;
        dst[pair.second] = x * s + y * c;
    });
}

/** Pairs neighboring elements; time and vector are the last dims, with td elements together. */
__device__ __forceinline__ Pair interleaved(size_t i, size_t td) {
    return {2 * i, 2 * i + 1, i - quotient(i, td / 2) * (td / 2)};
}

/** Pairs the elements j and j + d / 2 of a vector; time and vector are the last dims. */
__device__ __forceinline__ Pair halves(size_t i, size_t td, size_t d) {
    const size_t vector = quotient(i, d / 2), first = i + vector * (d / 2);
    return {first, first + d / 2, i - quotient(i, td / 2) * (td / 2)};
}

/** Like Halves, with a dim of h heads between time and vector. */
__device__ __forceinline__ Pair halves_of_heads(size_t i, size_t t, size_t h, size_t d) {
    const size_t vector = quotient(i, d / 2), j = i - vector * (d / 2), first = i + vector * (d / 2);
    const size_t steps = quotient(vector, h), time = steps - quotient(steps, t) * t;
    return {first, first + d / 2, time * (d / 2) + j};
}
