// The vocabulary of PTX steps: typed registers, diverged threads, accesses to memory, atomics and exchanges. The source is
// the PTX ISA unless stated otherwise.
#pragma once
#include "ptx_integers.h"
#include "threaded.h"

// --- registers: a virtual register is a vector of its type, in one or two slots of 32 bits per lane ---
#define R(T, i) (*(V<T> *)(t->vector + o->numbers[i]))
#define P(i) (((Mask *)t->vector)[o->numbers[i]]) // a predicate: one bit per lane
template <class T> INLINE V<T> literal(u64 bits) {
  T x;
  __builtin_memcpy_inline(&x, &bits, sizeof(T));
  return all<T>(x);
}
// A constant: a literal, or a register with the same value in all threads of a block.
#define K(T, i) literal<T>(t->constants[o->numbers[i]])
#define C(T, i) (*(T *)(t->constants + o->numbers[i]))
#define HERE(i) ((u32)o->numbers[i])
template <class T> INLINE V<T> sel(Mask m, V<T> x, V<T> y) { return unmask(m) ? x : y; }
// Writes a result of the threads `on`. Usually all threads are on, and the old value is not read.
template <class T> INLINE void put(V<T> &there, Mask on, V<T> x) {
  if (__builtin_expect(on == ALL, 1)) there = x;
  else there = sel(on, x, there);
}
template <class C> INLINE Mask holds(C c) { return mask(bools(c)); }
INLINE Mask holds(bool c) { return c ? ALL : 0; }

// --- diverged threads of a warp ---
// EXEC has the running threads. Other threads are parked at an operation; some of them are blocked until others arrive.
enum { PARKED, BLOCKED, AT_BARRIER, CARRY }; // scalar registers that hold masks of threads
enum { GROUPS = CARRY + 1, GROUP };          // scalar registers: the number of groups of parked threads, then the groups
struct Parked {
  u32 at; // the operation; the last group has the earliest one
  Mask lanes;
};
#define PARKED_AT ((Parked *)(t->scalar + GROUP))
RUNTIME void park(State *, Mask lanes, u64 at);
RUNTIME void park_each(State *, Mask lanes, In<u32> at);
RUNTIME const Operation *resumed(State *); // chooses the parked threads that run next; null if all are blocked
RUNTIME Step together, apart;
RUNTIME u32 exhausted_warp(State *, i64 &left, u32 instruction);
RUNTIME u32 stranded(State *, u32 instruction);
RUNTIME Mask gathered(State *, u64 here, In<u32> members, u32 instruction); // 0: the threads wait, or c->fault is set
RUNTIME bool all_here(State *, u64 here);
// Whether `gathered` is needed. Otherwise all threads of the warp that have not exited run, and the mask names all.
INLINE bool scattered(State *t, V<u32> members) { return t->scalar[PARKED] | (t->exec & ~holds(members == ALL)); }
#define GO_RESUMED(i) do {                                                                                     \
    const Operation *n = resumed(t);                                                                           \
    if (!n) return stranded(t, HERE(i));                                                                       \
    [[clang::musttail]] return n->step(t, n);                                                                  \
  } while (0)
// The running threads go to operation `to`, where they join parked threads. Threads parked before `to` run first.
#define GO_TOGETHER(to) do {                                                                                   \
    const Operation *n = t->code + (to);                                                                       \
    if (t->scalar[PARKED]) [[clang::musttail]] return together(t, n);                                          \
    [[clang::musttail]] return n->step(t, n);                                                                  \
  } while (0)
// Threads `some` go to operation `to`; the remaining threads continue after this operation.
#define GO_APART(some, to) do {                                                                                \
    t->vcc = some, t->scc = to;                                                                                \
    [[clang::musttail]] return apart(t, o);                                                                    \
  } while (0)
