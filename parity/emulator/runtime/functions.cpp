// The longer functions of generated kernels. All roundings are explicit, so results are the same on every machine.
#include "approximate.h"
#include "shadow.h"

// --- transcendental instructions ---
// Division and square root are correctly rounded. Other functions are computed in double, so their error is at most about
// 0.5 + 1e-7 ULP. The f32 forms, except sine and cosine, treat subnormal inputs and results as zero (RDNA3 ISA, "denormals
// are flushed").
static V<f64> root(V<f64> x) { return __builtin_elementwise_sqrt(x); }
static V<f64> exp2(V<f64> f) { // |f| <= 1/2
  static const f64 C[] = {1.0, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0cp-5, 0x1.3b2ab6fba4e77p-7,
                          0x1.5d87fe78a6731p-10, 0x1.430912f86c787p-13, 0x1.ffcbfc588b0c7p-17, 0x1.62c0223a5c824p-20,
                          0x1.b5253d395e7c4p-24, 0x1.e4cf5158b8ecap-28, 0x1.e8cac7351bb25p-32}; // ln(2)^k / k!
  V<f64> r = all(C[11]);
  for (int i = 10; i >= 0; i--) r = fma(r, f, all(C[i]));
  return r;
}
static V<f64> log2(V<f64> x) { // of a positive normal number
  V<u64> u = as<u64>(x), top = u - as<u64>(all<f64>(0x1.6a09e667f3bcdp-1));
  V<f64> m = as<f64>(u - (top & 0xfff0000000000000ul)), e = to<f64>(to<i32>(as<i64>(top) >> 52));
  V<f64> s = (m - 1.0) / (m + 1.0), z = s * s, r = all<f64>(1.0 / 21);
  for (int i = 19; i > 0; i -= 2) r = fma(r, z, all(1.0 / i));
  return fma(s * r, all(0x1.71547652b82fep+1), e); // 2 / ln(2)
}
static V<f64> sin_turns(V<f64> r) { // sin(2 pi r), |r| <= 1/2
  V<f64> t = sel(mag(r) > 0.25, as<f64>(as<u64>(0.5 - mag(r)) | (as<u64>(r) & 0x8000000000000000ul)), r);
  V<f64> a = t * 0x1.921fb54442d18p+2, z = a * a, p = all(0.0);
  static const f64 C[] = {1.0, -0x1.5555555555555p-3, 0x1.1111111111111p-7, -0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19,
                          -0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33, -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49};
  for (int i = 8; i >= 0; i--) p = fma(p, z, all(C[i]));
  return p * a;
}
template <class T> static V<f64> turns(V<T> x, f64 ahead) {
  V<f64> d = to<f64>(x);
  d = d - even(d) + ahead;
  return d - even(d);
}
// NaN operands become quiet; this is the NaN of an undefined result (RDNA3 ISA, V_LOG_F32, V_SIN_F32).
template <class T> static V<T> undefined() {
  typedef typename Float<T>::U U;
  return as<T>(all<U>((U)~(U)0 << (Float<T>::P - 1)));
}
template <class T> static V<T> quieted(V<T> x) {
  typedef typename Float<T>::U U;
  return as<T>(as<U>(x) | (U)((U)1 << (Float<T>::P - 1)));
}
template <class T> static V<T> rooted(V<T> x, V<T> r) { return sel(x < (T)0, undefined<T>(), r); }
template <class T> static V<T> sine(V<T> x, f64 ahead) {
  V<T> r;
  if constexpr (sizeof(T) == 2) r = half_of(sin_turns(turns(x, ahead)));
  else r = to<T>(sin_turns(turns(x, ahead)));
  return sel(mag(x) < (T)__builtin_inff(), r, sel(x == x, undefined<T>(), quieted(x)));
}
template <class T> static V<f64> log_of(V<T> x) {
  V<f64> d = to<f64>(x), r = log2(d);
  r = sel(d == 0.0, all(-__builtin_inf()), r);
  r = sel(d == __builtin_inf(), d, r);
  return r;
}
template <class T> static V<T> logarithm(V<T> x, V<T> r) { return sel(x >= (T)0, r, sel(x == x, undefined<T>(), quieted(x))); }
// Returns the nearest number, or the result that the launch asks for; `exact` computes the value in f64.
template <class F> static V<f32> approximate(Function f, V<f32> x, V<f32> nearest, F exact) {
  return drawing.results == NEAREST ? nearest : inexact_f32(f, x, nearest, exact());
}
template <class F> static V<f16> approximate(Function f, V<f16> x, V<f16> nearest, F exact) {
  return drawing.results == NEAREST ? nearest : inexact_f16(f, x, nearest, exact());
}
static V<f64> approximate(Function f, V<f64> x, V<f64> nearest) {
  return drawing.results == NEAREST ? nearest : inexact_f64(f, x, nearest);
}
static V<f64> power(V<f32> x) { // 2^x; clamps x to [-200, 200]
  V<f32> z = sel(x < 200.0f, sel(x > -200.0f, x, all(-200.0f)), sel(x == x, all(200.0f), x)), k = even(z);
  return exp2(to<f64>(z - k)) * as<f64>(to<u64>(to<i32>(sel(z == z, k, all(0.0f))) + 1023) << 52);
}
V<f32> rcp_f32(In<f32> a) {
  V<f32> x = flushed(a);
  return approximate(RCP, x, flushed(1.0f / x), [&] { return 1.0 / to<f64>(x); });
}
V<f32> sqrt_f32(In<f32> a) {
  V<f32> x = flushed(a);
  return approximate(SQRT, x, rooted(x, __builtin_elementwise_sqrt(x)), [&] { return root(to<f64>(x)); });
}
V<f32> rsq_f32(In<f32> a) {
  V<f32> x = flushed(a);
  V<f64> exact = 1.0 / root(to<f64>(x));
  return approximate(RSQ, x, rooted(x, to<f32>(exact)), [&] { return exact; });
}
V<f32> exp_f32(In<f32> x) { // x - k is exact; a normal result is rounded before scaling
  V<f32> k = even(x), y = to<f32>(exp2(to<f64>(x - k)));
  y = as<f32>(as<u32>(y) + (as<u32>(to<i32>(k)) << 23));
  y = sel(x < 128.0f, y, all(__builtin_inff()));
  y = approximate(EXP, x, sel(x >= -126.0f, y, sel(x < -126.0f, all(0.0f), x + x)), [&] { return power(x); });
  const bool kept = drawing.seed & KEEP_SUBNORMALS && rounding_direction() != TO_NEAREST;
  return kept ? sel(x < -126.0f, to<f32>(power(x)), y) : y;
}
V<f32> log_f32(In<f32> a) {
  V<f32> x = flushed(a);
  V<f64> exact = log_of(x);
  return approximate(LOG, x, logarithm(x, to<f32>(exact)), [&] { return exact; });
}
V<f32> sin_f32(In<f32> x) { return sel(x == 0.0f, x, sine(x, 0.0)); }
V<f32> cos_f32(In<f32> x) { return sine(x, 0.25); }
template <class F> static V<f16> half(Function f, V<f16> x, V<f64> exact, F of) {
  return approximate(f, x, of(half_of(exact)), [&] { return exact; });
}
V<f16> rcp_f16(In<f16> x) { return half(RCP, x, 1.0 / to<f64>(x), [](V<f16> r) { return r; }); }
V<f16> sqrt_f16(In<f16> x) { return half(SQRT, x, root(to<f64>(x)), [&](V<f16> r) { return rooted(x, r); }); }
V<f16> rsq_f16(In<f16> x) { return half(RSQ, x, 1.0 / root(to<f64>(x)), [&](V<f16> r) { return rooted(x, r); }); }
V<f16> exp_f16(In<f16> x) { return half(EXP, x, power(to<f32>(x)), [](V<f16> r) { return r; }); }
V<f16> log_f16(In<f16> x) { return half(LOG, x, log_of(x), [&](V<f16> r) { return logarithm(x, r); }); }
V<f16> sin_f16(In<f16> x) { return sel(x == (f16)0, x, sine(x, 0.0)); }
V<f16> cos_f16(In<f16> x) { return sine(x, 0.25); }
V<f64> rcp_f64(In<f64> x) { return approximate(RCP, x, 1.0 / x); }
V<f64> sqrt_f64(In<f64> x) { return approximate(SQRT, x, rooted(x, root(x))); }
V<f64> rsq_f64(In<f64> x) { return approximate(RSQ, x, rooted(x, 1.0 / root(x))); }

