// The walk over tensors that all elementwise kernels share.
//
// `info` describes the operands on the device: num_dims dims, then num_dims strides for each operand. Strides count
// elements and 0 broadcasts. A null `info` means that every operand is contiguous. The last dim varies fastest.
// Indices and offsets are 64 bits wide, so that tensors of 2^32 elements and more do not wrap.
#pragma once

#include "dtypes.cuh"

/** Calls body(i) once for each i < numel, spread over the whole grid. */
template <class Body>
__device__ __forceinline__ void for_each_index(size_t numel, Body body) {
    const size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < numel; i += step) body(i);
}

/**
 * floor(index / dim), for indices below 2^53. Compilers expand a 64-bit integer division to a hundred instructions on
 * AMD GPUs. The quotient in f64 has the right floor: from below, a quotient comes no nearer to an integer k than 1/dim,
 * which is more than half an ulp of it as long as k * dim <= 2^53.
 */
__device__ __forceinline__ size_t quotient(size_t index, size_t dim) {
    if ((index | dim) >> 32 == 0) return u32(index) / u32(dim);
    return size_t(f64(index) / f64(dim));
}

/** Where the elements of one linear index lie in each of N operands. */
template <int N>
struct Offsets {
    size_t of[N];
};

/** The layouts of N operands that are walked together. */
template <int N>
struct Layouts {
    size_t num_dims;
    const size_t* info;
    bool contiguous;

    // Contiguous is row-major without gaps; the stride of a dim of size 1 does not matter.
    __device__ __forceinline__ Layouts(size_t num_dims, const size_t* info)
        : num_dims(num_dims), info(info), contiguous(true) {
        if (!info) return;
        size_t expected = 1;
        for (size_t d = num_dims; d-- > 0 && contiguous;) {
            for (int n = 0; n < N; ++n) contiguous &= dim(d) == 1 || stride(n, d) == expected;
            expected *= dim(d);
        }
    }

    __device__ __forceinline__ size_t dim(size_t d) const { return info[d]; }
    __device__ __forceinline__ size_t stride(int operand, size_t d) const { return info[(operand + 1) * num_dims + d]; }

    __device__ __forceinline__ Offsets<N> operator()(size_t i) const {
        Offsets<N> offsets = {};
        if (contiguous) {
            for (int n = 0; n < N; ++n) offsets.of[n] = i;
            return offsets;
        }
        for (size_t d = num_dims; d-- > 0;) {
            const size_t rest = quotient(i, dim(d));
            const size_t coordinate = i - rest * dim(d);
            for (int n = 0; n < N; ++n) offsets.of[n] += coordinate * stride(n, d);
            i = rest;
        }
        return offsets;
    }
};

/** out[i] = op(x[i]); out is contiguous. */
template <class S, class D, class Op>
__device__ __forceinline__ void map(size_t numel, size_t num_dims, const size_t* info, const S* x, D* out, Op op) {
    const Layouts<1> at(num_dims, info);
    for_each_index(numel, [&](size_t i) { out[i] = op(x[at(i).of[0]]); });
}

/** As map; without an input the operand is read from out at the linear index, whatever `info` says. */
template <class T, class Op>
__device__ __forceinline__ void map_in_place(size_t numel, size_t num_dims, const size_t* info, const T* x, T* out,
                                             Op op) {
    map(numel, num_dims, x ? info : nullptr, x ? x : out, out, op);
}

/** out[i] = op(x[i], y[i]); out is contiguous, x and y may be the same memory. */
template <class T, class D, class Op>
__device__ __forceinline__ void zip(size_t numel, size_t num_dims, const size_t* info, const T* x, const T* y, D* out,
                                    Op op) {
    const Layouts<2> at(num_dims, info);
    for_each_index(numel, [&](size_t i) {
        const Offsets<2> offsets = at(i);
        out[i] = op(x[offsets.of[0]], y[offsets.of[1]]);
    });
}
