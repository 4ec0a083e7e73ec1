// The longer functions of generated kernels, the slow path of memory accesses, and the launch loop.
// Nothing here calls the C library, and every rounding is written out: results are the same on every machine.
#include "lanes.h"

// The compiler may turn loops into calls of these two.
RUNTIME void *memset(void *to, int value, u64 n) {
  typedef volatile u64 __attribute__((aligned(1))) Word;
  volatile u8 *p = (volatile u8 *)to;
  for (; n >= 8; n -= 8, p += 8) *(Word *)p = 0x0101010101010101ul * (u8)value;
  while (n--) *p++ = value;
  return to;
}
RUNTIME void *memcpy(void *__restrict to, const void *__restrict from, u64 n) {
  volatile u8 *p = (volatile u8 *)to;
  for (const u8 *q = (const u8 *)from; n--;) *p++ = *q++;
  return to;
}

// --- transcendental instructions: division and root are correctly rounded; the others are computed in double, so the
// rounding to the result is correct up to about 1e-7 ULP ---
// f32 forms treat subnormal inputs and results as zero (RDNA3 ISA, "denormals are flushed").
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
template <class T> static V<T> sine(V<T> x, f64 ahead) {
  V<T> r;
  if constexpr (sizeof(T) == 2) r = half_of(sin_turns(turns(x, ahead)));
  else r = to<T>(sin_turns(turns(x, ahead)));
  return sel((class_bits(x) & 0x207u) != 0, as<T>(to<typename Float<T>::U>(all<u64>(sizeof(T) == 2 ? 0x7e00 : 0x7fc00000))), r);
}
template <class T> static V<f64> log_of(V<T> x) {
  V<f64> d = to<f64>(x), r = log2(d);
  r = sel(d == 0.0, all(-__builtin_inf()), r);
  r = sel(d == __builtin_inf(), d, r);
  return sel(d >= 0.0, r, all(__builtin_nan("")));
}
V<f32> rcp_f32(In<f32> x) { return flushed(1.0f / flushed(x)); }
V<f32> sqrt_f32(In<f32> x) { return __builtin_elementwise_sqrt(flushed(x)); }
V<f32> rsq_f32(In<f32> x) { return to<f32>(1.0 / root(to<f64>(flushed(x)))); }
V<f32> exp_f32(In<f32> x) { // x - k is exact, and a result in the normal range is rounded before it is scaled
  V<f32> k = even(x), y = to<f32>(exp2(to<f64>(x - k)));
  y = as<f32>(as<u32>(y) + (as<u32>(to<i32>(k)) << 23));
  y = sel(x < 128.0f, y, all(__builtin_inff()));
  return sel(x >= -126.0f, y, sel(x < -126.0f, all(0.0f), x + x));
}
V<f32> log_f32(In<f32> x) { return to<f32>(log_of(flushed(x))); }
V<f32> sin_f32(In<f32> x) { return sine(flushed(x), 0.0); }
V<f32> cos_f32(In<f32> x) { return sine(flushed(x), 0.25); }
V<f16> rcp_f16(In<f16> x) { return half_of(1.0 / to<f64>(x)); }
V<f16> sqrt_f16(In<f16> x) { return half_of(root(to<f64>(x))); }
V<f16> rsq_f16(In<f16> x) { return half_of(1.0 / root(to<f64>(x))); }
V<f16> exp_f16(In<f16> x) {
  V<f32> w = to<f32>(x), z = sel(w < 64.0f, sel(w > -64.0f, w, all(-64.0f)), sel(w == w, all(64.0f), w));
  V<f32> k = even(z);
  return half_of(exp2(to<f64>(z - k)) * as<f64>(to<u64>(to<i32>(sel(z == z, k, all(0.0f))) + 1023) << 52));
}
V<f16> log_f16(In<f16> x) { return half_of(log_of(x)); }
V<f16> sin_f16(In<f16> x) { return sine(x, 0.0); }
V<f16> cos_f16(In<f16> x) { return sine(x, 0.25); }
V<f64> rcp_f64(In<f64> x) { return 1.0 / x; }
V<f64> sqrt_f64(In<f64> x) { return root(x); }
V<f64> rsq_f64(In<f64> x) { return 1.0 / root(x); }

