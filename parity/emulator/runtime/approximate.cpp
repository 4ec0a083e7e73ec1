// Results of approximate instructions: as gfx1100 computes them, or drawn from all results that the manual allows. Within a
// launch, the same operand always gives the same result.
#include "approximate.h"
#include "gfx1100.h"
#include "wavefronts.h"

Drawing drawing;

static f64 power(i32 n) { return scalar<f64>((u64)(n + 1023) << 52); }
static f64 scaled(f64 x, i32 n) { return x * power(n / 2) * power(n - n / 2); } // rounds once, because x has few bits
template <class T> static bool is_number(T x) { return x - x == 0 && x != 0; }

// --- results of gfx1100 ---
static u64 to_even(u64 x, u32 drop) {
  const u64 kept = x >> drop, lost = x & ((1ul << drop) - 1), half = 1ul << (drop - 1);
  return kept + (lost > half || (lost == half && (kept & 1)));
}
static u64 product24(u64 x) { return x >> 47 ? to_even(x, 24) * 2 : to_even(x, 23); } // uses at most 24 bits
// The quadratic and the cubic term of a segment.
static u64 bend(const Segment &s, u64 at, u32 up, u32 drop) {
  const u64 top = at >> 7;
  return product24((((u64)s.quadratic << up) - to_even(s.cubic * ((at >> 4) + 1), drop)) * (top * top >> 10));
}
// RCP, RSQ and SQRT of f32 and f64 share tables. An f32 result is rounded to nearest. An f64 result keeps all 34 or 35 bits,
// plus half of the last one in most segments.
template <class T> static f64 root_or_reciprocal(u32 function, T x) {
  typedef Float<T> F;
  constexpr bool WIDE = sizeof(T) == 8;
  u64 u = scalar<typename F::U>(x) & ~(1ul << (8 * sizeof(T) - 1));
  i32 e = (i32)(u >> F::P) - F::BIAS;
  u64 fraction = u & ((1ul << F::P) - 1);
  if (e == -F::BIAS) { // a subnormal f64
    const u32 up = __builtin_clzl(fraction) - 11;
    fraction = fraction << up & ((1ul << 52) - 1), e = -1022 - (i32)up;
  }
  const u64 m = WIDE ? fraction >> 23 : fraction << 6, at = m & 0xffffff, number = m >> 24;
  const u32 odd = e & 1;
  const i32 half = (e - (i32)odd) / 2;
  if (function == RCP) {
    if (WIDE && m == 0) return scaled(1 - (fraction ? 0x1p-53 : 0), -e);
    if (WIDE && fraction == (1ul << 52) - 1) return scaled(1 + 0x1p-52, -e - 1);
    const Segment &s = RECIPROCAL[number];
    const u64 p = s.linear * at, linear = p >> 44 ? to_even(p, 21) : (p + 0x17ffff) >> 21;
    const u64 y = ((u64)s.constant << 9) + (WIDE && number ? 256 : 0) - (linear << 6) + bend(s, at, 8, 12);
    return WIDE ? scaled((f64)y, -35 - e) : scaled((f64)to_even(y, 11), -24 - e);
  }
  if (function == RSQ) {
    if (WIDE && !odd && m == 0) return scaled(1 - (fraction ? 0x1p-53 : 0), -half);
    const Segment &s = ROOT_RECIPROCAL[32 * odd + number];
    const u64 p = s.linear * (number == 31 ? at & ~0x30ul : at);
    const u64 linear = (p + (p >> 43 ? 0x17ffff : 0x1bffff)) >> 21;
    const u64 y = ((u64)s.constant << 10) + (WIDE && number ? 512 : 0) - (linear << 7) + bend(s, at, 9, 11);
    return WIDE ? scaled((f64)y, -36 - half) : scaled((f64)to_even(y, 12), -24 - half);
  }
  const u64 m28 = m >> 1, at28 = m28 & 0xffffff;
  const Segment &s = ROOT[16 * odd + (m28 >> 24)];
  const u64 p = s.linear * at28, linear = p >> 45 ? to_even(p, 22) : (p + (1 << 20)) >> 22;
  const u64 y = (1ul << 35) + ((u64)s.constant << 10) + (WIDE && m28 >> 24 != 15 ? 512 : 0) + (linear << 7) - bend(s, at28, 8, 11);
  return WIDE ? scaled((f64)y, -35 + half) : scaled((f64)to_even(y, 12), -23 + half);
}
static f64 power_of_two(f32 x) {
  const f64 size = x < 0 ? -x : x;
  if (size < 0x1p-24) return 1;
  const i64 steps = (i64)(size * 0x1p29), phase = x < 0 ? ~steps : steps;
  const u64 at = phase & 0xffffff, top = at >> 6;
  const Segment &s = EXPONENTIAL[phase >> 24 & 31];
  const u64 p = s.linear * at, linear = p >> 47 ? to_even(p, 24) : to_even(p, 23) >> 1;
  const u64 inner = to_even(((u64)s.quadratic << 7) + s.cubic * top, 7);
  const u64 sum = ((s.constant + linear) << 8) + product24(inner * (top * top >> 12));
  return scaled((f64)to_even(sum, 13), (i32)(phase >> 29) - 23);
}
// Cuts a fixed-point number to 24 bits; `up` rounds its magnitude up, `next` adds one after the cut.
static f64 cut(u64 x, i32 weight, bool up, bool next) {
  const u32 drop = 40 - __builtin_clzl(x);
  return scaled((f64)(((x + (up ? (1ul << drop) - 1 : 0)) >> drop) + next), weight + (i32)drop);
}
static u32 nibbles(u64 x, u32 bits) { // the number of unused bits of `bits`, rounded down to a multiple of four
  const u32 width = 64 - __builtin_clzl(x);
  return width < bits ? (bits - width) / 4 * 4 : 0;
}
static f64 logarithm(f32 x) {
  const u32 u = scalar<u32>(x);
  if (u >= 0x3f7c0000 && u < 0x3f800000) { // k steps of 2^-24 below 1
    const u64 k = 0x3f800000 - u;
    const Segment &s = BELOW_ONE[k >= 0x20000];
    const u32 n = nibbles(k, 18), l = n < 14 ? 14 - n : 0, q = n < 12 ? 12 - n : 0;
    const u64 linear = 2ul * s.linear * k >> l << l, square = k * k >> q << q;
    const u64 inner = to_even(((u64)s.quadratic << 22) + s.cubic * (k - 1), 22);
    const u64 quadratic = (inner * square + ((1ul << (38 - n)) - 1)) >> (38 - n);
    return -cut((linear << 2) + (quadratic << (16 - n)) - ((u64)s.constant << 16), -50, true, false);
  }
  if (u > 0x3f800000 && u < 0x3f840000) { // k steps of 2^-23 above 1
    const u64 k = u - 0x3f800000;
    const Segment &s = ABOVE_ONE[k < 0x10000 ? 0 : k < 0x20000 ? 1 : 2];
    const u32 n = k < 0x10000 ? nibbles(k, 18) : 0;
    const u64 inner = to_even(((u64)s.quadratic << 22) - s.cubic * (2 * k + 1), 22);
    const u64 sum = s.constant + (s.linear * (k << n) >> 13 << 2) - product24(inner * ((k << n) * k >> 12));
    return cut(sum, -35 - (i32)n, false, true);
  }
  const u64 at = u & 0x3ffff;
  const u32 number = u >> 18 & 31;
  const Segment &s = LOGARITHM[number == 1 && at >= 0x20000 ? 32 : number];
  const u64 inner = to_even(((u64)s.quadratic << 22) - s.cubic * (2 * at + 1), 22);
  const i64 sum = (((i64)(u >> 23) - 127) << 35) + (i64)((s.constant + (s.linear * at >> 16)) << 5) -
                  (i64)product24(inner * (at * at >> 12));
  return sum < 0 ? -cut(-sum, -35, true, false) : cut(sum, -35, false, false);
}
static f64 modelled(u32 function, f64 x, f64 nearest) {
  const f64 r = root_or_reciprocal(function, x);
  return x < 0 ? -r : r;
}
static f32 modelled(u32 function, f32 x, f32 nearest) {
  f64 r = function == EXP ? power_of_two(x) : function == LOG ? logarithm(x) : root_or_reciprocal(function, x);
  if (function < EXP && x < 0) r = -r;
  return r < 0x1p-126 && r > -0x1p-126 ? (f32)(r * 0) : (f32)r;
}
static f16 modelled(u32 function, f16 x, f16 nearest) { return (f16)modelled(function, (f32)x, (f32)nearest); }