// --- exponents and mantissas ---
template <class T> static V<T> scale(V<T> x, V<i32> n) { // x * 2^n with one rounding
  if constexpr (sizeof(T) == 8) {
    // Only the last factor may leave the normal range, so there is one rounding.
    V<i32> m = max(min(n, all(2200)), all(-2200));
    for (int i = 0; i < 2; i++) {
      B up = bools(m > 1023), down = bools(m < -1022 + 53);
      V<f64> factor = sel(up, all(0x1p1023), sel(down, all(0x1p-969), all(1.0)));
      m -= sel(up, all(1023), sel(down, all(-969), all(0)));
      x *= factor;
    }
    m = max(min(m, all(1023)), all(-1022));
    return x * as<f64>(to<u64>(m + 1023) << 52);
  } else {
    if constexpr (sizeof(T) == 4) // fast path: the factor is a normal f32
      if (!mask(bools(as<u32>(n + 126) > 253u))) return x * as<f32>(as<u32>(n + 127) << 23);
    V<i32> m = max(min(n, all(400)), all(-400));
    V<f64> r = to<f64>(x) * as<f64>(to<u64>(m + 1023) << 52);
    if constexpr (sizeof(T) == 4) return to<f32>(r);
    else return half_of(r);
  }
}
V<f32> ldexp_f32(In<f32> x, In<i32> n) { return scale(x, n); }
V<f64> ldexp_f64(In<f64> x, In<i32> n) { return scale(x, n); }
V<f16> ldexp_f16(In<f16> x, In<i16> n) { return scale(x, to<i32>(n)); }
// x = m * 2^e with 0.5 <= |m| < 1; for zero, infinity and NaN, m = x and e = 0.
template <class T> static V<i32> frexp(V<T> x, V<T> &m) {
  typedef Float<T> F;
  constexpr int UP = F::P + 2;
  B tiny = bools(exponent(x) == 0), odd = bools(exponent(x) == F::E) | bools(x == (T)0);
  V<T> y = tiny ? x * (T)((u64)1 << UP) : x;
  V<i32> e = exponent(y) - (F::BIAS - 1) - (tiny ? all(UP) : all(0));
  typedef typename F::U U;
  m = odd ? x : as<T>((as<U>(y) & (U) ~((U)F::E << F::P)) | (U)((U)(F::BIAS - 1) << F::P));
  return odd ? all(0) : e;
}
#define FREXP(T, I) \
  V<T> frexp_mant_##T(In<T> x) { V<T> m; frexp(x, m); return m; } \
  V<I> frexp_exp_##T(In<T> x) { V<T> m; return to<I>(frexp(x, m)); }
