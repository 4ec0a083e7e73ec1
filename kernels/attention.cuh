// Computes attention in one kernel with matrix cores: out = softmax(scale * q k^T) v for each head.
//
// A block processes 16 queries of a head and loops over the keys, 64 at a time. It keeps each query's largest score
// and sum of exp(score - largest), and rescales the sums when a larger score arrives ("online softmax": Milakov and
// Gimelshein, arXiv 1805.02867). It divides once, at the end. The matrix cores read the weights as elements of type T.
#pragma once

#include "fragments.cuh"

/** A matrix in shared memory, in the order that matrix cores read: STEP elements of each row, then the next STEP. */
template <class T, u32 ROWS>
struct Steps {
    static constexpr u32 STEP = Core<T>::STEP;
    T* at;

    __device__ __forceinline__ T& operator()(u32 row, u32 k) const {
        return at[(k / STEP * ROWS + row) * STEP + k % STEP];
    }
};

/** Copies ROWS of the `count` rows of a head, starting at `first`, to `place(row, element)`; fills 0 beyond the end. */
template <u32 ROWS, u32 WIDTH, u32 THREADS, class T, class Place>
__device__ __forceinline__ void load_rows(const T* from, const size_t* strides, size_t first, size_t count, Place place) {
    for (u32 n = threadIdx.x; n < ROWS * WIDTH; n += THREADS) {
        const u32 row = n / WIDTH, d = n % WIDTH;
        place(row, d) = first + row < count ? from[(first + row) * strides[2] + d * strides[3]] : T(0.0f);
    }
}

/**
 * `info` has the dims of out (batch, heads, queries, WIDTH), then the strides of out, q, k and v. `group` heads of q
 * share a head of k and v. If `causal`, query i sees the keys 0 to i. The result of a query without keys is 0.
 */
template <class T, u32 WIDTH, u32 THREADS>
__device__ __forceinline__ void attend(const size_t keys, const size_t group, const size_t* info, const T* q, const T* k,
                                       const T* v, T* out, const f32 scale, const u32 causal) {
    constexpr u32 ROWS = 16, KEYS = 64, STEP = Core<T>::STEP, WAVES = THREADS / WAVE, EACH = THREADS / ROWS;
    __shared__ __align__(32) unsigned char left[ROWS * WIDTH * sizeof(T)], right[KEYS * WIDTH * sizeof(T)],
        middle[ROWS * KEYS * sizeof(T)];
    __shared__ __align__(32) f32 scores[ROWS][KEYS], sums[ROWS][WIDTH];
    Steps<T, ROWS> queries{reinterpret_cast<T*>(left)}, weights{reinterpret_cast<T*>(middle)};
    Steps<T, KEYS> of_k{reinterpret_cast<T*>(right)};
    Steps<T, WIDTH> of_v{reinterpret_cast<T*>(right)};  // transposed: the columns of v are rows here
    const size_t *to = info + 4, *of_q = info + 8, *strides_k = info + 12, *strides_v = info + 16;
    const size_t first = blockIdx.x * ROWS, head = blockIdx.y, shared_head = head / group;
    q += blockIdx.z * of_q[0] + head * of_q[1];
    k += blockIdx.z * strides_k[0] + shared_head * strides_k[1];
    v += blockIdx.z * strides_v[0] + shared_head * strides_v[1];
    out += blockIdx.z * to[0] + head * to[1];

    load_rows<ROWS, WIDTH, THREADS>(q, of_q, first, info[2], queries);
    for (u32 n = threadIdx.x; n < ROWS * WIDTH; n += THREADS) sums[n / WIDTH][n % WIDTH] = 0;
    __syncthreads();
    // EACH threads share a query and keep equal copies of these two.
    const u32 row = threadIdx.x / EACH, part = threadIdx.x % EACH, wave = threadIdx.x / WAVE;
    f32 largest = -INFINITY, total = 0;
    const size_t end = causal && first + ROWS < keys ? first + ROWS : keys;
    for (size_t start = 0; start < end; start += KEYS) {
        load_rows<KEYS, WIDTH, THREADS>(k, strides_k, start, keys, of_k);
        __syncthreads();
        for (u32 tile = wave; tile < KEYS / 16; tile += WAVES) {
            Core<T> core;
            core.zero();
            for (u32 d = 0; d < WIDTH; d += STEP) core.add(&queries(0, d), &of_k(tile * 16, d));
            core.store(&scores[0][tile * 16], KEYS);
        }
        __syncthreads();
        const f32 before = largest;
        for (u32 key = part; key < KEYS; key += EACH) {
            const bool seen = start + key < keys && (!causal || start + key <= first + row);
            const f32 score = seen ? scale * scores[row][key] : -INFINITY;
            scores[row][key] = score;
            largest = fmaxf(largest, score);
        }
        for (u32 mask = EACH / 2; mask; mask /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, mask, EACH));
        f32 sum = 0;
        for (u32 key = part; key < KEYS; key += EACH) {
            const f32 score = scores[row][key], weight = score == -INFINITY ? 0 : expf(score - largest);
            weights(row, key) = T(weight);
            sum += weight;
        }
        for (u32 mask = EACH / 2; mask; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask, EACH);
        const f32 factor = before == largest ? 1 : expf(before - largest);
        total = total * factor + sum;
        for (u32 d = part; d < WIDTH; d += EACH) sums[row][d] *= factor;
        load_rows<KEYS, WIDTH, THREADS>(v, strides_v, start, keys, [&](u32 key, u32 d) -> T& { return of_v(d, key); });
        __syncthreads();
        for (u32 column = wave * 16; column < WIDTH; column += WAVES * 16) {
            Core<T> core;
            core.load(&sums[0][column], WIDTH);
            for (u32 key = 0; key < KEYS; key += STEP) core.add(&weights(0, key), &of_v(column, key));
            core.store(&sums[0][column], WIDTH);
        }
        __syncthreads();
    }
    if (first + row >= info[2]) return;
    for (u32 d = part; d < WIDTH; d += EACH)
        out[(first + row) * to[2] + d * to[3]] = T(total > 0 ? sums[row][d] / total : 0.0f);
}
