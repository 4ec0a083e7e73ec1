// The libraries that host code calls: cuBLAS, cuFFT, cuSPARSE, cuSOLVER, cuDNN, NCCL. Only their names matter, and those
// that a module uses are written to library_names.h when it is compiled.
#pragma once

#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <library_types.h>
#include <parity/library_type.h>

typedef float cufftReal;
typedef double cufftDoubleReal;
typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex;
typedef int cufftHandle;

#include <parity/library_names.h>