// Only `threads` execute the next operation; the remaining threads continue after it.
#define ONLY(threads) do {                                                                                     \
    const Mask others = exec & ~(threads);                                                                     \
    if (others == exec) GO_ON(o + 2);                                                                          \
    if (others) park(t, others, NEXT + 1), exec &= ~others;                                                    \
  } while (0)
// Whether a warp belongs to the first block of a launch.
INLINE bool is_first(const Context *c, u32 wave) { return c->running->wave[wave].ordinal - c->running->earlier <= c->running->waves; }
#define NEXT ((u64)(o - t->code) + 1)
#define SELF ((u64)(o - t->code))

// add.cc, addc, sub.cc, subc, mad.cc and madc: each thread has one carry.
template <class T, bool SUB, bool IN, bool OUT> INLINE V<T> with_carry(State *t, Mask on, V<T> a, V<T> b) {
  const V<T> in = IN ? sel((Mask)t->scalar[CARRY], all<T>(1), all<T>(0)) : all<T>(0);
  const V<T> s = SUB ? a - b : a + b, r = SUB ? s - in : s + in;
  if (OUT) {
    const Mask carried = SUB ? holds(a < b) | holds(s < in) : holds(s < a) | holds(r < s);
    t->scalar[CARRY] = (t->scalar[CARRY] & ~on) | (carried & on);
  }
  return r;
}

// --- numbers of a launch, which the host writes to memory ---
INLINE u32 launched(Context *c, u32 k) { return ((const u32 *)(c->data + (c->dispatch - c->base)))[k]; }
template <class T> INLINE V<T> parameter(Context *c, u64 at) { return all<T>(*(const T *)(c->data + (c->kernarg - c->base) + at)); }

// --- accesses to memory ---
RUNTIME u32 print(State *, Mask on, In<u64> format, In<u64> arguments, u32 instruction);
RUNTIME u32 failed_assertion(State *, Mask on, In<u64> message, In<u64> file, In<u32> line, In<u64> function, u32 instruction);
INLINE V<u64> own_scratch(Context *c, u32 wave, u64 offset) {
  return c->scratch + offset + to<u64>((wave * LANES + IOTA) * c->scratch_stride);
}

// Loads from adjacent places: N elements with one access, whose address is a multiple of their size.
INLINE u32 load_at(Context *c, Mask on, In<u64> at, u32 instruction, V<u8> *x) { return load_at_u8(c, on, at, instruction, x); }
INLINE u32 load_at(Context *c, Mask on, In<u64> at, u32 instruction, V<u16> *x) { return load_at_u16(c, on, at, instruction, x); }
INLINE u32 load_at(Context *c, Mask on, In<u64> at, u32 instruction, V<u32> *x) { return load_at_u32(c, on, at, instruction, x); }
INLINE u32 load_at(Context *c, Mask on, In<u64> at, u32 instruction, V<u64> *x) { return load_at_u64(c, on, at, instruction, x); }
template <u32 BYTES> struct Unsigned;
template <> struct Unsigned<2> { typedef u16 T; };
template <> struct Unsigned<4> { typedef u32 T; };
template <> struct Unsigned<8> { typedef u64 T; };
template <class T> constexpr u32 PER_WORD = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
template <class T> INLINE V<T> in_words(const V<u32> *words, u32 i) { // element i
  if constexpr (sizeof(T) == 8) return join(words[2 * i], words[2 * i + 1]);
  else return to<T>(words[i / PER_WORD<T>] >> (u32)(8 * sizeof(T) * (i % PER_WORD<T>)));
}
template <class T> INLINE void put_in_words(V<u32> *words, u32 i, V<T> x) { // the words are 0 at first
  if constexpr (sizeof(T) == 8) words[2 * i] = lo32(x), words[2 * i + 1] = hi32(x);
  else words[i / PER_WORD<T>] |= to<u32>(x) << (u32)(8 * sizeof(T) * (i % PER_WORD<T>));
}
template <class T, u32 N> INLINE u32 load_vector(Context *c, Mask on, V<u64> at, u32 instruction, V<T> *x) {
  constexpr u32 BYTES = N * sizeof(T);
  if constexpr (N == 1) return load_at(c, on, at, instruction, x);
  else if constexpr (BYTES <= 8) {
    typedef typename Unsigned<BYTES>::T U;
    V<U> whole;
    if (load_at(c, on, at, instruction, &whole)) return 1;
    for (u32 i = 0; i < N; i++) x[i] = to<T>(whole >> (U)(8 * sizeof(T) * i));
  } else {
    V<u32> words[BYTES / 4];
    if (gather_at(c, on, at, BYTES, instruction, words)) return 1;
    for (u32 i = 0; i < N; i++) x[i] = in_words<T>(words, i);
  }
  return 0;
}
// The same for several instructions: with one access, or one by one if that access fails.
template <class T, u32 N> INLINE u32 load_apart(Context *c, Mask on, V<u64> at, u32 instruction, V<T> *x) {
  constexpr u32 BYTES = N * sizeof(T);
  V<u32> words[BYTES / 4];
  u32 &unwritten = c->running->unwritten.bytes; // the deferred read of unwritten LDS
  const u32 before = unwritten;
  u32 failed = c->compares;
  if constexpr (BYTES == 4) failed = failed || load_at(c, on, at, instruction, words);
  else failed = failed || gather_at(c, on, at, BYTES, instruction, words);
  failed |= unwritten != before;
  if (failed) c->fault = NONE, unwritten = before;
  for (u32 i = 0; i < N; i++) {
    if (failed) {
      if (load_at(c, on, at + i * sizeof(T), instruction, x + i)) return 1;
    } else x[i] = in_words<T>(words, i);
  }
  return 0;
}

