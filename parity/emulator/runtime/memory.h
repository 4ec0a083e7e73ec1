// What generated kernels need beside lanes: memory, atomics, exchanges between lanes, barriers.
#pragma once
#include "lanes.h"

// --- memory ---
enum { WRITABLE = 1, READABLE = 2 };
enum Fault { NONE, READ_OUTSIDE, WRITE_OUTSIDE, READ_UNWRITTEN, TIMEOUT, RACE, DIVERGENT_BARRIER, BAD_CALL, TRAP, STUCK, REQUEST, MISALIGNED, ABSENT, UNNAMED, WARP_RACE };
// A generic pointer into LDS or scratch memory has one of these as its upper half and an offset as its lower half.
constexpr u32 SHARED = 0x00010000, PRIVATE = 0x00020000;
struct Cell;
struct Group;
struct Program;
struct Context {
  u8 *data, *shadow;         // host copies of device memory and its state, one byte of state per byte
  u64 base, size;            // device address of data[0], bytes
  u64 dispatch, kernarg;     // device addresses
  u64 image;                 // device address of the code object's data
  u64 lds, scratch;          // device addresses
  u64 variables;             // of the data of code objects; LDS follows
  u32 lds_bytes;             // of a workgroup
  u32 scratch_bytes, scratch_stride; // of a lane; from one lane to the next
  i64 budget;                // instructions left until it is looked whether anything still happens
  u32 checked, fault, instruction, lane, bytes;
  u32 group[3];
  u64 address;
  u32 register_fill;         // the bits of a register that nothing wrote
  u32 inverted_register;     // the number of a register that holds their complement
  u32 seed;                  // of the order in which wavefronts and workgroups run; 0 is the natural order
  u32 other;                 // the second instruction of a race
  u32 lacking;               // 1 + the first exchange in which a thread took the value of one that takes no part, or 0
  u32 crossed;               // 1 + the first instruction that exchanged values across lanes 31 and 32, or 0
  u8 *stacks;                // STACK bytes for each wavefront of a workgroup
  Cell *trace[3];            // by level: who accessed the bytes below trace_bytes and, behind those, from variables on; or null
  u64 trace_bytes;
  u32 ordinal;               // of the last wavefront that ran on this device
  Group *running;
  const Program *program;    // what "threaded" executes
  u64 mailbox;               // device address of the buffer for requests to the host, see requests.cpp
  u64 *log;                  // the requests, RECORD words each
  u64 log_size, logged, lost; // how many fit, how many there are, and how many did not fit
  u64 messages;              // how many there were, twice
  i64 reserve, whole;        // instructions left beyond those; all at the beginning
  u8 *snapshot;              // room for the registers of a wavefront
  const void *watched;       // the wavefront whose registers they are
  u64 ticks;                 // how often the clock was read
  u64 changes;               // of memory, to see that nothing happens any more
  u32 compares;              // the kernel has a compare-and-swap
  u32 wave;                  // of its workgroup, in which the fault happened
  u32 random;                // of the order in which threads of a warp run that diverged; 0 is the natural order (ptx.cpp)
  u32 turns;                 // how often threads were chosen from those that diverged
  u32 votes[2][3];           // at a barrier that counts votes: epoch, votes, and the first wavefront of the workgroup
  u32 *who[2];               // of words and of bytes, as `trace` has them, which threads of a warp accessed them; or null (warps.cpp)
  u16 *wrote[2], *loaded[2]; // and by which instruction
  u64 used;                  // bytes that were ever allocated, from the base on
  u32 phases;                // the number of the last phase of a warp
};
// The budget is used up. Compiled code gets all of the reserve, threaded code looks whether it goes on (threaded.cpp).
INLINE u32 exhausted(Context *c, i64 &left, u32 instruction) {
  left += c->reserve, c->reserve = 0;
  if (left >= 0) return 0;
  return c->fault = TIMEOUT, c->instruction = instruction, 1;
}
constexpr u32 COHERENT = 1u << 31; // in the number of a load: it is atomic
INLINE u32 unwritten(const Context *c, u32 number) { return number == c->inverted_register ? ~c->register_fill : c->register_fill; }
// Vector accesses are at base + hi:lo of each lane, or at its address.
RUNTIME u32 gather_at(Context *, Mask exec, In<u64> at, u32 bytes, u32 instruction, V<u32> *out);
RUNTIME u32 scatter_at(Context *, Mask exec, In<u64> at, u32 bytes, u32 instruction, const V<u32> *in);
INLINE u32 gather(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes, u32 instruction, V<u32> *out) {
  return gather_at(c, exec, base + join(lo, hi), bytes, instruction, out);
}
INLINE u32 scatter(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes, u32 instruction, const V<u32> *in) {
  return scatter_at(c, exec, base + join(lo, hi), bytes, instruction, in);
}
RUNTIME u32 scalar_load_checked(Context *, u64 at, u32 words, u32 instruction, u32 *out);
// Scalar loads ignore the low two bits of the address (ISA, scalar memory).
template <int WORDS> INLINE u32 scalar_load(Context *c, u64 at, u32 instruction, u32 *out) {
  u64 offset = (at & ~3ul) - c->base;
  if (c->checked | offset > c->size - 4 * WORDS) return scalar_load_checked(c, at & ~3ul, WORDS, instruction, out);
  __builtin_memcpy_inline(out, c->data + offset, 4 * WORDS);
  return 0;
}
RUNTIME u32 scalar_load_part(Context *, u64 at, u32 bytes, u32 instruction, u32 *out);
// The source's type promises addresses of which these bits are 0.
RUNTIME u32 misaligned_lane(Context *, Mask exec, In<u64> at, u32 low, u32 instruction);
RUNTIME u32 misaligned_at(Context *, u64 at, u32 low, u32 instruction);
INLINE u32 misaligned(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 low, u32 instruction) {
  return mask(bools((((u32)base + lo) & low) != 0)) & exec ? misaligned_lane(c, exec, base + join(lo, hi), low, instruction) : 0;
}
INLINE u32 misaligned(Context *c, Mask exec, In<u64> at, u32 low, u32 instruction) {
  if (!(__builtin_reduce_or(at) & low)) return 0; // mostly
  return mask(bools((lo32(at) & low) != 0)) & exec ? misaligned_lane(c, exec, at, low, instruction) : 0;
}
INLINE u32 misaligned_scalar(Context *c, u64 at, u32 low, u32 instruction) {
  return at & low ? misaligned_at(c, at, low, instruction) : 0;
}
// A load of up to 8 bytes, by all lanes that run, from one place that is none's own.
RUNTIME u32 load_shared(Context *, Mask exec, u64 at, u32 bytes, u32 instruction, u64 *out);
// Bytes of the compiler's own in scratch memory count as written: it widens vectors and does not use what it adds.
RUNTIME void granted(Context *, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes);
// Generic pointers: offsets into LDS and scratch memory become addresses.
INLINE V<u64> flat_address(Context *c, u32 wave, V<u32> lo, V<u32> hi) {
  V<u64> own = c->scratch + to<u64>((wave * LANES + IOTA) * c->scratch_stride + lo);
  return sel(hi == SHARED, c->lds + to<u64>(lo), sel(hi == PRIVATE, own, join(lo, hi)));
}
INLINE V<u32> flat_lo(Context *c, u32 wave, V<u32> lo, V<u32> hi) { return lo32(flat_address(c, wave, lo, hi)); }
INLINE V<u32> flat_hi(Context *c, u32 wave, V<u32> lo, V<u32> hi) { return hi32(flat_address(c, wave, lo, hi)); }

