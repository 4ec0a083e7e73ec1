// The vocabulary of generated kernels: a register of a wavefront is a vector of LANES (32 or 64) lanes.
// An expression of the instruction tables has the same form for a lane vector and for a scalar.
#pragma once
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;

template <class T> using V = T __attribute__((ext_vector_type(LANES)));
typedef bool B __attribute__((ext_vector_type(LANES)));

#define EIGHT(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
#if LANES == 64
typedef u64 Mask; // one bit per lane
static const V<u32> IOTA = {EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)};
#else
typedef u32 Mask;
static const V<u32> IOTA = {EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24)};
#endif
constexpr Mask ALL = ~(Mask)0;

#define INLINE static inline __attribute__((always_inline))
#define EXPORTED extern "C" __attribute__((visibility("default")))
#define RUNTIME EXPORTED // called by compiled kernels, which are in other libraries

// --- lane masks, bits, broadcasts ---
INLINE B unmask(Mask m) { return __builtin_bit_cast(B, m); }
INLINE Mask mask(B b) { return __builtin_bit_cast(Mask, b); }
INLINE u32 first(Mask m) { return m ? __builtin_ctzl(m) : 0; } // lane of the lowest bit; 0 for an empty mask
INLINE u32 last(Mask m) { return m ? 63 - __builtin_clzl(m) : 0; } // lane of the highest bit
INLINE B bools(B b) { return b; }
template <class M> INLINE B bools(M m) { return __builtin_convertvector(m, B); }
INLINE V<u32> bit(B b) { return b ? V<u32>(1) : V<u32>(0); }
template <class T, class S> INLINE V<T> as(S x) { return __builtin_bit_cast(V<T>, x); }
template <class T, class S> INLINE T scalar(S x) { return __builtin_bit_cast(T, x); }
template <class T> INLINE V<T> to(T x) { return V<T>(x); }
template <class T, class S> INLINE V<T> to(S x) { return __builtin_convertvector(x, V<T>); }
template <class T> INLINE V<T> all(T x) { return V<T>(x); }
INLINE V<u64> join(V<u32> lo, V<u32> hi) { return to<u64>(lo) | to<u64>(hi) << 32; }
INLINE u64 pair(u32 lo, u32 hi) { return lo | (u64)hi << 32; }
INLINE V<u32> lo32(V<u64> x) { return to<u32>(x); }
INLINE V<u32> hi32(V<u64> x) { return to<u32>(x >> 32); }
INLINE V<u16> lo16(V<u32> x) { return to<u16>(x); }
INLINE V<u16> hi16(V<u32> x) { return to<u16>(x >> 16); }
INLINE V<u32> put_lo(V<u32> old, V<u16> x) { return (old & 0xffff0000u) | to<u32>(x); }
INLINE V<u32> put_hi(V<u32> old, V<u16> x) { return (old & 0xffffu) | to<u32>(x) << 16; }
template <class T> INLINE V<T> sel(B m, V<T> x, V<T> y) { return m ? x : y; }
template <class M, class T> INLINE V<T> sel(M m, V<T> x, V<T> y) { return bools(m) ? x : y; }

template <class T> INLINE V<T> routed(B valid, V<T> x) { return sel(valid, x, all<T>(0)); } // a source of DPP

// --- source modifiers: they change only the sign bit, so NaNs pass through ---
INLINE V<f32> neg(V<f32> x) { return as<f32>(as<u32>(x) ^ 0x80000000u); }
INLINE V<f64> neg(V<f64> x) { return as<f64>(as<u64>(x) ^ 0x8000000000000000ul); }
INLINE V<f16> neg(V<f16> x) { return as<f16>(as<u16>(x) ^ (u16)0x8000); }
INLINE V<f32> mag(V<f32> x) { return as<f32>(as<u32>(x) & 0x7fffffffu); }
INLINE V<f64> mag(V<f64> x) { return as<f64>(as<u64>(x) & 0x7ffffffffffffffful); }
INLINE V<f16> mag(V<f16> x) { return as<f16>(as<u16>(x) & (u16)0x7fff); }
template <class T> INLINE V<T> clamp01(V<T> x) { return sel(x > (T)0, sel(x < (T)1, x, all<T>(1)), all<T>(0)); }

