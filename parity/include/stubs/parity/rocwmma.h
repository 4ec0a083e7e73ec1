// rocWMMA: matrix fragments that a wavefront holds, loads, multiplies and stores.
//
// The library does not document which lane holds which element. Here a lane has a row of a or a column of b, or every
// W-th element of the sums. W is the width of the wavefront, 64 lanes on gfx9, so code that assumes warps of 32 lanes
// fails as it does with rocWMMA. Products use shuffles instead of matrix instructions. Halves are summed in single
// precision and rounded once.
#pragma once

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <type_traits>

#ifdef __AMDGCN_WAVEFRONT_SIZE
#define PARITY_STUB_LANES __AMDGCN_WAVEFRONT_SIZE
#else
#define PARITY_STUB_LANES 64
#endif

namespace rocwmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}
using xfloat32_t = precision::tf32;

namespace parity_stub_wmma {

template <class T> struct Stored { using type = T; };
template <> struct Stored<precision::tf32> { using type = float; };

template <class Use, int M, int N, int K> constexpr int elements = K;
template <int M, int N, int K> constexpr int elements<accumulator, M, N, K> = M * N / PARITY_STUB_LANES;

// The type of the sums, and conversion of a factor to it.
template <class T> struct Summed { using type = float; };
template <> struct Summed<double> { using type = double; };
template <> struct Summed<int> { using type = int; };
// Named conversions, because torch extensions are compiled without conversions of __half.
template <class To, class From> __device__ __forceinline__ To converted(From x) {
    if constexpr (std::is_same_v<From, __half>) return static_cast<To>(__half2float(x));
    else if constexpr (std::is_same_v<To, __half>) return __float2half(x);
    else return static_cast<To>(x);
}
template <class T, class Sum, class X> __device__ __forceinline__ Sum factor(X x) {
    return converted<Sum>(x);
}
template <> __device__ __forceinline__ float factor<precision::tf32, float, float>(float x) {
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

__device__ __forceinline__ int lane() { return __lane_id(); }

}  // namespace parity_stub_wmma

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    using element_type = T;
    using storage_element_type = typename parity_stub_wmma::Stored<T>::type;
    enum { num_elements = parity_stub_wmma::elements<Use, M, N, K>, num_storage_elements = num_elements };
    static_assert(M <= PARITY_STUB_LANES && N <= PARITY_STUB_LANES, "a wavefront has a lane for each row and column");

    storage_element_type x[num_elements];

    __device__ storage_element_type& operator[](int place) { return x[place]; }
    __device__ const storage_element_type& operator[](int place) const { return x[place]; }
};

template <class Use, int M, int N, int K, class T, class Layout, class Value>
__device__ __forceinline__ void fill_fragment(fragment<Use, M, N, K, T, Layout>& to, const Value& value) {
    for (int k = 0; k < to.num_elements; ++k) to.x[k] = value;
}

template <int M, int N, int K, class T, class Layout, class From>
__device__ __forceinline__ void load_matrix_sync(fragment<matrix_a, M, N, K, T, Layout>& to, const From* from, unsigned ld) {
    const unsigned row = parity_stub_wmma::lane() % M;
    for (int k = 0; k < K; ++k) to.x[k] = from[__is_same(Layout, row_major) ? row * ld + k : k * ld + row];
}
template <int M, int N, int K, class T, class Layout, class From>
__device__ __forceinline__ void load_matrix_sync(fragment<matrix_b, M, N, K, T, Layout>& to, const From* from, unsigned ld) {
    const unsigned column = parity_stub_wmma::lane() % N;
    for (int k = 0; k < K; ++k) to.x[k] = from[__is_same(Layout, row_major) ? k * ld + column : column * ld + k];
}
// The memory index of an element of the sums that a lane holds.
template <int N> __device__ __forceinline__ unsigned place(int element, unsigned ld, layout_t layout) {
    const unsigned at = element * PARITY_STUB_LANES + parity_stub_wmma::lane(), row = at / N, column = at % N;
    return layout == mem_row_major ? row * ld + column : column * ld + row;
}
template <int M, int N, int K, class T, class From>
__device__ __forceinline__ void load_matrix_sync(fragment<accumulator, M, N, K, T>& to, const From* from, unsigned ld, layout_t layout) {
    for (int k = 0; k < to.num_elements; ++k) to.x[k] = from[place<N>(k, ld, layout)];
}
template <int M, int N, int K, class T, class To>
__device__ __forceinline__ void store_matrix_sync(To* to, const fragment<accumulator, M, N, K, T>& from, unsigned ld, layout_t layout) {
    for (int k = 0; k < from.num_elements; ++k) to[place<N>(k, ld, layout)] = from.x[k];
}

template <int M, int N, int K, class D, class A, class LayoutA, class B, class LayoutB, class C>
__device__ __forceinline__ void mma_sync(fragment<accumulator, M, N, K, D>& d,
                                         const fragment<matrix_a, M, N, K, A, LayoutA>& a,
                                         const fragment<matrix_b, M, N, K, B, LayoutB>& b,
                                         const fragment<accumulator, M, N, K, C>& c) {
    using Sum = typename parity_stub_wmma::Summed<C>::type;
    constexpr int rows = PARITY_STUB_LANES / N;  // rows of each element that the lanes cover
    for (int k = 0; k < d.num_elements; ++k) {
        const int row = k * rows + parity_stub_wmma::lane() / N;
        Sum sum = parity_stub_wmma::converted<Sum>(c.x[k]);
        for (int part = 0; part < K; ++part) {
            const Sum left = __shfl(parity_stub_wmma::factor<A, Sum>(a.x[part]), row);
            const Sum right = parity_stub_wmma::factor<B, Sum>(b.x[part]);
            if constexpr (__is_same(Sum, int)) sum += left * right;
            else if constexpr (__is_same(Sum, double)) sum = __builtin_fma(left, right, sum);
            else sum = __builtin_fmaf(left, right, sum);
        }
        d.x[k] = parity_stub_wmma::converted<D>(sum);
    }
}
// CUDA's function has a fifth parameter, false by default.
template <class D, class A, class B, class C>
__device__ __forceinline__ void mma_sync(D& d, const A& a, const B& b, const C& c, bool saturate) {
    assert(!saturate && "mma_sync that saturates");
    mma_sync(d, a, b, c);
}

// Rounds to nearest, ties away from zero, like PTX's cvt.rna.tf32.f32.
__device__ __forceinline__ float __float_to_tf32(float x) {
    const unsigned word = __float_as_uint(x);
    return (word & 0x7f800000u) == 0x7f800000u ? x : __uint_as_float((word + 0x1000u) & 0xffffe000u);
}

}  // namespace rocwmma
