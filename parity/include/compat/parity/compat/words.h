// Words that are exchanged for a function of themselves: how atomics that no instruction has are made.
#pragma once

#include <parity/compat/base.h>

namespace parity_compat {

// Exchanges a word for change(word) until nobody came in between; gives what was there.
template <int scope, class Word, class Change>
__device__ __forceinline__ Word changed(Word* address, Change change) {
    Word seen = __hip_atomic_load(address, __ATOMIC_RELAXED, scope);
    while (!__hip_atomic_compare_exchange_strong(address, &seen, Word(change(seen)), __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED, scope)) {
    }
    return seen;
}

// The same of half a word: no AMD GPU has an atomic of 16 bits, so that the word around it is exchanged.
template <int scope, class Change>
__device__ __forceinline__ unsigned short half_changed(void* address, Change change) {
    const unsigned long long place = reinterpret_cast<unsigned long long>(address);
    const unsigned shift = unsigned(place & 2) * 8;
    const auto half = [=](unsigned word) { return (unsigned short)(word >> shift); };
    return half(changed<scope>(reinterpret_cast<unsigned*>(place & ~3ull), [=](unsigned word) {
        return (word & ~(0xffffu << shift)) | unsigned((unsigned short)change(half(word))) << shift;
    }));
}

}  // namespace parity_compat
