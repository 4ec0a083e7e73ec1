// Loads and stores with a cache hint. Hints do not change values, but __ldcv must not be merged with another load.
#pragma once

#include <parity/compat/base.h>

namespace parity_compat {

// T in a non-deduced context, so that storing 0 through a float pointer stores a float.
template <class T>
struct Itself {
    using type = T;
};
template <class T>
using Same = typename Itself<T>::type;

}  // namespace parity_compat

#define PARITY_COMPAT_LOAD(name)                                       \
    template <class T, class... Last>                                  \
    __device__ __forceinline__ T name(const T* from, Last...) {        \
        return *from;                                                  \
    }
PARITY_COMPAT_LOAD(__ldg)
PARITY_COMPAT_LOAD(__ldcg)
PARITY_COMPAT_LOAD(__ldca)
PARITY_COMPAT_LOAD(__ldcs)
PARITY_COMPAT_LOAD(__ldlu)
#undef PARITY_COMPAT_LOAD

#define PARITY_COMPAT_STORE(name)                                      \
    template <class T, class... Last>                                  \
    __device__ __forceinline__ void name(T* to, parity_compat::Same<T> value, Last...) { \
        *to = value;                                                   \
    }
PARITY_COMPAT_STORE(__stwb)
PARITY_COMPAT_STORE(__stcg)
PARITY_COMPAT_STORE(__stcs)
PARITY_COMPAT_STORE(__stwt)
#undef PARITY_COMPAT_STORE

namespace parity_compat {

template <class Unit, class T>
__device__ __forceinline__ T loaded_again(const T* from) {
    Unit unit[sizeof(T) / sizeof(Unit)];
    const volatile Unit* units = reinterpret_cast<const volatile Unit*>(from);
    for (unsigned k = 0; k < sizeof(T) / sizeof(Unit); ++k) unit[k] = units[k];
    T value;
    __builtin_memcpy(&value, unit, sizeof(T));
    return value;
}

}  // namespace parity_compat

template <class T, class... Last>
__device__ __forceinline__ T __ldcv(const T* from, Last...) {
    if constexpr (alignof(T) % 8 == 0) return parity_compat::loaded_again<unsigned long long>(from);
    if constexpr (alignof(T) % 4 == 0) return parity_compat::loaded_again<unsigned>(from);
    if constexpr (alignof(T) % 2 == 0) return parity_compat::loaded_again<unsigned short>(from);
    return parity_compat::loaded_again<unsigned char>(from);
}
