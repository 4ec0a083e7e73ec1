// <hip/hip_bf16.h> for ROCm versions without this header (5.5): parity's version, on top of that ROCm's other headers.
#pragma once

#define __HIP_INLINE__ static __device__ __forceinline__
#include "../../fallback/hip/hip_bf16.h"
