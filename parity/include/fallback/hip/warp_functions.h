// Exchanges between the lanes of a wavefront, which has 32 lanes on RDNA and 64 on GCN and CDNA.
//
// `width`, a power of two, splits the wavefront into groups that exchange values separately. CUDA code for 32 lanes
// passes width 32, so each half of a wavefront of 64 lanes acts as a separate warp.
#pragma once

#include <hip/host_defines.h>

// An object, as in ROCm 7, because the value depends on the target.
struct __hip_warp_size {
    __device__ __forceinline__ constexpr operator int() const { return __builtin_amdgcn_wavefrontsize(); }
};
static constexpr __device__ __hip_warp_size warpSize;

__HIP_INLINE__ unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

// Returns another lane's value, exchanged in 32-bit words. The other lane must be active.
template <class T>
__HIP_INLINE__ T __hip_value_of(T value, int lane) {
    int words[(sizeof(T) + 3) / 4] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (int& word : words) word = __builtin_amdgcn_ds_bpermute(4 * lane, word);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}

// Returns the value of lane `source` of the group. Indices beyond the group wrap around.
template <class T>
__HIP_INLINE__ T __shfl(T value, int source, int width = warpSize) {
    const int self = __lane_id();
    return __hip_value_of(value, (self & -width) + (source & (width - 1)));
}

// Returns the value from `delta` lanes below or above, or from the lane whose number differs in the bits of `mask`. A
// lane whose partner is outside the group keeps its value.
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

// Shuffles with a mask of participating lanes. HIP's accept 64-bit masks only; these ignore the mask of a CUDA source,
// as compat/shuffles.h does for AMD's headers. The program must reconverge before the exchange, as in ROCm without its
// optional checks.
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