// --- narrowing and rounding ---
// Rounds to odd, so that a second rounding to f16 (11 bits) gives the result of one rounding.
INLINE V<f32> to_odd(V<f64> x) {
  V<f32> near = to<f32>(x);
  V<f64> back = to<f64>(near);
  V<u32> r = as<u32>(near);
  B beyond = bools(mag(back) > mag(x));
  V<u32> odd = (beyond ? r - 1 : r) | 1;
  return as<f32>((bools(back != x) & bools(x == x)) ? odd : r);
}
INLINE V<f16> half_of(V<f64> x) { return to<f16>(to_odd(x)); }
// MODE.FP16_OVFL: an infinite result of finite sources becomes the largest finite number.
template <class T> INLINE B finite(V<T> x) { return bools(mag(x) < (T)__builtin_inff()); }
template <class... S> INLINE V<f16> saturated(V<f16> r, S... sources) {
  return as<f16>(sel((finite(sources) & ... & bools(mag(r) == (f16)__builtin_inff())), as<u16>(r) - (u16)1, as<u16>(r)));
}
INLINE V<f32> fma(V<f32> a, V<f32> b, V<f32> c) { return __builtin_elementwise_fma(a, b, c); }
INLINE V<f64> fma(V<f64> a, V<f64> b, V<f64> c) { return __builtin_elementwise_fma(a, b, c); }
INLINE V<f16> fma(V<f16> a, V<f16> b, V<f16> c) { return half_of(fma(to<f64>(a), to<f64>(b), to<f64>(c))); }
// Rounds twice and treats subnormal numbers as zero (Vega ISA, V_MAD_F32).
INLINE V<f32> flushed(V<f32> x) { return sel(mag(x) < 0x1p-126f, as<f32>(as<u32>(x) & 0x80000000u), x); }
INLINE V<f32> mad_f32(V<f32> a, V<f32> b, V<f32> c) { return flushed(flushed(flushed(a) * flushed(b)) + flushed(c)); }
template <class T> INLINE V<T> floor(V<T> x) { return __builtin_elementwise_floor(x); }
template <class T> INLINE V<T> ceil(V<T> x) { return __builtin_elementwise_ceil(x); }
template <class T> INLINE V<T> trunc(V<T> x) { return __builtin_elementwise_trunc(x); }
template <class T> INLINE V<T> even(V<T> x) { return __builtin_elementwise_roundeven(x); }
INLINE V<f16> floor(V<f16> x) { return to<f16>(floor(to<f32>(x))); }
INLINE V<f16> ceil(V<f16> x) { return to<f16>(ceil(to<f32>(x))); }
INLINE V<f16> trunc(V<f16> x) { return to<f16>(trunc(to<f32>(x))); }
INLINE V<f16> even(V<f16> x) { return to<f16>(even(to<f32>(x))); }
INLINE V<f32> fract(V<f32> x) { V<f32> r = x - floor(x); return sel(r >= 1.0f, all<f32>(0x1.fffffep-1f), r); }
INLINE V<f64> fract(V<f64> x) { V<f64> r = x - floor(x); return sel(r >= 1.0, all<f64>(0x1.fffffffffffffp-1), r); }
INLINE V<f16> fract(V<f16> x) { V<f16> r = x - floor(x); return sel(r >= (f16)1, all<f16>((f16)0x1.ffcp-1), r); }

