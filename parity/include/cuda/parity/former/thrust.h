// Thrust names removed in version 3 that kernels still use: base classes of function objects, and identity.
#pragma once

#include <thrust/detail/config.h>
#include <thrust/version.h>

#if THRUST_VERSION >= 300000
THRUST_NAMESPACE_BEGIN

template <typename Argument, typename Result>
struct unary_function {
  typedef Argument argument_type;
  typedef Result result_type;
};
template <typename First, typename Second, typename Result>
struct binary_function {
  typedef First first_argument_type;
  typedef Second second_argument_type;
  typedef Result result_type;
};
template <typename T = void>
struct identity {
  typedef T argument_type;
  typedef T result_type;
  __host__ __device__ constexpr const T& operator()(const T& value) const { return value; }
};
template <>
struct identity<void> {
  template <typename T>
  __host__ __device__ constexpr T&& operator()(T&& value) const { return static_cast<T&&>(value); }
};

THRUST_NAMESPACE_END
#endif
