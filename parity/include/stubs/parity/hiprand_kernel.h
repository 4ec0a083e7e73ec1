// hipRAND's device functions, by which both sides draw the same numbers: cuRAND's headers with hipRAND's names. An
// installed hipRAND draws other numbers.
#pragma once

#include <hip/hip_runtime.h>
#if !__has_include(<curand_kernel.h>)
#error "hipRAND's device functions need an installed hipRAND, or cuRAND's headers (the wheel nvidia-curand)"
#endif
#include <nv/target>

#include "libraries.h"

// A macro of the source may have one of these names, and keeps its meaning.
#pragma push_macro("curand")
#pragma push_macro("curand4")
#pragma push_macro("curand_init")
#pragma push_macro("curand_uniform")
#pragma push_macro("curand_uniform4")
#pragma push_macro("curand_uniform_double")
#pragma push_macro("curand_uniform2_double")
#pragma push_macro("curand_uniform4_double")
#pragma push_macro("curand_normal")
#pragma push_macro("curand_normal2")
#pragma push_macro("curand_normal4")
#pragma push_macro("curand_normal_double")
#pragma push_macro("curand_normal2_double")
#pragma push_macro("curand_normal4_double")
#pragma push_macro("curand_log_normal")
#pragma push_macro("curand_log_normal2")
#pragma push_macro("curand_log_normal4")
#pragma push_macro("curand_log_normal_double")
#pragma push_macro("curand_log_normal2_double")
#pragma push_macro("curand_log_normal4_double")
#pragma push_macro("curand_poisson")
#pragma push_macro("curand_poisson4")
#pragma push_macro("curand_discrete")
#pragma push_macro("curand_discrete4")
#pragma push_macro("curandState")
#pragma push_macro("curandState_t")
#pragma push_macro("curandStateXORWOW")
#pragma push_macro("curandStateXORWOW_t")
#pragma push_macro("curandStateMRG32k3a")
#pragma push_macro("curandStateMRG32k3a_t")
#pragma push_macro("curandStatePhilox4_32_10")
#pragma push_macro("curandStatePhilox4_32_10_t")
#pragma push_macro("curandStateMtgp32")
#pragma push_macro("curandStateMtgp32_t")
#pragma push_macro("curandStateSobol32")
#pragma push_macro("curandStateSobol32_t")
#pragma push_macro("curandStateSobol64")
#pragma push_macro("curandStateSobol64_t")
#pragma push_macro("curandStateScrambledSobol32")
#pragma push_macro("curandStateScrambledSobol32_t")
#pragma push_macro("curandStateScrambledSobol64")
#pragma push_macro("curandStateScrambledSobol64_t")
#pragma push_macro("curandDirectionVectors32_t")
#pragma push_macro("curandDirectionVectors64_t")
#pragma push_macro("curandDiscreteDistribution_t")