// --- exponents and mantissas ---
template <class T> static V<T> scale(V<T> x, V<i32> n) { // x * 2^n, rounded once
  if constexpr (sizeof(T) == 8) {
    // One rounding: the last factor alone may leave the normal range.
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
    if constexpr (sizeof(T) == 4) // the factor is a normal f32 nearly always
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
// x = m * 2^e with 0.5 <= |m| < 1; zero, infinity and NaN give themselves and e = 0.
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
template <> struct Div<f32> { static constexpr int FAR = 96, UP = 64, TINY = 23, UNDER = -150, OVER = 128; };
template <> struct Div<f64> { static constexpr int FAR = 768, UP = 128, TINY = 53, UNDER = -1075, OVER = 1024; };
template <class T> static V<T> div_scale(V<T> x, V<T> den, V<T> num, B &scaled) {
  typedef typename Float<T>::U U;
  auto tiny = [](V<T> v) { return bools(exponent(v) == 0) & bools(v != (T)0); };
  V<i32> apart = exponent(num) - exponent(den);
  B is_den = bools(as<U>(x) == as<U>(den)), is_num = bools(as<U>(x) == as<U>(num));
  B rcp_tiny = tiny((T)1 / den), q_tiny = tiny(num / den);
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
  rule(tiny(den), no, yes, up);
  rule(rcp_tiny & q_tiny, yes, is_den, down); // the manual says up, which overflows where 1/den is subnormal
  rule(rcp_tiny, no, yes, down);
  rule(q_tiny, yes, is_num, up);
  rule(bools(exponent(num) <= Div<T>::TINY), no, yes, up);
  return r;
}
#define DIV_SCALE(T) \
  V<T> div_scale_##T(In<T> x, In<T> den, In<T> num) { B s; return div_scale(x, den, num, s); } \
  Mask div_scaled_##T(In<T> x, In<T> den, In<T> num) { B s; div_scale(x, den, num, s); return mask(s); }
DIV_SCALE(f32) DIV_SCALE(f64)

// a * b + c times 2^64 or 2^-64 (f64: 128), rounded once: the exact sum is rounded to odd in double first.
V<f32> div_fmas_f32(In<f32> a, In<f32> b, In<f32> c, Mask vcc) {
  V<f64> p = to<f64>(a) * to<f64>(b), q = to<f64>(c), s = p + q, t = s - p, e = (p - (s - t)) + (q - t);
  V<u64> u = as<u64>(s);
  B inexact = bools(e != 0.0) & bools(mag(s) < __builtin_inf());
  B beyond = bools((as<u64>(e) ^ u) >> 63 != 0);
  s = inexact ? as<f64>((beyond ? u - 1 : u) | 1) : s;
  V<f64> factor = bools(exponent(c) > 127) ? all(0x1p64) : all(0x1p-64);
  return unmask(vcc) ? to<f32>(s * factor) : fma(a, b, c);
}
// A result below the normal range loses bits: decide the tie with the sign of what the fma left over.
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
    r = bools(apart > Div<T>::OVER) ? sign | INF : r; // the scaled quotient may be inf - inf by now
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

// --- 2 / pi to 1201 bits, for arguments of sin and cos that are far out: ISA, V_TRIG_PREOP_F64 ---
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

// --- memory, one lane at a time; the first faulty lane is reported ---
static bool postponed(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction);
static u32 report(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) {
  c->fault = kind, c->address = at, c->bytes = bytes, c->lane = lane, c->instruction = instruction;
  return 1;
}
static u32 fault(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) { // 0: go on nevertheless
  return postponed(c, kind, at, bytes, lane, instruction) ? 0 : report(c, kind, at, bytes, lane, instruction);
}
static u32 refused(Context *c, u64 at, u32 bytes, u32 state) { // NONE, or why these bytes cannot be accessed
  u32 outside = state == READABLE ? READ_OUTSIDE : WRITE_OUTSIDE;
  u64 offset = at - c->base;
  if (offset >= c->size || c->size - offset < bytes) return outside;
  if (!c->checked) return NONE;
  const u8 *s = c->shadow + offset;
  u32 every = 3, any = 0;
  for (u32 i = 0; i < bytes; i++) every &= s[i], any |= !s[i];
  if (every & state) return NONE;
  return state == READABLE && !any ? READ_UNWRITTEN : outside;
}
template <u32 N> static inline void copy(u8 *to, const u8 *from) { __builtin_memcpy_inline(to, from, N); }
static inline void copy_some(u8 *to, const u8 *from, u32 n) {
  switch (n) {
  case 1: return copy<1>(to, from);
  case 2: return copy<2>(to, from);
  case 4: return copy<4>(to, from);
  case 8: return copy<8>(to, from);
  case 12: return copy<12>(to, from);
  default: return copy<16>(to, from);
  }
}
// --- tracing: which wavefront last wrote a byte, and which two last read it ---
struct Access {
  u32 who;         // ordinal of the wavefront, 0 if there is none
  u16 epoch;       // barriers its workgroup had passed
  u16 instruction; // ATOMIC if it was one
};
constexpr u16 ATOMIC = 0x8000;
struct Trace {
  Access write, read[2];
};
struct Wave {
  void *stack;
  Mask start, missed; // lanes it began with; those of them that a barrier was executed without
  u32 ordinal, epoch, instruction, done, busy, synchronised;
};
struct Group {
  Wave wave[32];
  void *main;
  u32 waves, current;
  u32 earlier; // ordinal of the last wavefront of the launch before
  struct {
    u64 at;
    u32 bytes, lane, instruction;
  } unwritten; // the first read of LDS that nothing wrote, if bytes is not 0
};
// Whether nothing wrote a place in LDS, or a wavefront that has not run yet will (a race), shows at the next barrier.
static bool postponed(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) {
  if (kind != READ_UNWRITTEN || at < c->lds || !c->trace || c->running->waves == 1) return false;
  if (!c->running->unwritten.bytes) c->running->unwritten = {at, bytes, lane, instruction};
  return true;
}
static u32 settle(Context *c) {
  auto u = c->running->unwritten;
  c->running->unwritten.bytes = 0;
  return u.bytes ? report(c, READ_UNWRITTEN, u.at, u.bytes, u.lane, u.instruction) : NONE;
}
// Two accesses conflict if they are of different wavefronts, nothing orders them, and one writes. Barriers order those
// of a workgroup; an atomic that returns a value orders what follows it in the wavefront (a flag, a ticket).
static bool conflict(const Group *g, const Wave &w, const Access &before, bool atomic, bool in_lds) {
  if (before.who <= g->earlier || before.who == w.ordinal || (atomic && before.instruction & ATOMIC) || w.synchronised) return false;
  bool same_group = before.who - g->wave[0].ordinal < g->waves;
  return same_group ? before.epoch == w.epoch : !in_lds;
}
static u32 trace_one(Context *c, u64 at, u32 bytes, u32 lane, u32 instruction, bool writes, bool atomic, bool same) {
  Group *g = c->running;
  Wave &w = g->wave[g->current];
  bool in_lds = at >= c->lds;
  if (!in_lds && at - c->base >= c->trace_bytes) return 0;
  Trace *t = in_lds ? c->lds_trace + (at - c->lds) : c->trace + (at - c->base);
  Access now = {w.ordinal, (u16)w.epoch, (u16)((instruction < ATOMIC ? instruction : ATOMIC - 1) | (atomic ? ATOMIC : 0))};
  for (u32 k = 0; k < bytes; k++, t++) {
    const Access *other = nullptr;
    if (conflict(g, w, t->write, atomic, in_lds) && !(same && writes)) other = &t->write;
    if (writes)
      for (const Access &r : t->read)
        if (conflict(g, w, r, atomic, in_lds)) other = &r;
    if (other) {
      c->other = other->instruction & ~ATOMIC;
      return fault(c, RACE, at, bytes, lane, instruction);
    }
    if (writes) t->write = now;
    else if (t->read[0].who != now.who) t->read[1] = t->read[0], t->read[0] = now;
    else t->read[0] = now;
  }
  return 0;
}
static u32 trace(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes, u32 instruction, bool writes, Mask same) {
  Wave &w = c->running->wave[c->running->current];
  w.busy = 1;
  if (exec & w.missed) return fault(c, DIVERGENT_BARRIER, 0, 0, first(exec & w.missed), w.instruction);
  for (Mask m = exec; m; m &= m - 1) {
    u32 i = first(m);
    u64 at = base + pair(lo[i], hi[i]);
    if (at - c->scratch < c->lds - c->scratch) continue;
    if (trace_one(c, at, bytes, i, instruction, writes, false, same >> i & 1)) return 1;
  }
  return 0;
}
u8 *atomic_at(Context *c, u64 at, u32 bytes, u32 lane, u32 instruction) {
  u32 why = refused(c, at, bytes, READABLE);
  if (!why) why = refused(c, at, bytes, WRITABLE);
  if (why && fault(c, why, at, bytes, lane, instruction)) return nullptr;
  if (c->trace) {
    Wave &w = c->running->wave[c->running->current];
    w.busy = 1;
    if (w.missed >> lane & 1) return fault(c, DIVERGENT_BARRIER, 0, 0, lane, w.instruction), nullptr;
    if (trace_one(c, at, bytes, lane, instruction, true, true, false)) return nullptr;
    if (at < c->lds) w.synchronised = 1;
  }
  return c->data + (at - c->base);
}
static u32 gather_untraced(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes, u32 instruction, V<u32> *out) {
  V<u64> at = base + join(lo, hi);
  u32 n = bytes < 4 ? 1 : bytes / 4;
  u32 *flat = (u32 *)out;
  for (Mask m = exec; m; m &= m - 1) {
    u32 i = first(m), w[4] = {};
    if (u32 why = refused(c, at[i], bytes, READABLE))
      if (fault(c, why, at[i], bytes, i, instruction)) return 1;
    copy_some((u8 *)w, c->data + (at[i] - c->base), bytes);
    for (u32 k = 0; k < n; k++) flat[k * LANES + i] = w[k];
  }
  return 0;
}
u32 gather(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes, u32 instruction, V<u32> *out) {
  return gather_untraced(c, exec, base, lo, hi, bytes, instruction, out) ||
         (c->trace && trace(c, exec, base, lo, hi, bytes, instruction, false, 0));
}
u32 scatter(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes, u32 instruction, const V<u32> *in) {
  V<u64> at = base + join(lo, hi);
  u32 n = bytes < 4 ? 1 : bytes / 4;
  const u32 *flat = (const u32 *)in;
  for (Mask m = exec; m; m &= m - 1) {
    u32 i = first(m), w[4] = {};
    if (u32 why = refused(c, at[i], bytes, WRITABLE)) return fault(c, why, at[i], bytes, i, instruction);
    if (c->trace && trace(c, (Mask)1 << i, base, lo, hi, bytes, instruction, true, 0)) return 1;
    for (u32 k = 0; k < n; k++) w[k] = flat[k * LANES + i];
    copy_some(c->data + (at[i] - c->base), (u8 *)w, bytes);
    for (u32 k = 0; k < bytes; k++) c->shadow[at[i] - c->base + k] = WRITABLE | READABLE;
  }
  return 0;
}
template <int BYTES> using Block = u64 __attribute__((ext_vector_type(BYTES / 8)));
// Device addresses are element-aligned only. Copies, because clang drops aligned(1) from a template's vector type.
template <class X> INLINE X peek(const u8 *at) {
  X x;
  __builtin_memcpy_inline(&x, at, sizeof(X));
  return x;
}
template <class X> INLINE void poke(u8 *at, X x) { __builtin_memcpy_inline(at, &x, sizeof(X)); }
template <int BYTES> INLINE bool none_set(Block<BYTES> x) {
  typedef bool M __attribute__((ext_vector_type(BYTES / 8)));
  M any = __builtin_convertvector(x != 0, M);
  if constexpr (BYTES == 512) return __builtin_bit_cast(u64, any) == 0;
  else if constexpr (BYTES == 256) return __builtin_bit_cast(u32, any) == 0;
  else if constexpr (BYTES == 128) return __builtin_bit_cast(u16, any) == 0;
  else if constexpr (BYTES == 64) return __builtin_bit_cast(u8, any) == 0;
  else return __builtin_reduce_or(x) == 0;
}
template <int WORDS> static inline u32 load_words(Context *c, u64 at, u32 instruction, u32 *out) {
  u64 offset = at - c->base;
  u32 every = offset <= c->size - 4 * WORDS ? ~0u : 0;
  if (c->checked && every)
    for (int k = 0; k < WORDS; k++) every &= peek<u32>(c->shadow + offset + 4 * k);
  if ((every & 0x02020202u) != 0x02020202u)
    if (u32 why = refused(c, at, 4 * WORDS, READABLE)) return fault(c, why, at, 4 * WORDS, ~0u, instruction);
  if (c->trace && trace_one(c, at, 4 * WORDS, ~0u, instruction, false, false, false)) return 1;
  copy<4 * WORDS>((u8 *)out, c->data + offset);
  return 0;
}
u32 scalar_load_checked(Context *c, u64 at, u32 words, u32 instruction, u32 *out) {
  switch (words) {
  case 1: return load_words<1>(c, at, instruction, out);
  case 2: return load_words<2>(c, at, instruction, out);
  case 4: return load_words<4>(c, at, instruction, out);
  case 8: return load_words<8>(c, at, instruction, out);
  default: return load_words<16>(c, at, instruction, out);
  }
}

constexpr u64 EACH_BYTE = 0x0101010101010101ul;
// Indexed by a variable a vector is slow, an array is not.
template <class T> struct Lanes {
  T lane[LANES];
  Lanes() = default;
  Lanes(V<T> x) { poke((u8 *)lane, x); }
  T &operator[](u32 i) { return lane[i]; }
  T operator[](u32 i) const { return lane[i]; }
  V<T> vector() const { return peek<V<T>>((const u8 *)lane); }
};
// Lanes whose addresses follow each other, all inside the arena and all in the wanted state: one vector access.
template <class T, int STATE> INLINE bool block_at(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u64 &offset) {
  constexpr int N = sizeof(T) * LANES;
  offset = base + pair(lo[0], hi[0]) - c->base;
  if (exec != ALL | offset > c->size - N | lo[0] > 0u - N) return false;
  if (mask(bools(((lo - lo[0]) ^ (IOTA * (u32)sizeof(T)) | (hi ^ hi[0])) == 0)) != ALL) return false;
  if (!c->checked) return true;
  return none_set<N>((peek<Block<N>>(c->shadow + offset) & EACH_BYTE * STATE) ^ EACH_BYTE * STATE);
}
// Lanes at any addresses: whether all that are live may be accessed. Offsets of the others become 0.
template <class T, int STATE> INLINE bool lanes_at(Context *c, Mask exec, V<u64> &offset) {
  offset = sel(unmask(exec), offset, all<u64>(0));
  if (mask(bools(offset > c->size - sizeof(T)))) return false;
  if (!c->checked) return true;
  const Lanes<u64> each(offset);
  Lanes<T> state;
  for (int i = 0; i < LANES; i++) state[i] = peek<T>(c->shadow + each[i]);
  return !(mask(bools((state.vector() & (T)(EACH_BYTE * STATE)) != (T)(EACH_BYTE * STATE))) & exec);
}
template <class T>
static inline u32 load(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, V<T> *out) {
  u64 offset;
  if (c->trace) {
    V<u32> words[2];
    if (gather(c, exec, base, lo, hi, sizeof(T), instruction, words)) return 1;
    if constexpr (sizeof(T) == 8) *out = join(words[0], words[1]);
    else *out = to<T>(words[0]);
    return 0;
  }
  if (block_at<T, READABLE>(c, exec, base, lo, hi, offset)) {
    *out = peek<V<T>>(c->data + offset);
    return 0;
  }
  V<u64> each = base - c->base + join(lo, hi);
  if (!lanes_at<T, READABLE>(c, exec, each)) {
    V<u32> words[2];
    if (gather_untraced(c, exec, base, lo, hi, sizeof(T), instruction, words)) return 1;
  }
  const Lanes<u64> at(each);
  for (int i = 0; i < LANES; i++) ((T *)out)[i] = peek<T>(c->data + at[i]);
  return 0;
}
template <class T>
static u32 store_traced(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, In<T> x) {
  const Lanes<T> value(x);
  Mask same = 0; // lanes that write what is there already: no matter who is first
  for (Mask m = exec; m; m &= m - 1) {
    u32 i = first(m);
    u64 at = base + pair(lo[i], hi[i]), offset = at - c->base;
    if (u32 why = refused(c, at, sizeof(T), WRITABLE)) return fault(c, why, at, sizeof(T), i, instruction);
    if (peek<T>(c->data + offset) == value[i]) same |= (Mask)1 << i;
  }
  if (trace(c, exec, base, lo, hi, sizeof(T), instruction, true, same)) return 1;
  for (Mask m = exec; m; m &= m - 1) {
    u32 i = first(m);
    u64 offset = base + pair(lo[i], hi[i]) - c->base;
    poke(c->data + offset, value[i]);
    poke(c->shadow + offset, (T)(3 * EACH_BYTE));
  }
  return 0;
}
template <class T>
static inline u32 store(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, In<T> x) {
  constexpr int N = sizeof(T) * LANES;
  u64 offset;
  if (c->trace) return store_traced<T>(c, exec, base, lo, hi, instruction, x);
  if (block_at<T, WRITABLE>(c, exec, base, lo, hi, offset)) {
    poke(c->data + offset, x);
    if (c->checked) poke(c->shadow + offset, Block<N>(3 * EACH_BYTE));
    return 0;
  }
  V<u64> each = base - c->base + join(lo, hi);
  if (lanes_at<T, WRITABLE>(c, exec, each)) {
    const Lanes<u64> at(each);
    const Lanes<T> value(x);
    for (Mask m = exec; m; m &= m - 1) {
      u32 i = first(m);
      poke(c->data + at[i], value[i]);
      if (c->checked) poke(c->shadow + at[i], (T)(3 * EACH_BYTE));
    }
    return 0;
  }
  V<u32> words[2];
  if constexpr (sizeof(T) == 8) words[0] = lo32(x), words[1] = hi32(x);
  else words[0] = to<u32>(x);
  return scatter(c, exec, base, lo, hi, sizeof(T), instruction, words);
}
#undef ACCESS
#define ACCESS(T) \
  u32 load_##T(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, V<T> *out) { \
    return load<T>(c, exec, base, lo, hi, instruction, out); \
  } \
  u32 store_##T(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, In<T> x) { \
    return store<T>(c, exec, base, lo, hi, instruction, x); \
  }
