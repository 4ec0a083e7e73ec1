// What steps of PTX are written in, beside lanes, memory and threaded code: typed registers, threads that diverge, and
// the arithmetic of NVIDIA's instructions. Source, where nothing else is said: PTX ISA.
#pragma once
#include "ptx_approximate.h"
#include "threaded.h"
#include "wavefronts.h"

// --- registers: a virtual register is a vector of its type in a slot of 32 bits a lane, or in two ---
#define R(T, i) (*(V<T> *)(t->vector + o->numbers[i]))
#define P(i) (((Mask *)t->vector)[o->numbers[i]]) // a predicate: one bit a lane
template <class T> INLINE V<T> literal(u64 bits) {
  T x;
  __builtin_memcpy_inline(&x, &bits, sizeof(T));
  return all<T>(x);
}
// A constant: a literal, or a register that is the same in all threads of a block.
#define K(T, i) literal<T>(t->constants[o->numbers[i]])
#define C(T, i) (*(T *)(t->constants + o->numbers[i]))
#define HERE(i) ((u32)o->numbers[i])
template <class T> INLINE V<T> sel(Mask m, V<T> x, V<T> y) { return unmask(m) ? x : y; }
// A result of the threads `on`. Mostly these are all, and what was there need not be read.
template <class T> INLINE void put(V<T> &there, Mask on, V<T> x) {
  if (__builtin_expect(on == ALL, 1)) there = x;
  else there = sel(on, x, there);
}
template <class C> INLINE Mask holds(C c) { return mask(bools(c)); }
INLINE Mask holds(bool c) { return c ? ALL : 0; }

// --- threads of a warp that are at different operations ---
// EXEC has the threads that run. Others wait at an operation of their own, parked; some of them for others to come.
enum { PARKED, BLOCKED, AT_BARRIER, CARRY }; // masks, in scalar registers
enum { GROUPS = CARRY + 1, GROUP };          // behind them, how many operations threads are parked at, and these
struct Parked {
  u32 at; // the operation; that of the last group is the earliest
  Mask lanes;
};
#define PARKED_AT ((Parked *)(t->scalar + GROUP))
RUNTIME void park(State *, Mask lanes, u64 at);
RUNTIME void park_each(State *, Mask lanes, In<u32> at);
RUNTIME const Operation *resumed(State *); // of the parked threads those that run now; null if all wait for others
RUNTIME Step together, apart;
RUNTIME u32 exhausted_warp(State *, i64 &left, u32 instruction);
RUNTIME u32 stranded(State *, u32 instruction);
RUNTIME Mask gathered(State *, u64 here, In<u32> members, u32 instruction); // 0: wait. Sets c->fault
RUNTIME bool all_here(State *, u64 here);
// Whether `gathered` has anything to do: else all threads of the warp that did not exit run, and all are named.
INLINE bool scattered(State *t, V<u32> members) { return t->scalar[PARKED] | (t->exec & ~holds(members == ALL)); }
#define GO_RESUMED(i) do {                                                                                     \
    const Operation *n = resumed(t);                                                                           \
    if (!n) return stranded(t, HERE(i));                                                                       \
    [[clang::musttail]] return n->step(t, n);                                                                  \
  } while (0)
// All threads that run go to operation `to`, at which parked ones may be, or before which they are to run.
#define GO_TOGETHER(to) do {                                                                                   \
    const Operation *n = t->code + (to);                                                                       \
    if (t->scalar[PARKED]) [[clang::musttail]] return together(t, n);                                          \
    [[clang::musttail]] return n->step(t, n);                                                                  \
  } while (0)
// Some of them do, and the others go on behind this operation.
#define GO_APART(some, to) do {                                                                                \
    t->vcc = some, t->scc = to;                                                                                \
    [[clang::musttail]] return apart(t, o);                                                                    \
  } while (0)
// The next operation is for some threads alone; the others go on behind it.
#define ONLY(threads) do {                                                                                     \
    const Mask others = exec & ~(threads);                                                                     \
    if (others == exec) GO_ON(o + 2);                                                                          \
    if (others) park(t, others, NEXT + 1), exec &= ~others;                                                    \
  } while (0)
// Whether a warp is of the first block of a launch.
INLINE bool is_first(const Context *c, u32 wave) { return c->running->wave[wave].ordinal - c->running->earlier <= c->running->waves; }
#define NEXT ((u64)(o - t->code) + 1)
#define SELF ((u64)(o - t->code))

// --- numbers of a launch, which the host puts into memory ---
INLINE u32 launched(Context *c, u32 k) { return ((const u32 *)(c->data + (c->dispatch - c->base)))[k]; }
template <class T> INLINE V<T> parameter(Context *c, u64 at) { return all<T>(*(const T *)(c->data + (c->kernarg - c->base) + at)); }

// --- accesses to memory ---
RUNTIME u32 print(State *, Mask on, In<u64> format, In<u64> arguments, u32 instruction);
RUNTIME u32 failed_assertion(State *, Mask on, In<u64> message, In<u64> file, In<u32> line, In<u64> function, u32 instruction);
INLINE V<u64> own_scratch(Context *c, u32 wave, u64 offset) {
  return c->scratch + offset + to<u64>((wave * LANES + IOTA) * c->scratch_stride);
}

