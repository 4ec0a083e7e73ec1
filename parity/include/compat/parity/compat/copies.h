// Addresses in shared memory as numbers, and copies into it that CUDA makes asynchronously.
//
// An address in LDS is an offset of 32 bits on AMD GPUs, as one in shared memory is in PTX. A copy is an ordinary one
// here and done where it is called: after the wait the bytes are there, as CUDA promises. A wait that is missing goes
// unnoticed.
#pragma once

#include <parity/compat/base.h>

#define PARITY_COMPAT_LDS __attribute__((address_space(3)))

PARITY_COMPAT size_t __cvta_generic_to_shared(const void* from) {
    return (unsigned)(const PARITY_COMPAT_LDS char*)(const char*)from;
}
PARITY_COMPAT void* __cvta_shared_to_generic(size_t offset) {
    return (void*)(char*)(PARITY_COMPAT_LDS char*)(unsigned)offset;
}
// Addresses of global memory are the same in every address space.
PARITY_COMPAT size_t __cvta_generic_to_global(const void* from) { return (size_t)from; }
PARITY_COMPAT void* __cvta_global_to_generic(size_t from) { return (void*)from; }

// `bytes` are 4, 8 or 16, and both addresses multiples of that; of the source `given` are read, the others are 0.
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
