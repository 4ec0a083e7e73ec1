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
#define PARITY_CURAND_NAMES(EACH) \
    EACH(curand) EACH(curand4) EACH(curand_init) EACH(curand_uniform) EACH(curand_uniform4) \
    EACH(curand_uniform_double) EACH(curand_uniform2_double) EACH(curand_uniform4_double) EACH(curand_normal) \
    EACH(curand_normal2) EACH(curand_normal4) EACH(curand_normal_double) EACH(curand_normal2_double) \
    EACH(curand_normal4_double) EACH(curand_log_normal) EACH(curand_log_normal2) EACH(curand_log_normal4) \
    EACH(curand_log_normal_double) EACH(curand_log_normal2_double) EACH(curand_log_normal4_double) \
    EACH(curand_poisson) EACH(curand_poisson4) EACH(curand_discrete) EACH(curand_discrete4) EACH(curandState) \
    EACH(curandState_t) EACH(curandStateXORWOW) EACH(curandStateXORWOW_t) EACH(curandStateMRG32k3a) \
    EACH(curandStateMRG32k3a_t) EACH(curandStatePhilox4_32_10) EACH(curandStatePhilox4_32_10_t) \
    EACH(curandStateMtgp32) EACH(curandStateMtgp32_t) EACH(curandStateSobol32) EACH(curandStateSobol32_t) \
    EACH(curandStateSobol64) EACH(curandStateSobol64_t) EACH(curandStateScrambledSobol32) \
    EACH(curandStateScrambledSobol32_t) EACH(curandStateScrambledSobol64) EACH(curandStateScrambledSobol64_t) \
    EACH(curandDirectionVectors32_t) EACH(curandDirectionVectors64_t) EACH(curandDiscreteDistribution_t)
#define PARITY_PRAGMA(text) _Pragma(#text)
#define PARITY_PUSH(name) PARITY_PRAGMA(push_macro(#name))
#define PARITY_POP(name) PARITY_PRAGMA(pop_macro(#name))
PARITY_CURAND_NAMES(PARITY_PUSH)

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wmacro-redefined"
#define curand hiprand
#define curand4 hiprand4
#define curand_init hiprand_init
#define curand_uniform hiprand_uniform
#define curand_uniform4 hiprand_uniform4
#define curand_uniform_double hiprand_uniform_double
#define curand_uniform2_double hiprand_uniform2_double
#define curand_uniform4_double hiprand_uniform4_double
#define curand_normal hiprand_normal
#define curand_normal2 hiprand_normal2
#define curand_normal4 hiprand_normal4
#define curand_normal_double hiprand_normal_double
#define curand_normal2_double hiprand_normal2_double
#define curand_normal4_double hiprand_normal4_double
#define curand_log_normal hiprand_log_normal
#define curand_log_normal2 hiprand_log_normal2
#define curand_log_normal4 hiprand_log_normal4
#define curand_log_normal_double hiprand_log_normal_double
#define curand_log_normal2_double hiprand_log_normal2_double
#define curand_log_normal4_double hiprand_log_normal4_double
#define curand_poisson hiprand_poisson
#define curand_poisson4 hiprand_poisson4
#define curand_discrete hiprand_discrete
#define curand_discrete4 hiprand_discrete4
#define curandState hiprandState
#define curandState_t hiprandState_t
#define curandStateXORWOW hiprandStateXORWOW
#define curandStateXORWOW_t hiprandStateXORWOW_t
#define curandStateMRG32k3a hiprandStateMRG32k3a
#define curandStateMRG32k3a_t hiprandStateMRG32k3a_t
#define curandStatePhilox4_32_10 hiprandStatePhilox4_32_10
#define curandStatePhilox4_32_10_t hiprandStatePhilox4_32_10_t
#define curandStateMtgp32 hiprandStateMtgp32
#define curandStateMtgp32_t hiprandStateMtgp32_t
#define curandStateSobol32 hiprandStateSobol32
#define curandStateSobol32_t hiprandStateSobol32_t
#define curandStateSobol64 hiprandStateSobol64
#define curandStateSobol64_t hiprandStateSobol64_t
#define curandStateScrambledSobol32 hiprandStateScrambledSobol32
#define curandStateScrambledSobol32_t hiprandStateScrambledSobol32_t
#define curandStateScrambledSobol64 hiprandStateScrambledSobol64
#define curandStateScrambledSobol64_t hiprandStateScrambledSobol64_t
#define curandDirectionVectors32_t hiprandDirectionVectors32_t
#define curandDirectionVectors64_t hiprandDirectionVectors64_t
#define curandDiscreteDistribution_t hiprandDiscreteDistribution_t
#pragma clang diagnostic pop

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
PARITY_CURAND_NAMES(PARITY_POP)
#undef PARITY_CURAND_NAMES
#undef PARITY_PRAGMA
#undef PARITY_PUSH
#undef PARITY_POP
