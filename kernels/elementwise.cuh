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

/** Whether these strides are row-major without gaps. The stride of a dim of size 1 does not matter. */
__device__ __forceinline__ bool is_contiguous(size_t num_dims, const size_t* dims, const size_t* strides) {
    size_t expected = 1;
    for (size_t d = num_dims; d-- > 0;) {
        if (dims[d] > 1 && strides[d] != expected) return false;
        expected *= dims[d];
    }
    return true;
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

    __device__ __forceinline__ Layouts(size_t num_dims, const size_t* info)
        : num_dims(num_dims), info(info), contiguous(true) {
        if (!info) return;
        for (int n = 1; n <= N; ++n) contiguous = contiguous && is_contiguous(num_dims, info, info + n * num_dims);
    }

    __device__ __forceinline__ Offsets<N> operator()(size_t i) const {
        Offsets<N> offsets = {};
        if (contiguous) {
            for (int n = 0; n < N; ++n) offsets.of[n] = i;
            return offsets;
        }
        for (size_t d = num_dims; d-- > 0;) {
            const size_t quotient = i / info[d];
            const size_t coordinate = i - quotient * info[d];
            for (int n = 0; n < N; ++n) offsets.of[n] += coordinate * info[(n + 1) * num_dims + d];
            i = quotient;
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
