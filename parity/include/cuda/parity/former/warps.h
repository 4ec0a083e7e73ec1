// Warp shuffles and votes without a mask, as on GPUs before Volta (compute capability 7.0).
//
// On those GPUs, the threads of a warp reach such a function together. Newer GPUs need a mask of the threads that must
// take part; here it names all threads of the block in this warp. Threads that have left the kernel need not take part.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>
// libcu++'s class __any has a constructor, so its header must precede the macro __any below.
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

// CUDA's headers still declare these functions, but ptxas rejects them.
#define __any(predicate) __any_sync(parity_former::warp(), predicate)
#define __all(predicate) __all_sync(parity_former::warp(), predicate)
#define __ballot(predicate) __ballot_sync(parity_former::warp(), predicate)