FREXP(f16, i16) FREXP(f32, i32) FREXP(f64, i32)

// --- division: RDNA3 ISA, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP ---
template <class T> struct Div;
template <> struct Div<f32> { static constexpr int FAR = 96, UP = 64, TINY = 24, UNDER = -150, OVER = 128; };
template <> struct Div<f64> { static constexpr int FAR = 768, UP = 128, TINY = 53, UNDER = -1075, OVER = 1024; };
// Decides by the encoded exponents, like gfx1100 and gfx1201 (AMD's rocjitsu, division.h). The manual instead tests whether
// 1/den and num/den are subnormal, which gives wrong quotients next to the smallest subnormal number.
template <class T> static V<T> div_scale(V<T> x, V<T> den, V<T> num, B &scaled) {
  typedef typename Float<T>::U U;
  V<i32> de = exponent(den), ne = exponent(num), apart = ne - de;
  B is_den = bools(as<U>(x) == as<U>(den)), under = bools(apart <= -Div<T>::FAR);
  V<T> up = scale(x, all(Div<T>::UP)), down = scale(x, all(-Div<T>::UP));
  B zero = bools(num == (T)0) | bools(den == (T)0), left = ~zero;
  scaled = unmask(0);
  V<T> r = zero ? all((T)__builtin_nan("")) : x;
  auto rule = [&](B when, B vcc, B change, V<T> value) {
    when = when & left;
    r = when & change ? value : r;
    scaled = scaled | (when & vcc);
    left = left & ~when;
  };
  B yes = unmask(ALL), no = unmask(0);
  rule(bools(apart >= Div<T>::FAR), yes, is_den, up);
  rule(bools(de == 0), no, yes, up);
  rule(bools(de >= 2 * Float<T>::BIAS - 1), under, is_den | ~under, down); // 1/den is subnormal
  rule(under, yes, ~is_den, up);
  rule(bools(ne <= Div<T>::TINY), no, yes, up);
  return r;
}
#define DIV_SCALE(T) \
  V<T> div_scale_##T(In<T> x, In<T> den, In<T> num) { B s; return div_scale(x, den, num, s); } \
  Mask div_scaled_##T(In<T> x, In<T> den, In<T> num) { B s; div_scale(x, den, num, s); return mask(s); }
DIV_SCALE(f32) DIV_SCALE(f64)

