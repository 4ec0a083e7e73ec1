// dequantize_block_<format>_<type>: converts blocks to floats.
// get_rows_<format>: selects rows of a table of blocks by ids, and converts them to floats.
// quantize_q8_1: converts rows of floats to blocks.
// dequantize_mul_mat_vec_<format>: multiplies weights by a vector of floats, with a group of 32 lanes per row.
// mul_mat_vec_<format>_q8_1_cuda<n>: multiplies weights by n vectors of blocks, a thread block per row or two rows.
// indexed_moe_forward_<format>_q8_1: multiplies each row of an expert, which the ids select, by a vector of blocks.
// mul_mat_<format>: multiplies weights by many vectors of blocks, with a thread block per tile.
//
// The kernels do not read beyond a row of weights or in the padding of a vector, so hosts need not set either.
#include "tiles.cuh"

template <class T>
__device__ __forceinline__ void store_four(T* out, const Vector<f32, 4>& values) {
    if (aligned<4>(out)) {
        Vector<T, 4> rounded;
#pragma unroll
        for (u32 k = 0; k < 4; ++k) rounded.of[k] = T(values.of[k]);
        *vectors<4>(out) = rounded;
    } else {
#pragma unroll
        for (u32 k = 0; k < 4; ++k) out[k] = T(values.of[k]);
    }
}

/** Converts every `step`-th word of quants of an array of blocks, from number `first` up to `end`, to floats. */
template <class F, class T>
__device__ __forceinline__ void dequantize(const u8* blocks, T* out, size_t first, size_t end, size_t step) {
    using Part = Share<F, 1>;
    for (size_t n = first; n < end; n += step) {
        const size_t block = n / Part::PER_BLOCK;
        const u32 part = n % Part::PER_BLOCK;
        Part share;
        share.load(blocks + block * F::BYTES, part);
#pragma unroll
        for (u32 p = 0; p < F::PLANES; ++p)
            store_four(out + block * F::VALUES + Part::quad(part, p) * 4, share.weights(p));
    }
}

/** Converts the `share` of `count` values that belongs to this block of threads. */
template <class F, class T>
__device__ __forceinline__ void dequantize_share(const void* x, T* y, size_t count, u32 share) {
    constexpr u32 EACH = 4 * F::PLANES;
    const size_t first = size_t(blockIdx.x) * share / EACH, end = first + share / EACH, all = count / EACH;
    dequantize<F>(static_cast<const u8*>(x), y, first + threadIdx.x, end < all ? end : all, blockDim.x);
}

#define DEQUANTIZE_BLOCKS(format, T)                                                                    \
    KERNEL dequantize_block_##format##_##T(const void* x, T* y, const int blocks) {                     \
        dequantize_share<format>(x, y, size_t(blocks) * format::VALUES, 256);                           \
    }
#define DEQUANTIZE_VALUES(format, T)                                                                    \
    KERNEL dequantize_block_##format##_##T(const void* x, T* y, const int count) {                      \
        dequantize_share<format>(x, y, size_t(count), 512);                                             \
    }
#define DEQUANTIZE_SUPER(format, T)                                                                     \
    KERNEL dequantize_block_##format##_##T(const void* x, T* y) {                                       \
        dequantize_share<format>(x, y, size_t(gridDim.x) * format::VALUES, format::VALUES);             \
    }
#define DEQUANTIZE(T)            \
    DEQUANTIZE_BLOCKS(q4_0, T)   \
    DEQUANTIZE_BLOCKS(q4_1, T)   \
    DEQUANTIZE_BLOCKS(q8_0, T)   \
    DEQUANTIZE_VALUES(q5_0, T)   \
    DEQUANTIZE_VALUES(q5_1, T)   \
    DEQUANTIZE_SUPER(q2_K, T)    \
    DEQUANTIZE_SUPER(q3_K, T)    \
    DEQUANTIZE_SUPER(q4_K, T)    \
    DEQUANTIZE_SUPER(q5_K, T)    \
    DEQUANTIZE_SUPER(q6_K, T)    \
    DEQUANTIZE_SUPER(q8_K, T)
DEQUANTIZE(f32)
DEQUANTIZE(f16)

/** Copies row ids[blockIdx.x] of the table. The blocks of the grid along y share it. */
template <class F>
__device__ __forceinline__ void get_row(const void* table, const u32* ids, f32* dst, i64 length, size_t row_bytes) {
    const u8* row = static_cast<const u8*>(table) + ids[blockIdx.x] * row_bytes;
    const size_t first = size_t(blockIdx.y) * blockDim.x + threadIdx.x, step = size_t(gridDim.y) * blockDim.x;
    dequantize<F>(row, dst + blockIdx.x * size_t(length), first, size_t(length) / (4 * F::PLANES), step);
}

