// Maps the HIP names that the stubs in ../../stubs use to CUDA names, for nvcc.
#pragma once

#include <cuda_runtime.h>
#include <parity/former/warps.h>

#define hipDeviceProp_t cudaDeviceProp
#define hipError_t cudaError_t
#define hipGetErrorString cudaGetErrorString
#define hipGetLastError cudaGetLastError
#define hipStream_t cudaStream_t
#define hipSuccess cudaSuccess
#define hipblasHandle_t cublasHandle_t
