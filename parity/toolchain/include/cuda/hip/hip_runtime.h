// HIP's names that the stubs in ../../stubs use, for CUDA's compiler.
#pragma once

#include <cuda_runtime.h>

#define hipDeviceProp_t cudaDeviceProp
#define hipError_t cudaError_t
#define hipGetErrorString cudaGetErrorString
#define hipGetLastError cudaGetLastError
#define hipStream_t cudaStream_t
#define hipSuccess cudaSuccess
#define hipblasHandle_t cublasHandle_t

// CUDA has them with a mask alone since 9.0 for all that parity compiles for.
template <typename T>
__device__ T __shfl(T value, int lane, int width = 32) { return __shfl_sync(0xffffffffu, value, lane, width); }
template <typename T>
__device__ T __shfl_up(T value, unsigned delta, int width = 32) { return __shfl_up_sync(0xffffffffu, value, delta, width); }
template <typename T>
__device__ T __shfl_down(T value, unsigned delta, int width = 32) { return __shfl_down_sync(0xffffffffu, value, delta, width); }
template <typename T>
__device__ T __shfl_xor(T value, int mask, int width = 32) { return __shfl_xor_sync(0xffffffffu, value, mask, width); }
