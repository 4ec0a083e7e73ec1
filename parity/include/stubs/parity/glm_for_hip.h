// Include before the real GLM, which adds __host__ __device__ to its functions for nvcc only.
#pragma once
#pragma push_macro("CUDA_VERSION")
#undef CUDA_VERSION
#define CUDA_VERSION 12000
#define GLM_FORCE_CUDA
#define __CUDACC__ 1
#include <glm/detail/setup.hpp>
#undef __CUDACC__
#pragma pop_macro("CUDA_VERSION")
