// fast_<fold>_<type>: reductions of the last dims of a tensor, with one block per output.
// sum_<type>: sums over any dims, added to the output.
// softmax_<type>, rmsnorm_<type>, layernorm_<type>: one block per row.
// rope_<type>, rope_i_<type>, rope_thd_<type>: rotary position embedding, one thread per pair of elements.
#include "elementwise.cuh"
#include "normalization.cuh"
#include "reduction.cuh"
#include "rope.cuh"

/** The largest value of T (infinity for floats), which is the minimum of an empty set. */
template <class T> __device__ __forceinline__ T largest() { return constant<T>(HUGE_VAL); }
template <> __device__ __forceinline__ u8 largest() { return u8(~0); }
template <> __device__ __forceinline__ u32 largest() { return ~0u; }
template <> __device__ __forceinline__ i64 largest() { return i64(~0ull >> 1); }

/** The lowest value of T (-infinity for floats), which is the maximum of an empty set. */
template <class T> __device__ __forceinline__ T lowest() { return constant<T>(-HUGE_VAL); }
template <> __device__ __forceinline__ u8 lowest() { return 0; }
template <> __device__ __forceinline__ u32 lowest() { return 0; }
template <> __device__ __forceinline__ i64 lowest() { return i64(1ull << 63); }

/**
 * Returns the number of outputs per block. Starting a block for each of very many outputs takes longer than reading
 * their elements, so one block in 32 processes all 32 outputs with groups of lanes, and the rest return at once.
 */
__device__ __forceinline__ u32 outputs_of_block() { return gridDim.x < 4096 ? 1 : 32; }

/**
 * Calls store(o, fold of the elements of output o) for each output of this block. The `terms` elements of an output are
 * consecutive in the linear index. Thread t folds the elements t, t + blockDim.x, ... into `nothing`; then the block
 * folds over its threads. A group of lanes folds in another order, unless each thread has at most one element. If
 * `order` matters, groups of lanes are used in that case only.
 */
template <bool order, class V, class T, class Load, class Fold, class Store>
__device__ __forceinline__ void fold_terms(size_t terms, size_t num_dims, const size_t* info, const T* src, V nothing,
                                           T empty, Load load, Fold fold, Store store) {
    const u32 outputs = outputs_of_block();
    if (blockIdx.x & (outputs - 1)) return;
    const Layouts<1> at(num_dims, info);
    const u32 groups = blockDim.x / GROUP, left = gridDim.x - blockIdx.x, end = left < outputs ? left : outputs;
    const bool tree = (blockDim.x & (blockDim.x - 1)) == 0 && terms <= blockDim.x;
    if (outputs > 1 && at.contiguous && blockDim.x % GROUP == 0 && (tree || !order)) {
        for (u32 n = threadIdx.x / GROUP; n < end; n += groups) {
            const size_t o = size_t(blockIdx.x) + n;
            V value = nothing;
            for (size_t i = 0; i < terms; i += MAX_THREADS) {
                const auto numbered = [&](T x, size_t slot) { return load(x, i + slot); };
                value = fold(value, over_slots(src + o * terms + i, terms - i, nothing, empty, numbered, fold));
            }
            value = over_group_in_order(value, fold);
            if (threadIdx.x % GROUP == 0) store(o, value);
        }
        return;
    }
    for (u32 n = 0; n < end; ++n) {
        const size_t o = size_t(blockIdx.x) + n, row = o * terms;
        V value = nothing;
        const auto take = [&](size_t i, T x) { value = fold(value, load(x, i)); };
        if (at.contiguous)
            for_each_loaded<8>(src + row, terms, size_t(threadIdx.x), blockDim.x, take);
        else
            for (size_t i = threadIdx.x; i < terms; i += blockDim.x) take(i, src[at(row + i).of[0]]);
        value = over_threads(blockDim.x, value, fold);
        if (threadIdx.x == 0) store(o, value);
    }
}

