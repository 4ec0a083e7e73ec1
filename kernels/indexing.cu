// Rows of a tensor, picked by ids along one dim. `left` is the product of the dims before that one, `right` of those
// after it; inp and out are contiguous, and are written here as [l, j, r].
//
// is_<id>_<type>      index_select  out[l, j, r] = inp[l, ids[j], r]
// gather_<id>_<type>  gather        out[l, j, r] = inp[l, ids[l, j, r], r]
// ia_<id>_<type>      index_add     out[l, ids[j], r] += inp[l, j, r]
// sa_<id>_<type>      scatter_add   out[l, ids[l, j, r], r] += inp[l, j, r]
// s_<id>_<type>       scatter       out[l, ids[l, j, r], r] = inp[l, j, r]
//
// Sums are computed in the element type: each addition rounds, integers wrap.
#include "elementwise.cuh"
#include "functions.cuh"

/**
 * Whether an id picks one of `count` rows. The largest id of a type means "none", even where there are that many rows.
 * The CUDA kernels stop the device for any other id out of range; here it means "none" as well.
 */
template <class I>
__device__ __forceinline__ bool picks(I id, size_t count) {
    constexpr I none = I(~I(0)) > I(0) ? I(~I(0)) : I((1ull << (8 * sizeof(I) - 1)) - 1);
    return id != none && size_t(id) < count;  // a negative id becomes larger than any count
}

/** Of so many blocks and more, one in SHARED has the elements of them all: a block with little to do costs too much. */
constexpr u32 MANY_BLOCKS = 4096, SHARED = 16;

__device__ __forceinline__ bool another_block_does_it() { return gridDim.x >= MANY_BLOCKS && blockIdx.x % SHARED; }

/** The coordinates of a linear index in [l, j, r]. */
struct Place {
    size_t l, j, r;

    __device__ __forceinline__ Place(size_t i, size_t count, size_t right) {
        const size_t row = quotient(i, right);
        l = quotient(row, count);
        j = row - l * count;
        r = i - row * right;
    }

    /** Of the sum of two indices; it carries as numbers do, which spares divisions. */
    __device__ __forceinline__ void add(const Place& step, size_t count, size_t right) {
        l += step.l;
        j += step.j;
        r += step.r;
        if (r >= right) r -= right, ++j;
        if (j >= count) j -= count, ++l;
    }
};

/**
 * out[l, j, r] = inp[l, id_at(j, i), r] for each i = [l, j, r] < numel, where out has `count` rows; 0 for "none".
 * `ahead`: ids may be read several at a time.
 */
template <class T, class Ids>
__device__ __forceinline__ void pick_rows(size_t numel, const T* inp, T* out, size_t src_dim, size_t count,
                                          size_t right, bool ahead, Ids id_at) {
    if (numel == 0) return;
    constexpr u32 AHEAD = 4;
    constexpr size_t NONE = ~size_t(0);
    const u32 left = gridDim.x - blockIdx.x, several = gridDim.x < MANY_BLOCKS ? 1 : left < SHARED ? left : SHARED;
    const u32 threads = blockDim.x;
    const Place step(threads, count, right);

    for (size_t base = size_t(blockIdx.x) * threads; base < numel; base += size_t(gridDim.x) * threads) {
        const size_t end = base + several * threads < numel ? base + several * threads : numel;
        size_t i = base + threadIdx.x;
        Place at(i, count, right);
        const auto next = [&] {
            const auto id = id_at(at.j, i);
            const size_t from = picks(id, src_dim) ? (at.l * src_dim + size_t(id)) * right + at.r : NONE;
            at.add(step, count, right);
            i += threads;
            return from;
        };
        while (ahead && i + (AHEAD - 1) * threads < end) {
            T* to = out + i;
            size_t from[AHEAD];
            T picked[AHEAD];
#pragma unroll
            for (u32 k = 0; k < AHEAD; ++k) from[k] = next();
#pragma unroll
            for (u32 k = 0; k < AHEAD; ++k) picked[k] = from[k] == NONE ? T(0.0f) : inp[from[k]];
#pragma unroll
            for (u32 k = 0; k < AHEAD; ++k) to[size_t(k) * threads] = picked[k];
        }
#pragma unroll 1
        while (i < end) {
            T& to = out[i];
            const size_t from = next();
            to = from == NONE ? T(0.0f) : inp[from];
        }
    }
}

/**
 * update(out[l, id_at(j, i), r], inp[i]) for each i = [l, j, r]. A thread has the column [l, :, r] to itself and takes
 * j in ascending order, so that the result does not depend on the launch, even if an id comes twice.
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

// The strides in `info` are those of the ids. (The CUDA kernels apply them to inp instead.)
#define PICK(I, T)                                                                                      \
    KERNEL is_##I##_##T(const size_t numel, const size_t num_dims, const size_t* info, const I* ids,    \
                        const T* inp, T* out, const size_t left, const size_t src_dim,                  \
                        const size_t ids_dim, const size_t right) {                                     \
        if (another_block_does_it()) return;                                                            \
        const Layouts<1> at(num_dims, info);                                                            \
        pick_rows(numel, inp, out, src_dim, ids_dim, right, at.contiguous,                              \
                  [&](size_t j, size_t) { return ids[at(j).of[0]]; });                                  \
    }                                                                                                   \
    KERNEL gather_##I##_##T(const size_t numel, const I* ids, const T* inp, T* out, const size_t left,  \
                            const size_t src_dim, const size_t ids_dim, const size_t right) {           \
        if (another_block_does_it()) return;                                                            \
        pick_rows(numel, inp, out, src_dim, ids_dim, right, true,                                       \
                  [=](size_t, size_t i) { return ids[i]; });                                            \
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
