// Atomic read-modify-write operations without a hardware instruction, as compare-and-swap loops.
#pragma once

#include <parity/compat/base.h>

namespace parity_compat {

// Replaces a word by change(word) atomically and returns the old value.
template <int scope, class Word, class Change>
__device__ __forceinline__ Word changed(Word* address, Change change) {
    Word seen = __hip_atomic_load(address, __ATOMIC_RELAXED, scope);
    while (!__hip_atomic_compare_exchange_strong(address, &seen, Word(change(seen)), __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED, scope)) {
    }
    return seen;
}

// The same for half a word. AMD GPUs have no 16-bit atomics, so the loop replaces the enclosing word.
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
