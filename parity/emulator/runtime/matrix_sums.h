// How matrix instructions add up products: exactly, in groups, as measured on hardware, or as a draw chooses.
#pragma once
#include "matrix_elements.h"
#include "shadow.h"

static f64 size_of(f64 x) { return scalar<f64>(scalar<u64>(x) & ~(1ul << 63)); }
static bool finite(f64 x) { return x - x == 0; }
// The sum of two numbers and its error (Knuth, TAOCP 2, 4.2.2).
static f64 two_sum(f64 a, f64 b, f64 &rest) {
  const f64 s = a + b, t = s - a;
  rest = (a - (s - t)) + (b - t);
  return s;
}
// The exact sum, rounded to odd, so that a second rounding gives the result of one rounding. Uses partial sums that do not
// overlap (Shewchuk, "Adaptive precision floating-point arithmetic", 1997).
static f64 exact_sum(const f64 *x, u32 n) {
  f64 part[TERMS + 1], plain = 0, lost = 0;
  u32 count = 0;
  for (u32 i = 0; i < n; i++) {
    f64 rest;
    plain = two_sum(plain, x[i], rest);
    lost += size_of(rest);
  }
  if (lost == 0 || !finite(plain)) return plain;
  for (u32 i = 0; i < n; i++) {
    f64 sum = x[i];
    u32 kept = 0;
    for (u32 q = 0; q < count; q++) {
      f64 rest;
      sum = two_sum(sum, part[q], rest);
      if (rest != 0) part[kept++] = rest;
    }
    part[kept++] = sum, count = kept;
  }
  f64 top = part[--count], rest = 0;
  while (count && rest == 0) top = two_sum(top, part[--count], rest);
  if (rest == 0) return top;
  const u64 u = scalar<u64>(top) - ((rest < 0) != (top < 0));
  return scalar<f64>(u | 1);
}
static f32 rounded(f64 x, Direction to) {
  const f32 near = (f32)x;
  const f64 back = (f64)near;
  if (back == x || x != x || !finite(x)) return near;
  const bool away = to == UPWARD ? x > 0 : to == DOWNWARD ? x < 0 : false, cut = to != TO_NEAREST && !away;
  const u32 u = scalar<u32>(near);
  if (away && size_of(back) < size_of(x)) return scalar<f32>(u + 1);
  if (cut && size_of(back) > size_of(x)) return scalar<f32>(u - 1);
  return near;
}
static f64 to_odd_f32(f64 x) { // so that a second rounding gives the result of one rounding
  const f32 cut = rounded(x, TO_ZERO);
  return (f64)cut == x || x != x ? (f64)cut : (f64)scalar<f32>(scalar<u32>(cut) | 1);
}
static f64 flushed(f64 x, bool flush) { return flush && size_of(x) < 0x1p-126 ? x * 0 : x; }

// The way in which a draw adds up: an order of addition and a rounding that hardware might have. In a shadow run, every
// term rounds.
enum Way { MODEL, ONCE, ONCE_CUT, WHOLE, FORWARD, BACKWARD, FORWARD_CUT, PAIRED, SHADOW };
static Way way_of(const Product &p) {
  if (drawing.results == GFX1100 || p.layout >= LINEAR) return MODEL; // as measured on hardware
  if (drawing.results == NEAREST || p.sums == SUM_EXACT) return ONCE;
  return (Way)((drawing.seed * 0x9e3779b1u >> 29) % 8);
}

struct Accumulator {
  const Product &p;
  Way way;
  Direction to;