// load_at and store_at are traced always.
#define ACCESS(T)                                                                                            \
  RUNTIME u32 load_at_##T(Context *, Mask exec, In<u64> at, u32 instruction, V<T> *);                            \
  RUNTIME u32 store_at_##T(Context *, Mask exec, In<u64> at, u32 instruction, In<T>);                            \
  RUNTIME u32 load_##T(Context *, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, V<T> *);         \
  RUNTIME u32 store_##T(Context *, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, In<T>);
ACCESS(u8) ACCESS(u16) ACCESS(u32) ACCESS(u64)

// --- atomics: one lane after the other ---
struct PackedF16 { f16 x, y; };
struct PackedBf16 { u16 x, y; };
INLINE PackedF16 operator+(PackedF16 a, PackedF16 b) { return {(f16)(a.x + b.x), (f16)(a.y + b.y)}; }
INLINE u16 bf16_sum(u16 a, u16 b) {
  f32 s = scalar<f32>((u32)a << 16) + scalar<f32>((u32)b << 16);
  u32 u = scalar<u32>(s);
  return s != s ? 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
INLINE PackedBf16 operator+(PackedBf16 a, PackedBf16 b) { return {bf16_sum(a.x, b.x), bf16_sum(a.y, b.y)}; }
template <class T> using Atom = T;
template <class T> INLINE T smaller(T a, T b) { return b < a || a != a ? b : a; } // a number beats a NaN
template <class T> INLINE T larger(T a, T b) { return b > a || a != a ? b : a; }
// Checks an atomic that changes these bits of memory.
RUNTIME u32 atomics_of_warp(Context *, Mask exec, In<u64> at, u32 bytes, u32 instruction, bool compares); // before them
RUNTIME void ordered(Context *); // what threads of the warp that runs did so far comes before what they do from now on
RUNTIME u32 atomic_done(Context *, u64 at, u32 bytes, u64 changed, u32 lane, u32 instruction, bool compares);
template <class T, bool COMPARES, class U, class F>
INLINE u32 atomic(Context *c, Mask exec, u64 base, V<u32> lo, V<u32> hi, u32 instruction, V<U> x, V<U> cmp, V<U> *old, F f) {
  for (Mask m = exec; m; m &= m - 1) {
    u32 i = first(m);
    u64 where = base + pair(lo[i], hi[i]);
    if (where - c->base > c->size - sizeof(U)) return atomic_done(c, where, sizeof(U), 0, i, instruction, COMPARES);
    u8 *at = c->data + (where - c->base);
    U was, given = x[i], compared = cmp[i];
    __builtin_memcpy_inline(&was, at, sizeof(U));
    T now = f(scalar<T>(was), scalar<T>(given), scalar<T>(compared));
    U bits = scalar<U>(now);
    if (atomic_done(c, where, sizeof(U), was ^ bits, i, instruction, COMPARES)) return 1;
    __builtin_memcpy_inline(at, &bits, sizeof(U));
    (*old)[i] = was;
  }
  return 0;
}

// --- exchanges between lanes; from a lane that is off comes 0 (ISA, DS_BPERMUTE_B32) ---
RUNTIME V<u32> bpermute(Context *, Mask exec, u32 instruction, In<u32> at, In<u32> x);
RUNTIME V<u32> permute(Context *, Mask exec, u32 instruction, In<u32> at, In<u32> x);
RUNTIME V<u32> swizzle(In<u32> x, Mask exec, u32 pattern);
RUNTIME V<u32> permlane16(In<u32> x, Mask exec, u64 select, u32 other_row, u32 inactive, u32 bound, In<u32> old);
RUNTIME V<u32> swapped_halves(In<u32> x);

// --- subnormal f32 ---
// MODE.FP_DENORM is the processor's own switch, which flushes f64 as well; what a launch changes its end undoes.
#ifdef __aarch64__
struct Subnormals {
  u64 before;
  Subnormals() { asm volatile("mrs %0, fpcr" : "=r"(before)); }
  ~Subnormals() { asm volatile("msr fpcr, %0" : : "r"(before) : "memory"); }
};
INLINE void keep_subnormals(bool yes) {
  u64 mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  asm volatile("msr fpcr, %0" : : "r"(yes ? mode & ~(1ul << 24) : mode | 1ul << 24) : "memory");
}
#else
struct Subnormals {
  u32 before;
  Subnormals() { asm volatile("stmxcsr %0" : "=m"(before)); }
  ~Subnormals() { asm volatile("ldmxcsr %0" : : "m"(before) : "memory"); }
};
INLINE void keep_subnormals(bool yes) {
  u32 mode;
  asm volatile("stmxcsr %0" : "=m"(mode));
  mode = yes ? mode & ~0x8040u : mode | 0x8040u;
  asm volatile("ldmxcsr %0" : : "m"(mode) : "memory");
}
#endif

// --- workgroups ---
RUNTIME u32 barrier(Context *, Mask exec, u32 instruction);
RUNTIME u32 bad_call(Context *, u32 instruction);
RUNTIME u32 trap(Context *, Mask exec, u32 instruction);

// --- the rest of the machine ---
RUNTIME u32 interrupt(Context *, u32 instruction); // the host is asked for something
RUNTIME u64 ticks(Context *, i64 left);            // a clock that counts instructions, and never stands still
