// Exchange between the lanes of a wavefront, which has 32 of them on RDNA and 64 on GCN and CDNA.
//
// `width`, a power of two, divides the wavefront into groups that exchange among themselves. Where CUDA code means its
// 32 lanes, the width is 32, so that each half of a wavefront of 64 is a warp of its own.
#pragma once

#include <hip/host_defines.h>

// An object, as in ROCm 7, because the compiler does not know the number before it knows the target.
struct __hip_warp_size {
    __device__ __forceinline__ constexpr operator int() const { return __builtin_amdgcn_wavefrontsize(); }
};
static constexpr __device__ __hip_warp_size warpSize;

__HIP_INLINE__ unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

// The value that another lane holds, in words of 32 bits. The other lane has to be active.
template <class T>
__HIP_INLINE__ T __hip_value_of(T value, int lane) {
    int words[(sizeof(T) + 3) / 4] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (int& word : words) word = __builtin_amdgcn_ds_bpermute(4 * lane, word);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}

// The value of lane `source` of the group; an index beyond the group wraps.
template <class T>
__HIP_INLINE__ T __shfl(T value, int source, int width = warpSize) {
    const int self = __lane_id();
    return __hip_value_of(value, (self & -width) + (source & (width - 1)));
}

// The value from `delta` lanes below, above, or from the lane whose number differs in the bits of `mask`. A lane whose
// partner lies outside of the group keeps its own value.
template <class T>
__HIP_INLINE__ T __shfl_up(T value, unsigned delta, int width = warpSize) {
    const int self = __lane_id(), source = self - int(delta);
    return __hip_value_of(value, source < (self & -width) ? self : source);
}
template <class T>
__HIP_INLINE__ T __shfl_down(T value, unsigned delta, int width = warpSize) {
    const int self = __lane_id();
    return __hip_value_of(value, (self & (width - 1)) + int(delta) >= width ? self : self + int(delta));
}
template <class T>
__HIP_INLINE__ T __shfl_xor(T value, int mask, int width = warpSize) {
    const int self = __lane_id(), source = self ^ mask;
    return __hip_value_of(value, source >= (self & -width) + width ? self : source);
}

// The forms with a mask of participating lanes. HIP's take 64 bits alone; the mask of a CUDA source is dropped here, as
// compat/shuffles.h drops it before AMD's headers. Reconvergence before the exchange is up to the program, as in ROCm
// without its optional checks.
#define __HIP_WITH_MASK(name, type)                                                                    \
    template <class Mask, class T>                                                                     \
    __HIP_INLINE__ T name##_sync(Mask, T value, type argument, int width = warpSize) {                 \
        return name(value, argument, width);                                                           \
    }
__HIP_WITH_MASK(__shfl, int)
__HIP_WITH_MASK(__shfl_up, unsigned)
__HIP_WITH_MASK(__shfl_down, unsigned)
__HIP_WITH_MASK(__shfl_xor, int)
#undef __HIP_WITH_MASK

// Bit n is set if the predicate holds in the active lane n.
__HIP_INLINE__ unsigned long long __ballot(int predicate) { return __builtin_amdgcn_ballot_w64(predicate); }
__HIP_INLINE__ unsigned long long __activemask() { return __ballot(true); }
__HIP_INLINE__ int __any(int predicate) { return __ballot(predicate) != 0; }
__HIP_INLINE__ int __all(int predicate) { return __ballot(predicate) == __activemask(); }

__HIP_INLINE__ void __syncwarp() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
