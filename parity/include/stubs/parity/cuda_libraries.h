// Libraries that host code calls: cuBLAS, cuFFT, cuSPARSE, cuSOLVER, cuDNN, NCCL. Only their names matter. The build
// writes the names that a module uses to library_names.h.
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
