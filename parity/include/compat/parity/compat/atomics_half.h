// atomicAdd of __half, __half2, __hip_bfloat16 and __hip_bfloat162.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <parity/compat/words.h>

namespace parity_compat {

template <class T>
__device__ __forceinline__ T added(T a, T b) {
    return a + b;
}
// Avoids operators: torch extensions are compiled with -D__HIP_NO_HALF_OPERATORS__.
__device__ __forceinline__ __half added(__half a, __half b) { return __hadd(a, b); }

}  // namespace parity_compat

#define PARITY_COMPAT_OF_ONE(suffix, T, scope)                                                                   \
    PARITY_COMPAT T atomicAdd##suffix(T* address, T value) {                                                     \
        using namespace parity_compat;                                                                           \
        return bits<T>(half_changed<scope>(                                                                      \
            address, [=](unsigned short seen) { return bits<unsigned short>(added(bits<T>(seen), value)); }));   \
    }
// CUDA guarantees atomicity for each half only.
#define PARITY_COMPAT_OF_TWO(suffix, T, scope)                                                                   \
    PARITY_COMPAT T atomicAdd##suffix(T* address, T value) {                                                     \
        using namespace parity_compat;                                                                           \
        return bits<T>(changed<scope>(reinterpret_cast<unsigned*>(address), [=](unsigned seen) {                 \
            const T was = bits<T>(seen);                                                                         \
            return bits<unsigned>(T(added(was.x, value.x), added(was.y, value.y)));                              \
        }));                                                                                                     \
    }
#define PARITY_COMPAT_HALVES(suffix, scope)                \
    PARITY_COMPAT_OF_ONE(suffix, __half, scope)            \
    PARITY_COMPAT_OF_ONE(suffix, __hip_bfloat16, scope)    \
    PARITY_COMPAT_OF_TWO(suffix, __half2, scope)           \
    PARITY_COMPAT_OF_TWO(suffix, __hip_bfloat162, scope)
PARITY_COMPAT_HALVES(, __HIP_MEMORY_SCOPE_AGENT)
PARITY_COMPAT_HALVES(_block, __HIP_MEMORY_SCOPE_WORKGROUP)
PARITY_COMPAT_HALVES(_system, __HIP_MEMORY_SCOPE_SYSTEM)
#undef PARITY_COMPAT_HALVES
#undef PARITY_COMPAT_OF_TWO
#undef PARITY_COMPAT_OF_ONE
