// Libraries that host code calls: hipBLAS, hipFFT, hipSPARSE, hipSOLVER, hipRAND, MIOpen, RCCL, and cuDNN, whose names
// hipify keeps. Only their names matter. The build writes the names that a module uses to library_names.h.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <hip/library_types.h>

#include <parity/library_type.h>

typedef float hipfftReal;
typedef double hipfftDoubleReal;
typedef float2 hipfftComplex;
typedef double2 hipfftDoubleComplex;
typedef float2 hipblasComplex;
typedef double2 hipblasDoubleComplex;
typedef unsigned short hipblasHalf;
typedef int hipfftHandle;

// Enumerations that linear algebra kernels also take, with hipBLAS's values.
enum hipblasOperation_t { HIPBLAS_OP_N = 111, HIPBLAS_OP_T, HIPBLAS_OP_C };
enum hipblasFillMode_t { HIPBLAS_FILL_MODE_UPPER = 121, HIPBLAS_FILL_MODE_LOWER, HIPBLAS_FILL_MODE_FULL };
enum hipblasDiagType_t { HIPBLAS_DIAG_NON_UNIT = 131, HIPBLAS_DIAG_UNIT };
enum hipblasSideMode_t { HIPBLAS_SIDE_LEFT = 141, HIPBLAS_SIDE_RIGHT, HIPBLAS_SIDE_BOTH };

#define NCCL_MAJOR 2
#define NCCL_MINOR 20
#define NCCL_PATCH 5
#define NCCL_VERSION(major, minor, patch) ((major) * 10000 + (minor) * 100 + (patch))
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)
#define NCCL_UNIQUE_ID_BYTES 128

#include <parity/library_names.h>
