// The wavefronts of the running workgroup, and the lanes of a vector as an array.
#pragma once
#include "memory.h"

constexpr u32 MAX_WAVEFRONTS = 32; // of a workgroup
constexpr u32 REVERSED = ~0u;      // the seed of the order in which the wavefronts of each workgroup begin with the last one
constexpr u64 STACK = 1 << 20;     // bytes of a wavefront's stack
constexpr u64 RESIDENT = 4096;     // at least the bytes of a Resident (workgroups.cpp), without its LDS
struct Wave {
  void *stack;
  Mask start, missed; // the lanes it began with; the lanes that were inactive at a barrier
  u32 ordinal, epoch, instruction, done, busy, synchronised;
  Mask stuck; // the lanes that wait, at `instruction`, for memory to change
  u32 phase, whole, unseen, logged, sampled, writes; // of a warp (warps.cpp)
};
// A load with a fault that does not count if the loaded value goes into a compare-and-swap.
struct SuspectLoad {
  u64 at;
  u32 kind, bytes, lane, load, instruction, other, group[3];
};
constexpr u32 SUSPECTS = 32, INSTRUCTIONS = 1 << 15;
struct Logged { // the accesses of a warp's threads by one instruction
  V<u32> place;
  u64 from;
  Mask exec, lanes, same;
  u32 low, high, instruction, bytes, writes;
};
constexpr u32 LOGGED = LANES == 32 ? 16 : 1;
struct Group {
  Wave wave[MAX_WAVEFRONTS];
  void *main;
  u32 waves, current;
  u32 block[3];  // threads of the running workgroup
  u32 waits;     // the last wavefront of `run_rounds` that waits for memory to change; or ~0
  u64 groups;    // workgroups of the launch
  u32 earlier;   // ordinal of the last wavefront of the previous launch
  u32 round;     // number of the interval between two barriers, counted with the ordinals
  u32 atomics;   // whether an atomic has written to LDS
  u32 scratched; // whether a store has written to scratch memory since it was cleared
  struct {
    u64 at;
    u32 bytes, lane, instruction, wave;
    u32 writer, writing_lane, writing_wave; // 1 + the instruction that wrote the bytes later; 0: none
  } unwritten; // the first read of unwritten memory; bytes is 0 if there was none
  Logged log[MAX_WAVEFRONTS][LOGGED]; // of each warp
  u32 begun[MAX_WAVEFRONTS];          // phases of each warp in this launch, in all blocks (warps.cpp)
  SuspectLoad suspect[SUSPECTS];      // at most one for a load
  u32 suspects;
  u8 feeds[INSTRUCTIONS]; // whether a compare-and-swap compared a value that this instruction loaded
};

RUNTIME void *memset(void *to, int value, u64 n);
RUNTIME void *memcpy(void *__restrict to, const void *__restrict from, u64 n);
RUNTIME bool same(const u8 *a, const u8 *b, u64 n);
INLINE u32 xorshift32(u32 &state) { // Marsaglia 2003
  return state ^= state << 13, state ^= state >> 17, state ^= state << 5;
}
RUNTIME u32 stuck(Context *, Mask exec, u32 instruction); // lets other wavefronts run; 1 if memory does not change

// Device addresses are only element-aligned. These copy, because clang drops aligned(1) from a template's vector type.
template <class X> INLINE X peek(const u8 *at) {
  X x;
  __builtin_memcpy_inline(&x, at, sizeof(X));
  return x;
}
template <class X> INLINE void poke(u8 *at, X x) { __builtin_memcpy_inline(at, &x, sizeof(X)); }
// The lanes of a vector as an array, which is faster to index with a variable.
template <class T> struct Lanes {
  T lane[LANES];
  Lanes() = default;
  Lanes(V<T> x) { poke((u8 *)lane, x); }
  T &operator[](u32 i) { return lane[i]; }
  T operator[](u32 i) const { return lane[i]; }
  V<T> vector() const { return peek<V<T>>((const u8 *)lane); }
};
#include "tracing.h"
// Races between threads of one warp (warps.cpp).
RUNTIME void next_phase(Context *, Wave &);
RUNTIME u32 loads_of_warp(Context *, Mask exec, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction);
RUNTIME u32 stores_of_warp(Context *, Mask exec, const Lanes<u64> &at, u32 bytes, u32 instruction, Mask same);
// For each lane, the value of the lane that `lanes` names; these numbers are below LANES.
INLINE V<u32> taken_from(In<u32> x, In<u32> lanes) {
#if defined(__AVX512F__) && LANES == 32
  typedef int Half __attribute__((vector_size(64)));
  struct Halves { Half lo, hi; };
  const auto value = __builtin_bit_cast(Halves, x), lane = __builtin_bit_cast(Halves, lanes);
  auto found = [&](Half from) { return __builtin_ia32_vpermi2vard512(value.lo, from, value.hi); };
  return __builtin_bit_cast(V<u32>, (Halves{found(lane.lo), found(lane.hi)}));
#else
  const Lanes<u32> value(x), lane(lanes);
  Lanes<u32> out;
  for (u32 i = 0; i < LANES; i++) out[i] = value[lane[i]];
  return out.vector();
#endif
}
#if LANES == 32
// Whether the places of the threads increase, or decrease, by at least `bytes` each. Inactive threads between them count,
// too, because they nearly always have addresses.
INLINE bool in_order(V<u32> place, Mask on, u32 bytes) {
  const Mask inner = (~(Mask)0 >> (LANES - 1 - last(on))) & (~(Mask)1 << first(on)); // after the first, up to the last
  const V<i32> step = as<i32>(place - taken_from(place, (IOTA - 1) & (LANES - 1)));
  return !(inner & ~mask(bools(step >= (i32)bytes))) || !(inner & ~mask(bools(step <= -(i32)bytes)));
}
#endif
