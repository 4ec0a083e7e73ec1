// Records which wavefronts accessed each byte, and finds data races between them.
#pragma once
#include "lanes.h"

struct Context;
struct Access {
  u32 who;         // ordinal of the wavefront; 0: nobody
  u16 epoch;       // barriers that its workgroup had passed
  u16 instruction; // number of the instruction; ATOMIC is set for an atomic
};
constexpr u16 ATOMIC = 0x8000;
// The last writer of some bytes and the last two readers. After an access to a part of the bytes, the cells of the next
// level count instead, down to single bytes.
struct alignas(32) Cell {
  Access write, read[2];
  u32 parted; // the round of the last access to a part
};
constexpr u32 CELLS[] = {32, 4, 1}; // bytes of a cell, by level

// Record an access of several lanes; return 1 if it raises a fault. Of the lanes `exec`, only `lanes` are recorded: one is
// enough if all access the same place, and none is needed for memory that no kernel may write. `same` are the lanes that
// store the value that memory already holds, `settled` those whose place holds the value of one of them.
RUNTIME u32 trace_loads(Context *, Mask exec, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction);
RUNTIME u32 trace_stores(Context *, Mask exec, const Lanes<u64> &at, u32 bytes, u32 instruction, Mask same, Mask settled = 0);
RUNTIME u32 trace_scalar_load(Context *, u64 at, u32 bytes, u32 instruction);
RUNTIME u32 trace_atomic(Context *, u64 at, u32 bytes, u64 changed, u32 lane, u32 instruction, bool compares);