template <class U> constexpr U QUIET = sizeof(U) == 2 ? 0x200 : sizeof(U) == 4 ? 0x400000 : 1ul << 51;
template <class T, class U> INLINE V<T> quiet(V<T> nan) { return as<T>(as<U>(nan) | QUIET<U>); }
template <class T, class U> INLINE B signals(V<T> x) { return bools(x != x) & bools((as<U>(x) & QUIET<U>) == 0); }
// Maximum and minimum: +0 is larger than -0, and a number wins against a quiet NaN. With WAVE_MODE.IEEE (RDNA3 ISA,
// V_MAX_F32), a signalling NaN wins and becomes quiet; max_num and min_num of generation 12 treat all NaNs alike.
template <class T, class U, bool IEEE> INLINE V<T> with_nans(V<T> a, V<T> b, V<T> r) {
  B both = bools(a != a) & bools(b != b);
  r = sel(both, quiet<T, U>(a), sel(a != a, b, sel(b != b, a, r)));
  return IEEE ? sel(signals<T, U>(a), quiet<T, U>(a), sel(signals<T, U>(b), quiet<T, U>(b), r)) : r;
}
template <class T, class U, bool IEEE> INLINE V<T> larger(V<T> a, V<T> b) {
  V<T> r = sel(a == b, as<T>(as<U>(a) & as<U>(b)), sel(a > b, a, b));
  return mask(bools(a != a) | bools(b != b)) ? with_nans<T, U, IEEE>(a, b, r) : r;
}
template <class T, class U, bool IEEE> INLINE V<T> smaller(V<T> a, V<T> b) {
  V<T> r = sel(a == b, as<T>(as<U>(a) | as<U>(b)), sel(a < b, a, b));
  return mask(bools(a != a) | bools(b != b)) ? with_nans<T, U, IEEE>(a, b, r) : r;
}
// maximum and minimum of generation 12: a NaN wins against a number, and a signalling NaN against a quiet one. The result
// is quiet.
template <class T, class U> INLINE V<T> or_nan(V<T> a, V<T> b, V<T> r) {
  B of_a = signals<T, U>(a) | (bools(a != a) & ~signals<T, U>(b));
  return sel(of_a, quiet<T, U>(a), sel(b != b, quiet<T, U>(b), r));
}
#define EXTREMES(T, U)                                                                         \
  INLINE V<T> max(V<T> a, V<T> b) { return larger<T, U, true>(a, b); }                         \
  INLINE V<T> min(V<T> a, V<T> b) { return smaller<T, U, true>(a, b); }                        \
  INLINE V<T> max_num(V<T> a, V<T> b) { return larger<T, U, false>(a, b); }                    \
  INLINE V<T> min_num(V<T> a, V<T> b) { return smaller<T, U, false>(a, b); }                   \
  INLINE V<T> maximum(V<T> a, V<T> b) { return or_nan<T, U>(a, b, larger<T, U, true>(a, b)); } \
  INLINE V<T> minimum(V<T> a, V<T> b) { return or_nan<T, U>(a, b, smaller<T, U, true>(a, b)); }
EXTREMES(f16, u16) EXTREMES(f32, u32) EXTREMES(f64, u64)
template <class T> INLINE V<T> max(V<T> a, V<T> b) { return a > b ? a : b; }
template <class T> INLINE V<T> min(V<T> a, V<T> b) { return a < b ? a : b; }
template <class T> INLINE T max(T a, T b) { return a > b ? a : b; }
template <class T> INLINE T min(T a, T b) { return a < b ? a : b; }
template <class T> INLINE T pick(bool first, T a, T b) { return first ? a : b; }
// Extracts a field: its offset is in bits 4:0 (b64: 5:0), its width in bits 22:16 (ISA, S_BFE_*).
template <class T> INLINE T bfe_scalar(T x, u32 field) {
  constexpr u32 BITS = 8 * sizeof(T);
  u32 at = field & (BITS - 1), width = field >> 16 & 127;
  if (width == 0) return 0;
  if (at + width >= BITS) return x >> at;
  u32 above = BITS - at - width;
  return (T)((T)(x << above) >> (BITS - width));
}
template <class X> INLINE X med3(X a, X b, X c) { return max(min(a, b), min(max(a, b), c)); }
// With a NaN among the sources, the result is the minimum of the three (RDNA3 ISA, V_MED3_F32).
template <class T> INLINE V<T> med3f(V<T> a, V<T> b, V<T> c) {
  V<T> top = max(max(a, b), c), r = sel(top == a, max(b, c), sel(top == b, max(a, c), max(a, b)));
  return sel(bools(a != a) | bools(b != b) | bools(c != c), min(min(a, b), c), r);
}
template <class T> INLINE V<T> med3_num(V<T> a, V<T> b, V<T> c) {
  V<T> least = min_num(min_num(a, b), c);
  return sel(bools(a != a) | bools(b != b) | bools(c != c), least, med3f(a, b, c));
}