// (a * b + c) times 2^64 or 2^-64 (f64: 128) with one rounding: the exact sum is first rounded to odd in double.
V<f32> div_fmas_f32(In<f32> a, In<f32> b, In<f32> c, Mask vcc) {
  V<f64> p = to<f64>(a) * to<f64>(b), q = to<f64>(c), s = p + q, t = s - p, e = (p - (s - t)) + (q - t);
  V<u64> u = as<u64>(s);
  B inexact = bools(e != 0.0) & bools(mag(s) < __builtin_inf());
  B beyond = bools((as<u64>(e) ^ u) >> 63 != 0);
  s = inexact ? as<f64>((beyond ? u - 1 : u) | 1) : s;
  V<f64> factor = bools(exponent(c) > 127) ? all(0x1p64) : all(0x1p-64);
  return unmask(vcc) ? to<f32>(s * factor) : fma(a, b, c);
}
// A subnormal result loses bits: the sign of the fma's error breaks ties.
static f64 round_down(f64 r, f64 rest) {
  u64 u = scalar<u64>(r), sign = u & 0x8000000000000000ul;
  i64 e = (i64)(u >> 52 & 2047) - 128;
  if (e > 0) return r * 0x1p-128;
  u64 m = (u & 0xffffffffffffful) | 0x10000000000000ul;
  u64 drop = 1 - e;
  if (drop > 54) return scalar<f64>(sign);
  u64 kept = m >> drop, lost = m & ((1ul << drop) - 1), half = 1ul << (drop - 1);
  i32 more = rest == 0 ? 0 : ((rest < 0) == (r < 0) ? 1 : -1);
  if (lost > half || (lost == half && (more > 0 || (more == 0 && (kept & 1))))) kept++;
  return scalar<f64>(sign | kept);
}
V<f64> div_fmas_f64(In<f64> a, In<f64> b, In<f64> c, Mask vcc) {
  V<f64> r = fma(a, b, c), rest = fma(a, b, c - r), out = r;
  for (Mask m = vcc; m; m &= m - 1) {
    u32 i = first(m);
    if (exponent(c)[i] > 1023) out[i] = r[i] * 0x1p128;
    else out[i] = exponent(r)[i] == 0 || exponent(r)[i] == 2047 ? r[i] * 0x1p-128 : round_down(r[i], rest[i]);
  }
  return out;
}
template <class T> static V<T> fixup(V<T> q, V<T> den, V<T> num) {
  typedef typename Float<T>::U U;
  constexpr U TOP = (U)1 << (8 * sizeof(T) - 1), INF = (U)Float<T>::E << Float<T>::P, QUIET = (U)1 << (Float<T>::P - 1);
  V<U> sign = (as<U>(den) ^ as<U>(num)) & TOP;
  V<T> ad = mag(den), an = mag(num), inf = as<T>(all<U>(INF));
  B dz = bools(den == (T)0), nz = bools(num == (T)0), di = bools(ad == inf), ni = bools(an == inf);
  V<U> r = sign | as<U>(mag(q));
  if constexpr (sizeof(T) > 2) {
    V<i32> apart = exponent(num) - exponent(den);
    r = bools(apart < Div<T>::UNDER) ? sign : r;
    r = bools(apart > Div<T>::OVER) ? sign | INF : r; // scaling may have turned the quotient into inf - inf
  }
  r = (di | nz) ? sign : r;
  r = (dz | ni) ? sign | INF : r;
  r = ((dz & nz) | (di & ni)) ? all<U>(TOP | INF | QUIET) : r;
  r = bools(den != den) ? as<U>(den) | QUIET : r;
  r = bools(num != num) ? as<U>(num) | QUIET : r;
  return as<T>(r);
}
V<f16> div_fixup_f16(In<f16> q, In<f16> den, In<f16> num) { return fixup(q, den, num); }
V<f32> div_fixup_f32(In<f32> q, In<f32> den, In<f32> num) { return fixup(q, den, num); }
V<f64> div_fixup_f64(In<f64> q, In<f64> den, In<f64> num) { return fixup(q, den, num); }

// --- 2 / pi to 1201 bits, for large arguments of sin and cos (ISA, V_TRIG_PREOP_F64) ---
static const u32 TWO_OVER_PI[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b0000,
};
V<f64> trig_preop(In<f64> x, In<u32> part) {
  V<f64> r;
  V<i32> ex = exponent(x);
  for (int i = 0; i < LANES; i++) {
    i32 e = ex[i], shift = (part[i] & 31) * 53 + (e > 1077 ? e - 1077 : 0);
    u64 bits = 0;
    for (int k = 0; k < 53; k++) {
      i32 at = shift + k;
      bits = bits << 1 | (at < 1201 ? TWO_OVER_PI[at / 32] >> (31 - at % 32) & 1 : 0);
    }
    r[i] = (f64)bits;
    ex[i] = -53 - shift + (e >= 1968 ? 128 : 0);
  }
  return scale(r, ex);
}
