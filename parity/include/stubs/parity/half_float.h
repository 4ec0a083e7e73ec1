// Type of half.hpp (the half-precision floating-point library), on clang's type.
#pragma once

#include <hip/hip_runtime.h>

namespace half_float {
class half {
  _Float16 value_;

 public:
  half() = default;
  __host__ __device__ constexpr half(float value) : value_(static_cast<_Float16>(value)) {}
  __host__ __device__ constexpr operator float() const { return static_cast<float>(value_); }
#define PARITY_ASSIGNMENT(op) \
  __host__ __device__ half& operator op##=(float other) { return *this = half(static_cast<float>(value_) op other); }
  PARITY_ASSIGNMENT(+)
  PARITY_ASSIGNMENT(-)
  PARITY_ASSIGNMENT(*)
  PARITY_ASSIGNMENT(/)
#undef PARITY_ASSIGNMENT
};
template <typename T, typename U> __host__ __device__ T half_cast(const U& value) { return static_cast<T>(static_cast<float>(value)); }
}  // namespace half_float