// Converts float to integer: truncates, saturates, and maps NaN to 0.
template <class I, class T> INLINE V<I> saturate(V<T> x) {
  constexpr bool SIGNED = (I)-1 < 0;
  constexpr u64 END = 1ul << (8 * sizeof(I) - SIGNED);
  V<I> r, low = SIGNED ? (I)END : 0;
  if constexpr (sizeof(I) == 4) r = to<I>(x);
  else r = to<I>(to<i32>(x));
  r = sel(x < (T)END, r, all<I>((I)(END - 1)));
  return sel(x >= (SIGNED ? -(T)END : (T)0), r, sel(x == x, low, all<I>(0)));
}
template <class I> INLINE V<I> saturate(V<f16> x) { return saturate<I>(to<f32>(x)); }

// --- integers ---
template <class T> INLINE V<u32> popcount(V<T> x) { return to<u32>(__builtin_elementwise_popcount(x)); }
INLINE u32 popcount(u32 x) { return __builtin_popcount(x); }
INLINE u32 popcount(u64 x) { return __builtin_popcountl(x); }
template <class X> INLINE X bitreverse(X x) { return __builtin_elementwise_bitreverse(x); }
INLINE u32 clz(u32 x) { return x ? __builtin_clz(x) : ~0u; }
INLINE u32 ctz(u32 x) { return x ? __builtin_ctz(x) : ~0u; }
INLINE u32 clz64(u64 x) { return x ? __builtin_clzl(x) : ~0u; }
INLINE u32 ctz64(u64 x) { return x ? __builtin_ctzl(x) : ~0u; }
INLINE V<u32> clz(V<u32> x) { // from the exponent of a double, which is exact for 32 bits
  return sel(x == 0, all<u32>(~0u), 1054u - to<u32>(as<u64>(to<f64>(x)) >> 52));
}
INLINE V<u32> ctz(V<u32> x) { return sel(x == 0, all<u32>(~0u), 31u - clz(x & (0u - x))); }
INLINE V<u32> cls(V<i32> x) { return clz(as<u32>(x ^ (x >> 31))); }
INLINE V<u32> mulhi(V<u32> a, V<u32> b) { return hi32(to<u64>(a) * to<u64>(b)); }
INLINE V<i32> mulhi(V<i32> a, V<i32> b) { return to<i32>((to<i64>(a) * to<i64>(b)) >> 32); }
INLINE u32 mulhi(u32 a, u32 b) { return (u64)a * b >> 32; }
INLINE i32 mulhi(i32 a, i32 b) { return (i64)a * b >> 32; }
INLINE B mad_carry(V<i32> a, V<i32> b, V<i64> c) { // the 65th bit of a * b + c
  V<i64> p = to<i64>(a) * to<i64>(b);
  return bools((p < 0) ^ (c < 0) ^ (as<u64>(p) + as<u64>(c) < as<u64>(p)));
}
template <class X, class Y> INLINE X bfe_u(X x, Y at, Y width) { return x >> (at & 31) & ((1u << (width & 31)) - 1); }
INLINE V<i32> bfe_i(V<i32> x, V<u32> at, V<u32> width) {
  V<u32> w = width & 31, n = (32 - w) & 31;
  V<i32> field = x >> as<i32>(at & 31);
  return sel(w == 0, all<i32>(0), as<i32>(as<u32>(field) << n) >> as<i32>(n));
}
INLINE V<u32> halves(V<u16> lo, V<u16> hi) { return to<u32>(lo) | to<u32>(hi) << 16; }
INLINE V<u16> narrowed(V<i32> x) { return to<u16>(as<u32>(max(min(x, all(32767)), all(-32768)))); }
INLINE V<u16> narrowed(V<u32> x) { return to<u16>(min(x, all(0xffffu))); }
// Element i, of BITS bits, of a register, extended to 32 bits.
template <int BITS> INLINE V<u32> element(V<u32> x, int i, bool is_signed = false) {
  x <<= 32 - BITS * (i + 1);
  return is_signed ? as<u32>(as<i32>(x) >> (32 - BITS)) : x >> (32 - BITS);
}
// The sum of products of elements, and c. Bit 0 of `signs`: a is signed; bit 1: b is signed.
template <int BITS> INLINE V<u32> dot(V<u32> a, V<u32> b, V<u32> c, u32 signs) {
  for (int i = 0; i < 32 / BITS; i++) c += element<BITS>(a, i, signs & 1) * element<BITS>(b, i, signs & 2);
  return c;
}
template <int BITS> INLINE V<u32> sad(V<u32> a, V<u32> b, V<u32> c) {
  for (int i = 0; i < 32 / BITS; i++) {
    V<u32> x = element<BITS>(a, i), y = element<BITS>(b, i);
    c += max(x, y) - min(x, y);
  }
  return c;
}
INLINE V<u32> msad(V<u32> a, V<u32> b, V<u32> c) { // ignores the bytes of b that are 0
  for (int i = 0; i < 4; i++) {
    V<u32> x = element<8>(a, i), y = element<8>(b, i);
    c += sel(y == 0, all(0u), max(x, y) - min(x, y));
  }
  return c;
}
INLINE V<u32> lerp(V<u32> a, V<u32> b, V<u32> c) { // averages of bytes; bit 0 of a byte of c rounds up
  V<u32> r = 0;
  for (int i = 0; i < 4; i++) r |= (element<8>(a, i) + element<8>(b, i) + (element<8>(c, i) & 1)) >> 1 << (8 * i);
  return r;
}
INLINE V<u16> saturated_bytes(V<u32> x) {
  auto byte = [](V<i32> v) { return to<u16>(as<u32>(max(min(v, all(255)), all(0)))); };
  return byte(as<i32>(x << 16) >> 16) | byte(as<i32>(x) >> 16) << (u16)8;
}
template <class T> INLINE T quads(T x) { // one bit for each group of four bits: whether it is not 0
  T r = 0;
  for (u32 i = 0; i < 2 * sizeof(T); i++) r |= (T)((x >> (4 * i) & 15) != 0) << i;
  return r;
}
template <class T> INLINE T whole_quads(T x) {
  T r = 0;
  for (u32 i = 0; i < 2 * sizeof(T); i++) r |= (T)((x >> (4 * i) & 15) ? 15 : 0) << (4 * i);
  return r;
}
INLINE u64 replicate(u32 x) { // duplicates every bit
  u64 r = 0;
  for (u32 i = 0; i < 32; i++) r |= (u64)(x >> i & 1) * 3 << (2 * i);
  return r;
}
INLINE V<u32> perm(V<u32> a, V<u32> b, V<u32> s) {
  V<u64> bytes = join(b, a);
  V<u32> r = 0;
  for (int i = 0; i < 4; i++) {
    V<u32> k = s >> (8 * i) & 0xff, j = k & 7;
    V<u32> byte = to<u32>(bytes >> to<u64>(8 * j)) & 0xff;
    V<u32> sign = to<u32>(bytes >> to<u64>(16 * (k & 3) + 15)) & 1;
    byte = sel(k >= 8, 0u - sign & 0xff, byte);
    byte = sel(k == 12, all<u32>(0), byte);
    byte = sel(k >= 13, all<u32>(0xff), byte);
    r |= byte << (8 * i);
  }
  return r;
}
// Counts the bits below the lane in the mask's half for lanes 0 to 31 (lo) or 32 to 63 (hi).
INLINE V<u32> mbcnt_lo(V<u32> m, V<u32> plus) {
  return popcount(m & sel(IOTA < 32, (1u << (IOTA & 31)) - 1, all(~0u))) + plus;
}
INLINE V<u32> mbcnt_hi(V<u32> m, V<u32> plus) {
  return popcount(m & sel(IOTA < 32, all(0u), (1u << (IOTA & 31)) - 1)) + plus;
}

