// The loop over tensors that all elementwise kernels share.
//
// `info` describes the operands in device memory: num_dims dims, then num_dims strides for each operand. Strides count
// elements; a stride of 0 broadcasts. A null `info` means that every operand is contiguous. The last dim varies
// fastest. Indices and offsets have 64 bits, so that tensors of 2^32 or more elements do not wrap.
#pragma once

#include "dtypes.cuh"

/**
 * Selects the blocks that work. The launch provides a thread per element. In a large grid, starting these blocks takes
 * longer than moving the data, so the first of every 16 blocks does the work of all 16, and the rest return at once.
 */
struct Workers {
    static constexpr u32 LARGE_GRID = 4096;
    const u32 shift = gridDim.x < LARGE_GRID ? 0 : 4;

    __device__ __forceinline__ bool idle() const { return blockIdx.x & ((1u << shift) - 1); }
    __device__ __forceinline__ size_t rank() const { return blockIdx.x >> shift; }
    __device__ __forceinline__ size_t count() const { return ((gridDim.x - 1) >> shift) + 1; }
};

/** Calls body(i) once for each i < numel, distributed over the grid. */
template <class Body>
__device__ __forceinline__ void for_each_index(size_t numel, Body body) {
    const Workers workers;
    if (workers.idle()) return;
    const size_t step = workers.count() * blockDim.x;
    for (size_t i = workers.rank() * blockDim.x + threadIdx.x; i < numel; i += step) body(i);
}

/**
 * Returns floor(index / dim) for indices below 2^48. Compilers expand a 64-bit integer division to a hundred
 * instructions, or to a call that occupies many registers.
 */
__device__ __forceinline__ size_t quotient(size_t index, size_t dim) {
    if ((index | dim) >> 32 == 0) return u32(index) / u32(dim);
    const f64 d = f64(dim);
    f64 inverse = rsqrtf(f32(d));
    inverse *= inverse;
    // Accurate to 20 bits; each step of Newton's method doubles the number of bits.
    inverse += inverse * fma(-d, inverse, 1.0);
    inverse += inverse * fma(-d, inverse, 1.0);
    const size_t near = size_t(f64(index) * inverse);  // off by at most 1
    const size_t low = near - (near * dim > index);
    return low + (index - low * dim >= dim);
}

/** The offsets in N operands of the element with one linear index. */
template <int N>
struct Offsets {
    size_t of[N];
};

/** The layouts of N operands with the same dims. */
template <int N>
struct Layouts {
    size_t num_dims;
    const size_t* info;
    bool contiguous;

    // Contiguous means row-major without gaps. The stride of a dim of size 1 does not matter.
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

/** N elements that one instruction reads or writes. */
template <class T, u32 N>
struct alignas(N * sizeof(T)) Vector {
    T of[N];
};

template <u32 N, class T> __device__ __forceinline__ Vector<T, N>* vectors(T* p) {
    return reinterpret_cast<Vector<T, N>*>(p);
}
template <u32 N, class T> __device__ __forceinline__ const Vector<T, N>* vectors(const T* p) {
    return reinterpret_cast<const Vector<T, N>*>(p);
}
template <u32 N, class T> __device__ __forceinline__ bool aligned(const T* p) {
    return reinterpret_cast<size_t>(p) % (N * sizeof(T)) == 0;
}

/** Elements per vector: at most 4, and at most 16 bytes of the widest type, which is the widest access of a GPU. */
template <class... T>
constexpr u32 VECTOR = ((sizeof(T) <= 4) && ...) ? 4 : 2;

template <class D, u32 N, class Op, class... S>
__device__ __forceinline__ Vector<D, N> map_vector(Op op, const Vector<S, N>&... in) {
    Vector<D, N> out;
#pragma unroll
    for (u32 k = 0; k < N; ++k) out.of[k] = op(in.of[k]...);
    return out;
}

/** Computes out[i] = op(x[i]...), then the same for y and the vector blockDim.x further on. */
template <class D, u32 N, class Op, class... S>
__device__ __forceinline__ void map_two(Vector<D, N>* out, Op op, Vector<S, N>... x, Vector<S, N>... y) {
#pragma unroll 1  // keeps only one copy of op, which may be long, for each element of a vector
    for (u32 k = 0; k < 2; ++k, out += blockDim.x) {
        *out = map_vector<D, N, Op, S...>(op, x...);
        ((x = y), ...);
    }
}

/**
 * Computes out[i] = op(in[i]...) if all operands are contiguous, otherwise out[i] = element(i); out is contiguous.
 * Blocks with enough work process vectors, two per thread at a time, so that the loads of both overlap.
 */
template <class D, class Element, class Op, class... S>
__device__ __forceinline__ void walk(size_t numel, Workers workers, bool contiguous, D* out, Element element, Op op,
                                     const S*... in) {
    constexpr u32 N = VECTOR<D, S...>;
    size_t first = workers.rank() * blockDim.x, step = workers.count() * blockDim.x;
    if (contiguous && numel >= step * 2 * N && (aligned<N>(in) && ... && aligned<N>(out))) {
        const u32 tile = blockDim.x * 2 * N, t = threadIdx.x, next = t + blockDim.x;
        for (first *= 2 * N; first + tile <= numel; first += step * 2 * N)
            map_two<D, N, Op, S...>(vectors<N>(out + first) + t, op, vectors<N>(in + first)[t]...,
                                    vectors<N>(in + first)[next]...);
        step = blockDim.x;  // one block processes the remaining elements, which do not fill a tile
    }
    for (size_t i = first + threadIdx.x; i < numel; i += step) out[i] = element(i);
}

/** Computes out[i] = op(x[i]); out is contiguous. */
template <class S, class D, class Op>
__device__ __forceinline__ void map(size_t numel, size_t num_dims, const size_t* info, const S* x, D* out, Op op) {
    const Workers workers;
    if (workers.idle()) return;
    const Layouts<1> at(num_dims, info);
    walk(numel, workers, at.contiguous, out, [&](size_t i) { return op(x[at(i).of[0]]); }, op, x);
}

/** Like map. If x is null, the operand is out at the linear index, regardless of `info`. */
template <class T, class Op>
__device__ __forceinline__ void map_in_place(size_t numel, size_t num_dims, const size_t* info, const T* x, T* out,
                                             Op op) {
    map(numel, num_dims, x ? info : nullptr, x ? x : out, out, op);
}

/** Computes out[i] = op(x[i], y[i]); out is contiguous, and x and y may be the same memory. */
template <class T, class D, class Op>
__device__ __forceinline__ void zip(size_t numel, size_t num_dims, const size_t* info, const T* x, const T* y, D* out,
                                    Op op) {
    const Workers workers;
    if (workers.idle()) return;
    const Layouts<2> at(num_dims, info);
    const auto element = [&](size_t i) {
        const Offsets<2> offsets = at(i);
        return op(x[offsets.of[0]], y[offsets.of[1]]);
    };
    walk(numel, workers, at.contiguous, out, element, op, x, y);
}
