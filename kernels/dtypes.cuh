// Element types under the short names that kernel names use.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stddef.h>
#include <stdint.h>

#include "f8.cuh"

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using f16 = __half;
using bf16 = __nv_bfloat16;
using f32 = float;
using f64 = double;
using fp8_e4m3 = f8_e4m3;  // the spelling in the kernel names of ternary.cu and unary.cu

// Every kernel supports launches with 1024 threads, regardless of its register use.
#define KERNEL extern "C" __global__ void __launch_bounds__(1024)

// Requests at least two such blocks per NVIDIA multiprocessor, so that one computes while the other waits for memory.
// (A HIP compiler reads the number as two wavefronts per SIMD, which 1024 threads always have.)
#define STREAMING extern "C" __global__ void __launch_bounds__(1024, 2)
