// Floating-point arithmetic of PTX: NaNs, subnormal numbers as the instruction says, rounding modes.
#pragma once
#include "ptx_approximate.h"

enum Rounding { RN, RZ, RM, RP };
// NaNs are detected and selected as integers, because the compiler treats all NaN results as equal.
INLINE B is_nan(V<f16> x) { return bools((as<u16>(x) & (u16)0x7fff) > (u16)0x7c00); }
INLINE B is_nan(V<f32> x) { return bools((as<u32>(x) & 0x7fffffffu) > 0x7f800000u); }
INLINE B is_nan(V<f64> x) { return bools((as<u64>(x) & 0x7ffffffffffffffful) > 0x7ff0000000000000ul); }
// The NaN result of an operation on these operands. f16 and f32 have one NaN. For f64 it is the first NaN operand, made
// quiet, or a default NaN. Measured on an H200, including the order of the operands.
template <class... X> INLINE V<f16> nan_of(V<f16>, X...) { return as<f16>(all((u16)0x7fff)); }
template <class... X> INLINE V<f32> nan_of(V<f32>, X...) { return as<f32>(all(0x7fffffffu)); }
INLINE V<u64> nan_bits() { return all(0xfff8000000000000ul); }
template <class... X> INLINE V<u64> nan_bits(V<f64> first, X... rest) {
  return sel(is_nan(first), as<u64>(first) | QUIET<u64>, nan_bits(rest...));
}
template <class... X> INLINE V<f64> nan_of(V<f64> first, X... rest) { return as<f64>(nan_bits(first, rest...)); }
// Replaces NaNs in a result by the NaN that the operands determine.
template <class T, class... X> INLINE V<T> with_nan(V<T> r, X... operands) {
  typedef typename Float<T>::U U;
  if (sizeof(T) == 8 && !mask(is_nan(r))) return r; // fast path, without a look at the operands
  return as<T>(sel(is_nan(r), as<U>(nan_of(operands...)), as<U>(r)));
}
INLINE V<f16> nan1(V<f16> x) { return with_nan<f16>(x, x); }
INLINE V<f32> nan1(V<f32> x) { return with_nan<f32>(x, x); }
INLINE V<f32> ftz(V<f32> x) { return sel(bools(mag(x) < 0x1p-126f), as<f32>(as<u32>(x) & 0x80000000u), x); }
INLINE V<f64> ftz(V<f64> x) { return sel(bools(mag(x) < 0x1p-1022), as<f64>(as<u64>(x) & 0x8000000000000000ul), x); }
INLINE V<f16> ftz(V<f16> x) { return sel(bools(mag(x) < (f16)0x1p-14), as<f16>(as<u16>(x) & (u16)0x8000), x); }
// With .ftz, a product counts as subnormal if it is below the normal range after rounding to 24 bits (f16: 11) with an
// unlimited exponent. So some products that round to the least normal number are flushed. `exact` decides that correctly.
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
// The next number after one that is not NaN, away from zero or toward zero.
template <class T> INLINE V<T> stepped(V<T> x, B away) {
  typedef typename Float<T>::U U;
  V<U> u = as<U>(x);
  return as<T>(sel(away, u + (U)1, u - (U)1));
}
// The result in rounding mode MODE, from the nearest number and the sign of its error `rest` = exact - near.
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
template <class T> INLINE V<T> sum_rest(V<T> a, V<T> b, V<T> s) { // the error of a sum (Knuth), exact without overflow
  V<T> v = s - a;
  V<T> r = (a - (s - v)) + (b - v);
  // An infinite sum of finite numbers is larger than the exact sum.
  return sel(finite(s), r, sel(finite(a) & finite(b), -s, all<T>(0)));
}
INLINE V<f64> odd(V<f64> s, V<f64> e) { // s + e rounded to odd; s is the nearest number
  V<u64> u = as<u64>(s);
  B outward = bools(bools(e > 0.0) == bools(s > 0.0));
  V<u64> r = sel(bools((u & 1) == 0), sel(outward, u, u - 1) | 1, u);
  return sel(bools(e != 0.0) & finite(s), as<f64>(r), s);
}
template <int MODE> INLINE V<f32> add(V<f32> a, V<f32> b) {
  V<f32> s = a + b;
  if constexpr (MODE == RN) return nan1(s);
  // Rounding down, an exact zero from operands of different signs is -0.
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
// The exact product of two f32 numbers is an f64, and so is the error of the nearest f32.
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
  // Scales if the error is too small for an f64.
  rest = sel(bools(mag(p) < 0x1p-960), fma(a * 0x1p540, b * 0x1p540, -(p * 0x1p540) * 0x1p540), rest);
  rest = sel(finite(p), rest, sel(finite(a) & finite(b), -p, all(0.0)));
  return with_nan(rounded<MODE>(p, rest), b, a);
}
template <int MODE, bool FLUSH = false> INLINE V<f16> multiply(V<f16> a, V<f16> b) {
  return FLUSH ? flushed_by<MODE>(nan1(a * b), to<f64>(a) * to<f64>(b)) : nan1(a * b);
}
// a * b + c: the nearest number, corrected by the sign of its error.
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
  // Computes the sign of a * b + c - r. The product is exact as a sum of two numbers unless its low bits underflow or its
  // high bits overflow. Then everything is scaled, and of terms that are too small only the sign is kept.
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
  for (int k = 0; k < 4; k++) // until no two terms overlap: then the largest has the sign of the sum
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
  // q * b - a is exact in f64, or has the right sign if the numbers are far apart.
  V<f64> r = fma(to<f64>(-q), to<f64>(b), to<f64>(a));
  r = sel(bools(b < 0.0f), -r, r);
  r = sel(finite(q), r, sel(finite(a) & bools(b != 0.0f), -to<f64>(q), all(0.0)));
  r = sel(finite(b), r, all(0.0));
  return nan1(rounded<MODE>(q, sel(bools(r > 0.0), all(1.0f), sel(bools(r < 0.0), all(-1.0f), all(0.0f)))));
}
template <int MODE, bool FLUSH = false> INLINE V<f32> divided(V<f32> a, V<f32> b) {
  V<f32> q = divided_f32<MODE>(a, b);
  return FLUSH ? flushed_by<MODE>(q, to<f64>(a) / to<f64>(b)) : q; // no quotient is near the limit
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
// Minimum and maximum: -0 is below +0; a number wins against a NaN, but with .NaN a NaN wins.
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
template <class T> INLINE V<T> signed_by(V<T> sign, V<T> x) { // copysign: takes the sign of the first operand
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

// bf16 is computed in f32. For sums, products and quotients, the double rounding is harmless (Figueroa 1995: 24 bits are at
// least 2 * 8 + 2); a fused multiply-add first rounds to odd (Boldo and Melquiond 2008).
INLINE V<f32> bf16_fused(V<f32> a, V<f32> b, V<f32> c) {
  V<f64> p = to<f64>(a) * to<f64>(b), s = p + to<f64>(c), e = sum_rest(p, to<f64>(c), s);
  return to_odd(odd(s, e));
}

// fma.oob: 0 if a factor is the NaN that marks an out-of-bounds read, as measured.
INLINE B out_of_bounds(V<f16> x) { return bools((as<u16>(x) & (u16)0x7fff) == (u16)0x7ff7); }
INLINE B out_of_bounds(V<f32> x) { return bools((as<u32>(x) & 0x7fffffffu) == 0x7ff70000u); } // a bf16
template <class T> INLINE V<T> in_bounds(V<T> a, V<T> b, V<T> r) { return sel(out_of_bounds(a) | out_of_bounds(b), all<T>(0), r); }
