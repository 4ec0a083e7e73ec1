// Included before the real GLM, which marks its functions __host__ __device__ for nvcc only.
#pragma once
#pragma push_macro("CUDA_VERSION")
#undef CUDA_VERSION
#define CUDA_VERSION 12000
#define GLM_FORCE_CUDA
#define __CUDACC__ 1
#include <glm/detail/setup.hpp>
#undef __CUDACC__
#pragma pop_macro("CUDA_VERSION")