// Stores to adjacent places: with one access, or, for several instructions, one by one if the threads overlap or it fails.
INLINE u32 store_at(Context *c, Mask on, In<u64> at, u32 instruction, In<u8> x) { return store_at_u8(c, on, at, instruction, x); }
INLINE u32 store_at(Context *c, Mask on, In<u64> at, u32 instruction, In<u16> x) { return store_at_u16(c, on, at, instruction, x); }
INLINE u32 store_at(Context *c, Mask on, In<u64> at, u32 instruction, In<u32> x) { return store_at_u32(c, on, at, instruction, x); }
INLINE u32 store_at(Context *c, Mask on, In<u64> at, u32 instruction, In<u64> x) { return store_at_u64(c, on, at, instruction, x); }
template <class T, u32 N> INLINE u32 store_vector(Context *c, Mask on, V<u64> at, u32 instruction, const V<T> *x) {
  constexpr u32 BYTES = N * sizeof(T);
  if constexpr (N == 1) return store_at(c, on, at, instruction, x[0]);
  else if constexpr (BYTES <= 8) {
    typedef typename Unsigned<BYTES>::T U;
    V<U> whole = 0;
    for (u32 i = 0; i < N; i++) whole |= to<U>(x[i]) << (U)(8 * sizeof(T) * i);
    return store_at(c, on, at, instruction, whole);
  } else {
    V<u32> words[BYTES / 4] = {};
    for (u32 i = 0; i < N; i++) put_in_words(words, i, x[i]);
    return scatter_at(c, on, at, BYTES, instruction, words);
  }
}
template <class T, u32 N> INLINE u32 store_apart(Context *c, Mask on, V<u64> at, u32 instruction, const V<T> *x) {
  constexpr u32 BYTES = N * sizeof(T);
  if (!c->compares && in_order(lo32(at), on, BYTES)) {
    V<u32> words[BYTES / 4] = {};
    for (u32 i = 0; i < N; i++) put_in_words(words, i, x[i]);
    u32 failed;
    if constexpr (BYTES == 4) failed = store_at(c, on, at, instruction, words[0]);
    else failed = scatter_at(c, on, at, BYTES, instruction, words);
    if (!failed) return 0;
    c->fault = NONE;
  }
  for (u32 i = 0; i < N; i++)
    if (store_at(c, on, at + i * sizeof(T), instruction + i, x[i])) return 1;
  return 0;
}

