// The device side of <hip/hip_runtime.h> for compilers without the HIP headers: keywords, thread coordinates, barriers,
// shuffles, atomics, bit operations and mathematics. It is freestanding and includes only files of this folder. The
// kernel ABI is code object version 5 (LLVM, "User Guide for AMDGPU Backend": implicit kernel arguments).
#pragma once

#include <hip/atomic_functions.h>
#include <hip/hip_runtime_api.h>
#include <hip/host_defines.h>
#include <hip/math_functions.h>
#include <hip/warp_functions.h>
#include <stddef.h>
#include <stdint.h>

// The first implicit argument holds the number of blocks in x, y and z as three 32-bit integers.
__HIP_INLINE__ unsigned __hip_num_blocks(int axis) {
    return ((const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr())[axis];
}

// A coordinate is a property instead of a member with a conversion, so that templates deduce unsigned.
#define __HIP_COORDINATE(object, get_x, get_y, get_z)                              \
    struct __hip_##object {                                                        \
        __declspec(property(get = __get_x)) unsigned x;                            \
        __declspec(property(get = __get_y)) unsigned y;                            \
        __declspec(property(get = __get_z)) unsigned z;                            \
        __device__ __forceinline__ unsigned __get_x() const { return get_x; }      \
        __device__ __forceinline__ unsigned __get_y() const { return get_y; }      \
        __device__ __forceinline__ unsigned __get_z() const { return get_z; }      \
        __device__ __forceinline__ operator dim3() const { return dim3(x, y, z); } \
    };                                                                             \
    extern const __device__ __attribute__((weak)) __hip_##object object;

__HIP_COORDINATE(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                 __builtin_amdgcn_workitem_id_z())
__HIP_COORDINATE(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                 __builtin_amdgcn_workgroup_id_z())
__HIP_COORDINATE(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                 __builtin_amdgcn_workgroup_size_z())
__HIP_COORDINATE(gridDim, __hip_num_blocks(0), __hip_num_blocks(1), __hip_num_blocks(2))
#undef __HIP_COORDINATE

__HIP_INLINE__ void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__HIP_INLINE__ void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__HIP_INLINE__ void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }

// CUDA's load through the read-only cache. The compiler decides which loads it may cache.
template <class T>
__HIP_INLINE__ T __ldg(const T* p) {
    return *p;
}
