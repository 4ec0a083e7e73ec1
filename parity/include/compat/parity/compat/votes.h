// Votes, matches and reductions of a warp with a 32-bit mask.
//
// HIP's functions accept 64-bit masks only. Here, lanes that are active together and pass equal masks form a group. A
// full mask means the whole wavefront (64 lanes on gfx9), as in ports that ignore masks. Threads that pass the masks of
// their tiles vote within their tiles.
#pragma once

#include <parity/compat/base.h>

namespace parity_compat {

// Executes vote once for each distinct mask of the active lanes, with the lanes that pass this mask.
template <class Vote>
__device__ __forceinline__ void by_mask(unsigned mask, Vote vote) {
    if (__builtin_constant_p(mask)) {
        vote();
        return;
    }
    bool done = false;
    while (__any(!done)) {  // "while (!done)" would let the compiler move the vote behind the loop, for all lanes
        if (!done && unsigned(__builtin_amdgcn_readfirstlane(int(mask))) == mask) {
            vote();
            done = true;
        }
    }
}

template <class T>
__device__ __forceinline__ T of_lane(T value, int lane) {
    static_assert(sizeof(T) == 4, "the warp reduces words");
    return bits<T>(__builtin_amdgcn_readlane(bits<int>(value), lane));
}

template <class T, class Operation>
__device__ __forceinline__ T reduced(unsigned mask, T value, Operation operation) {
    T result = value;
    by_mask(mask, [&] {
        unsigned long long left = __ballot(1);
        result = of_lane(value, __builtin_ctzll(left));
        while (left &= left - 1) result = operation(result, of_lane(value, __builtin_ctzll(left)));
    });
    return result;
}

// Whether the value has the same bits as the first active lane's value.
template <class T>
__device__ __forceinline__ bool as_first(T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a word, or two of them");
    int word[sizeof(T) / 4];
    __builtin_memcpy(word, &value, sizeof(T));
    bool equal = true;
    for (int w : word) equal &= __builtin_amdgcn_readfirstlane(w) == w;
    return equal;
}

template <class T>
__device__ __forceinline__ unsigned long long match_any(unsigned mask, T value) {
    unsigned long long result = 0;
    by_mask(mask, [&] {
        bool done = false;
        while (__any(!done)) {
            if (!done && as_first(value)) {
                result = __ballot(1);
                done = true;
            }
        }
    });
    return result;
}

template <class T>
__device__ __forceinline__ unsigned long long match_all(unsigned mask, T value, int* all) {
    unsigned long long result = 0;
    by_mask(mask, [&] { result = __all(as_first(value)) ? __ballot(1) : 0; });
    *all = result != 0;
    return result;
}

}  // namespace parity_compat

#define PARITY_COMPAT_VOTES(Mask)                                                             \
    PARITY_COMPAT unsigned long long __ballot_sync(Mask mask, int predicate) {                \
        unsigned long long result = 0;                                                        \
        parity_compat::by_mask(mask, [&] { result = __ballot(predicate); });                  \
        return result;                                                                        \
    }                                                                                         \
    PARITY_COMPAT int __any_sync(Mask mask, int predicate) {                                  \
        int result = 0;                                                                       \
        parity_compat::by_mask(mask, [&] { result = __any(predicate); });                     \
        return result;                                                                        \
    }                                                                                         \
    PARITY_COMPAT int __all_sync(Mask mask, int predicate) {                                  \
        int result = 0;                                                                       \
        parity_compat::by_mask(mask, [&] { result = __all(predicate); });                     \
        return result;                                                                        \
    }                                                                                         \
    PARITY_COMPAT int __uni_sync(Mask mask, int predicate) {                                  \
        int result = 0;                                                                       \
        parity_compat::by_mask(mask, [&] { result = __all(predicate) || !__any(predicate); }); \
        return result;                                                                        \
    }                                                                                         \
    template <class T, class... Last>                                                         \
    __device__ __forceinline__ unsigned long long __match_any_sync(Mask mask, T value, Last...) { \
        return parity_compat::match_any(mask, value);                                         \
    }                                                                                         \
    template <class T, class... Last>                                                         \
    __device__ __forceinline__ unsigned long long __match_all_sync(Mask mask, T value, int* all, Last...) { \
        return parity_compat::match_all(mask, value, all);                                    \
    }
PARITY_COMPAT_VOTES(unsigned)
PARITY_COMPAT_VOTES(int)
#undef PARITY_COMPAT_VOTES

#define PARITY_COMPAT_REDUCE(name, T, expression)                                                             \
    PARITY_COMPAT T __reduce_##name##_sync(unsigned mask, T value) {                                          \
        return parity_compat::reduced(mask, value, [](T a, T b) { return T(expression); });                   \
    }
PARITY_COMPAT_REDUCE(add, unsigned, a + b)
PARITY_COMPAT_REDUCE(add, int, unsigned(a) + unsigned(b))
PARITY_COMPAT_REDUCE(min, unsigned, b < a ? b : a)
PARITY_COMPAT_REDUCE(min, int, b < a ? b : a)
PARITY_COMPAT_REDUCE(max, unsigned, b > a ? b : a)
PARITY_COMPAT_REDUCE(max, int, b > a ? b : a)
PARITY_COMPAT_REDUCE(and, unsigned, a & b)
PARITY_COMPAT_REDUCE(or, unsigned, a | b)
PARITY_COMPAT_REDUCE(xor, unsigned, a ^ b)
#undef PARITY_COMPAT_REDUCE

// The lanes of a wavefront run in lockstep, so only their memory accesses need ordering.
PARITY_COMPAT void __syncwarp(unsigned = ~0u) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
