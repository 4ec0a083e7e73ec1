// The approximate instructions of PTX as functions over arrays: NAME(count, x, y, results). Some do not use y.
#define LANES 32
#include "ptx_approximate.h"

template <class T, class F> static void apply(F f, u64 count, const T *x, const T *y, T *results) {
  for (u64 i = 0; i < count; i += LANES) {
    V<T> a, b;
    __builtin_memcpy(&a, x + i, sizeof a), __builtin_memcpy(&b, y + i, sizeof b);
    const V<T> r = f(a, b);
    __builtin_memcpy(results + i, &r, sizeof r);
  }
}
#define FUNCTION(name, T, value)                                                  \
  extern "C" void name(u64 count, const T *x, const T *y, T *results) {           \
    apply<T>([](V<T> a, V<T> b) { return h200::value; }, count, x, y, results);   \
  }
FUNCTION(rcp_approx_f32, f32, rcp_approx(a))
FUNCTION(rcp_approx_ftz_f32, f32, rcp_approx_ftz(a))
FUNCTION(rcp_approx_ftz_f64, f64, rcp_approx_ftz(a))
FUNCTION(rsqrt_approx_f32, f32, rsqrt_approx(a))
FUNCTION(rsqrt_approx_ftz_f32, f32, rsqrt_approx_ftz(a))
FUNCTION(rsqrt_approx_f64, f64, rsqrt_approx(a))
FUNCTION(rsqrt_approx_ftz_f64, f64, rsqrt_approx_ftz(a))
FUNCTION(sqrt_approx_f32, f32, sqrt_approx(a))
FUNCTION(sqrt_approx_ftz_f32, f32, sqrt_approx_ftz(a))
FUNCTION(ex2_approx_f32, f32, ex2_approx(a))
FUNCTION(ex2_approx_ftz_f32, f32, ex2_approx_ftz(a))
FUNCTION(ex2_approx_f16, f16, ex2_approx(a))
FUNCTION(ex2_approx_ftz_bf16, u16, ex2_approx_ftz_bf16(a))
FUNCTION(lg2_approx_f32, f32, lg2_approx(a))
FUNCTION(lg2_approx_ftz_f32, f32, lg2_approx_ftz(a))
FUNCTION(sin_approx_f32, f32, sin_approx(a))
FUNCTION(sin_approx_ftz_f32, f32, sin_approx(a))
FUNCTION(cos_approx_f32, f32, cos_approx(a))
FUNCTION(cos_approx_ftz_f32, f32, cos_approx(a))
FUNCTION(tanh_approx_f32, f32, tanh_approx(a))
FUNCTION(tanh_approx_f16, f16, tanh_approx(a))
FUNCTION(tanh_approx_bf16, u16, tanh_approx_bf16(a))
FUNCTION(div_approx_f32, f32, div_approx(a, b))
FUNCTION(div_approx_ftz_f32, f32, div_approx_ftz(a, b))
FUNCTION(div_full_f32, f32, div_full(a, b))
FUNCTION(div_full_ftz_f32, f32, div_full_ftz(a, b))
