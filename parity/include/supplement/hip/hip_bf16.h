// <hip/hip_bf16.h> for a ROCm that is older than this header (5.5): parity's own, on that ROCm's other headers.
#pragma once

#define __HIP_INLINE__ static __device__ __forceinline__
#include "../../fallback/hip/hip_bf16.h"