#undef curand
#define curand hiprand
#undef curand4
#define curand4 hiprand4
#undef curand_init
#define curand_init hiprand_init
#undef curand_uniform
#define curand_uniform hiprand_uniform
#undef curand_uniform4
#define curand_uniform4 hiprand_uniform4
#undef curand_uniform_double
#define curand_uniform_double hiprand_uniform_double
#undef curand_uniform2_double
#define curand_uniform2_double hiprand_uniform2_double
#undef curand_uniform4_double
#define curand_uniform4_double hiprand_uniform4_double
#undef curand_normal
#define curand_normal hiprand_normal
#undef curand_normal2
#define curand_normal2 hiprand_normal2
#undef curand_normal4
#define curand_normal4 hiprand_normal4
#undef curand_normal_double
#define curand_normal_double hiprand_normal_double
#undef curand_normal2_double
#define curand_normal2_double hiprand_normal2_double
#undef curand_normal4_double
#define curand_normal4_double hiprand_normal4_double
#undef curand_log_normal
#define curand_log_normal hiprand_log_normal
#undef curand_log_normal2
#define curand_log_normal2 hiprand_log_normal2
#undef curand_log_normal4
#define curand_log_normal4 hiprand_log_normal4
#undef curand_log_normal_double
#define curand_log_normal_double hiprand_log_normal_double
#undef curand_log_normal2_double
#define curand_log_normal2_double hiprand_log_normal2_double
#undef curand_log_normal4_double
#define curand_log_normal4_double hiprand_log_normal4_double
#undef curand_poisson
#define curand_poisson hiprand_poisson
#undef curand_poisson4
#define curand_poisson4 hiprand_poisson4
#undef curand_discrete
#define curand_discrete hiprand_discrete
#undef curand_discrete4
#define curand_discrete4 hiprand_discrete4
#undef curandState
#define curandState hiprandState
#undef curandState_t
#define curandState_t hiprandState_t
#undef curandStateXORWOW
#define curandStateXORWOW hiprandStateXORWOW
#undef curandStateXORWOW_t
#define curandStateXORWOW_t hiprandStateXORWOW_t
#undef curandStateMRG32k3a
#define curandStateMRG32k3a hiprandStateMRG32k3a
#undef curandStateMRG32k3a_t
#define curandStateMRG32k3a_t hiprandStateMRG32k3a_t
#undef curandStatePhilox4_32_10
#define curandStatePhilox4_32_10 hiprandStatePhilox4_32_10
#undef curandStatePhilox4_32_10_t
#define curandStatePhilox4_32_10_t hiprandStatePhilox4_32_10_t
#undef curandStateMtgp32
#define curandStateMtgp32 hiprandStateMtgp32
#undef curandStateMtgp32_t
#define curandStateMtgp32_t hiprandStateMtgp32_t
#undef curandStateSobol32
#define curandStateSobol32 hiprandStateSobol32
#undef curandStateSobol32_t
#define curandStateSobol32_t hiprandStateSobol32_t
#undef curandStateSobol64
#define curandStateSobol64 hiprandStateSobol64
#undef curandStateSobol64_t
#define curandStateSobol64_t hiprandStateSobol64_t
#undef curandStateScrambledSobol32
#define curandStateScrambledSobol32 hiprandStateScrambledSobol32
#undef curandStateScrambledSobol32_t
#define curandStateScrambledSobol32_t hiprandStateScrambledSobol32_t
#undef curandStateScrambledSobol64
#define curandStateScrambledSobol64 hiprandStateScrambledSobol64
#undef curandStateScrambledSobol64_t
#define curandStateScrambledSobol64_t hiprandStateScrambledSobol64_t
#undef curandDirectionVectors32_t
#define curandDirectionVectors32_t hiprandDirectionVectors32_t
#undef curandDirectionVectors64_t
#define curandDirectionVectors64_t hiprandDirectionVectors64_t
#undef curandDiscreteDistribution_t
#define curandDiscreteDistribution_t hiprandDiscreteDistribution_t

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
#pragma pop_macro("curand")
#pragma pop_macro("curand4")
#pragma pop_macro("curand_init")
#pragma pop_macro("curand_uniform")
#pragma pop_macro("curand_uniform4")
#pragma pop_macro("curand_uniform_double")
#pragma pop_macro("curand_uniform2_double")
#pragma pop_macro("curand_uniform4_double")
#pragma pop_macro("curand_normal")
#pragma pop_macro("curand_normal2")
#pragma pop_macro("curand_normal4")
#pragma pop_macro("curand_normal_double")
#pragma pop_macro("curand_normal2_double")
#pragma pop_macro("curand_normal4_double")
#pragma pop_macro("curand_log_normal")
#pragma pop_macro("curand_log_normal2")
#pragma pop_macro("curand_log_normal4")
#pragma pop_macro("curand_log_normal_double")
#pragma pop_macro("curand_log_normal2_double")
#pragma pop_macro("curand_log_normal4_double")
#pragma pop_macro("curand_poisson")
#pragma pop_macro("curand_poisson4")
#pragma pop_macro("curand_discrete")
#pragma pop_macro("curand_discrete4")
#pragma pop_macro("curandState")
#pragma pop_macro("curandState_t")
#pragma pop_macro("curandStateXORWOW")
#pragma pop_macro("curandStateXORWOW_t")
#pragma pop_macro("curandStateMRG32k3a")
#pragma pop_macro("curandStateMRG32k3a_t")
#pragma pop_macro("curandStatePhilox4_32_10")
#pragma pop_macro("curandStatePhilox4_32_10_t")
#pragma pop_macro("curandStateMtgp32")
#pragma pop_macro("curandStateMtgp32_t")
#pragma pop_macro("curandStateSobol32")
#pragma pop_macro("curandStateSobol32_t")
#pragma pop_macro("curandStateSobol64")
#pragma pop_macro("curandStateSobol64_t")
#pragma pop_macro("curandStateScrambledSobol32")
#pragma pop_macro("curandStateScrambledSobol32_t")
#pragma pop_macro("curandStateScrambledSobol64")
#pragma pop_macro("curandStateScrambledSobol64_t")
#pragma pop_macro("curandDirectionVectors32_t")
#pragma pop_macro("curandDirectionVectors64_t")
#pragma pop_macro("curandDiscreteDistribution_t")
