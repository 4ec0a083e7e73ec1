// THCNumerics.cuh of Torch 7 and PyTorch before 1.5: conversions and arithmetic as named functions.
#pragma once

#include <hip/hip_runtime.h>

#include <cfloat>
#include <limits>

template <typename In, typename Out> struct ScalarConvert {
  static __host__ __device__ Out to(const In value) { return static_cast<Out>(value); }
};

template <typename T> struct THCNumerics {
  static constexpr __host__ __device__ T min() { return std::numeric_limits<T>::lowest(); }
  static constexpr __host__ __device__ T max() { return std::numeric_limits<T>::max(); }
#define PARITY_COMPARISON(name, op) \
  static __host__ __device__ bool name(T a, T b) { return a op b; }
#define PARITY_OPERATION(name, op) \
  static __host__ __device__ T name(T a, T b) { return static_cast<T>(a op b); }
#define PARITY_FUNCTION(name) \
  static __host__ __device__ T name(T a) { return static_cast<T>(::name(a)); }
  PARITY_COMPARISON(lt, <) PARITY_COMPARISON(le, <=) PARITY_COMPARISON(gt, >) PARITY_COMPARISON(ge, >=)
  PARITY_COMPARISON(eq, ==) PARITY_COMPARISON(ne, !=)
  PARITY_OPERATION(add, +) PARITY_OPERATION(sub, -) PARITY_OPERATION(mul, *) PARITY_OPERATION(div, /)
  PARITY_FUNCTION(exp) PARITY_FUNCTION(log) PARITY_FUNCTION(log1p) PARITY_FUNCTION(sqrt) PARITY_FUNCTION(rsqrt)
  PARITY_FUNCTION(cos) PARITY_FUNCTION(sin) PARITY_FUNCTION(tan) PARITY_FUNCTION(acos) PARITY_FUNCTION(asin) PARITY_FUNCTION(atan)
  PARITY_FUNCTION(cosh) PARITY_FUNCTION(sinh) PARITY_FUNCTION(tanh) PARITY_FUNCTION(erf) PARITY_FUNCTION(erfinv) PARITY_FUNCTION(lgamma)
  PARITY_FUNCTION(ceil) PARITY_FUNCTION(floor) PARITY_FUNCTION(trunc) PARITY_FUNCTION(round)
#undef PARITY_COMPARISON
#undef PARITY_OPERATION
#undef PARITY_FUNCTION
  static __host__ __device__ T neg(T a) { return static_cast<T>(-a); }
  static __host__ __device__ T abs(T a) { return a < T(0) ? neg(a) : a; }
  static __host__ __device__ T pow(T a, T b) { return static_cast<T>(::pow(a, b)); }
  static __host__ __device__ T cinv(T a) { return static_cast<T>(T(1) / a); }
  static __host__ __device__ T frac(T a) { return static_cast<T>(a - ::trunc(a)); }
};
