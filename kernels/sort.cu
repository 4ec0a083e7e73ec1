// asort_asc_<type>, asort_desc_<type>: argsort of each row of a matrix with contiguous rows, one block per row.
//
// A bitonic network (Batcher 1968) sorts ncols_pad elements, a power of two. Indices from ncols on are padding and end
// up last. Dynamic shared memory has 4 bytes per element. A block with a thread for every few elements sorts in
// registers, any other block in shared memory.
//
// Equal elements may be in any order. A NaN, and all elements of a row with a NaN, may be anywhere. The result is
// always a permutation.
#include "reduction.cuh"

using u64 = uint64_t;
using u128 = unsigned __int128;

/** Maps the bits of a float to an unsigned number with the same order. A NaN is at the end that its sign indicates. */
template <class Bits>
__device__ __forceinline__ Bits ordered(Bits bits) {
    constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
    return bits & sign ? Bits(~bits) : Bits(bits | sign);
}

/** Returns a number that orders by element, then by index. The index has 16 bits for elements of up to 16 bits. */
__device__ __forceinline__ u32 item(u8 x, u32 index) { return u32(x) << 16 | (index & 0xffff); }
__device__ __forceinline__ u32 item(uint16_t x, u32 index) { return u32(x) << 16 | (index & 0xffff); }
__device__ __forceinline__ u64 item(u32 x, u32 index) { return u64(x) << 32 | index; }
__device__ __forceinline__ u128 item(u64 x, u32 index) { return u128(x) << 32 | index; }
__device__ __forceinline__ u128 item(i64 x, u32 index) { return item(u64(x ^ i64(1ull << 63)), index); }
__device__ __forceinline__ u32 item(f16 x, u32 index) { return item(ordered(uint16_t(__half_as_ushort(x))), index); }
__device__ __forceinline__ u32 item(bf16 x, u32 index) {
    // In HIP 6, __bfloat16_as_ushort converts the value instead of its bits.
    return item(ordered(reinterpret_cast<const uint16_t&>(x)), index);
}
__device__ __forceinline__ u64 item(f32 x, u32 index) { return item(ordered(__float_as_uint(x)), index); }
__device__ __forceinline__ u128 item(f64 x, u32 index) { return item(ordered(u64(__double_as_longlong(x))), index); }

__device__ __forceinline__ u32 index_of(u32 item) { return item & 0xffff; }
__device__ __forceinline__ u32 index_of(u64 item) { return u32(item); }
__device__ __forceinline__ u32 index_of(u128 item) { return u32(item); }

template <> __device__ __forceinline__ u128 of_lane_xor(u128 x, u32 mask) {
    return u128(of_lane_xor(u64(x >> 64), mask)) << 64 | of_lane_xor(u64(x), mask);
}

/** The number of elements that a thread holds in registers. */
constexpr u32 EACH = 4;

/** Compares elements of this thread in one step of the network. */
template <class Item, class Descending>
__device__ __forceinline__ void compare_own(Item (&items)[EACH], u32 distance, Descending descending) {
#pragma unroll
    for (u32 e = 0; e < EACH; ++e) {
        if (e & distance) continue;
        const Item x = items[e], y = items[e | distance];
        const bool swap = (y < x) != descending(e);
        items[e] = swap ? y : x;
        items[e | distance] = swap ? x : y;
    }
}

/** Exchanges items with the thread whose number differs in the bits of `mask`, word by word through shared memory. */
template <class Item>
__device__ __forceinline__ void of_thread_xor(const Item (&items)[EACH], Item (&others)[EACH], u32 threads, u32 mask,
                                              u32* shared) {
#pragma unroll
    for (u32 bit = 0; bit < 8 * sizeof(Item); bit += 32) {
        __syncthreads();  // the previous words may still be in use
#pragma unroll
        for (u32 e = 0; e < EACH; ++e) shared[e * threads + threadIdx.x] = u32(items[e] >> bit);
        __syncthreads();
#pragma unroll
        for (u32 e = 0; e < EACH; ++e) {
            const Item word = shared[e * threads + (threadIdx.x ^ mask)];
            others[e] = bit ? others[e] | word << bit : word;
        }
    }
}

/**
 * Thread t holds positions t * EACH, ... of the network; it may start with any elements. Steps of the network stay
 * within a thread or a group of lanes where possible. Threads of a block that are not needed return.
 */
