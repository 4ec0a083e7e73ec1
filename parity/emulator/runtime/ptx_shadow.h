// Steps of PTX in shadow runs. See shadow.h.
#pragma once
#include "ptx.h"
#include "shadow.h"

// The result of an approximate PTX instruction, moved by about the error that the PTX ISA documents. 0 and powers of two stay,
// because library functions rely on exact results such as ex2(0).
enum Approximate { APPROXIMATE_div, APPROXIMATE_rcp, APPROXIMATE_sqrt, APPROXIMATE_rsqrt, APPROXIMATE_ex2, APPROXIMATE_tanh,
                   APPROXIMATE_lg2, APPROXIMATE_sin, APPROXIMATE_cos }; // from lg2, the error is absolute
template <class X> INLINE X shadow_near(X r, Approximate, bool) { return r; }
template <class T> INLINE V<T> shadow_near_by(V<T> r, T unit, Approximate function, bool up) {
  const V<T> size = function >= APPROXIMATE_lg2 ? max(mag(r), all<T>(1)) : mag(r);
  typedef typename Float<T>::U U;
  const B whole = bools((as<U>(r) & (((U)1 << Float<T>::P) - 1)) == 0);
  return sel(whole, r, up ? r + size * unit : r - size * unit);
}
INLINE V<f16> shadow_near(V<f16> r, Approximate f, bool up) { return shadow_near_by<f16>(r, 0x1p-10, f, up); }
INLINE V<f32> shadow_near(V<f32> r, Approximate f, bool up) { return shadow_near_by<f32>(r, 0x1p-22, f, up); }
INLINE V<f64> shadow_near(V<f64> r, Approximate f, bool up) { return shadow_near_by<f64>(r, 0x1p-52, f, up); }
// In half of the runs, a multiply-add is two operations: which product of a * b - c * d is fused is the compiler's choice (D10).
template <int MODE, bool FLUSH = false, class X> INLINE X shadow_fused(X a, X b, X c) {
  if (shadow_run() & NO_CONTRACTION) return add<MODE>(multiply<MODE>(a, b), c);
  if constexpr (FLUSH) return fused<MODE, FLUSH>(a, b, c);
  else return fused<MODE>(a, b, c);
}
// Conversions to bf16, which the processor does not have, in the direction that a step has set.
template <int MODE> INLINE V<u16> shadow_narrow_bf16(V<f64> x) {
  if constexpr (MODE != RN) return narrow_bf16<MODE>(x);
  const Direction to = rounding_direction();
  return to == UPWARD ? narrow_bf16<RP>(x) : to == DOWNWARD ? narrow_bf16<RM>(x) : narrow_bf16<RN>(x);
}
INLINE V<u16> shadow_bf16_of(V<f32> x) { return shadow_narrow_bf16<RN>(to<f64>(x)); }
INLINE V<f32> shadow_bf16_fused(V<f32> a, V<f32> b, V<f32> c) {
  return shadow_run() & NO_CONTRACTION ? of_bf16(shadow_bf16_of(a * b)) + c : bf16_fused(a, b, c);
}
#define fused shadow_fused
#define bf16_fused shadow_bf16_fused
#define narrow_bf16 shadow_narrow_bf16
#define bf16_of shadow_bf16_of
