// The wavefronts of the workgroup that runs, and who accessed memory.
#pragma once
#include "memory.h"

struct Access {
  u32 who;         // ordinal of the wavefront, 0 if there is none
  u16 epoch;       // barriers its workgroup had passed
  u16 instruction; // ATOMIC if it was one
};
constexpr u16 ATOMIC = 0x8000;
constexpr u64 MAILBOX = 8192; // bytes for requests to the host
constexpr u64 RECORD = 10; // words of a request in the log
// Of some bytes who last wrote them, and which two last read them. Where a part of them was accessed since, the cells of
// the next level count, down to those of single bytes.
struct alignas(32) Cell {
  Access write, read[2];
  u32 parted; // number of the round in which a part was last accessed
};
constexpr u32 CELLS[] = {32, 4, 1}; // bytes of a cell of each level
struct Wave {
  void *stack;
  Mask start, missed; // lanes it began with; those of them that a barrier was executed without
  u32 ordinal, epoch, instruction, done, busy, synchronised;
  Mask stuck; // the lanes that wait for something to change, at `instruction`
  u32 phase, whole, unseen, logged, sampled, writes; // of a warp (warps.cpp)
};
// Something wrong with a load unless what it loads goes into a compare-and-swap, which shows later.
struct Doubt {
  u64 at;
  u32 kind, bytes, lane, load, instruction, other, group[3];
};
constexpr u32 DOUBTS = 32, INSTRUCTIONS = 1 << 15;
struct Logged { // what threads of a warp accessed by one instruction
  V<u32> place;
  u64 from;
  Mask exec, lanes, same;
  u32 low, high, instruction, bytes, writes;
};
constexpr u32 LOGGED = LANES == 32 ? 16 : 1;
struct Group {
  Wave wave[32];
  void *main;
  u32 waves, current;
  u32 earlier; // ordinal of the last wavefront of the launch before
  u32 round;   // number of what is between two barriers, among the ordinals
  u32 atomics; // whether there were any in LDS
  u32 scratched; // whether something wrote to scratch memory since it was cleared
  struct {
    u64 at;
    u32 bytes, lane, instruction;
  } unwritten; // the first read of LDS that nothing wrote, if bytes is not 0
  Logged log[32][LOGGED]; // of each warp
  u32 begun[32]; // how many phases each warp had in this launch, in all blocks (warps.cpp)
  Doubt doubt[DOUBTS]; // one for a load
  u32 doubts;
  u8 feeds[INSTRUCTIONS]; // whether an instruction loaded what was compared by a compare-and-swap
};

RUNTIME void *memset(void *to, int value, u64 n);
RUNTIME void *memcpy(void *__restrict to, const void *__restrict from, u64 n);
RUNTIME bool same(const u8 *a, const u8 *b, u64 n);
RUNTIME u32 stuck(Context *, Mask exec, u32 instruction); // lets others run; 1 if none of them changes anything
RUNTIME u32 doubtful(Context *, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction, u32 load);
RUNTIME u32 settle_doubts(Context *); // at the end of a launch
RUNTIME u32 report(Context *, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction);
RUNTIME u32 fault(Context *, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction); // 0: go on nevertheless
RUNTIME u32 settle(Context *); // reports what fault() let pass

// Device addresses are element-aligned only. Copies, because clang drops aligned(1) from a template's vector type.
template <class X> INLINE X peek(const u8 *at) {
  X x;
  __builtin_memcpy_inline(&x, at, sizeof(X));
  return x;
}
template <class X> INLINE void poke(u8 *at, X x) { __builtin_memcpy_inline(at, &x, sizeof(X)); }
// Indexed by a variable a vector is slow, an array is not.
template <class T> struct Lanes {
  T lane[LANES];
  Lanes() = default;
  Lanes(V<T> x) { poke((u8 *)lane, x); }
  T &operator[](u32 i) { return lane[i]; }
  T operator[](u32 i) const { return lane[i]; }
  V<T> vector() const { return peek<V<T>>((const u8 *)lane); }
};
// Races between threads of one warp (warps.cpp).
RUNTIME void next_phase(Context *, Wave &);
RUNTIME u32 loads_of_warp(Context *, Mask exec, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction);
RUNTIME u32 stores_of_warp(Context *, Mask exec, const Lanes<u64> &at, u32 bytes, u32 instruction, Mask same);
// That of the lane before; of lane 0 its own.
INLINE V<u64> of_lane_before(V<u64> x) {
#if LANES == 64
  return __builtin_shufflevector(x, x, 0, EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), 56, 57, 58, 59, 60, 61, 62);
#else
  return __builtin_shufflevector(x, x, 0, EIGHT(0), EIGHT(8), EIGHT(16), 24, 25, 26, 27, 28, 29, 30);
#endif
}
// The value that each lane finds in the lane of that number, which is below LANES.
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
// Whether threads are at places that go up, or down, by so many bytes at least. Those between them that do not execute
// count, too: these have addresses nearly always.
INLINE bool in_order(V<u32> place, Mask on, u32 bytes) {
  const Mask inner = (~(Mask)0 >> (LANES - 1 - last(on))) & (~(Mask)1 << first(on)); // behind the first, up to the last
  const V<i32> step = as<i32>(place - taken_from(place, (IOTA - 1) & (LANES - 1)));
  return !(inner & ~mask(bools(step >= (i32)bytes))) || !(inner & ~mask(bools(step <= -(i32)bytes)));
}
#endif
