// Selects or updates rows of a tensor by ids along one dim. `left` is the product of the dims before it, and `right`
// the product of the dims after it. inp and out are contiguous; the formulas below index them as [l, j, r].
//
// is_<id>_<type>      index_select  out[l, j, r] = inp[l, ids[j], r]
// gather_<id>_<type>  gather        out[l, j, r] = inp[l, ids[l, j, r], r]
// ia_<id>_<type>      index_add     out[l, ids[j], r] += inp[l, j, r]
// sa_<id>_<type>      scatter_add   out[l, ids[l, j, r], r] += inp[l, j, r]
// s_<id>_<type>       scatter       out[l, ids[l, j, r], r] = inp[l, j, r]
//
// Sums have the element type: each addition rounds, and integers wrap.
#include "elementwise.cuh"
#include "functions.cuh"

/**
 * Tells whether an id selects one of `count` rows. The largest value of the id's type means "none", even if that many
 * rows exist. The CUDA kernels trap for any other id out of range; these kernels treat it as "none", too.
 */
template <class I>
__device__ __forceinline__ bool picks(I id, size_t count) {
    constexpr I none = I(~I(0)) > I(0) ? I(~I(0)) : I((1ull << (8 * sizeof(I) - 1)) - 1);
    return id != none && size_t(id) < count;  // a negative id becomes larger than any count
}

/** Sets out[l, j, r] = inp[l, id_at(j, i), r] for each i = [l, j, r] < numel; out has `count` rows; 0 for "none". */
template <class T, class Ids>
__device__ __forceinline__ void pick_rows(size_t numel, const T* inp, T* out, size_t src_dim, size_t count,
                                          size_t right, Ids id_at) {
    const auto picked = [&](size_t i) {
        const size_t row = quotient(i, right), l = quotient(row, count);
        const auto id = id_at(row - l * count, i);
        return picks(id, src_dim) ? inp[(l * src_dim + size_t(id)) * right + (i - row * right)] : T{};
    };
    for_each_index(numel, [&](size_t i) { out[i] = picked(i); });
}

/**
 * Calls update(out[l, id_at(j, i), r], inp[i]) for each i = [l, j, r]. One thread processes the column [l, :, r], in
 * ascending order of j, so that the result does not depend on the launch, even if an id occurs twice.
 */
template <class T, class Ids, class Update>
__device__ __forceinline__ void update_rows(const T* inp, T* out, size_t left, size_t src_dim, size_t dst_dim,
                                            size_t right, Ids id_at, Update update) {
    for_each_index(left * right, [&](size_t column) {
        const size_t l = quotient(column, right), r = column - l * right;
        for (size_t j = 0; j < src_dim; ++j) {
            const size_t i = (l * src_dim + j) * right + r;
            const auto id = id_at(j, i);
            if (picks(id, dst_dim)) update(out[(l * dst_dim + size_t(id)) * right + r], inp[i]);
        }
    });
}

/** Like pick_rows, for ids that select `right` consecutive elements: copies vectors if these are whole vectors. */
template <class T, class Ids>
__device__ __forceinline__ void pick_whole_rows(size_t numel, const T* inp, T* out, size_t src_dim, size_t count,
                                                size_t right, Ids id_at) {
    constexpr u32 N = VECTOR<T>;
    if (right % N == 0 && aligned<N>(inp) && aligned<N>(out))
        pick_rows(numel / N, vectors<N>(inp), vectors<N>(out), src_dim, count, right / N, id_at);
    else
        pick_rows(numel, inp, out, src_dim, count, right, id_at);
}

// `info` contains the strides of the ids. (The CUDA kernels apply these strides to inp instead.)
#define PICK(I, T)                                                                                               \
    STREAMING is_##I##_##T(const size_t numel, const size_t num_dims, const size_t* info, const I* ids,        \
                             const T* inp, T* out, const size_t left, const size_t src_dim,                      \
                             const size_t ids_dim, const size_t right) {                                         \
        if (Workers().idle()) return;                                                                            \
        const Layouts<1> at(num_dims, info);                                                                     \
        const auto id_at = [&](size_t j, size_t) { return ids[at(j).of[0]]; };                                   \
        pick_whole_rows(numel, inp, out, src_dim, ids_dim, right, id_at);                                        \
    }                                                                                                            \
    STREAMING gather_##I##_##T(const size_t numel, const I* ids, const T* inp, T* out, const size_t left,      \
                                 const size_t src_dim, const size_t ids_dim, const size_t right) {               \
        pick_rows(numel, inp, out, src_dim, ids_dim, right, [=](size_t, size_t i) { return ids[i]; });           \
    }
#define ADD(I, T, sum)                                                                                 \
    KERNEL ia_##I##_##T(const I* ids, const size_t ids_dim, const T* inp, T* out, const size_t left,   \
                        const size_t src_dim, const size_t dst_dim, const size_t right) {              \
        update_rows(inp, out, left, ids_dim, dst_dim, right, [=](size_t j, size_t) { return ids[j]; }, \
                    [](T& x, T y) { x = sum; });                                                       \
    }                                                                                                  \
    KERNEL sa_##I##_##T(const I* ids, const T* inp, T* out, const size_t left, const size_t src_dim,   \
                        const size_t dst_dim, const size_t right) {                                    \
        update_rows(inp, out, left, src_dim, dst_dim, right, [=](size_t, size_t i) { return ids[i]; }, \
                    [](T& x, T y) { x = sum; });                                                       \
    }
#define SET(I, T)                                                                                      \
    KERNEL s_##I##_##T(const I* ids, const T* inp, T* out, const size_t left, const size_t src_dim,    \
                       const size_t dst_dim, const size_t right) {                                     \
        update_rows(inp, out, left, src_dim, dst_dim, right, [=](size_t, size_t i) { return ids[i]; }, \
                    [](T& x, T y) { x = y; });                                                         \
    }

#define FLOAT(I, T) PICK(I, T) ADD(I, T, x + y) SET(I, T)
#define INTEGER(I, T) PICK(I, T) ADD(I, T, wrapping::add(x, y)) SET(I, T)
#define ALL(I)                                               \
    FLOAT(I, f16) FLOAT(I, bf16) FLOAT(I, f32) FLOAT(I, f64) \
    INTEGER(I, u8) INTEGER(I, u32) INTEGER(I, i64)

ALL(u8)
ALL(u32)
ALL(i64)

#define F8(I) PICK(I, f8_e4m3) ADD(I, f8_e4m3, x + y)

F8(u8)
F8(u32)
F8(i16)
F8(i32)
F8(i64)