// --- classes, exponents, mantissas (bits of the class mask: ISA, V_CMP_CLASS_F32) ---
template <class T> struct Float;
template <> struct Float<f16> { typedef u16 U; typedef i16 I; static constexpr int P = 10, E = 31, BIAS = 15; };
template <> struct Float<f32> { typedef u32 U; typedef i32 I; static constexpr int P = 23, E = 255, BIAS = 127; };
template <> struct Float<f64> { typedef u64 U; typedef i64 I; static constexpr int P = 52, E = 2047, BIAS = 1023; };
template <class T> INLINE V<i32> exponent(V<T> x) { // biased
  typedef Float<T> F;
  return to<i32>(as<typename F::U>(x) >> F::P & (typename F::U)F::E);
}
template <class T> INLINE V<u32> class_bits(V<T> x) {
  typedef typename Float<T>::U U;
  V<U> u = as<U>(x), fraction = u & (U)(((U)1 << Float<T>::P) - 1);
  V<i32> e = exponent(x);
  B minus = bools(u >> (U)(8 * sizeof(T) - 1) != 0), none = bools(fraction == 0);
  B quiet = bools((fraction >> (U)(Float<T>::P - 1)) != 0);
  V<u32> nan = sel(quiet, all<u32>(2), all<u32>(1)), inf = sel(minus, all<u32>(4), all<u32>(512));
  V<u32> normal = sel(minus, all<u32>(8), all<u32>(256)), tiny = sel(minus, all<u32>(16), all<u32>(128));
  V<u32> zero = sel(minus, all<u32>(32), all<u32>(64));
  return sel(e == Float<T>::E, sel(none, inf, nan), sel(e == 0, sel(none, zero, tiny), normal));
}
template <class T> INLINE B is_class(V<T> x, V<u32> wanted) { return bools((class_bits(x) & wanted) != 0); }

