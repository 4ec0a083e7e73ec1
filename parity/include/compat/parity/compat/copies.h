// Shared memory addresses as integers, and asynchronous copies into shared memory.
//
// LDS addresses on AMD GPUs are 32-bit offsets, like shared memory addresses in PTX. Copies are synchronous here, so
// the bytes have arrived after the wait, as CUDA guarantees. A missing wait goes undetected.
#pragma once

#include <parity/compat/base.h>

#define PARITY_COMPAT_LDS __attribute__((address_space(3)))

PARITY_COMPAT size_t __cvta_generic_to_shared(const void* from) {
    return (unsigned)(const PARITY_COMPAT_LDS char*)(const char*)from;
}
PARITY_COMPAT void* __cvta_shared_to_generic(size_t offset) {
    return (void*)(char*)(PARITY_COMPAT_LDS char*)(unsigned)offset;
}
// Global addresses are the same in every address space.
PARITY_COMPAT size_t __cvta_generic_to_global(const void* from) { return (size_t)from; }
PARITY_COMPAT void* __cvta_global_to_generic(size_t from) { return (void*)from; }

// `bytes` is 4, 8 or 16, and both addresses are aligned to it. Reads the first `given` bytes and sets the rest to 0.
PARITY_COMPAT void ptx_copy(void* to, const void* from, unsigned bytes, unsigned given) {
    if (given != bytes) {
        for (unsigned k = 0; k < bytes; ++k) ((unsigned char*)to)[k] = k < given ? ((const unsigned char*)from)[k] : 0;
    } else if (bytes == 16) {
        *(uint4*)to = *(const uint4*)from;
    } else if (bytes == 8) {
        *(uint2*)to = *(const uint2*)from;
    } else {
        *(unsigned*)to = *(const unsigned*)from;
    }
}

PARITY_COMPAT void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
    ptx_copy(to, from, (unsigned)bytes, (unsigned)(bytes - zeros));
}
PARITY_COMPAT void __pipeline_commit() {}
PARITY_COMPAT void __pipeline_wait_prior(size_t) {}
