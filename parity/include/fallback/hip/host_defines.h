// The keywords of the HIP language, as clang attributes.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))

// The second argument of CUDA, the wanted number of resident blocks, is a tuning hint and has no AMD counterpart.
#define __hip_launch_bounds(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __launch_bounds__(...) __hip_launch_bounds(__VA_ARGS__, 0)

// What every function of these headers is: always inlined, so that a kernel needs no call and no stack.
#define __HIP_INLINE__ static __device__ __forceinline__