// Bit 4 * a + 2 * b + c of the table is the result for these bits of the sources.
template <class T> INLINE V<T> bitop3(V<T> a, V<T> b, V<T> c, u32 table) {
  V<T> r = a ^ a;
  for (u32 i = 0; i < 8; i++)
    if (table >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}

// --- fma_mix sources, packed conversions ---
INLINE V<f32> wide(V<u16> x) { return to<f32>(as<f16>(x)); }
INLINE V<f32> dot2(V<u32> a, V<u32> b, V<f32> c) {
  return fma(wide(hi16(a)), wide(hi16(b)), fma(wide(lo16(a)), wide(lo16(b)), c));
}
INLINE V<u16> toward_zero(V<f32> x) {
  V<f16> near = to<f16>(x);
  V<u16> r = as<u16>(near);
  return sel(mag(to<f32>(near)) > mag(x), r - (u16)1, r);
}
INLINE V<u16> to_bf16(V<f32> x) {
  const V<u32> bits = as<u32>(x), near = bits + 0x7fff + (bits >> 16 & 1);
  return to<u16>(sel(bools((bits & 0x7fffffff) > 0x7f800000u), bits | 0x400000, near) >> 16);
}
// Divides by the power of two in the exponent of a scale.
INLINE V<f32> unscaled(V<f32> x, V<f32> scale) {
  return to<f32>(to<f64>(x) * as<f64>((1023 + 127 - to<u64>(as<u32>(scale) >> 23 & 255)) << 52));
}
// Rounds toward zero, as measured on gfx1200 (triton-lang/triton #11217). Factors are pairs of bf16.
INLINE V<u16> dot2_bf16(V<u32> a, V<u32> b, V<u16> c) {
  auto product = [](V<u32> x, V<u32> y) { return to<f64>(as<f32>(x)) * to<f64>(as<f32>(y)); };
  const V<f64> sum = product(a << 16, b << 16) + product(a & 0xffff0000u, b & 0xffff0000u) + to<f64>(as<f32>(to<u32>(c) << 16));
  const V<f32> near = to<f32>(sum);
  const V<u32> bits = as<u32>(near);
  return to<u16>(sel(bools(__builtin_elementwise_abs(to<f64>(near)) > __builtin_elementwise_abs(sum)), bits - 1, bits) >> 16);
}

// --- 8-bit floats: the OCP formats, or the FNUZ formats, which lack infinities and encode NaN as negative zero ---
template <bool FNUZ, int MANTISSA, int BIAS> INLINE V<f32> of_f8(V<u32> x) {
  const V<u32> code = x & 0x7f;
  const V<u32> normal = (code << (23 - MANTISSA)) + ((127u - BIAS) << 23);
  const V<f32> subnormal = to<f32>(code) * scalar<f32>((127u + 1 - BIAS - MANTISSA) << 23);
  V<u32> r = sel(code >> MANTISSA == 0, as<u32>(subnormal), normal) | x >> 7 << 31;
  if (FNUZ) r = sel(x == 0x80, all(0x7fc00000u), r);
  else if (MANTISSA == 3) r = sel(code == 0x7f, r | 0x7fc00000u, r);
  else r = sel(code >= 0x7c, (r & 0x80000000u) | 0x7f800000u | (code & 3) << 21, r);
  return as<f32>(r);
}
template <bool FNUZ, bool SATURATES, int MANTISSA, int BIAS> INLINE V<u32> f8_of(V<f32> x) {
  constexpr u32 INFINITE = FNUZ ? 0x80 : MANTISSA == 3 ? 0x7f : 0x7c, NOT = FNUZ ? 0x80 : 0x7f;
  constexpr u32 LARGEST = FNUZ ? 0x7f : MANTISSA == 3 ? 0x7e : 0x7b;
  const V<u32> bits = as<u32>(x), size = bits & 0x7fffffff, sign = bits >> 31 << 7;
  const V<u32> even_ = size + ((1u << (22 - MANTISSA)) - 1) + (size >> (23 - MANTISSA) & 1);
  const V<u32> normal = (even_ >> (23 - MANTISSA)) - ((127u - BIAS) << MANTISSA);
  const V<u32> subnormal = to<u32>(even(mag(x) * scalar<f32>((127u - 1 + BIAS + MANTISSA) << 23)));
  V<u32> r = sel(size < ((128u - BIAS) << 23), subnormal, normal);
  r = sel(size >= 0x7f800000u, all(INFINITE), sel(bools(r > LARGEST), all(SATURATES ? LARGEST : INFINITE), r));
  r = sel(size > 0x7f800000u, all(NOT), r);
  return FNUZ ? sel(r == 0, r, r | sign) : r | sign;
}
INLINE V<u64> joined(V<f32> lo, V<f32> hi) { return join(as<u32>(lo), as<u32>(hi)); }
template <bool FNUZ> INLINE V<f32> of_fp8(V<u32> x) { return of_f8<FNUZ, 3, FNUZ ? 8 : 7>(x); }
template <bool FNUZ> INLINE V<f32> of_bf8(V<u32> x) { return of_f8<FNUZ, 2, FNUZ ? 16 : 15>(x); }
template <bool FNUZ, bool SATURATES> INLINE V<u32> fp8_of(V<f32> x) { return f8_of<FNUZ, SATURATES, 3, FNUZ ? 8 : 7>(x); }
template <bool FNUZ, bool SATURATES> INLINE V<u32> bf8_of(V<f32> x) { return f8_of<FNUZ, SATURATES, 2, FNUZ ? 16 : 15>(x); }

// --- longer functions (functions.cpp) ---
// Arguments are references, because the ABI copies vectors of this size twice.
template <class T> using In = const V<T> &;
#define F1(T, name) RUNTIME V<T> name(In<T>);
F1(f32, rcp_f32) F1(f32, rsq_f32) F1(f32, sqrt_f32) F1(f32, exp_f32) F1(f32, log_f32) F1(f32, sin_f32) F1(f32, cos_f32)
F1(f16, rcp_f16) F1(f16, rsq_f16) F1(f16, sqrt_f16) F1(f16, exp_f16) F1(f16, log_f16) F1(f16, sin_f16) F1(f16, cos_f16)
F1(f64, rcp_f64) F1(f64, rsq_f64) F1(f64, sqrt_f64)
F1(f32, frexp_mant_f32) F1(f64, frexp_mant_f64) F1(f16, frexp_mant_f16)
RUNTIME V<i32> frexp_exp_f32(In<f32>);
RUNTIME V<i32> frexp_exp_f64(In<f64>);
RUNTIME V<i16> frexp_exp_f16(In<f16>);
RUNTIME V<f32> ldexp_f32(In<f32>, In<i32>);
RUNTIME V<f64> ldexp_f64(In<f64>, In<i32>);
RUNTIME V<f16> ldexp_f16(In<f16>, In<i16>);
RUNTIME V<f32> div_scale_f32(In<f32>, In<f32>, In<f32>);
RUNTIME Mask div_scaled_f32(In<f32>, In<f32>, In<f32>);
RUNTIME V<f64> div_scale_f64(In<f64>, In<f64>, In<f64>);
RUNTIME Mask div_scaled_f64(In<f64>, In<f64>, In<f64>);
RUNTIME V<f32> div_fmas_f32(In<f32>, In<f32>, In<f32>, Mask);
RUNTIME V<f64> div_fmas_f64(In<f64>, In<f64>, In<f64>, Mask);
RUNTIME V<f32> div_fixup_f32(In<f32>, In<f32>, In<f32>);
RUNTIME V<f64> div_fixup_f64(In<f64>, In<f64>, In<f64>);
RUNTIME V<f16> div_fixup_f16(In<f16>, In<f16>, In<f16>);
RUNTIME V<f64> trig_preop(In<f64>, In<u32>);