#define FAST(name, Fold, T, nothing)                                                                                 \
    STREAMING fast_##name##_##T(const size_t src_numel, const size_t terms, const size_t num_dims, const size_t* info,  \
                             const T* src, T* dst) {                                                                 \
        fold_terms<false, T>(terms, num_dims, info, src, nothing, nothing, [](T x, size_t) { return x; }, Fold(),    \
                             [=](size_t o, T folded) { dst[o] = folded; });                                          \
    }

/** An element and its index in the row; NOWHERE before the first element. */
template <class T>
struct Candidate {
    T value;
    u32 index;
};
constexpr u32 NOWHERE = ~0u;

template <class T> __device__ __forceinline__ Candidate<T> of_lane_xor(Candidate<T> x, u32 mask) {
    return {of_lane_xor(x.value, mask), of_lane_xor(x.index, mask)};
}

/**
 * Keeps its candidate unless the new one is better, so ties go to the earlier element of a thread and to the lower
 * thread of the tree: among the best elements, the one whose thread number is smallest in bit-reversed order wins. A
 * NaN is neither better nor worse: it stays if it came first, and is otherwise ignored.
 */
template <class Better>
struct Choice {
    Better better;
    template <class T>
    __device__ __forceinline__ Candidate<T> operator()(Candidate<T> kept, Candidate<T> other) const {
        return kept.index == NOWHERE || better(other.value, kept.value) ? other : kept;
    }
};

struct Less {
    template <class T> __device__ __forceinline__ bool operator()(T x, T y) const { return x < y; }
};
struct Greater {
    template <class T> __device__ __forceinline__ bool operator()(T x, T y) const { return x > y; }
};

#define FAST_ARG(name, Better, T, start)                                                                             \
    STREAMING fast_##name##_##T(const size_t src_numel, const size_t terms, const size_t num_dims, const size_t* info,  \
                             const T* src, u32* dst) {                                                               \
        const Candidate<T> nothing = {start, NOWHERE};                                                               \
        const auto load = [](T x, size_t i) { return Candidate<T>{x, u32(i)}; };                                     \
        fold_terms<true>(terms, num_dims, info, src, nothing, start, load, Choice<Better>(),                         \
                         [=](size_t o, Candidate<T> best) {                                                          \
                             dst[o] = num_dims ? best.index % info[num_dims - 1] : best.index;                       \
                         });                                                                                         \
    }

/** Returns the index in a contiguous tensor of the element that is term `term` of output o. */
__device__ __forceinline__ size_t index_of_term(size_t o, size_t term, size_t num_sum_dims, const size_t* lengths,
                                                const size_t* strides) {
    for (size_t d = num_sum_dims; d-- > 0;) {
        const size_t next = quotient(term, lengths[d]), coordinate = term - next * lengths[d];
        const size_t outer = quotient(o, strides[d]);
        o += (outer * (lengths[d] - 1) + coordinate) * strides[d];  // inserts a dim into the linear index
        term = next;
    }
    return o;
}

/**
 * Adds the sum of its elements to each out[o]. After dims and strides, `info` contains the length of each summed dim,
 * then its stride in a contiguous tensor of these dims.
 *
 * Consecutive threads share an output: as many as it has terms, at most the whole block. The sum is added once, in a
 * fixed order. One atomic addition per element would not work, because AMD GPUs lack it for 16-bit types.
 */
