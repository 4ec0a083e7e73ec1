// Exchanges and votes of a warp without a mask, as GPUs before Volta (compute capability 7.0) have them.
//
// There the threads of a warp meet at such a function by themselves. Now a mask says which have to: it names all that the
// block has in this warp. Threads that have left the kernel need not come.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>
// A header of libcu++ has a constructor of that name.
#if __has_include(<cuda/std/__functional/invoke.h>)
#include <cuda/std/__functional/invoke.h>
#endif

namespace parity_former {
__device__ inline unsigned warp() {
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned threads = blockDim.x * blockDim.y * blockDim.z - thread / 32 * 32;
  return threads < 32 ? (1u << threads) - 1 : 0xffffffffu;
}
}  // namespace parity_former

template <typename T>
__device__ T __shfl(T value, int lane, int width = 32) { return __shfl_sync(parity_former::warp(), value, lane, width); }
template <typename T>
__device__ T __shfl_up(T value, unsigned delta, int width = 32) { return __shfl_up_sync(parity_former::warp(), value, delta, width); }
template <typename T>
__device__ T __shfl_down(T value, unsigned delta, int width = 32) { return __shfl_down_sync(parity_former::warp(), value, delta, width); }
template <typename T>
__device__ T __shfl_xor(T value, int mask, int width = 32) { return __shfl_xor_sync(parity_former::warp(), value, mask, width); }

// These are still declared, and refused where PTX becomes machine code.
#define __any(predicate) __any_sync(parity_former::warp(), predicate)
#define __all(predicate) __all_sync(parity_former::warp(), predicate)
#define __ballot(predicate) __ballot_sync(parity_former::warp(), predicate)
