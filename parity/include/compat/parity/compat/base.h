// What the compatibility headers share.
//
// Each function is a template although it needs no parameter: of two functions that fit a call equally well, C++ takes
// the one that is no template. So a project's own function of the same signature is taken, and so is AMD's where a newer
// HIP has one. A template gives way by Last, a pack at its end: of two templates that fit equally well, the one
// without a pack is taken.
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