template <class T>
__device__ __forceinline__ void sum(size_t numel, size_t num_dims, size_t num_sum_dims, const size_t* info,
                                    const T* inp, T* out) {
    const Layouts<1> at(num_dims, info);
    const size_t *lengths = info + 2 * num_dims, *strides = lengths + num_sum_dims;
    size_t terms = 1;
    for (size_t d = 0; d < num_sum_dims; ++d) terms *= lengths[d];
    if (terms == 0) return;
    const size_t outputs = numel / terms;
    const u32 sharing = terms < blockDim.x ? terms : blockDim.x, at_once = blockDim.x / sharing;
    const u32 slot = threadIdx.x / sharing, first = threadIdx.x % sharing;

    for (size_t next = size_t(blockIdx.x) * at_once; next < outputs; next += size_t(gridDim.x) * at_once) {
        const size_t o = next + slot;
        const bool used = slot < at_once && o < outputs;
        T total = T(0.0f);
        for (size_t term = first; used && term < terms; term += sharing)
            total = Sum()(total, inp[at(index_of_term(o, term, num_sum_dims, lengths, strides)).of[0]]);
        total = over_threads(sharing, total, Sum());
        if (used && first == 0) out[o] = Sum()(out[o], total);
    }
}

#define SUM(T)                                                                                                     \
    KERNEL sum_##T(const size_t numel, const size_t num_dims, const size_t num_sum_dims, const size_t* info,       \
                   const T* inp, T* out) {                                                                         \
        sum(numel, num_dims, num_sum_dims, info, inp, out);                                                        \
    }

// The last argument repeats the block size, which is blockDim.x.
#define ROWS(T, Wide)                                                                                              \
    KERNEL softmax_##T(const T* src, T* dst, const int n_cols) {                                                   \
        const size_t row = size_t(blockIdx.x) * n_cols;                                                            \
        softmax<Wide>(src + row, dst + row, n_cols);                                                               \
    }                                                                                                              \
    STREAMING rmsnorm_##T(const T* src, T* dst, const T* alpha, const int n_cols, const int, const float eps) {       \
        rms_norm(src, dst, alpha, n_cols, eps);                                                                    \
    }                                                                                                              \
    STREAMING layernorm_##T(const T* src, T* dst, const T* alpha, const T* beta, const int n_cols, const int,         \
                         const float eps) {                                                                        \
        layer_norm(src, dst, alpha, beta, n_cols, eps);                                                            \
    }

#define ROPE(T)                                                                                                    \
    KERNEL rope_i_##T(const T* src, const T* cos, const T* sin, T* dst, const u32 bh, const u32 td,                \
                      const u32 stride_b) {                                                                        \
        rope(size_t(bh) * td / 2, td / 2, stride_b, src, cos, sin, dst,                                            \
             [=](size_t i) { return interleaved(i, td); });                                                        \
    }                                                                                                              \
    KERNEL rope_##T(const T* src, const T* cos, const T* sin, T* dst, const u32 bh, const u32 td, const u32 d,     \
                    const u32 stride_b) {                                                                          \
        rope(size_t(bh) * td / 2, td / 2, stride_b, src, cos, sin, dst,                                            \
             [=](size_t i) { return halves(i, td, d); });                                                          \
    }                                                                                                              \
    KERNEL rope_thd_##T(const T* src, const T* cos, const T* sin, T* dst, const u32 b, const u32 t, const u32 h,   \
                        const u32 d, const u32 stride_b) {                                                         \
        rope(size_t(b) * t * h * d / 2, size_t(t) * d / 2, stride_b, src, cos, sin, dst,                           \
             [=](size_t i) { return halves_of_heads(i, t, h, d); });                                               \
    }

#define REDUCE(T)                              \
    FAST(sum, Sum, T, T(0.0f))                 \
    FAST(min, Minimum, T, largest<T>())        \
    FAST(max, Maximum, T, lowest<T>())         \
    FAST_ARG(argmin, Less, T, largest<T>())    \
    FAST_ARG(argmax, Greater, T, lowest<T>())

REDUCE(u8)
REDUCE(u32)
REDUCE(i64)
REDUCE(f16)
REDUCE(bf16)
REDUCE(f32)
REDUCE(f64)

SUM(u32)
SUM(f16)
SUM(bf16)
SUM(f32)
SUM(f64)

ROWS(f16, f32)
ROWS(bf16, f32)
ROWS(f32, f32)
ROWS(f64, f64)

ROPE(f16)
ROPE(bf16)
ROPE(f32)
ROPE(f64)