// Loads from neighbouring places, as one if nothing is wrong with any of them.
INLINE u32 load_at(Context *c, Mask on, In<u64> at, u32 instruction, V<u8> *x) { return load_at_u8(c, on, at, instruction, x); }
INLINE u32 load_at(Context *c, Mask on, In<u64> at, u32 instruction, V<u16> *x) { return load_at_u16(c, on, at, instruction, x); }
INLINE u32 load_at(Context *c, Mask on, In<u64> at, u32 instruction, V<u32> *x) { return load_at_u32(c, on, at, instruction, x); }
INLINE u32 load_at(Context *c, Mask on, In<u64> at, u32 instruction, V<u64> *x) { return load_at_u64(c, on, at, instruction, x); }
template <class T, u32 N> INLINE u32 load_apart(Context *c, Mask on, V<u64> at, u32 instruction, V<T> *x) {
  constexpr u32 BYTES = N * sizeof(T), PER = 4 / sizeof(T) ? 4 / sizeof(T) : 1;
  V<u32> words[BYTES / 4];
  u32 &unwritten = c->running->unwritten.bytes; // of what will show at the next barrier
  const u32 before = unwritten;
  u32 failed = c->compares;
  if constexpr (BYTES == 4) failed = failed || load_at(c, on, at, instruction, words);
  else failed = failed || gather_at(c, on, at, BYTES, instruction, words);
  failed |= unwritten != before;
  if (failed) c->fault = NONE, unwritten = before;
  for (u32 i = 0; i < N; i++) {
    if (failed) {
      if (load_at(c, on, at + i * sizeof(T), instruction, x + i)) return 1;
    } else if constexpr (sizeof(T) == 8) x[i] = join(words[2 * i], words[2 * i + 1]);
    else x[i] = to<T>(words[i / PER] >> (u32)(8 * sizeof(T) * (i % PER)));
  }
  return 0;
}