// --- fragments of matrices (ptx/matrix.py) ---
// Thread n % 32 holds element n of a matrix, counted by rows. Registers W hold one or more elements T.
template <class T, u32 ROWS, u32 COLUMNS, bool BY_ROWS, bool LOADS, class W, u32 N>
INLINE u32 move_fragment(Context *c, Mask on, V<u64> start, V<u32> distance, u32 instruction, V<W> (&x)[N]) {
  constexpr u32 PER = sizeof(W) / sizeof(T);
  for (u32 e = 0; e < N * PER; e++) {
    const V<u32> number = (e * 32 + IOTA) % (ROWS * COLUMNS), row = number / COLUMNS, column = number % COLUMNS;
    const V<u64> at = start + to<u64>(BY_ROWS ? row * distance + column : column * distance + row) * sizeof(T);
    const W shift = 8 * sizeof(T) * (e % PER);
    V<T> y = to<T>(x[e / PER] >> shift);
    if (LOADS ? load_at(c, on, at, instruction, &y) : store_at(c, on, at, instruction, y)) return 1;
    if (LOADS) x[e / PER] |= to<W>(y) << shift;
  }
  return 0;
}
// Loads N matrices of 8 rows of 16 bytes. Eight threads provide the row addresses of a matrix.
template <bool TRANSPOSED, u32 N> INLINE u32 load_matrices(Context *c, Mask on, V<u64> at, u32 instruction, Lanes<u32> (&part)[N]) {
  const Mask those = on & (Mask)((1ul << 8 * N) - 1);
  V<u32> rows[4] = {};
  if (misaligned(c, those, at, 15, instruction) || gather_at(c, those, at, 16, instruction, rows)) return 1;
  for (u32 q = 0; q < N; q++)
    for (u32 l = 0; l < LANES; l++) {
      part[q][l] = 0;
      for (u32 half = 0; half < 2; half++) {
        const u32 row = TRANSPOSED ? 2 * (l % 4) + half : l / 4, column = TRANSPOSED ? l / 4 : l % 4 * 2 + half;
        const u32 pair = ((const u32 *)rows)[column / 2 * LANES + 8 * q + row];
        part[q][l] |= (pair >> 16 * (column % 2) & 0xffff) << 16 * half;
      }
    }
  return 0;
}

// --- atomics ---
// f32: global memory flushes subnormal numbers; sums in shared memory, which the thread's adder computes, do not.
// f64: global memory returns the added NaN, or else the old NaN, unchanged; the adder treats NaNs as in other sums.
INLINE f16 canonical(f16 x) { return x == x ? x : scalar<f16>((u16)0x7fff); }
INLINE f32 canonical(f32 x) { return x == x ? x : scalar<f32>(0x7fffffffu); }
INLINE u16 canonical_bf16(u16 x) { return (x & 0x7fff) > 0x7f80 ? 0x7fff : x; }
INLINE f32 flushed1(f32 x) { return x < 0x1p-126f && x > -0x1p-126f ? scalar<f32>(scalar<u32>(x) & 0x80000000u) : x; }
INLINE bool is_nan1(u64 x) { return (x & 0x7ffffffffffffffful) > 0x7ff0000000000000ul; }
INLINE f64 sum_f64(f64 was, f64 given, u64 first, u64 second, u64 quiet) {
  f64 s = was + given;
  u64 nan = is_nan1(first) ? first | quiet : is_nan1(second) ? second | quiet : 0xfff8000000000000ul;
  return scalar<f64>(is_nan1(scalar<u64>(s)) ? nan : scalar<u64>(s));
}
INLINE f16 sum_in_memory(f16 a, f16 b) { return canonical((f16)(a + b)); }
INLINE f32 sum_in_memory(f32 a, f32 b) { return canonical(flushed1(flushed1(a) + flushed1(b))); }
INLINE f32 sum_in_shared(f32 a, f32 b) { return canonical(a + b); }
INLINE f64 sum_in_memory(f64 a, f64 b) { return sum_f64(a, b, scalar<u64>(b), scalar<u64>(a), 0); }
INLINE f64 sum_in_shared(f64 a, f64 b) { return sum_f64(a, b, scalar<u64>(a), scalar<u64>(b), QUIET<u64>); }
struct Bf16 { u16 x; };
INLINE Bf16 sum_in_memory(Bf16 a, Bf16 b) { return {canonical_bf16(bf16_sum(a.x, b.x))}; }
INLINE PackedF16 sum_in_memory(PackedF16 a, PackedF16 b) { return {sum_in_memory(a.x, b.x), sum_in_memory(a.y, b.y)}; }
INLINE PackedBf16 sum_in_memory(PackedBf16 a, PackedBf16 b) {
  return {canonical_bf16(bf16_sum(a.x, b.x)), canonical_bf16(bf16_sum(a.y, b.y))};
}
template <class T> INLINE T sum_in_shared(T a, T b) { return sum_in_memory(a, b); }