ACCESS(u8) ACCESS(u16) ACCESS(u32) ACCESS(u64)

// --- exchanges between lanes ---
static void crosses(Context *c, Mask exec, V<u32> from, u32 instruction) {
  if (LANES > 32 && !c->crossed && mask(bools(((from ^ IOTA) & 32) != 0)) & exec) c->crossed = instruction + 1;
}
V<u32> bpermute(Context *c, Mask exec, u32 instruction, In<u32> at, In<u32> x) {
  V<u32> from = at >> 2 & (LANES - 1), r;
  crosses(c, exec, from, instruction);
  const Lanes<u32> value(sel(unmask(exec), x, all(0u))), lane(from);
  Lanes<u32> out;
  // On generations 10 and up a wavefront of 64 exchanges within its halves only.
  for (u32 i = 0; i < LANES; i++) out[i] = value[lane[i]];
  return out.vector();
}
V<u32> permute(Context *c, Mask exec, u32 instruction, In<u32> at, In<u32> x) {
  V<u32> to = at >> 2 & (LANES - 1);
  crosses(c, exec, to, instruction);
  const Lanes<u32> value(x), lane(to);
  Lanes<u32> out(all(0u));
  for (Mask m = exec; m; m &= m - 1) out[lane[first(m)]] = value[first(m)];
  return out.vector();
}
V<u32> swizzle(In<u32> x, Mask exec, u32 pattern) {
  const Lanes<u32> value(sel(unmask(exec), x, all(0u)));
  Lanes<u32> out;
  for (u32 i = 0; i < LANES; i++) {
    u32 from;
    if ((pattern & 0xff00) == 0x8000) from = (i & ~3u) | (pattern >> 2 * (i & 3) & 3);
    else from = (i & ~31u) | (((i & 31 & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
    out[i] = value[from];
  }
  return out.vector();
}

// --- workgroups: wavefronts take turns; each has a stack of its own, and a barrier goes on with the next ---
constexpr u64 STACK = 1 << 20;
RUNTIME void parity_switch(void **from, void *to);
#if defined(__x86_64__)
asm(R"(
.text
.hidden parity_switch
.globl parity_switch
parity_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
constexpr int SAVED = 6, RETURN = 6; // words of a saved frame; the one that holds the return address
#else
asm(R"(
.text
.hidden parity_switch
.globl parity_switch
parity_switch:
  sub sp, sp, #176
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #176
  ret
)");
constexpr int SAVED = 22, RETURN = 11;
#endif
typedef u32 Kernel(Context *, Mask exec, const V<u32> *ids, u32 wave);
struct Job {
  Context *c;
  Kernel *kernel;
  const u32 *block;
};
static u32 run_wave(const Job &job, u32 number) {
  const u32 *block = job.block, threads = block[0] * block[1] * block[2], begin = number * LANES, left = threads - begin;
  V<u32> ids[3] = {begin + IOTA, all(0u), all(0u)};
  if (threads != block[0]) {
    V<u32> row = ids[0] / block[0];
    ids[0] %= block[0], ids[1] = row % block[1], ids[2] = row / block[1];
  }
  Context *c = job.c;
  Wave &w = c->running->wave[number];
  w.start = left < LANES ? ((Mask)1 << left) - 1 : ALL;
  u32 failed = job.kernel(c, w.start, ids, number);
  if (!failed && c->budget < 0) c->fault = TIMEOUT;
  w.done = 1;
  return c->fault;
}
static const Job *starting; // what a new stack begins with
static void enter() {
  const Job job = *starting;
  Group *g = job.c->running;
  run_wave(job, g->current);
  parity_switch(&g->wave[g->current].stack, g->main);
  __builtin_unreachable();
}
u32 bad_call(Context *c, u32 instruction) { return fault(c, BAD_CALL, 0, 0, ~0u, instruction); }
u32 barrier(Context *c, Mask exec, u32 instruction) {
  Group *g = c->running;
  Wave &w = g->wave[g->current];
  if (exec & w.missed) return fault(c, DIVERGENT_BARRIER, 0, 0, first(exec & w.missed), w.instruction);
  w.missed |= w.start & ~exec;
  w.instruction = instruction;
  w.epoch++, w.busy = 0;
  if (g->waves > 1) parity_switch(&w.stack, g->main);
  return c->fault;
}
static u32 draw(u32 &state, u32 n) { // xorshift32 (Marsaglia 2003)
  state ^= state << 13, state ^= state >> 17, state ^= state << 5;
  return state % n;
}
static void shuffle(u32 *order, u32 n, u32 &state) {
  for (u32 i = 0; i < n; i++) order[i] = i;
  for (u32 i = n; state && i > 1; i--) {
    u32 j = draw(state, i), t = order[i - 1];
    order[i - 1] = order[j], order[j] = t;
  }
}
static u32 run_group(const Job &job, bool barriers, u32 &random) {
  Context *c = job.c;
  Group &g = *c->running;
  u32 order[32], alive = g.waves;
  for (u32 i = 0; i < g.waves; i++) g.wave[i] = {}, g.wave[i].ordinal = ++c->ordinal;
  if (!barriers || g.waves == 1) {
    shuffle(order, g.waves, random);
    for (u32 i = 0; i < g.waves; i++)
      if (g.current = order[i], run_wave(job, order[i])) return c->fault;
    return settle(c);
  }
  for (u32 i = 0; i < g.waves; i++) {
    void **top = (void **)(c->stacks + (i + 1) * STACK - 64) - SAVED;
    for (int k = 0; k < SAVED; k++) top[k] = nullptr;
    top[RETURN] = (void *)enter;
    g.wave[i].stack = top;
  }
  for (u32 round = 1; alive; round++) {
    shuffle(order, g.waves, random);
    u32 waiting = ~0u;
    for (u32 i = 0; i < g.waves; i++) {
      Wave &w = g.wave[order[i]];
      if (w.done) continue;
      g.current = order[i], starting = &job;
      parity_switch(&g.main, w.stack);
      if (c->fault) return c->fault;
      if (w.done) alive--;
      else waiting = order[i];
    }
    if (settle(c)) return c->fault;
    if (waiting == ~0u) break;
    // A wavefront that ended early is not waited for; one that went on working without the others is a fault.
    for (u32 i = 0; i < g.waves; i++)
      if (g.wave[i].done && g.wave[i].busy && g.wave[i].epoch < round)
        return fault(c, DIVERGENT_BARRIER, 0, 0, i * LANES | 1u << 31, g.wave[waiting].instruction);
  }
  return NONE;
}

// --- launch: workgroups one after the other; returns the fault or NONE ---
static u32 coprime_step(u32 &random, u32 n) {
  for (u32 step = 1 + draw(random, n);; step = step % n + 1) {
    u32 a = step, b = n;
    while (b) { u32 t = a % b; a = b, b = t; }
    if (a == 1) return step;
  }
}
EXPORTED u32 launch(Context *c, Kernel *kernel, const u32 *grid, const u32 *block, u32 barriers) {
  const Job job = {c, kernel, block};
  Group group;
  group.waves = (block[0] * block[1] * block[2] + LANES - 1) / LANES;
  group.earlier = c->ordinal, group.unwritten.bytes = 0;
  c->running = &group, c->fault = NONE, c->crossed = 0;
  u64 groups = (u64)grid[0] * grid[1] * grid[2], span = group.waves * LANES * (u64)c->scratch_stride;
  u32 random = c->seed, step = 1, begin = 0;
  if (random && groups > 1 && groups < 1u << 31) step = coprime_step(random, groups), begin = draw(random, groups);
  for (u64 i = 0; i < groups; i++) {
    u64 at = (begin + i * step) % groups;
    c->group[0] = at % grid[0], c->group[1] = at / grid[0] % grid[1], c->group[2] = at / grid[0] / grid[1];
    // LDS and scratch memory are fresh for every workgroup.
    memset(c->shadow + (c->lds - c->base), WRITABLE, c->lds_bytes);
    for (u64 k = 0; k < span; k += c->scratch_stride)
      memset(c->shadow + (c->scratch - c->base + k), WRITABLE, c->scratch_bytes);
    if (run_group(job, barriers, random)) return c->fault;
  }
  return NONE;
}