// Stores to neighbouring places, as one if nothing is wrong with any of them and no thread's are another's.
INLINE u32 store_at(Context *c, Mask on, In<u64> at, u32 instruction, In<u8> x) { return store_at_u8(c, on, at, instruction, x); }
INLINE u32 store_at(Context *c, Mask on, In<u64> at, u32 instruction, In<u16> x) { return store_at_u16(c, on, at, instruction, x); }
INLINE u32 store_at(Context *c, Mask on, In<u64> at, u32 instruction, In<u32> x) { return store_at_u32(c, on, at, instruction, x); }
INLINE u32 store_at(Context *c, Mask on, In<u64> at, u32 instruction, In<u64> x) { return store_at_u64(c, on, at, instruction, x); }
template <class T, u32 N> INLINE u32 store_apart(Context *c, Mask on, V<u64> at, u32 instruction, const V<T> *x) {
  constexpr u32 BYTES = N * sizeof(T), PER = 4 / sizeof(T) ? 4 / sizeof(T) : 1;
  if (!c->compares && in_order(lo32(at), on, BYTES)) {
    V<u32> words[BYTES / 4] = {};
    for (u32 i = 0; i < N; i++) {
      if constexpr (sizeof(T) == 8) words[2 * i] = lo32(x[i]), words[2 * i + 1] = hi32(x[i]);
      else words[i / PER] |= to<u32>(x[i]) << (u32)(8 * sizeof(T) * (i % PER));
    }
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

// --- floating point: NaNs, subnormals as the instruction says, roundings ---
enum Rounding { RN, RZ, RM, RP };
// NaNs are told and chosen in integers: to the compiler, a NaN that an operation gave is as good as another one.
INLINE B is_nan(V<f16> x) { return bools((as<u16>(x) & (u16)0x7fff) > (u16)0x7c00); }
INLINE B is_nan(V<f32> x) { return bools((as<u32>(x) & 0x7fffffffu) > 0x7f800000u); }
INLINE B is_nan(V<f64> x) { return bools((as<u64>(x) & 0x7ffffffffffffffful) > 0x7ff0000000000000ul); }
// The NaN of an operation on these operands. f16 and f32 have one NaN. Of f64 it is the first operand that is a NaN,
// made quiet, and one of its own if none is. Measured on an H200, as is the order of the operands.
template <class... X> INLINE V<f16> nan_of(V<f16>, X...) { return as<f16>(all((u16)0x7fff)); }
template <class... X> INLINE V<f32> nan_of(V<f32>, X...) { return as<f32>(all(0x7fffffffu)); }
INLINE V<u64> nan_bits() { return all(0xfff8000000000000ul); }
template <class... X> INLINE V<u64> nan_bits(V<f64> first, X... rest) {
  return sel(is_nan(first), as<u64>(first) | QUIET<u64>, nan_bits(rest...));
}
template <class... X> INLINE V<f64> nan_of(V<f64> first, X... rest) { return as<f64>(nan_bits(first, rest...)); }
// A result with its NaNs as those of the operands.
template <class T, class... X> INLINE V<T> with_nan(V<T> r, X... operands) {
  typedef typename Float<T>::U U;
  if (sizeof(T) == 8 && !mask(is_nan(r))) return r; // nearly always, and then none of the operands is looked at
  return as<T>(sel(is_nan(r), as<U>(nan_of(operands...)), as<U>(r)));
}
INLINE V<f16> nan1(V<f16> x) { return with_nan<f16>(x, x); }
INLINE V<f32> nan1(V<f32> x) { return with_nan<f32>(x, x); }
INLINE V<f32> ftz(V<f32> x) { return sel(bools(mag(x) < 0x1p-126f), as<f32>(as<u32>(x) & 0x80000000u), x); }
INLINE V<f64> ftz(V<f64> x) { return sel(bools(mag(x) < 0x1p-1022), as<f64>(as<u64>(x) & 0x8000000000000000ul), x); }
INLINE V<f16> ftz(V<f16> x) { return sel(bools(mag(x) < (f16)0x1p-14), as<f16>(as<u16>(x) & (u16)0x8000), x); }
// With .ftz a product counts as subnormal if it is so when rounded to 24 bits (f16: 11) with any exponent: not all that
// round to the least normal number do so then. `exact` is on the right side of the borders.
template <int MODE> INLINE V<f32> flushed_by(V<f32> r, V<f64> exact) {
  B tiny = MODE == RN ? bools(mag(exact) < 0x1.ffffffp-127) : bools(mag(exact) <= 0x1.fffffep-127);
  return sel(tiny & bools(mag(r) == 0x1p-126f), as<f32>(as<u32>(r) & 0x80000000u), r);
}
template <int MODE> INLINE V<f16> flushed_by(V<f16> r, V<f64> exact) {
  return sel(bools(mag(exact) < 0x1.ffep-15) & bools(mag(r) == (f16)0x1p-14), as<f16>(as<u16>(r) & (u16)0x8000), r);
}
template <class T> INLINE V<T> saturated(V<T> x) { // to [0, 1], NaN to 0
  return sel(bools(x > (T)0), sel(bools(x < (T)1), x, all<T>(1)), all<T>(0));
}
template <class T> INLINE V<T> relu(V<T> x) { return nan1(sel(bools(x < (T)0) | bools(x == (T)0), all<T>(0), x)); }

INLINE V<f32> of_bf16(V<u16> x) { return as<f32>(to<u32>(x) << 16); }
INLINE V<u16> bf16_of(V<f32> x) {
  V<u32> u = as<u32>(x);
  return sel(bools(x != x), all((u16)0x7fff), hi16(u + 0x7fff + (u >> 16 & 1)));
}
// The next number in a direction of one that is not NaN; `up` is by the sign of the number, away from zero or to it.
template <class T> INLINE V<T> stepped(V<T> x, B away) {
  typedef typename Float<T>::U U;
  V<U> u = as<U>(x);
  return as<T>(sel(away, u + (U)1, u - (U)1));
}
// The result in another rounding, from the nearest one and the sign of what it lacks: exact - near.
template <int MODE, class T> INLINE V<T> rounded(V<T> near, V<T> rest) {
  typedef typename Float<T>::U U;
  typedef typename Float<T>::I I;
  if constexpr (MODE == RN) return near;
  constexpr U SIGN = (U)1 << (8 * sizeof(T) - 1), INF = ((U)Float<T>::E) << Float<T>::P;
  B minus = bools((as<U>(near) & SIGN) != 0), zero = bools(near == (T)0), inf = bools((as<U>(near) & ~SIGN) == INF);
  B more = bools(rest > (T)0), less = bools(rest < (T)0);
  V<T> up = sel(zero, as<T>(all<U>((U)1)), stepped(near, ~minus)), down = sel(zero, as<T>(all<U>((U)1 | SIGN)), stepped(near, minus));
  up = sel(inf & ~minus, near, up), down = sel(inf & minus, near, down);
  if constexpr (MODE == RP) return sel(more, up, near);
  if constexpr (MODE == RM) return sel(less, down, near);
  return sel(minus & ~zero, sel(more, up, near), sel(~minus & ~zero & less, down, near));
}
template <class T> INLINE B finite(V<T> x) { return bools(mag(x) <= (sizeof(T) == 4 ? (T)0x1.fffffep127 : (T)0x1.fffffffffffffp1023)); }
template <class T> INLINE V<T> sum_rest(V<T> a, V<T> b, V<T> s) { // Knuth: the error of a sum, exact if nothing overflows
  V<T> v = s - a;
  V<T> r = (a - (s - v)) + (b - v);
  // An infinite sum of finite numbers exceeds what is exact.
  return sel(finite(s), r, sel(finite(a) & finite(b), -s, all<T>(0)));
}
INLINE V<f64> odd(V<f64> s, V<f64> e) { // s + e, rounded to odd; s is the nearest number
  V<u64> u = as<u64>(s);
  B outward = bools(bools(e > 0.0) == bools(s > 0.0));
  V<u64> r = sel(bools((u & 1) == 0), sel(outward, u, u - 1) | 1, u);
  return sel(bools(e != 0.0) & finite(s), as<f64>(r), s);
}
template <int MODE> INLINE V<f32> add(V<f32> a, V<f32> b) {
  V<f32> s = a + b;
  if constexpr (MODE == RN) return nan1(s);
  // A sum of exactly zero from operands of both signs is -0 when rounding down.
  if constexpr (MODE == RM) s = sel(bools(s == 0.0f) & bools(sum_rest(a, b, s) == 0.0f) & bools((as<u32>(a) ^ as<u32>(b)) >> 31 != 0), as<f32>(all(0x80000000u)), s);
  return nan1(rounded<MODE>(s, sum_rest(a, b, s)));
}
template <int MODE> INLINE V<f64> add(V<f64> a, V<f64> b) {
  V<f64> s = a + b;
  if constexpr (MODE == RN) return with_nan(s, b, a);
  if constexpr (MODE == RM) s = sel(bools(s == 0.0) & bools((as<u64>(a) ^ as<u64>(b)) >> 63 != 0), as<f64>(all(0x8000000000000000ul)), s);
  return with_nan(rounded<MODE>(s, sum_rest(a, b, s)), b, a);
}
template <int MODE> INLINE V<f16> add(V<f16> a, V<f16> b) { return nan1(a + b); }
template <class T> INLINE V<T> negated(V<T> x) { return sel(is_nan(x), x, neg(x)); }
template <int MODE, class T> INLINE V<T> subtract(V<T> a, V<T> b) {
  if constexpr (MODE == RN) return with_nan(a - b, b, a);
  else return with_nan(add<MODE>(a, neg(b)), b, a);
}
// Of f32 the exact product is an f64, and what a number lacks of it is one, too.
template <int MODE> INLINE V<f32> by_f64(V<f32> near, V<f64> exact) {
  if constexpr (MODE == RN) return near;
  V<f64> rest = exact - to<f64>(near);
  rest = sel(finite(near), rest, sel(finite(exact), -to<f64>(near), all(0.0)));
  return rounded<MODE>(near, sel(bools(rest > 0.0), all(1.0f), sel(bools(rest < 0.0), all(-1.0f), all(0.0f))));
}
template <int MODE, bool FLUSH = false> INLINE V<f32> multiply(V<f32> a, V<f32> b) {
  V<f64> exact = to<f64>(a) * to<f64>(b);
  V<f32> r = nan1(by_f64<MODE>(a * b, exact));
  return FLUSH ? flushed_by<MODE>(r, exact) : r;
}
template <int MODE> INLINE V<f64> multiply(V<f64> a, V<f64> b) {
  V<f64> p = a * b;
  if constexpr (MODE == RN) return with_nan(p, b, a);
  V<f64> rest = fma(a, b, -p);
  // Where the error is too small for an f64, scale.
  rest = sel(bools(mag(p) < 0x1p-960), fma(a * 0x1p540, b * 0x1p540, -(p * 0x1p540) * 0x1p540), rest);
  rest = sel(finite(p), rest, sel(finite(a) & finite(b), -p, all(0.0)));
  return with_nan(rounded<MODE>(p, rest), b, a);
}
template <int MODE, bool FLUSH = false> INLINE V<f16> multiply(V<f16> a, V<f16> b) {
  return FLUSH ? flushed_by<MODE>(nan1(a * b), to<f64>(a) * to<f64>(b)) : nan1(a * b);
}
// a * b + c: near, and the sign of what it lacks.
template <int MODE> INLINE V<f32> fused_f32(V<f32> a, V<f32> b, V<f32> c) {
  V<f32> r = fma(a, b, c);
  if constexpr (MODE == RN) return nan1(r);
  V<f64> p = to<f64>(a) * to<f64>(b), d = to<f64>(c), s = p + d, e = sum_rest(p, d, s);
  V<f64> rest = (s - to<f64>(r)) + e;
  rest = sel(finite(r), rest, sel(finite(s), -to<f64>(r), all(0.0)));
  if constexpr (MODE == RM) r = sel(bools(s == 0.0) & bools(e == 0.0) & bools((as<u64>(p) ^ as<u64>(d)) >> 63 != 0), as<f32>(all(0x80000000u)), r);
  return nan1(rounded<MODE>(r, sel(bools(rest > 0.0), all(1.0f), sel(bools(rest < 0.0), all(-1.0f), all(0.0f)))));
}
template <int MODE, bool FLUSH = false> INLINE V<f32> fused(V<f32> a, V<f32> b, V<f32> c) {
  V<f32> r = fused_f32<MODE>(a, b, c);
  if constexpr (!FLUSH) return r;
  V<f64> p = to<f64>(a) * to<f64>(b), s = p + to<f64>(c);
  return flushed_by<MODE>(r, odd(s, sum_rest(p, to<f64>(c), s)));
}
template <int MODE> INLINE V<f64> fused(V<f64> a, V<f64> b, V<f64> c) {
  V<f64> r = fma(a, b, c);
  if constexpr (MODE == RN) return with_nan(r, b, c, a);
  // The sign of a * b + c - r. The product is exact as a sum of two unless its low bits are below the least number, or
  // its high ones above the largest: then all is scaled, and of what is too far from the rest only the sign is kept.
  B swap = bools(mag(a) < mag(b));
  V<f64> x = sel(swap, b, a), y = sel(swap, a, b), p = x * y;
  B tiny = bools(mag(p) < 0x1p-900), alone = tiny & bools(mag(c) >= 0x1p-60), up = tiny & ~alone, down = bools(mag(p) > 0x1p1000);
  auto scaled = [&](V<f64> v) { return sel(up, v * 0x1p537 * 0x1p537, sel(down, v * 0x1p-100, v)); };
  V<u64> minus = (as<u64>(a) ^ as<u64>(b)) & 0x8000000000000000ul;
  V<f64> least = as<f64>(sel(bools(x == 0.0) | bools(y == 0.0), all(0ul), minus | scalar<u64>(0x1p-900)));
  x = sel(down, x * 0x1p-100, x), y = sel(up, y * 0x1p537 * 0x1p537, y);
  V<f64> high = sel(alone, least, x * y), low = sel(alone, all(0.0), fma(x, y, -high));
  V<f64> far = as<f64>(as<u64>(c) & 0x8000000000000000ul | scalar<u64>(0x1p-800));
  V<f64> v[4] = {low, high, sel(down & bools(c != 0.0) & bools(mag(c) < 0x1p-800), far, scaled(c)), -scaled(r)};
  for (int k = 0; k < 4; k++) // until no two overlap: the largest one has the sign of the sum
    for (int i = 1; i < 4; i++) {
      V<f64> sum = v[i] + v[i - 1], part = sum - v[i];
      v[i - 1] = (v[i] - (sum - part)) + (v[i - 1] - part), v[i] = sum;
    }
  V<f64> rest = sel(bools(v[3] != 0.0), v[3], sel(bools(v[2] != 0.0), v[2], sel(bools(v[1] != 0.0), v[1], v[0])));
  rest = sel(finite(r), rest, sel(finite(a) & finite(b) & finite(c), -r, all(0.0)));
  if constexpr (MODE == RM) r = sel(bools(r == 0.0) & bools(rest == 0.0) & bools((minus ^ as<u64>(c)) >> 63 != 0), as<f64>(all(0x8000000000000000ul)), r);
  return with_nan(rounded<MODE>(r, rest), b, c, a);
}
template <int MODE, bool FLUSH = false> INLINE V<f16> fused(V<f16> a, V<f16> b, V<f16> c) {
  V<f16> r = nan1(fma(a, b, c));
  return FLUSH ? flushed_by<MODE>(r, fma(to<f64>(a), to<f64>(b), to<f64>(c))) : r;
}
template <int MODE> INLINE V<f32> divided_f32(V<f32> a, V<f32> b) {
  V<f32> q = a / b;
  if constexpr (MODE == RN) return nan1(q);
  // q * b - a is an f64 without error unless numbers are far apart, and then its sign is right.
  V<f64> r = fma(to<f64>(-q), to<f64>(b), to<f64>(a));
  r = sel(bools(b < 0.0f), -r, r);
  r = sel(finite(q), r, sel(finite(a) & bools(b != 0.0f), -to<f64>(q), all(0.0)));
  r = sel(finite(b), r, all(0.0));
  return nan1(rounded<MODE>(q, sel(bools(r > 0.0), all(1.0f), sel(bools(r < 0.0), all(-1.0f), all(0.0f)))));
}
template <int MODE, bool FLUSH = false> INLINE V<f32> divided(V<f32> a, V<f32> b) {
  V<f32> q = divided_f32<MODE>(a, b);
  return FLUSH ? flushed_by<MODE>(q, to<f64>(a) / to<f64>(b)) : q; // no quotient is near a border
}
template <int MODE> INLINE V<f64> divided(V<f64> a, V<f64> b) {
  V<f64> q = a / b;
  if constexpr (MODE == RN) return with_nan(q, a, b);
  V<f64> scale = sel(bools(mag(a) < 0x1p-900), all(0x1p200), all(1.0));
  V<f64> r = fma(-q * scale, b, a * scale);
  r = sel(bools(b < 0.0), -r, r);
  r = sel(finite(q), r, sel(finite(a) & bools(b != 0.0), -q, all(0.0)));
  r = sel(finite(b), r, all(0.0));
  return with_nan(rounded<MODE>(q, r), a, b);
}
INLINE V<f32> root(V<f32> x) { return __builtin_elementwise_sqrt(x); }
INLINE V<f64> root(V<f64> x) { return __builtin_elementwise_sqrt(x); }
template <int MODE> INLINE V<f32> square_root(V<f32> x) {
  V<f32> q = root(x);
  if constexpr (MODE == RN) return nan1(q);
  V<f64> r = fma(to<f64>(-q), to<f64>(q), to<f64>(x));
  r = sel(finite(q), r, all(0.0));
  return nan1(rounded<MODE>(q, sel(bools(r > 0.0), all(1.0f), sel(bools(r < 0.0), all(-1.0f), all(0.0f)))));
}
template <int MODE> INLINE V<f64> square_root(V<f64> x) {
  V<f64> q = root(x);
  if constexpr (MODE == RN) return with_nan(q, x);
  V<f64> small = sel(bools(x < 0x1p-900), all(0x1p100), all(1.0)), r = fma(-(q * small), q * small, x * small * small);
  r = sel(finite(q), r, all(0.0));
  return with_nan(rounded<MODE>(q, r), x);
}
// Minimum and maximum: -0 is below +0; a number beats a NaN, or a NaN all with .NaN.
template <bool NANS, class T> INLINE V<T> least(V<T> a, V<T> b) {
  typedef typename Float<T>::U U;
  V<T> r = sel(bools(a < b), a, sel(bools(b < a), b, as<T>(as<U>(a) | as<U>(b))));
  B an = bools(a != a), bn = bools(b != b);
  if constexpr (NANS) return sel(an | bn, nan_of(b, a), r);
  return sel(an & bn, nan_of(b, a), sel(an, b, sel(bn, a, r)));
}
template <bool NANS, class T> INLINE V<T> greatest(V<T> a, V<T> b) {
  typedef typename Float<T>::U U;
  V<T> r = sel(bools(a > b), a, sel(bools(b > a), b, as<T>(as<U>(a) & as<U>(b))));
  B an = bools(a != a), bn = bools(b != b);
  if constexpr (NANS) return sel(an | bn, nan_of(b, a), r);
  return sel(an & bn, nan_of(b, a), sel(an, b, sel(bn, a, r)));
}
template <class T> INLINE V<T> signed_by(V<T> sign, V<T> x) { // copysign: the sign is that of the first operand
  typedef typename Float<T>::U U;
  constexpr U SIGN = (U)1 << (8 * sizeof(T) - 1);
  return as<T>((as<U>(x) & (U)~SIGN) | (as<U>(sign) & SIGN));
}
template <class T> INLINE V<T> xor_signed(V<T> a, V<T> b, V<T> r) {
  typedef typename Float<T>::U U;
  constexpr U SIGN = (U)1 << (8 * sizeof(T) - 1);
  return nan1(as<T>((as<U>(r) & (U)~SIGN) | ((as<U>(a) ^ as<U>(b)) & SIGN)));
}
template <class T> INLINE B subnormal(V<T> x) { return bools(x != (T)0) & bools(mag(x) < (sizeof(T) == 4 ? (T)0x1p-126 : (T)0x1p-1022)); }

// bf16 is computed in f32, where sums, products and quotients of two are rounded without harm (Figueroa 1995: 24 bits
// are at least 2 * 8 + 2); a fused product by rounding to odd first (Boldo and Melquiond 2008).
INLINE V<f32> bf16_fused(V<f32> a, V<f32> b, V<f32> c) {
  V<f64> p = to<f64>(a) * to<f64>(b), s = p + to<f64>(c), e = sum_rest(p, to<f64>(c), s);
  return to_odd(odd(s, e));
}

// fma.oob: 0 if a factor is the NaN that stands for what was read out of bounds, as measured.
INLINE B out_of_bounds(V<f16> x) { return bools((as<u16>(x) & (u16)0x7fff) == (u16)0x7ff7); }
INLINE B out_of_bounds(V<f32> x) { return bools((as<u32>(x) & 0x7fffffffu) == 0x7ff70000u); } // a bf16
template <class T> INLINE V<T> in_bounds(V<T> a, V<T> b, V<T> r) { return sel(out_of_bounds(a) | out_of_bounds(b), all<T>(0), r); }

// --- integers ---
template <class T> struct Wide;
template <> struct Wide<u8> { typedef u16 X; };
template <> struct Wide<i8> { typedef i16 X; };
template <> struct Wide<u16> { typedef u32 X; };
template <> struct Wide<i16> { typedef i32 X; };
template <> struct Wide<u32> { typedef u64 X; };
template <> struct Wide<i32> { typedef i64 X; };
template <> struct Wide<u64> { typedef unsigned __int128 X; };
template <> struct Wide<i64> { typedef __int128 X; };
template <class T> INLINE V<typename Wide<T>::X> widened(V<T> x) { return to<typename Wide<T>::X>(x); }
template <class T> INLINE V<T> high(V<T> a, V<T> b) {
  typedef typename Wide<T>::X X;
  if constexpr (sizeof(T) < 8) return to<T>((to<X>(a) * to<X>(b)) >> (X)(8 * sizeof(T)));
  Lanes<T> x(a), y(b), r;
  for (u32 i = 0; i < LANES; i++) r[i] = (T)((X)x[i] * (X)y[i] >> 64);
  return r.vector();
}
template <class T> constexpr bool SIGNED = (T)-1 < (T)0;
template <class T> constexpr T LEAST = SIGNED<T> ? (T)((u64)1 << (8 * sizeof(T) - 1)) : (T)0;
template <class T> constexpr T MOST = (T)~LEAST<T>;
// Division by zero gives all ones, and so does its remainder: what the H200 does; PTX leaves it open.
template <class T> INLINE V<T> quotient(V<T> a, V<T> b) {
  B zero = bools(b == (T)0);
  V<T> r;
  B wraps = SIGNED<T> ? bools(a == LEAST<T>) & bools(b == (T)-1) : bools(b != b);
  const V<T> by = sel(zero | wraps, all<T>(1), b);
  // Of numbers of n bits, what is below an integer does not round to it in a format that has n bits.
  if constexpr (sizeof(T) > 4) r = a / by;
  else if (sizeof(T) == 4 && mask(bools((a | by) >> 8 * (sizeof(T) - 1) != (T)0))) r = to<T>(to<f64>(a) / to<f64>(by));
  else r = to<T>(to<f32>(a) / to<f32>(by));
  return sel(zero, all<T>((T)-1), r);
}
template <class T> INLINE V<T> remainder_(V<T> a, V<T> b) { return sel(bools(b == (T)0), all<T>((T)-1), a - quotient(a, b) * b); }
template <class T> INLINE V<T> limited(V<i64> x) { // to the range of T
  return to<T>(min(max(x, all<i64>((i64)LEAST<T>)), all<i64>((i64)MOST<T>)));
}
template <class T> INLINE V<T> absolute(V<T> x) { return sel(bools(x < (T)0), (V<T>)((T)0 - x), x); }
// Shifts by the width or more give 0, or the sign.
template <class T> INLINE V<T> shifted_left(V<T> x, V<u32> n) { return sel(bools(n < 8 * sizeof(T)), (V<T>)(x << to<T>(n & (u32)(8 * sizeof(T) - 1))), all<T>(0)); }
template <class T> INLINE V<T> shifted_right(V<T> x, V<u32> n) {
  if constexpr (SIGNED<T>) return x >> to<T>(min(n, all<u32>(8 * sizeof(T) - 1)));
  else return sel(bools(n < 8 * sizeof(T)), (V<T>)(x >> to<T>(n & (u32)(8 * sizeof(T) - 1))), all<T>(0));
}
INLINE V<u32> funnel_left(V<u32> lo, V<u32> hi, V<u32> n) { return hi32(join(lo, hi) << to<u64>(n)); }
INLINE V<u32> funnel_right(V<u32> lo, V<u32> hi, V<u32> n) { return lo32(join(lo, hi) >> to<u64>(n)); }
INLINE V<u32> leading(V<u32> x) { return sel(bools(x == 0), all(32u), clz(x)); }
INLINE V<u32> leading(V<u64> x) { return sel(bools(hi32(x) == 0), 32u + leading(lo32(x)), leading(hi32(x))); }
INLINE V<u32> found(V<u32> x) { return sel(bools(x == 0), all(~0u), 31u - leading(x)); }
INLINE V<u32> found(V<u64> x) { return sel(bools(x == 0), all(~0u), 63u - leading(x)); }
INLINE V<u32> found(V<i32> x) { return found(as<u32>(x ^ (x >> 31))); }
INLINE V<u32> found(V<i64> x) { return found(as<u64>(x ^ (x >> 63))); }
template <class T> INLINE V<u32> found_shift(V<T> x) { V<u32> r = found(x); return sel(bools(r == ~0u), r, (u32)(8 * sizeof(T) - 1) - r); }
// Of the place and the width of a field, eight bits count (PTX ISA); of one in 64 bits, all do, as measured.
template <int BITS> INLINE V<u32> at_most_255(V<u32> n) { return BITS == 64 ? min(n, all(255u)) : n & 255u; }
template <class T, class U> INLINE V<T> field(V<T> x, V<u32> at, V<u32> width) { // bfe
  constexpr u32 BITS = 8 * sizeof(T);
  at = at_most_255<BITS>(at), width = at_most_255<BITS>(width);
  V<u32> top = min(at + width - 1, all<u32>(BITS - 1));
  V<U> sign = sel(bools(width == 0), all<U>(0), (V<U>)(as<U>(x) >> to<U>(top) & (U)1));
  if (!SIGNED<T>) sign = all<U>(0);
  V<U> ones = sel(bools(width >= BITS), all<U>((U)~(U)0), (V<U>)(((U)1 << to<U>(width & (BITS - 1))) - (U)1));
  V<U> shifted = sel(bools(at >= BITS), all<U>(0), (V<U>)(as<U>(x) >> to<U>(at & (BITS - 1))));
  // Bits beyond the top are the sign.
  V<U> have = sel(bools(at >= BITS), all<U>(0), sel(bools(BITS - at >= width), ones, (V<U>)(((U)~(U)0) >> to<U>(at & (BITS - 1)))));
  V<U> r = (shifted & have) | ((U)0 - sign & ~have);
  return as<T>(r);
}
template <class U> INLINE V<U> inserted(V<U> f, V<U> base, V<u32> at, V<u32> width) { // bfi
  constexpr u32 BITS = 8 * sizeof(U);
  at = at_most_255<BITS>(at), width = at_most_255<BITS>(width);
  V<U> ones = sel(bools(width >= BITS), all<U>((U)~(U)0), (V<U>)(((U)1 << to<U>(width & (BITS - 1))) - (U)1));
  V<U> m = sel(bools(at >= BITS), all<U>(0), (V<U>)(ones << to<U>(at & (BITS - 1))));
  V<U> x = sel(bools(at >= BITS), all<U>(0), (V<U>)(f << to<U>(at & (BITS - 1))));
  return (x & m) | (base & ~m);
}
INLINE V<u32> bits_mask(V<u32> at, V<u32> width, bool wraps) { // bmsk
  if (wraps) at &= 31u, width &= 31u;
  V<u32> ones = sel(bools(width >= 32), all(~0u), (1u << (width & 31)) - 1);
  return sel(bools(at >= 32), all(0u), ones << (at & 31));
}
template <class T> INLINE V<T> extended(V<T> x, V<u32> n, bool wraps) { // szext
  if (wraps) n &= 31u;
  V<u32> gone = sel(bools(n >= 32), all(0u), 32u - n), u = as<u32>(x);
  B none = bools(n == 0);
  if constexpr (SIGNED<T>) return sel(none, all<T>(0), as<T>(as<i32>(u << (gone & 31)) >> as<i32>(gone & 31)));
  else return sel(none, all<T>(0), as<T>(u << (gone & 31) >> (gone & 31)));
}
INLINE V<u32> nth_set(V<u32> m, V<u32> base, V<i32> offset) { // fns
  Lanes<u32> mm(m), bb(base), r;
  Lanes<i32> oo(offset);
  for (u32 i = 0; i < LANES; i++) {
    i32 at = (i32)bb[i], k = oo[i], step = k < 0 ? -1 : 1;
    u32 left_ = k < 0 ? -k : k > 0 ? k : 0;
    r[i] = ~0u;
    if (!k) { r[i] = at >= 0 && at < 32 && mm[i] >> at & 1 ? at : ~0u; continue; }
    for (; at >= 0 && at < 32; at += step)
      if (mm[i] >> at & 1 && !--left_) { r[i] = at; break; }
  }
  return r.vector();
}
INLINE V<u32> logic3(V<u32> a, V<u32> b, V<u32> c, u32 table) { // lop3
  V<u32> r = 0;
  for (u32 i = 0; i < 8; i++)
    if (table >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}
INLINE V<u32> byte_of(V<u64> x, V<u32> k) { // prmt: bit 3 replicates the sign of the byte
  V<u32> b = to<u32>(x >> to<u64>(8u * (k & 7))) & 0xff;
  return sel(bools((k & 8) != 0), 0u - (b >> 7) & 0xff, b);
}
INLINE V<u32> permuted(V<u32> a, V<u32> b, V<u32> s) {
  V<u64> x = join(a, b);
  V<u32> r = 0;
  for (u32 i = 0; i < 4; i++) r |= byte_of(x, s >> (4 * i) & 15) << (8 * i);
  return r;
}
enum Permutation { F4E, B4E, RC8, ECL, ECR, RC16 };
INLINE V<u32> permuted(V<u32> a, V<u32> b, V<u32> s, u32 mode) {
  V<u64> x = join(a, b);
  V<u32> r = 0, n = s & 3;
  for (u32 i = 0; i < 4; i++) {
    V<u32> k = mode == F4E ? n + i : mode == B4E ? (n - i) & 7 : mode == RC8 ? n : mode == ECL ? max(n, all(i)) : mode == ECR ? min(n, all(i)) : (n & 1) * 2 + (i & 1);
    r |= byte_of(x, k & 7) << (8 * i);
  }
  return r;
}
template <class T> INLINE V<T> part(V<u32> x, u32 at, u32 bits, bool is_signed) { // of a video instruction's operand
  V<u32> u = x << (32 - at - bits);
  return is_signed ? to<T>(as<i32>(u) >> (i32)(32 - bits)) : to<T>(u >> (32 - bits));
}
template <int BITS> INLINE V<u32> dot_of(V<u32> a, bool sa, V<u32> b, bool sb, V<u32> c, u32 from) { // dp4a, dp2a
  for (u32 i = 0; i < 32 / (BITS == 8 ? 8 : 16); i++)
    c += element<BITS == 8 ? 8 : 16>(a, i, sa) * element<8>(b, i + from, sb);
  return c;
}

// --- f16x2, bf16x2 and pairs of 16-bit integers ---
template <class T> INLINE V<T> half_lo(V<u32> x) { return as<T>(lo16(x)); }
template <class T> INLINE V<T> half_hi(V<u32> x) { return as<T>(hi16(x)); }
template <class X, class Y> INLINE V<u32> of_halves(X lo, Y hi) { return halves(as<u16>(lo), as<u16>(hi)); }

// --- conversions ---
template <class T> INLINE V<T> integral(V<T> x, int mode) { return mode == RN ? even(x) : mode == RZ ? trunc(x) : mode == RM ? floor(x) : ceil(x); }
template <class T> INLINE V<T> at_most(V<u64> x) { return to<T>(min(x, all<u64>((u64)MOST<T>))); }
INLINE V<u64> not_negative(V<i64> x) { return to<u64>(max(x, all<i64>(0))); }
template <class I, int MODE, class T> INLINE V<I> to_integer(V<T> x) { // limits to the range; NaN as measured
  V<f64> v = integral(to<f64>(x), MODE);
  constexpr f64 END = sizeof(I) == 8 ? (SIGNED<I> ? 0x1p63 : 0x1p64) : (f64)MOST<I> + 1;
  V<I> r;
  B over = bools(v >= END), under = bools(v < (f64)LEAST<I>), nan = bools(v != v);
  V<f64> safe = sel(over | under | nan, all(0.0), v);
  if constexpr (sizeof(I) >= 4) r = to<I>(safe);
  else r = to<I>(to<i32>(safe));
  r = sel(over, all<I>(MOST<I>), sel(under, all<I>(LEAST<I>), r));
  constexpr I OF_NAN = sizeof(T) == 8 || sizeof(I) == 8 ? (I)((u64)1 << (8 * sizeof(I) - 1)) : (I)0;
  return sel(nan, all<I>(OF_NAN), r);
}
INLINE V<f64> widen_f64(V<f32> x) { return to<f64>(x); }
INLINE V<f64> widen_f64(V<f16> x) { return to<f64>(x); }
INLINE V<f64> widen_f64(V<f64> x) { return x; }
template <int MODE> INLINE V<f32> narrow_f32(V<f64> x) {
  V<f32> r = to<f32>(x);
  V<f64> rest = x - to<f64>(r);
  rest = sel(finite(r), rest, sel(finite(x), -to<f64>(r), all(0.0)));
  r = rounded<MODE>(r, sel(bools(rest > 0.0), all(1.0f), sel(bools(rest < 0.0), all(-1.0f), all(0.0f))));
  // A NaN keeps its sign and the upper bits of its payload, and is quiet.
  V<u64> u = as<u64>(x);
  return as<f32>(sel(is_nan(x), to<u32>(u >> 32 & 0x80000000ul | u >> 29 & 0x3ffffful) | 0x7fc00000u, as<u32>(r)));
}
template <int MODE> INLINE V<f16> narrow_f16(V<f64> x) {
  V<f16> r = half_of(x);
  if constexpr (MODE == RN) return nan1(r);
  V<f64> rest = x - to<f64>(r);
  B large = bools(mag(r) > (f16)65504);
  rest = sel(large, sel(finite(x), -to<f64>(r), all(0.0)), rest);
  return nan1(rounded<MODE>(r, sel(bools(rest > 0.0), all((f16)1), sel(bools(rest < 0.0), all((f16)-1), all((f16)0)))));
}
template <int MODE> INLINE V<u16> narrow_bf16(V<f64> x) {
  V<f32> o = to_odd(x);
  if constexpr (MODE == RN) return bf16_of(o);
  V<u32> u = as<u32>(o), cut = u & 0xffff0000u;
  B inexact = bools((u & 0xffff) != 0), minus = bools(u >> 31 != 0);
  B away = MODE == RP ? inexact & ~minus : MODE == RM ? inexact & minus : bools(u != u);
  return sel(bools(x != x), all((u16)0x7fff), hi16(sel(away, cut + 0x10000u, cut)));
}
template <int MODE, class F, class I> INLINE V<F> float_of(V<I> x) { // from an integer of 64 bits
  constexpr F BEYOND = (I)-1 < 0 ? 0x1p63 : 0x1p64; // the least number that I does not have
  V<F> r = to<F>(x);
  if constexpr (MODE == RN) return r;
  B beyond = bools(r >= BEYOND);
  V<I> near = to<I>(sel(beyond, all((F)0), r));
  B up = beyond | bools(near > x), down = ~beyond & bools(near < x);
  return rounded<MODE>(r, sel(up, all((F)-1), sel(down, all((F)1), all((F)0))));
}
// Integers to f16 and bf16: rounded to odd, an f64 holds what they need.
template <class I> INLINE V<f64> odd_f64(V<I> x) {
  V<f64> h = to<f64>(x >> (I)32) * 0x1p32, l = to<f64>(x & (I)0xffffffff), s = h + l;
  return odd(s, l - (s - h));
}
enum { AWAY = 4 }; // ties away from zero
template <int MODE> INLINE V<u32> tf32_of(V<f32> x) {
  V<u32> u = as<u32>(x), r = MODE == AWAY ? u + 0x1000u : MODE == RN ? u + 0xfffu + (u >> 13 & 1) : u;
  V<u32> as_is = MODE == AWAY ? u : sel(is_nan(x), all(0x7fffffffu), u); // of infinities and NaNs
  return sel(bools((u & 0x7f800000u) == 0x7f800000u), as_is, r) & ~0x1fffu;
}
INLINE V<u32> tf32_finite(V<f32> x) { // .rna.satfinite; of NaNs, too, it gives the number below what the upper bits say
  V<u32> u = as<u32>(x), r = sel(bools((u & 0x7f800000u) == 0x7f800000u), u, u + 0x1000u) & ~0x1fffu;
  return sel(bools((r & 0x7fffffffu) >= 0x7f800000u), r - 0x2000u, r);
}
// Of an f64 that is NaN, f16 and bf16 have the sign and the upper bits of the payload.
template <int FRACTION> INLINE V<u16> with_nan_of(V<f64> x, V<u16> r) {
  constexpr u64 ONES = (1ul << FRACTION) - 1, QUIET_NAN = 0x7fff & ~(ONES >> 1);
  V<u64> u = as<u64>(x);
  return sel(is_nan(x), to<u16>(u >> 48 & 0x8000ul | QUIET_NAN | u >> (52 - FRACTION) & ONES), r);
}
INLINE V<u16> finite_bits(V<u16> x, u16 infinity) { // .satfinite
  return sel(bools((x & (u16)0x7fff) == infinity), (V<u16>)((x & (u16)0x8000) | (u16)(infinity - 1)), x);
}
// 8-bit floats of OCP: what is too large becomes the largest number (.satfinite).
template <int MANTISSA> INLINE V<u32> fp8_finite(V<f32> x, bool positive) {
  constexpr int BIAS = MANTISSA == 3 ? 7 : 15;
  constexpr u32 LARGEST = MANTISSA == 3 ? 0x7e : 0x7b;
  if (positive) x = sel(bools(x <= 0.0f), all(0.0f), x);
  V<u32> r = f8_of<false, MANTISSA, BIAS>(x), code = r & 0x7f;
  r = sel(bools(code > LARGEST), (r & 0x80u) | LARGEST, r);
  return sel(bools(x != x), all(0x7fu), r);
}

// --- atomics ---
// Of f32, memory flushes subnormals and the adder of a thread, which sums in shared memory, does not. Of f64, memory
// gives the NaN that is added, or else the one that was there, as it is; the adder as for other sums.
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
template <u32 BITS> INLINE V<u32> crossed(State *t, Mask on, V<u32> x, V<u32> members, u32 instruction) { // from thread i ^ BITS
  if (on == ALL && holds(members == ALL) == ALL) return crossed<BITS>(x, __make_integer_seq<Numbers, u32, LANES>{});
  return shuffled(t, on, x, IOTA ^ BITS, members, instruction);
}
RUNTIME V<u32> voted(Mask on, Mask p, In<u32> members); // the ballot of each thread's group
RUNTIME V<u32> matched(Mask on, In<u64> x, In<u32> members);
RUNTIME V<u32> reduced(Mask on, In<u32> x, In<u32> members, u32 op);
enum Reduction { R_ADD, R_MIN_U, R_MAX_U, R_MIN_S, R_MAX_S, R_AND, R_OR, R_XOR };
RUNTIME u32 barrier_votes(State *, Mask p); // before a barrier
RUNTIME u32 barrier_count(State *);         // after it: how many threads of the block voted for it
