// Kinds of faults, and the functions that report them in the context.
#pragma once
#include "lanes.h"

struct Context;
enum Fault { NONE, READ_OUTSIDE, WRITE_OUTSIDE, READ_UNWRITTEN, TIMEOUT, RACE, DIVERGENT_BARRIER, BAD_CALL, TRAP, STUCK, REQUEST, MISALIGNED, ABSENT, UNNAMED, WARP_RACE, SWIZZLED, FORMAT, NOT_ALLOCATED, NOT_TEXTURE };
constexpr u32 NO_LANE = ~0u;              // Context::lane of a scalar access
constexpr u32 WHOLE_WAVEFRONT = 1u << 31; // set in Context::lane if a whole wavefront missed a barrier; the other bits are its first thread

// Reports a fault; returns 1.
RUNTIME u32 report(Context *, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction);
// Reports a fault, or defers a read of unwritten memory to the next barrier. Returns 0 if the kernel continues.
RUNTIME u32 fault(Context *, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction);
// Reports the read that fault() deferred.
RUNTIME u32 report_deferred(Context *);
// Notes the first write to the bytes of a deferred read.
RUNTIME void write_after_deferred(Context *, Mask exec, In<u64> at, u32 bytes, u32 instruction);
// Defers a fault of a load until its value reaches a compare-and-swap or the launch ends. `load` is the load's number.
RUNTIME u32 defer_load_fault(Context *, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction, u32 load);
// Reports, at the end of a launch, the first deferred fault of a load that fed no compare-and-swap.
RUNTIME u32 report_unverified_loads(Context *);
