// One name for both vendors: the program's own way to be portable.
#pragma once

#if defined(GPU_USE_HIP)
#include <hip/hip_runtime.h>
#define cudaStream_t hipStream_t
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaGetLastError hipGetLastError
#define GPU_SHUFFLE_DOWN(value, lanes) __shfl_down(value, lanes)
#else
#include <cuda_runtime.h>
#define GPU_SHUFFLE_DOWN(value, lanes) __shfl_down_sync(0xffffffff, value, lanes, 32)
#endif

#define GPU_KERNEL extern "C" __global__ void
#define GPU_FUNCTION __device__ __forceinline__

inline void check(cudaError_t status) {
    if (status != cudaSuccess) throw cudaGetErrorString(status);
}
