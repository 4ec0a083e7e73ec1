// asort_asc_<type>, asort_desc_<type>: the order of each row of a matrix with contiguous rows, one block per row.
//
// A bitonic network (Batcher 1968) over the indices 0 .. ncols_pad - 1 in dynamic shared memory, 4 * ncols_pad bytes.
// Indices from ncols on are padding, which belongs behind everything else. Equal elements may come in any order; around
// a NaN, which compares to nothing, the order is that of the network, but always a permutation.
#include "dtypes.cuh"

template <class T, class Before>
__device__ __forceinline__ void argsort(const T* row, u32* dst, u32 ncols, u32 ncols_pad, Before before) {
    extern __shared__ u32 order[];
    const auto precedes = [&](u32 i, u32 j) { return j >= ncols ? i < ncols : i < ncols && before(row[i], row[j]); };
    for (u32 i = threadIdx.x; i < ncols_pad; i += blockDim.x) order[i] = i;

    // Runs of `length` are sorted, up and down in turn, by comparing elements at ever smaller distances.
    for (u32 length = 2; length <= ncols_pad; length *= 2) {
        for (u32 distance = length / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (u32 pair = threadIdx.x; pair < ncols_pad / 2; pair += blockDim.x) {
                const u32 low = 2 * pair - pair % distance, high = low + distance;
                const u32 i = order[low], j = order[high];
                const bool ascending = (low & length) == 0;
                if (ascending ? precedes(j, i) : precedes(i, j)) {
                    order[low] = j;
                    order[high] = i;
                }
            }
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < ncols; i += blockDim.x) dst[i] = order[i];
}

#define ARGSORT(T)                                                                                         \
    KERNEL asort_asc_##T(const T* x, u32* dst, const int ncols, int ncols_pad) {                           \
        const size_t row = size_t(blockIdx.x) * ncols;                                                     \
        argsort(x + row, dst + row, ncols, ncols_pad, [](T x, T y) { return x < y; });                     \
    }                                                                                                      \
    KERNEL asort_desc_##T(const T* x, u32* dst, const int ncols, int ncols_pad) {                          \
        const size_t row = size_t(blockIdx.x) * ncols;                                                     \
        argsort(x + row, dst + row, ncols, ncols_pad, [](T x, T y) { return x > y; });                     \
    }

ARGSORT(u8)
ARGSORT(u32)
ARGSORT(i64)
ARGSORT(f16)
ARGSORT(bf16)
ARGSORT(f32)
ARGSORT(f64)