template <class T> INLINE V<T> field24(V<T> x) { return SIGNED<T> ? (V<T>)(x << (T)8 >> (T)8) : (V<T>)(x & (T)0xffffff); }
template <class T> INLINE V<T> high24(V<T> a, V<T> b) { // bits 47 to 16 of the product
  return to<T>((widened(field24(a)) * widened(field24(b))) >> (typename Wide<T>::X)16);
}

// --- exchanges within a warp ---
enum { IDX, UP, DOWN, BFLY };
RUNTIME V<u32> shuffled(State *, Mask on, In<u32> x, In<u32> from, In<u32> members, u32 instruction);
template <int MODE> INLINE V<u32> shuffled(State *t, Mask on, V<u32> x, V<u32> b, V<u32> c, V<u32> members, Mask *valid, u32 instruction) {
  const V<u32> lane = b & 31, segment = c >> 8 & 31, clamp = c & 31;
  const V<u32> most = (IOTA & segment) | (clamp & ~segment), least = IOTA & segment;
  V<u32> from = MODE == UP ? IOTA - lane : MODE == DOWN ? IOTA + lane : MODE == BFLY ? IOTA ^ lane : least | (lane & ~segment);
  const Mask ok = MODE == UP ? holds(as<i32>(from) >= as<i32>(most)) : holds(from <= most);
  from = sel(ok, from, IOTA);
  *valid = ok & on;
  return on == ALL && holds(members == ALL) == ALL ? taken_from(x, from) : shuffled(t, on, x, from, members, instruction);
}
template <class T, T... I> struct Numbers {};
template <u32 BITS, u32... I> INLINE V<u32> crossed(V<u32> x, Numbers<u32, I...>) { return __builtin_shufflevector(x, x, (I ^ BITS)...); }
template <u32 BITS> INLINE V<u32> crossed(State *t, Mask on, V<u32> x, V<u32> members, u32 instruction) { // thread i reads from thread i ^ BITS
  if (on == ALL && holds(members == ALL) == ALL) return crossed<BITS>(x, __make_integer_seq<Numbers, u32, LANES>{});
  return shuffled(t, on, x, IOTA ^ BITS, members, instruction);
}
RUNTIME V<u32> voted(Mask on, Mask p, In<u32> members); // the ballot of each thread's group
RUNTIME V<u32> matched(Mask on, In<u64> x, In<u32> members);
RUNTIME V<u32> reduced(Mask on, In<u32> x, In<u32> members, u32 op);
enum Reduction { R_ADD, R_MIN_U, R_MAX_U, R_MIN_S, R_MAX_S, R_AND, R_OR, R_XOR };
RUNTIME u32 barrier_votes(State *, Mask p); // before a barrier
RUNTIME u32 barrier_count(State *);         // after it: how many threads of the block voted for it