// --- results drawn from the documented error ---
static u64 hash(u64 x) { // splitmix64 (Steele, Lea and Flood 2014)
  x += 0x9e3779b97f4a7c15ul;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ul;
  x = (x ^ x >> 27) * 0x94d049bb133111ebul;
  return x ^ x >> 31;
}
template <class T> static T drawn(u32 function, T x, T nearest, f64 exact) {
  typedef typename Float<T>::U U;
  constexpr U FRACTION = (U)((U)1 << Float<T>::P) - 1;
  const Documented &documented = drawing.documented[3 * function + sizeof(T) / 4];
  const U u = scalar<U>(x);
  const u64 h = hash(hash((u64)drawing.seed << 8 | function) ^ u);
  if (documented.all_ones && (u & FRACTION) == FRACTION) return nearest;
  if constexpr (sizeof(T) == 8) { // an ULP is at least 2^-53 of the number
    const f64 r = nearest + nearest * ((f64)(i64)h * 0x1p-63 * documented.ulps * 0x1p-53);
    return is_number(r) ? r : nearest;
  } else {
    // A result that is a number of the type is exact, as in the examples of the manual.
    const f64 near = nearest, error = exact - near;
    if (error == 0) return nearest;
    const T other = scalar<T>((U)(scalar<U>(nearest) + ((error > 0) == (nearest > 0) ? 1 : -1)));
    if (!is_number(other) || (sizeof(T) == 4 && other < 0x1p-126f && other > -0x1p-126f)) return nearest;
    const f64 gap = (f64)other - near, beyond = (gap - error) / gap;
    return h & 1 && beyond <= documented.ulps ? other : nearest;
  }
}

template <class T> static V<T> inexact(u32 function, V<T> x, V<T> nearest, V<f64> exact) {
  const Lanes<T> operand(x);
  const Lanes<f64> value(exact);
  Lanes<T> result(nearest);
  for (u32 i = 0; i < LANES; i++)
    if (is_number(result[i]))
      result[i] = drawing.results == GFX1100 ? modelled(function, operand[i], result[i])
                                             : drawn(function, operand[i], result[i], value[i]);
  return result.vector();
}
V<f16> inexact_f16(u32 function, In<f16> x, In<f16> nearest, In<f64> exact) { return inexact(function, x, nearest, exact); }
V<f32> inexact_f32(u32 function, In<f32> x, In<f32> nearest, In<f64> exact) { return inexact(function, x, nearest, exact); }
V<f64> inexact_f64(u32 function, In<f64> x, In<f64> nearest) { return inexact(function, x, nearest, nearest); }
