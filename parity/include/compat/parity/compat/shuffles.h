// Shuffles with 32-bit masks, for every type.
//
// HIP's functions accept 64-bit masks only. These functions ignore the mask, as ports do; CUDA defines no value that
// depends on it. The default width is HIP's: the wavefront's width, 64 lanes on gfx9.
#pragma once

#include <parity/compat/base.h>

namespace parity_compat {

// Exchanges a value word by word, because HIP shuffles int.
template <class T, class Exchange>
__device__ __forceinline__ T exchanged(T value, Exchange exchange) {
    constexpr int words = (sizeof(T) + 3) / 4;
    int word[words] = {};
    __builtin_memcpy(word, &value, sizeof(T));
    for (int k = 0; k < words; ++k) word[k] = exchange(word[k]);
    __builtin_memcpy(&value, word, sizeof(T));
    return value;
}

}  // namespace parity_compat

#define PARITY_COMPAT_SHUFFLE(name, Mask, Which)                                                        \
    template <class T, class... Last>                                                                   \
    __device__ __forceinline__ T name##_sync(Mask, T value, Which which, int width = warpSize, Last...) { \
        return parity_compat::exchanged(value, [=](int word) { return name(word, which, width); });     \
    }
#define PARITY_COMPAT_SHUFFLES(Mask)                             \
    PARITY_COMPAT_SHUFFLE(__shfl, Mask, int)                     \
    PARITY_COMPAT_SHUFFLE(__shfl_up, Mask, unsigned)             \
    PARITY_COMPAT_SHUFFLE(__shfl_down, Mask, unsigned)           \
    PARITY_COMPAT_SHUFFLE(__shfl_xor, Mask, int)
PARITY_COMPAT_SHUFFLES(unsigned)
PARITY_COMPAT_SHUFFLES(int)
#undef PARITY_COMPAT_SHUFFLES
#undef PARITY_COMPAT_SHUFFLE
