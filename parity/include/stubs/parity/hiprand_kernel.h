// hipRAND's device functions, by which both sides draw the same numbers: cuRAND's headers under hipRAND's names. An
// installed hipRAND draws other numbers.
#pragma once

#include <hip/hip_runtime.h>
#if !__has_include(<curand_kernel.h>)
#error "hipRAND's device functions need cuRAND's headers, which could not be downloaded; see the warning"
#endif
#include <nv/target>

#include "libraries.h"

#pragma push_macro("__CUDA_ARCH__")
#pragma push_macro("NV_IS_DEVICE")
#pragma push_macro("NV_PROVIDES_SM_35")
#pragma push_macro("NV_PROVIDES_SM_61")
#undef NV_PROVIDES_SM_35
#undef NV_PROVIDES_SM_61
#define NV_PROVIDES_SM_35 PARITY_NV_NO
#define NV_PROVIDES_SM_61 PARITY_NV_NO
#undef __CUDA_ARCH__
#define __CUDA_ARCH__ 0
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
// Without this, cuRAND also declares its host functions, and tables for the host.
#define __CUDACC_RTC__
// The code for NVIDIA's GPUs in these two headers is PTX, so the code for a host follows.
#define CURAND_POISSON_H_
#define CURAND_DISCRETE_H_
#include <curand_kernel.h>
#undef CURAND_POISSON_H_
#undef CURAND_DISCRETE_H_
#undef NV_IS_DEVICE
#define NV_IS_DEVICE PARITY_NV_NO
#undef __CUDA_ARCH__
#include <curand_poisson.h>
#include <curand_discrete2.h>
#undef __CUDACC_RTC__
#undef __NV_SILENCE_DEPRECATION_BEGIN
#undef __NV_SILENCE_DEPRECATION_END
#pragma pop_macro("NV_PROVIDES_SM_61")
#pragma pop_macro("NV_PROVIDES_SM_35")
#pragma pop_macro("NV_IS_DEVICE")
#pragma pop_macro("__CUDA_ARCH__")

#define hiprand curand
#define hiprand4 curand4
#define hiprand_init curand_init
#define hiprand_uniform curand_uniform
#define hiprand_uniform4 curand_uniform4
#define hiprand_uniform_double curand_uniform_double
#define hiprand_uniform2_double curand_uniform2_double
#define hiprand_uniform4_double curand_uniform4_double
#define hiprand_normal curand_normal
#define hiprand_normal2 curand_normal2
#define hiprand_normal4 curand_normal4
#define hiprand_normal_double curand_normal_double
#define hiprand_normal2_double curand_normal2_double
#define hiprand_normal4_double curand_normal4_double
#define hiprand_log_normal curand_log_normal
#define hiprand_log_normal2 curand_log_normal2
#define hiprand_log_normal4 curand_log_normal4
#define hiprand_log_normal_double curand_log_normal_double
#define hiprand_log_normal2_double curand_log_normal2_double
#define hiprand_log_normal4_double curand_log_normal4_double
#define hiprand_poisson curand_poisson
#define hiprand_poisson4 curand_poisson4
#define hiprand_discrete curand_discrete
#define hiprand_discrete4 curand_discrete4

typedef curandState hiprandState;
typedef curandState_t hiprandState_t;
typedef curandStateXORWOW hiprandStateXORWOW;
typedef curandStateXORWOW_t hiprandStateXORWOW_t;
typedef curandStateMRG32k3a hiprandStateMRG32k3a;
typedef curandStateMRG32k3a_t hiprandStateMRG32k3a_t;
typedef curandStatePhilox4_32_10 hiprandStatePhilox4_32_10;
typedef curandStatePhilox4_32_10_t hiprandStatePhilox4_32_10_t;
typedef curandStateMtgp32 hiprandStateMtgp32;
typedef curandStateMtgp32_t hiprandStateMtgp32_t;
typedef curandStateSobol32 hiprandStateSobol32;
typedef curandStateSobol32_t hiprandStateSobol32_t;
typedef curandStateSobol64 hiprandStateSobol64;
typedef curandStateSobol64_t hiprandStateSobol64_t;
typedef curandStateScrambledSobol32 hiprandStateScrambledSobol32;
typedef curandStateScrambledSobol32_t hiprandStateScrambledSobol32_t;
typedef curandStateScrambledSobol64 hiprandStateScrambledSobol64;
typedef curandStateScrambledSobol64_t hiprandStateScrambledSobol64_t;
typedef curandDirectionVectors32_t hiprandDirectionVectors32_t;
typedef curandDirectionVectors64_t hiprandDirectionVectors64_t;
typedef curandDiscreteDistribution_t hiprandDiscreteDistribution_t;
