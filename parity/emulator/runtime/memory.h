// What generated kernels need in addition to lanes: memory, atomics, exchanges between lanes, barriers.
#pragma once
#include "faults.h"

// --- the context: what the host and a launch share (amdgpu/device.py fills it in) ---
struct Cell;
struct Group;
struct Program;
constexpr u64 SPARSE_BUFFERS = 4;
// A buffer that is too large to hold. An access opens a page, and fills it with the part of the content.
struct Sparse {
  u64 at, bytes;             // device address and size; 0 bytes: none
  const u8 *tile;            // content that repeats; or null
  u64 tile_bytes;
  u64 state;                 // of the bytes of an opened page
};
struct Context {
  u8 *data, *shadow;         // host copies of device memory and of its state: one byte of state per byte
  u64 base, size;            // device address of data[0]; bytes
  u64 dispatch, kernarg;     // device addresses of the dispatch packet and of the arguments
  u64 image;                 // device address of the code object's data
  u64 lds, scratch;          // device addresses
  u64 variables;             // device address of the variables of code objects; LDS follows
  u32 lds_bytes;             // of a workgroup
  u32 lds_zeros;             // bytes at the begin of LDS that are 0 when a workgroup begins
  u32 scratch_bytes, scratch_stride; // of a lane; from one lane to the next
  i64 budget;                // instructions left until the next check for progress
  u32 checked, fault, instruction, lane, bytes;
  u32 group[3];
  u32 rest[3];               // threads of the last workgroup along each dim; 0: as many as in the others
  u64 address;
  u32 register_fill;         // the bits of a register that nothing has written
  u32 inverted_register;     // number of a register that holds the complement of register_fill
  u32 seed;                  // of the order in which wavefronts and workgroups run; 0: natural order
  u32 other;                 // the second instruction of a race
  u32 undefined;             // 1 + the first instruction that used an undefined value; 0: none
  u32 crossed;               // 1 + the first instruction that exchanged values across lanes 31 and 32; 0: none
  u8 *stacks;                // STACK bytes for each wavefront of a workgroup
  Cell *trace[3];            // by level: accesses to the bytes below trace_bytes, then to the bytes from variables on; or null
  u64 trace_bytes, trace_before; // traced bytes: all, and how many in front of each multiple of 4 GiB
  u32 ordinal;               // of the last wavefront that ran on this device
  Group *running;
  const Program *program;    // what "threaded" executes
  u64 mailbox;               // device address of the buffer for requests to the host (requests.cpp)
  u64 *log;                  // the messages: RECORD words per record
  u64 log_size, logged, lost; // records that fit, records written, and records that did not fit
  u64 messages;              // twice the number of messages
  i64 reserve, whole;        // instructions left beyond `budget`; all instructions of the launch
  u8 *snapshot;              // room for the registers of a wavefront
  const void *watched;       // the wavefront in the snapshot
  u64 ticks, clock_rate;     // how often the clock was read, and its ticks per instruction
  u64 undivided;             // what a division of an integer by zero gives; if not all ones, div.approx divides by more than 2^126
  u64 changes;               // of memory, to detect that nothing changes any more
  u32 compares;              // the kernel has a compare-and-swap
  u32 wave;                  // number, in its workgroup, of the wavefront that raised the fault
  u32 writer, writing_lane, writing_wave; // 1 + the instruction that wrote unwritten memory after it was read; 0: none
  u32 random;                // of the order in which diverged threads of a warp run; 0: natural order (ptx.cpp)
  u32 turns;                 // how often threads were chosen among those that diverged
  u32 votes[2][3];           // at a barrier that counts votes: epoch, votes, and the first wavefront of the workgroup
  u32 *who[2];               // for words and for bytes, in the order of `trace`: which threads of a warp accessed them; or null (warps.cpp)
  u16 *wrote[2], *loaded[2]; // the instructions that did so
  u64 used;                  // the largest distance of a byte that was ever allocated from a multiple of 4 GiB
  u32 phases;                // number of the last phase of a warp
  Sparse sparse[SPARSE_BUFFERS]; // from the first on; the kernel may write only one of them
  u32 *opened;               // its opened pages, and how many
  u64 openings;
  u64 sampled;               // the workgroups to execute; 0: all
  u32 fresh;                 // the state of the bytes of LDS and scratch memory at the start of a workgroup
  u32 in_order;              // whether workgroups run in the order of their numbers, whatever the seed
  u32 shuffled_lanes;        // whether atomics begin with the last lane, and diverged threads of a warp take turns
  u32 race_mask;             // of each byte that a load of a race returns, which then is not a fault; 0: races are faults
  u32 lds_races;             // whether races in LDS are tolerated
  u32 raced;                 // whether the running load is part of such a race
  u32 sleeps;                // whether a wavefront that sleeps lets others run
  u32 grid_barriers;         // barriers of whole grids that were passed
  u64 arrived;               // workgroups at the next one
  u8 *resident;              // room for all workgroups of a cooperative launch, RESIDENT + 2 * lds_bytes for each; or null
  u64 *next;                 // number of the next workgroup; contexts with the same counter share the workgroups of a launch
  u64 heap, heap_far;        // device addresses of the arenas for what the launch allocates (heap.cpp); 0: none
  u64 heap_far_bytes;        // of a far arena
  u64 heap_begin, heap_end;  // of the arenas of all launches
  u32 heap_grid[2], heap_threads; // workgroups along x and y, and threads of each
  i64 trial;                 // begin no further workgroup after this many instructions; 0: begin all
};
// The budget is used up. Compiled code then gets all of the reserve; threaded code first checks for progress (threaded.cpp).
INLINE u32 exhausted(Context *c, i64 &left, u32 instruction) {
  left += c->reserve, c->reserve = 0;
  if (left >= 0) return 0;
  return c->fault = TIMEOUT, c->instruction = instruction, 1;
}
constexpr u64 PAGE = 4096, PAGES = 1048576; // bytes of a page of sparse memory, and pages that may be opened
constexpr u64 TRACED = 16777216; // the traced bytes around each multiple of 4 GiB
// The place of `n` bytes in the arrays that record accesses; beyond the arrays if they are not traced.
INLINE u64 traced_place(const Context *c, u64 at, u64 n) {
  if (at >= c->variables) return at - c->variables + c->trace_bytes;
  const u64 x = at - c->base + c->trace_before, place = (x >> 32) * TRACED + (u32)x;
  return (u32)x + n <= TRACED ? place : ~0ul >> 1;
}
INLINE bool in_scratch(const Context *c, u64 at) { return at - c->scratch < c->variables - c->scratch; }
// Notes that an instruction uses the value of a register that nothing may have written: the value is the initial one.
INLINE void uses(Context *c, bool initial, u32 instruction) {
  if (initial && !c->undefined) c->undefined = instruction + 1;
}
INLINE u32 unwritten(const Context *c, u32 number) { return number == c->inverted_register ? ~c->register_fill : c->register_fill; }

