// Buffer resources: descriptors of four words that define an address, a size and a stride (ISA, "Buffer Resource").
#pragma once
#include "memory.h"

constexpr u32 ADD_TID = 1u << 23; // in word 3: the index is the number of the lane
constexpr u32 SWIZZLES = 3u << 30; // in word 1: one of these bits swizzles; generations 9 and 10 only have the upper bit
struct BufferAccess {
  V<u64> at;    // the address of each lane
  Mask live[4]; // the lanes whose access is in range, for each element
};
// The fields of a buffer instruction, which are constants of the code.
struct BufferForm {
  u32 generation, idxen, bytes, count; // `count` elements of `bytes` bytes are checked separately
};
// Computes the addresses of a buffer access and checks its range; returns 1 if it raises a fault. Scratch memory has a
// descriptor on targets without scratch instructions; its scalar offset counts bytes of the whole wavefront.
RUNTIME u32 buffer_access(Context *, Mask exec, u32 wave, const u32 *words, In<u32> index, In<u32> offset, u32 scalar_offset,
                          const BufferForm &, u32 instruction, BufferAccess *);
// Loads and stores the elements of an access; elements out of range are 0, and are not stored.
RUNTIME u32 buffer_load(Context *, const BufferAccess &, const BufferForm &, u32 instruction, V<u32> *out);
// Loads `count` components of a typed access, each of 32 bits; out of range, they are 0. The descriptor has the format.
RUNTIME u32 buffer_load_format(Context *, Mask exec, u32 wave, const u32 *words, In<u32> index, In<u32> offset, u32 scalar_offset,
                               const BufferForm &, u32 instruction, V<u32> *out);
RUNTIME u32 buffer_store(Context *, const BufferAccess &, const BufferForm &, u32 instruction, const V<u32> *in);
