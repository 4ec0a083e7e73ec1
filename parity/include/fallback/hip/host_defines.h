// The keywords of the HIP language, as clang attributes.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))

// CUDA's second argument, the desired number of resident blocks, is a tuning hint without an AMD counterpart.
#define __hip_launch_bounds(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __launch_bounds__(...) __hip_launch_bounds(__VA_ARGS__, 0)

// All functions of these headers are inlined, so that kernels need neither calls nor a stack.
#define __HIP_INLINE__ static __device__ __forceinline__