// --- memory ---
enum ByteState { WRITABLE = 1, READABLE = 2 }; // bits; without READABLE, nothing has written an allocated byte
// The upper half of a generic pointer into LDS or scratch memory; its lower half is an offset.
constexpr u32 SHARED = 0x00010000, PRIVATE = 0x00020000;
constexpr u32 COHERENT = 1u << 31; // in the number of a load: the load is atomic
// Vector accesses are at base + hi:lo of each lane, or at the lane's address.
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
// The type in the source promises that the bits `low` of the address are 0.
RUNTIME u32 misaligned_lane(Context *, Mask exec, In<u64> at, u32 low, u32 instruction);
RUNTIME u32 misaligned_at(Context *, u64 at, u32 low, u32 instruction);
INLINE u32 misaligned(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 low, u32 instruction) {
  return mask(bools((((u32)base + lo) & low) != 0)) & exec ? misaligned_lane(c, exec, base + join(lo, hi), low, instruction) : 0;
}
INLINE u32 misaligned(Context *c, Mask exec, In<u64> at, u32 low, u32 instruction) {
  if (!(__builtin_reduce_or(at) & low)) return 0; // fast path
  return mask(bools((lo32(at) & low) != 0)) & exec ? misaligned_lane(c, exec, at, low, instruction) : 0;
}
INLINE u32 misaligned_scalar(Context *c, u64 at, u32 low, u32 instruction) {
  return at & low ? misaligned_at(c, at, low, instruction) : 0;
}
// A load of up to 8 bytes that all active lanes make from one place outside of their scratch memory.
RUNTIME u32 load_shared(Context *, Mask exec, u64 at, u32 bytes, u32 instruction, u64 *out);
// Marks bytes of scratch memory that only the compiler uses as written: it widens vectors and ignores the added elements.
RUNTIME void mark_written(Context *, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes);
// Generic pointers: offsets into LDS and scratch memory become addresses.
INLINE V<u64> flat_address(Context *c, u32 wave, V<u32> lo, V<u32> hi) {
  V<u64> own = c->scratch + to<u64>((wave * LANES + IOTA) * c->scratch_stride + lo);
  return sel(hi == SHARED, c->lds + to<u64>(lo), sel(hi == PRIVATE, own, join(lo, hi)));
}
INLINE V<u32> flat_lo(Context *c, u32 wave, V<u32> lo, V<u32> hi) { return lo32(flat_address(c, wave, lo, hi)); }
INLINE V<u32> flat_hi(Context *c, u32 wave, V<u32> lo, V<u32> hi) { return hi32(flat_address(c, wave, lo, hi)); }