template <class T, class ItemOf>
__device__ __forceinline__ void sort_in_registers(const T* row, u32* dst, u32 ncols, u32 ncols_pad, u32* shared,
                                                  ItemOf item_of) {
    using Item = decltype(item(T(), 0));
    const u32 t = threadIdx.x, threads = ncols_pad < EACH ? 1 : ncols_pad / EACH;
    if (t / GROUP * GROUP >= threads) return;
    Item items[EACH];
#pragma unroll
    for (u32 e = 0; e < EACH; ++e) {
        const u32 i = e * threads + t;
        items[e] = t < threads && i < ncols ? item_of(row[i], i) : ~Item(0);
    }

    // Sorts runs of `length`, alternately ascending and descending, by comparing elements at decreasing distances.
#pragma unroll
    for (u32 length = 2; length < EACH; length *= 2) {
#pragma unroll
        for (u32 distance = length / 2; distance > 0; distance /= 2)
            compare_own(items, distance, [=](u32 e) { return (e & length) != 0; });
    }
#pragma unroll 1
    for (u32 length = EACH; length == EACH || length <= ncols_pad; length *= 2) {
        const bool descending = (t * EACH & length) != 0;
#pragma unroll 1
        for (u32 mask = length / EACH / 2; mask > 0; mask /= 2) {
            const bool least = ((t & mask) == 0) != descending;
            Item others[EACH];
            if (mask < GROUP) {
#pragma unroll
                for (u32 e = 0; e < EACH; ++e) others[e] = of_lane_xor(items[e], mask);
            } else {
                of_thread_xor(items, others, threads, mask, shared);
            }
#pragma unroll
            for (u32 e = 0; e < EACH; ++e) items[e] = (others[e] < items[e]) == least ? others[e] : items[e];
        }
#pragma unroll
        for (u32 distance = EACH / 2; distance > 0; distance /= 2)
            compare_own(items, distance, [=](u32) { return descending; });
    }

    // Shared memory lets neighboring threads write neighboring positions; the swizzle avoids bank conflicts.
    const auto slot = [](u32 place) { return place ^ (place / GROUP & (EACH - 1)); };
    __syncthreads();
#pragma unroll
    for (u32 e = 0; e < EACH; ++e)
        if (t * EACH + e < ncols) shared[slot(t * EACH + e)] = index_of(items[e]);
    __syncthreads();
#pragma unroll 1
    for (u32 i = t; i < ncols; i += threads)
        if (t < threads) dst[i] = shared[slot(i)];
}

/** Sorts in shared memory, where only indices move. */
template <class T, class Before>
__device__ __forceinline__ void sort_in_shared_memory(const T* row, u32* dst, u32 ncols, u32 ncols_pad, u32* order,
                                                      Before before) {
    const auto precedes = [&](u32 i, u32 j) { return j >= ncols ? i < ncols : i < ncols && before(row[i], row[j]); };
    for (u32 i = threadIdx.x; i < ncols_pad; i += blockDim.x) order[i] = i;
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

template <class T, class ItemOf, class Before>
__device__ __forceinline__ void argsort(const T* x, u32* dst, u32 ncols, u32 ncols_pad, ItemOf item_of, Before before) {
    extern __shared__ u32 shared[];
    const size_t row = size_t(blockIdx.x) * ncols;
    if (ncols_pad <= EACH * blockDim.x)
        sort_in_registers(x + row, dst + row, ncols, ncols_pad, shared, item_of);
    else
        sort_in_shared_memory(x + row, dst + row, ncols, ncols_pad, shared, before);
}

#define ARGSORT(T)                                                                                         \
    KERNEL asort_asc_##T(const T* x, u32* dst, const int ncols, int ncols_pad) {                           \
        argsort(x, dst, ncols, ncols_pad, [](T x, u32 i) { return item(x, i); },                           \
                [](T x, T y) { return x < y; });                                                           \
    }                                                                                                      \
    KERNEL asort_desc_##T(const T* x, u32* dst, const int ncols, int ncols_pad) {                          \
        argsort(x, dst, ncols, ncols_pad, [](T x, u32 i) { return ~item(x, ~i); },                         \
                [](T x, T y) { return x > y; });                                                           \
    }

ARGSORT(u8)
ARGSORT(u32)
ARGSORT(i64)
ARGSORT(f16)
ARGSORT(bf16)
ARGSORT(f32)
ARGSORT(f64)
