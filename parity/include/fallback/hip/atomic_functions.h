// CUDA's atomic functions: relaxed, with device scope. Each returns the previous value. If the hardware lacks an
// instruction (mostly for floating-point addition), the compiler generates a compare-and-swap loop.
#pragma once

#include <hip/host_defines.h>

#define __HIP_ATOMIC(name, builtin, T) \
    __HIP_INLINE__ T name(T* p, T x) { return builtin(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
#define __HIP_ATOMIC_INTEGERS(name, builtin) \
    __HIP_ATOMIC(name, builtin, int)         \
    __HIP_ATOMIC(name, builtin, unsigned)    \
    __HIP_ATOMIC(name, builtin, unsigned long long)
#define __HIP_ATOMIC_FLOATS(name, builtin) \
    __HIP_ATOMIC(name, builtin, float)     \
    __HIP_ATOMIC(name, builtin, double)

__HIP_ATOMIC_INTEGERS(atomicAdd, __hip_atomic_fetch_add)
__HIP_ATOMIC_INTEGERS(atomicSub, __hip_atomic_fetch_sub)
__HIP_ATOMIC_INTEGERS(atomicMin, __hip_atomic_fetch_min)
__HIP_ATOMIC_INTEGERS(atomicMax, __hip_atomic_fetch_max)
__HIP_ATOMIC_INTEGERS(atomicAnd, __hip_atomic_fetch_and)
__HIP_ATOMIC_INTEGERS(atomicOr, __hip_atomic_fetch_or)
__HIP_ATOMIC_INTEGERS(atomicXor, __hip_atomic_fetch_xor)
__HIP_ATOMIC_INTEGERS(atomicExch, __hip_atomic_exchange)
__HIP_ATOMIC(atomicMin, __hip_atomic_fetch_min, long long)
__HIP_ATOMIC(atomicMax, __hip_atomic_fetch_max, long long)
__HIP_ATOMIC_FLOATS(atomicAdd, __hip_atomic_fetch_add)
__HIP_ATOMIC_FLOATS(atomicSub, __hip_atomic_fetch_sub)
__HIP_ATOMIC_FLOATS(atomicMin, __hip_atomic_fetch_min)
__HIP_ATOMIC_FLOATS(atomicMax, __hip_atomic_fetch_max)
__HIP_ATOMIC_FLOATS(atomicExch, __hip_atomic_exchange)
#undef __HIP_ATOMIC
#undef __HIP_ATOMIC_INTEGERS
#undef __HIP_ATOMIC_FLOATS

#define __HIP_ATOMIC_CAS(T)                                                                   \
    __HIP_INLINE__ T atomicCAS(T* p, T expected, T desired) {                                 \
        __hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED,         \
                                             __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);     \
        return expected;                                                                      \
    }
__HIP_ATOMIC_CAS(int)
__HIP_ATOMIC_CAS(unsigned)
__HIP_ATOMIC_CAS(unsigned long long)
#undef __HIP_ATOMIC_CAS
