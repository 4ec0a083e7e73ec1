// Integer arithmetic and conversions of PTX.
#pragma once
#include "ptx_floats.h"
#include "wavefronts.h"

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
// PTX leaves the quotient and the remainder of a division by zero, and of the least number by -1, undefined. With
// `undivided` of all ones, they are as on an H200: all ones, and the least number without a remainder.
template <class T> INLINE V<T> quotient(V<T> a, V<T> b, u64 undivided) {
  B zero = bools(b == (T)0);
  V<T> r;
  B wraps = SIGNED<T> ? bools(a == LEAST<T>) & bools(b == (T)-1) : bools(b != b);
  const V<T> by = sel(zero | wraps, all<T>(1), b);
  // In a float format with n bits of precision, a quotient of n-bit numbers does not round up to the next integer.
  if constexpr (sizeof(T) > 4) r = a / by;
  else if (sizeof(T) == 4 && mask(bools((a | by) >> 8 * (sizeof(T) - 1) != (T)0))) r = to<T>(to<f64>(a) / to<f64>(by));
  else r = to<T>(to<f32>(a) / to<f32>(by));
  return sel(zero, all<T>((T)undivided), sel(wraps, a ^ all<T>((T)~undivided), r));
}
template <class T> INLINE V<T> remainder_(V<T> a, V<T> b, u64 undivided) {
  return sel(bools(b == (T)0), all<T>((T)undivided), a - quotient(a, b, undivided) * b);
}
template <class T> INLINE V<T> limited(V<i64> x) { // limits x to the range of T
  return to<T>(min(max(x, all<i64>((i64)LEAST<T>)), all<i64>((i64)MOST<T>)));
}
template <class T> INLINE V<T> absolute(V<T> x) { return sel(bools(x < (T)0), (V<T>)((T)0 - x), x); }
// A shift by the width or more gives 0, or the sign.
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
// The offset and the width of a field use eight bits (PTX ISA); for 64-bit operands they use all bits, as measured.
template <int BITS> INLINE V<u32> at_most_255(V<u32> n) { return BITS == 64 ? min(n, all(255u)) : n & 255u; }
template <class T, class U> INLINE V<T> field(V<T> x, V<u32> at, V<u32> width) { // bfe
  constexpr u32 BITS = 8 * sizeof(T);
  at = at_most_255<BITS>(at), width = at_most_255<BITS>(width);
  V<u32> top = min(at + width - 1, all<u32>(BITS - 1));
  V<U> sign = sel(bools(width == 0), all<U>(0), (V<U>)(as<U>(x) >> to<U>(top) & (U)1));
  if (!SIGNED<T>) sign = all<U>(0);
  V<U> ones = sel(bools(width >= BITS), all<U>((U)~(U)0), (V<U>)(((U)1 << to<U>(width & (BITS - 1))) - (U)1));
  V<U> shifted = sel(bools(at >= BITS), all<U>(0), (V<U>)(as<U>(x) >> to<U>(at & (BITS - 1))));
  // Bits beyond the operand are copies of the sign.
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
INLINE V<u32> byte_of(V<u64> x, V<u32> k) { // prmt: bit 3 replicates the byte's sign
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
template <class T> INLINE V<T> part(V<u32> x, u32 at, u32 bits, bool is_signed) { // a part of a video instruction's operand
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
template <class I, int MODE, class T> INLINE V<I> to_integer(V<T> x) { // saturates; NaN as measured
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
  // A NaN keeps its sign and the upper bits of its payload, and becomes quiet.
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
  constexpr F BEYOND = (I)-1 < 0 ? 0x1p63 : 0x1p64; // the least number above the range of I
  V<F> r = to<F>(x);
  if constexpr (MODE == RN) return r;
  B beyond = bools(r >= BEYOND);
  V<I> near = to<I>(sel(beyond, all((F)0), r));
  B up = beyond | bools(near > x), down = ~beyond & bools(near < x);
  return rounded<MODE>(r, sel(up, all((F)-1), sel(down, all((F)1), all((F)0))));
}
// Integers to f16 and bf16: an f64 that is rounded to odd is precise enough.
template <class I> INLINE V<f64> odd_f64(V<I> x) {
  V<f64> h = to<f64>(x >> (I)32) * 0x1p32, l = to<f64>(x & (I)0xffffffff), s = h + l;
  return odd(s, l - (s - h));
}
enum { AWAY = 4 }; // ties away from zero
template <int MODE> INLINE V<u32> tf32_of(V<f32> x) {
  V<u32> u = as<u32>(x), r = MODE == AWAY ? u + 0x1000u : MODE == RN ? u + 0xfffu + (u >> 13 & 1) : u;
  V<u32> as_is = MODE == AWAY ? u : sel(is_nan(x), all(0x7fffffffu), u); // infinities and NaNs
  return sel(bools((u & 0x7f800000u) == 0x7f800000u), as_is, r) & ~0x1fffu;
}
INLINE V<u32> tf32_finite(V<f32> x) { // .rna.satfinite; for NaNs, too, it gives the number below the upper bits
  V<u32> u = as<u32>(x), r = sel(bools((u & 0x7f800000u) == 0x7f800000u), u, u + 0x1000u) & ~0x1fffu;
  return sel(bools((r & 0x7fffffffu) >= 0x7f800000u), r - 0x2000u, r);
}
// Conversions of an f64 NaN to f16 and bf16 keep the sign and the upper bits of the payload.
template <int FRACTION> INLINE V<u16> with_nan_of(V<f64> x, V<u16> r) {
  constexpr u64 ONES = (1ul << FRACTION) - 1, QUIET_NAN = 0x7fff & ~(ONES >> 1);
  V<u64> u = as<u64>(x);
  return sel(is_nan(x), to<u16>(u >> 48 & 0x8000ul | QUIET_NAN | u >> (52 - FRACTION) & ONES), r);
}
INLINE V<u16> finite_bits(V<u16> x, u16 infinity) { // .satfinite
  return sel(bools((x & (u16)0x7fff) == infinity), (V<u16>)((x & (u16)0x8000) | (u16)(infinity - 1)), x);
}
// 8-bit floats of OCP: a number that is too large becomes the largest one (.satfinite).
template <int MANTISSA> INLINE V<u32> fp8_finite(V<f32> x, bool positive) {
  constexpr int BIAS = MANTISSA == 3 ? 7 : 15;
  constexpr u32 LARGEST = MANTISSA == 3 ? 0x7e : 0x7b;
  if (positive) x = sel(bools(x <= 0.0f), all(0.0f), x);
  V<u32> r = f8_of<false, false, MANTISSA, BIAS>(x), code = r & 0x7f;
  r = sel(bools(code > LARGEST), (r & 0x80u) | LARGEST, r);
  return sel(bools(x != x), all(0x7fu), r);
}