  // Adds C and the products of a group exactly.
  f64 once(f64 c, const f64 *product, u32 n) const {
    f64 terms[TERMS];
    terms[0] = c;
    for (u32 k = 0; k < n; k++) terms[k + 1] = product[k];
    return exact_sum(terms, n + 1);
  }
  // The infinity that a partial sum may reach in some order: upwards if terms above 0 exceed f32, downwards if terms below 0 do.
  f64 overflowing(f64 c, const f64 *product, u32 n) const {
    f64 sum = 0;
    for (u32 k = 0; k <= n; k++) {
      const f64 x = k ? product[k - 1] : c;
      if (finite(x) && (x > 0) == (to == UPWARD)) sum += x;
    }
    return size_of(sum) < 0x1p128 ? 0 : sum > 0 ? __builtin_inf() : -__builtin_inf();
  }
  // Rounds each term to the precision of the largest partial sum that any order of addition may have.
  f64 shadow(f64 c, const f64 *product, u32 n) const {
    f64 size = size_of(c), terms[TERMS];
    for (u32 k = 0; k < n; k++) size += size_of(product[k]);
    const f64 overflow = overflowing(c, product, n);
    if (!finite(size) || overflow) return once(c, product, n) + overflow;
    const i32 unit = max(exponent_of(size, -126) - 23, -149);
    for (u32 k = 0; k <= n; k++) {
      const f64 x = k ? product[k - 1] : c;
      terms[k] = to == UPWARD ? -multiple(-x, unit, true) : multiple(x, unit, true);
    }
    return exact_sum(terms, n + 1);
  }
  f64 paired(const f64 *product, u32 n) const { // rounds after every operation
    const f64 x = n == 1 ? product[0] : paired(product, n / 2) + paired(product + n / 2, n - n / 2);
    return flushed((f64)rounded(x, to), p.flush);
  }
  // The exponent of a number; subnormal numbers have the least exponent of their type. The exponent of a product is the sum
  // of the exponents of its factors, so its significand is below 4.
  static i32 exponent_of(f64 x, i32 least) {
    return x == 0 ? -126 : max((i32)(scalar<u64>(x) >> 52 & 2047) - 1023, least);
  }
  static f64 multiple(f64 x, i32 unit, bool down) { // cut to a multiple of 2^unit
    const f64 step = scalar<f64>((u64)(unit + 1023) << 52), n = x / step;
    if (size_of(n) >= 0x1p52) return x;
    const f64 whole = (f64)(i64)n;
    return (down && whole > n ? whole - 1 : whole) * step;
  }
  static f64 aligned(const f64 *product, const i32 *exponent, u32 n, u32 step, i32 &top) {
    top = exponent[0];
    for (u32 k = 0; k < n; k += step) top = max(top, exponent[k]);
    f64 sum = 0;
    for (u32 k = 0; k < n; k += step) sum += multiple(product[k], top - 24, false);
    return sum;
  }
  // CDNA 3, as measured by Xie et al. (arXiv 2511.10909): aligns products to the largest and cuts them 24 bits below its
  // exponent, cuts the sum to 31 bits and C to 24, toward minus infinity; then rounds once.
  f64 measured(f64 c, const f64 *product, const i32 *exponent, u32 n) const {
    f64 plain = c;
    bool above = false, below = false;
    for (u32 k = 0; k < n; k++) {
      plain += product[k];
      above |= product[k] >= 0x1p128, below |= product[k] <= -0x1p128;
    }
    if (!finite(plain)) return plain;
    if (above || below) return above && below ? __builtin_nan("") : above ? __builtin_inf() : -__builtin_inf();
    i32 top, other;
    f64 sum;
    if (p.sums == SUM_SPLIT) {
      const f64 even_ = aligned(product, exponent, n, 2, top), odd = aligned(product + 1, exponent + 1, n - 1, 2, other);
      top = max(top, other);
      sum = multiple(even_, top - 24, true) + multiple(odd, top - 24, true);
    } else {
      sum = aligned(product, exponent, n, 1, top);
    }
    const i32 of_c = exponent_of(c, -126), most = max(top, of_c);
    sum = multiple(sum, most - 31, true);
    const f64 rest = p.sums == SUM_SPLIT && of_c < most - 25 ? 0 : multiple(c, most - 24, true);
    return sum + rest;
  }
  // Multiplies a row of A and a column of B, and adds C; rounds the result to f32 unless D is narrower.
  f64 total(f64 c, const f64 *product, const i32 *exponent) const {
    const u32 depth = p.sparse ? p.k / 2 : p.k;
    const bool narrow = bits_of(p.d) == 16;
    f64 sum = p.flush && size_of(c) < 0x1p-126 ? 0 : c;
    if (way == MODEL || way == ONCE || way == ONCE_CUT || way == PAIRED) {
      for (u32 k = 0; k < depth; k += p.group) {
        f64 x;
        if (way == PAIRED || (way == MODEL && p.sums == SUM_PAIRS)) x = sum + paired(product + k, p.group);
        else if (way == MODEL && (p.sums == SUM_ALIGNED || p.sums == SUM_SPLIT)) x = measured(sum, product + k, exponent + k, p.group);
        else x = once(sum, product + k, p.group);
        if (narrow && k + p.group == depth) return x;
        sum = flushed((f64)rounded(x, way == ONCE_CUT ? TO_ZERO : to), p.flush);
      }
      return sum;
    }
    if (way == WHOLE || way == SHADOW) {
      const f64 x = way == WHOLE ? once(sum, product, depth) : shadow(sum, product, depth);
      return narrow ? x : flushed((f64)rounded(x, to), p.flush);
    }
    for (u32 k = 0; k < depth; k++) {
      const f64 x = once(sum, product + (way == BACKWARD ? depth - 1 - k : k), 1);
      sum = flushed((f64)rounded(x, way == FORWARD_CUT ? TO_ZERO : to), p.flush);
    }
    return sum;
  }
};
static u32 narrowed(const Product &p, f64 x, Type t, Direction to) { // to the bits of D
  if (x != x) return p.layout >= LINEAR ? (t == TYPE_F32 ? 0x7fffffff : 0x7fff) : t == TYPE_F32 ? 0x7fc00000 : t == TYPE_F16 ? 0x7e00 : 0x7fc0;
  const f64 odd = to_odd_f32(x);
  if (t == TYPE_F32) return scalar<u32>(rounded(x, to));
  if (t == TYPE_F16) return scalar<u16>((f16)(f32)odd);
  const u32 u = scalar<u32>((f32)odd);
  return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