template <class T>
__device__ __forceinline__ void get_plain_row(const T* table, const u32* ids, f32* dst, i64 length) {
    const size_t first = size_t(blockIdx.y) * blockDim.x + threadIdx.x, step = size_t(gridDim.y) * blockDim.x;
    const size_t from = ids[blockIdx.x] * size_t(length), to = blockIdx.x * size_t(length);
    for (size_t i = first; i < size_t(length); i += step) dst[to + i] = to_f32(table[from + i]);
}

#define GET_ROWS(format)                                                                                              \
    KERNEL get_rows_##format(const void* table, const u32* ids, f32* dst, const int64_t length, const size_t stride) { \
        get_row<format>(table, ids, dst, length, stride);                                                             \
    }
#define GET_PLAIN_ROWS(T)                                                                                             \
    KERNEL get_rows_##T(const T* table, const u32* ids, f32* dst, const int64_t length, const size_t) {               \
        get_plain_row(table, ids, dst, length);                                                                       \
    }

/** A group of 32 lanes quantizes a block. A NaN affects only the sum, and its quant is 0. */
KERNEL quantize_q8_1(const f32* x, void* y, const int length, const int padded) {
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= u32(padded)) return;
    const size_t row = blockIdx.y;
    const f32 value = column < u32(length) ? x[row * u32(length) + column] : 0.0f;
    const f32 largest = over_group(fabsf(value), [](f32 a, f32 b) { return fmaxf(a, b); });
    const f32 sum = over_group(value, Sum());
    const f32 d = largest / 127.0f, ratio = roundf(value / d);
    q8_1& block = static_cast<q8_1*>(y)[(row * u32(padded) + column) / 32];
    // The ratio exceeds 127 only if d is subnormal and has lost bits.
    const f32 quant = ratio == ratio ? fminf(fmaxf(ratio, -127.0f), 127.0f) : 0.0f;
    reinterpret_cast<int8_t*>(block.quads)[threadIdx.x % 32] = int8_t(quant);
    if (threadIdx.x % 32 == 0) block.d = to_f16(d), block.s = to_f16(sum);
}

template <class F>
__device__ __forceinline__ void vector_of_floats(const void* w, const f32* y, f32* dst, u32 ncols, u32 nrows) {
    const u32 row = blockIdx.x;
    if (row >= nrows) return;
    const u32 blocks = ncols / F::VALUES;
    const f32 product = multiply<F>(static_cast<const u8*>(w) + row * row_bytes<F>(blocks), y, blocks);
    if (threadIdx.x == 0) dst[row] = product;
}

// The kernel of q5_k does not take nrows: every thread block has a row.
#define VECTOR_OF_FLOATS(name, format)                                                                                 \
    KERNEL dequantize_mul_mat_vec_##name(const void* w, const f32* y, f32* dst, const int ncols, const int nrows) {    \
        vector_of_floats<format>(w, y, dst, u32(ncols), u32(nrows));                                                   \
    }
KERNEL dequantize_mul_mat_vec_q5_k(const void* w, const f32* y, f32* dst, const int ncols) {
    vector_of_floats<q5_K>(w, y, dst, u32(ncols), gridDim.x);
}

/**
 * A thread block processes more rows than the launch assumes, so that a thread reuses each loaded activation. The first
 * blocks process all rows, and the remaining blocks return at once.
 */
template <class F, u32 COLUMNS, u32 THREADS>
__device__ __forceinline__ void vectors_of_blocks(const void* w, const void* y, f32* dst, u32 ncols, u32 nrows,
                                                  u32 nrows_y, u32 nrows_dst) {
    const u32 row = blockIdx.x * ROWS_OF<F, COLUMNS>, blocks = ncols / F::VALUES;
    if (row >= nrows) return;
    multiply<F, COLUMNS, THREADS>(
        static_cast<const u8*>(w) + row * row_bytes<F>(blocks), nrows - row, static_cast<const q8_1*>(y), nrows_y / 32,
        blocks, [=](u32 r, u32 column, f32 product) { dst[size_t(column) * nrows_dst + row + r] = product; });
}

VECTOR_OF_FLOATS(q4_0_cuda, q4_0)
VECTOR_OF_FLOATS(q4_1_cuda, q4_1)
VECTOR_OF_FLOATS(q5_0_cuda, q5_0)
VECTOR_OF_FLOATS(q5_1_cuda, q5_1)
VECTOR_OF_FLOATS(q8_0_cuda, q8_0)
VECTOR_OF_FLOATS(q2_k, q2_K)
VECTOR_OF_FLOATS(q3_k, q3_K)
VECTOR_OF_FLOATS(q4_k, q4_K)
VECTOR_OF_FLOATS(q6_k, q6_K)