// load_at and store_at always trace.
#define ACCESS(T)                                                                                            \
  RUNTIME u32 load_at_##T(Context *, Mask exec, In<u64> at, u32 instruction, V<T> *);                            \
  RUNTIME u32 store_at_##T(Context *, Mask exec, In<u64> at, u32 instruction, In<T>);                            \
  RUNTIME u32 load_##T(Context *, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, V<T> *);         \
  RUNTIME u32 store_##T(Context *, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, In<T>);
ACCESS(u8) ACCESS(u16) ACCESS(u32) ACCESS(u64)

// --- atomics: the lanes one by one ---
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
template <class T> INLINE T smaller(T a, T b) { return b < a || a != a ? b : a; } // a NaN loses against a number
template <class T> INLINE T larger(T a, T b) { return b > a || a != a ? b : a; }
// Checks the atomics of a warp for races, before they execute (warps.cpp).
RUNTIME u32 atomics_of_warp(Context *, Mask exec, In<u64> at, u32 bytes, u32 instruction, bool compares);
// Orders the earlier accesses of the running warp's threads before their later accesses (warps.cpp).
RUNTIME void ordered(Context *);
// Checks and records the atomic of one lane, which changes the bits `changed` of memory.
RUNTIME u32 atomic_done(Context *, u64 at, u32 bytes, u64 changed, u32 lane, u32 instruction, bool compares);
template <class T, bool COMPARES, class U, class F>
INLINE u32 atomic(Context *c, Mask exec, u64 base, V<u32> lo, V<u32> hi, u32 instruction, V<U> x, V<U> cmp, V<U> *old, F f) {
  u32 i;
  for (Mask m = exec; m; m &= ~((Mask)1 << i)) {
    i = c->shuffled_lanes ? last(m) : first(m);
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

// --- exchanges between lanes; an inactive lane gives 0 (ISA, DS_BPERMUTE_B32) ---
RUNTIME V<u32> bpermute(Context *, Mask exec, u32 instruction, In<u32> at, In<u32> x);
RUNTIME V<u32> permute(Context *, Mask exec, u32 instruction, In<u32> at, In<u32> x);
RUNTIME V<u32> swizzle(In<u32> x, Mask exec, u32 pattern);
RUNTIME V<u32> permlane16(In<u32> x, Mask exec, u64 select, u32 other_row, u32 inactive, u32 bound, In<u32> old);
RUNTIME V<u32> swapped_halves(In<u32> x);
RUNTIME void swap_rows(u32 lanes, V<u32> *x, V<u32> *y); // the odd rows of x with the even rows of y
// Each lane has read a part of a row of a matrix, and gets a column: 16 lanes exchange elements of `bits` bits.
RUNTIME void transpose(u32 bits, V<u32> *x);

// --- subnormal f32 ---
// MODE.FP_DENORM sets the host processor's own mode, which flushes f64, too. The end of a launch restores the mode.
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

// --- memory that kernels allocate (heap.cpp): malloc and free, and C++'s new and delete ---
constexpr u64 NEAR_ARENA = 1024; // bytes of a near arena, of which each thread has one
// In front of an allocation are its size and one of these marks, which kernels cannot access.
constexpr u64 ALLOCATED = 0x6d616c6c6f63, RELEASED = 0x66726565;
// Allocates memory that nothing has written, for each active lane; the address is 0 for 0 bytes and for full arenas.
RUNTIME V<u64> allocate(Context *, Mask exec, In<u64> bytes);
// Makes memory inaccessible. Null pointers are ignored.
RUNTIME u32 release(Context *, Mask exec, In<u64> at, u32 instruction);

// --- workgroups ---
RUNTIME u32 barrier(Context *, Mask exec, u32 instruction);
RUNTIME u32 grid_barrier(Context *, Mask exec, u32 instruction);
RUNTIME u32 wave_sleep(Context *, Mask exec, u32 instruction);
RUNTIME u32 bad_call(Context *, u32 instruction);
RUNTIME u32 trap(Context *, Mask exec, u32 instruction);

// --- the rest of the machine ---
RUNTIME u32 interrupt(Context *, u32 instruction); // handles a request to the host
RUNTIME u64 ticks(Context *, i64 left);            // a clock that follows the instructions, and increases with each reading
