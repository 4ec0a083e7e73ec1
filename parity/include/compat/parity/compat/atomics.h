// Atomics that HIP lacks: 16 bits, block or system scope, signed 64 bits, vectors of two or four floats.
#pragma once

#include <parity/compat/words.h>

namespace parity_compat {

template <class T>
struct Pointee {
    using type = T;
};
template <class T>
using Value = typename Pointee<T>::type;  // non-deduced context: atomicAdd_block(&x, 1) adds a float if x is one

}  // namespace parity_compat

#define PARITY_COMPAT_SHORT_CAS(suffix, scope)                                                                     \
    PARITY_COMPAT unsigned short atomicCAS##suffix(unsigned short* address, unsigned short expected,               \
                                                   unsigned short desired) {                                       \
        return parity_compat::half_changed<scope>(                                                                 \
            address, [=](unsigned short seen) { return seen == expected ? desired : seen; });                      \
    }
PARITY_COMPAT_SHORT_CAS(, __HIP_MEMORY_SCOPE_AGENT)
PARITY_COMPAT_SHORT_CAS(_block, __HIP_MEMORY_SCOPE_WORKGROUP)
PARITY_COMPAT_SHORT_CAS(_system, __HIP_MEMORY_SCOPE_SYSTEM)
#undef PARITY_COMPAT_SHORT_CAS

#define PARITY_COMPAT_SCOPED(name, builtin, suffix, scope, sign)                                    \
    template <class T, class... Last>                                                               \
    __device__ __forceinline__ T name##suffix(T* address, parity_compat::Value<T> value, Last...) { \
        return builtin(address, sign value, __ATOMIC_RELAXED, scope);                               \
    }
#define PARITY_COMPAT_SCOPE(suffix, scope)                                                                          \
    PARITY_COMPAT_SCOPED(atomicAdd, __hip_atomic_fetch_add, suffix, scope, )                                        \
    PARITY_COMPAT_SCOPED(atomicSub, __hip_atomic_fetch_add, suffix, scope, -)                                       \
    PARITY_COMPAT_SCOPED(atomicMin, __hip_atomic_fetch_min, suffix, scope, )                                        \
    PARITY_COMPAT_SCOPED(atomicMax, __hip_atomic_fetch_max, suffix, scope, )                                        \
    PARITY_COMPAT_SCOPED(atomicAnd, __hip_atomic_fetch_and, suffix, scope, )                                        \
    PARITY_COMPAT_SCOPED(atomicOr, __hip_atomic_fetch_or, suffix, scope, )                                          \
    PARITY_COMPAT_SCOPED(atomicXor, __hip_atomic_fetch_xor, suffix, scope, )                                        \
    PARITY_COMPAT_SCOPED(atomicExch, __hip_atomic_exchange, suffix, scope, )                                        \
    template <class T, class... Last>                                                                               \
    __device__ __forceinline__ T atomicCAS##suffix(T* address, parity_compat::Value<T> expected,                    \
                                                   parity_compat::Value<T> desired, Last...) {                      \
        __hip_atomic_compare_exchange_strong(address, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope); \
        return expected;                                                                                            \
    }                                                                                                               \
    PARITY_COMPAT unsigned atomicInc##suffix(unsigned* address, unsigned last) {                                    \
        return parity_compat::changed<scope>(address, [=](unsigned x) { return x >= last ? 0u : x + 1; });          \
    }                                                                                                               \
    PARITY_COMPAT unsigned atomicDec##suffix(unsigned* address, unsigned last) {                                    \
        return parity_compat::changed<scope>(address, [=](unsigned x) { return x == 0 || x > last ? last : x - 1; }); \
    }
PARITY_COMPAT_SCOPE(_block, __HIP_MEMORY_SCOPE_WORKGROUP)
PARITY_COMPAT_SCOPE(_system, __HIP_MEMORY_SCOPE_SYSTEM)
#undef PARITY_COMPAT_SCOPE
#undef PARITY_COMPAT_SCOPED

#define PARITY_COMPAT_SIGNED(name, builtin)                                                        \
    PARITY_COMPAT long long name(long long* address, long long value) {                            \
        return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                \
    }
PARITY_COMPAT_SIGNED(atomicAnd, __hip_atomic_fetch_and)
PARITY_COMPAT_SIGNED(atomicOr, __hip_atomic_fetch_or)
PARITY_COMPAT_SIGNED(atomicXor, __hip_atomic_fetch_xor)
#undef PARITY_COMPAT_SIGNED

// As CUDA documents, each element is added atomically, but the vector as a whole is not.
#define PARITY_COMPAT_VECTOR(suffix, T, n, scope)                                                                 \
    PARITY_COMPAT T atomicAdd##suffix(T* address, T value) {                                                      \
        float *to = reinterpret_cast<float*>(address), was[n], add[n];                                            \
        __builtin_memcpy(add, &value, sizeof(T));                                                                 \
        for (int k = 0; k < n; ++k) was[k] = __hip_atomic_fetch_add(to + k, add[k], __ATOMIC_RELAXED, scope);     \
        __builtin_memcpy(&value, was, sizeof(T));                                                                 \
        return value;                                                                                             \
    }
#define PARITY_COMPAT_VECTORS(suffix, scope)          \
    PARITY_COMPAT_VECTOR(suffix, float2, 2, scope)    \
    PARITY_COMPAT_VECTOR(suffix, float4, 4, scope)
PARITY_COMPAT_VECTORS(, __HIP_MEMORY_SCOPE_AGENT)
PARITY_COMPAT_VECTORS(_block, __HIP_MEMORY_SCOPE_WORKGROUP)
PARITY_COMPAT_VECTORS(_system, __HIP_MEMORY_SCOPE_SYSTEM)
#undef PARITY_COMPAT_VECTORS
#undef PARITY_COMPAT_VECTOR