#ifdef __HIPCC__  // HIP counts wavefronts in the second bound
#define BLOCK_OF(threads, resident) extern "C" __global__ void __launch_bounds__(threads)
#else
#define BLOCK_OF(threads, resident) extern "C" __global__ void __launch_bounds__(threads, resident)
#endif

#define VECTORS_OF_BLOCKS(format, n, threads)                                                                         \
    BLOCK_OF(threads, (Work<format, n>::RESIDENT)) mul_mat_vec_##format##_q8_1_cuda##n(                               \
        const void* w, const void* y, f32* dst, const int ncols, const int nrows, const int nrows_y,                  \
        const int nrows_dst) {                                                                                        \
        vectors_of_blocks<format, n, threads>(w, y, dst, u32(ncols), u32(nrows), u32(nrows_y), u32(nrows_dst));       \
    }

#define MANY_VECTORS(format, columns, rows)                                                                            \
    BLOCK_OF(128, 0) mul_mat_##format(const void* w, const void* y, f32* dst, const int ncols, const int nrows,        \
                                   const int ncols_y, const int nrows_y, const int nrows_dst) {                        \
        multiply_tiles<format, columns, rows>(static_cast<const u8*>(w), static_cast<const q8_1*>(y), dst, u32(ncols), \
                                              u32(nrows), u32(ncols_y), u32(nrows_y) / 32, u32(nrows_dst));            \
    }

#define PRODUCTS(format, columns, rows)                                                                                \
    GET_ROWS(format)                                                                                                   \
    VECTORS_OF_BLOCKS(format, 1, 128)                                                                                  \
    VECTORS_OF_BLOCKS(format, 2, 128)                                                                                  \
    VECTORS_OF_BLOCKS(format, 3, 128)                                                                                  \
    VECTORS_OF_BLOCKS(format, 4, 128)                                                                                  \
    VECTORS_OF_BLOCKS(format, 5, 64)                                                                                   \
    VECTORS_OF_BLOCKS(format, 6, 64)                                                                                   \
    VECTORS_OF_BLOCKS(format, 7, 64)                                                                                   \
    VECTORS_OF_BLOCKS(format, 8, 64)                                                                                   \
    MANY_VECTORS(format, columns, rows)

GET_PLAIN_ROWS(f32)
GET_PLAIN_ROWS(f16)
GET_PLAIN_ROWS(bf16)
PRODUCTS(q4_0, 64, 128)
PRODUCTS(q4_1, 64, 128)
PRODUCTS(q5_0, 128, 64)
PRODUCTS(q5_1, 128, 64)
PRODUCTS(q8_0, 128, 64)
PRODUCTS(q2_K, 64, 128)
PRODUCTS(q3_K, 128, 128)
PRODUCTS(q4_K, 64, 128)
PRODUCTS(q5_K, 64, 128)
PRODUCTS(q6_K, 64, 64)

/** Processes the rows of task (batch, choice) = (blockIdx.y, blockIdx.z). */
template <class F>
__device__ __forceinline__ void expert(const void* w, const void* y, const u32* ids, f32* dst, u32 n, u32 k, u32 choices,
                                       u32 padded, u32 vectors) {
    const u32 task = blockIdx.y * choices + blockIdx.z, row = blockIdx.x * ROWS_OF<F, 1>, blocks = k / F::VALUES;
    if (row >= n) return;
    const u8* rows = static_cast<const u8*>(w) + (size_t(ids[task]) * n + row) * row_bytes<F>(blocks);
    const q8_1* vector = static_cast<const q8_1*>(y) + size_t(vectors == 1 ? blockIdx.y : task) * (padded / 32);
    multiply<F, 1, 128>(rows, n - row, vector, 0, blocks,
                        [=](u32 r, u32, f32 product) { dst[size_t(task) * n + row + r] = product; });
}

#define EXPERTS(format, name)                                                                                          \
    BLOCK_OF(128, (Work<format, 1>::RESIDENT)) indexed_moe_forward_##name##_q8_1(                                      \
        const void* w, const void* y, const u32* ids, f32* dst, const int n, const int k, const int batch,             \
        const int topk, const int k_padded, const int input_dim1) {                                                    \
        expert<format>(w, y, ids, dst, u32(n), u32(k), u32(topk), u32(k_padded), u32(input_dim1));                     \
    }
EXPERTS(q2_K, q2k)
EXPERTS(q3_K, q3k)
EXPERTS(q4_K, q4k)
EXPERTS(q5_K, q5k)
EXPERTS(q6_K, q6k)
EXPERTS(q8_0, q8_0)
