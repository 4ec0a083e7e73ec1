// Addresses of shared memory as numbers. CUDA's are offsets, which fit in 32 bits, and so are those of AMD's LDS.
#pragma once

#include <parity/compat/base.h>

PARITY_COMPAT size_t __cvta_generic_to_shared(const void* pointer) {
    return reinterpret_cast<unsigned>((const __attribute__((address_space(3))) char*)pointer);
}
PARITY_COMPAT void* __cvta_shared_to_generic(size_t address) {
    return (void*)reinterpret_cast<__attribute__((address_space(3))) char*>(static_cast<unsigned>(address));
}
// Global memory has the same addresses everywhere.
PARITY_COMPAT size_t __cvta_generic_to_global(const void* pointer) { return reinterpret_cast<size_t>(pointer); }
PARITY_COMPAT void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }
