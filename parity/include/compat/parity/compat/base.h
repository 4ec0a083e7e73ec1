// Declarations that the compatibility headers share.
//
// Every function is a template, even if it does not need a template parameter: of two equally good matches, C++ prefers
// the non-template. A project's function of the same signature therefore takes precedence, and so does AMD's in a newer
// HIP. Function templates that need parameters end with a pack, Last: C++ prefers an equally good template without a
// pack.
#pragma once

#include <hip/hip_runtime.h>

#define PARITY_COMPAT template <class = void> __device__ __forceinline__

namespace parity_compat {

template <class To, class From>
__device__ __forceinline__ To bits(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "both are of one size");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}

}  // namespace parity_compat
