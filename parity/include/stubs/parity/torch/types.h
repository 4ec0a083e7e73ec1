// Number types of c10. Conversions round to nearest even; operators compute in float, as PyTorch documents.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <stdint.h>

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "macros.h"

namespace c10 {

// A number stored as bits. The tag from_bits() selects the constructor that takes bits.
template <typename Bits> struct alignas(sizeof(Bits)) Coded {
  Bits x;
  struct from_bits_t {};
  static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return from_bits_t(); }
  Coded() = default;
  constexpr C10_HOST_DEVICE Coded(Bits bits, from_bits_t) : x(bits) {}
};

struct Half : Coded<unsigned short> {
  using Coded::Coded;
  Half() = default;
#ifdef __HIP__
  C10_HOST_DEVICE Half(float value) : Coded(__builtin_bit_cast(unsigned short, static_cast<_Float16>(value)), from_bits()) {}
  C10_HOST_DEVICE operator float() const { return static_cast<float>(__builtin_bit_cast(_Float16, x)); }
#else  // nvcc's device code does not support _Float16
  C10_HOST_DEVICE Half(float value) : Coded(__half_as_ushort(__float2half(value)), from_bits()) {}
  C10_HOST_DEVICE operator float() const { return __half2float(__ushort_as_half(x)); }
#endif
  C10_HOST_DEVICE Half(const __half& value) : Coded(__builtin_bit_cast(unsigned short, value), from_bits()) {}
  C10_HOST_DEVICE operator __half() const { return __builtin_bit_cast(__half, x); }
};

struct BFloat16 : Coded<unsigned short> {
  using Coded::Coded;
  BFloat16() = default;
  C10_HOST_DEVICE BFloat16(float value) : Coded(rounded(value), from_bits()) {}
  C10_HOST_DEVICE operator float() const {
    return __builtin_bit_cast(float, static_cast<unsigned int>(x) << 16);
  }
  C10_HOST_DEVICE BFloat16(const __hip_bfloat16& value) : Coded(__builtin_bit_cast(unsigned short, value), from_bits()) {}
  explicit C10_HOST_DEVICE operator __hip_bfloat16() const { return __builtin_bit_cast(__hip_bfloat16, x); }

 private:
  static C10_HOST_DEVICE unsigned short rounded(float value) {
    if (value != value) return 0x7FC0;
    const unsigned int bits = __builtin_bit_cast(unsigned int, value);
    return static_cast<unsigned short>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  }
};

// 8-bit floats of OCP's "OFP8" (2023) that compute in float and round to nearest even. E4M3 lacks an infinity, so
// values that are too large become NaN.
namespace parity_float8 {
template <int fraction> C10_HOST_DEVICE inline float decode(uint8_t code) {
  constexpr int bias = fraction == 3 ? 7 : 15;
  const unsigned magnitude = code & 0x7f, exponent = magnitude >> fraction;
  float value;
  if (fraction == 3 ? magnitude == 0x7f : magnitude > 0x7c) value = __builtin_nanf("");
  else if (fraction == 2 && magnitude == 0x7c) value = __builtin_inff();
  else if (exponent == 0) value = static_cast<float>(magnitude) * __builtin_bit_cast(float, (128 - bias - fraction) << 23);
  else value = __builtin_bit_cast(float, (magnitude << (23 - fraction)) + ((127 - bias) << 23));
  return code & 0x80 ? -value : value;
}
template <int fraction> C10_HOST_DEVICE inline uint8_t encode(float value) {
  constexpr int bias = fraction == 3 ? 7 : 15, least = 1 - bias;
  constexpr unsigned beyond = fraction == 3 ? 0x7f : 0x7c;
  const unsigned bits = __builtin_bit_cast(unsigned, value), sign = bits >> 24 & 0x80;
  if (value != value) return static_cast<uint8_t>(sign | 0x7f);
  if ((bits & 0x7fffffff) >= 143u << 23) return static_cast<uint8_t>(sign | beyond);  // 65536: too large
  int exponent = static_cast<int>(bits >> 23 & 0xff) - 127;
  if (exponent < least) exponent = least;
  const float step = __builtin_bit_cast(float, (127 + fraction - exponent) << 23);
  const unsigned steps = static_cast<unsigned>(__builtin_rintf(__builtin_fabsf(value) * step));
  const unsigned code = steps + (static_cast<unsigned>(exponent - least) << fraction);
  return static_cast<uint8_t>(sign | (code > beyond ? beyond : code));
}
}  // namespace parity_float8
#define PARITY_FLOAT8(name, fraction)                                                                        \
  struct name : Coded<uint8_t> {                                                                             \
    using Coded::Coded;                                                                                      \
    name() = default;                                                                                        \
    C10_HOST_DEVICE name(float value) : Coded(parity_float8::encode<fraction>(value), from_bits()) {}        \
    C10_HOST_DEVICE operator float() const { return parity_float8::decode<fraction>(x); }                    \
  };
PARITY_FLOAT8(Float8_e4m3fn, 3) PARITY_FLOAT8(Float8_e5m2, 2)
#undef PARITY_FLOAT8
// Storage only.
struct alignas(1) Float8_e4m3fnuz { uint8_t x; };
struct alignas(1) Float8_e5m2fnuz { uint8_t x; };
struct alignas(1) qint8 { int8_t val_; };
struct alignas(1) quint8 { uint8_t val_; };
struct alignas(4) qint32 { int val_; };

#define PARITY_ARITHMETIC(T, op)                                                                              \
  inline C10_HOST_DEVICE T operator op(const T& a, const T& b) {                                              \
    return static_cast<float>(a) op static_cast<float>(b);                                                    \
  }                                                                                                           \
  inline C10_HOST_DEVICE T& operator op##=(T& a, const T& b) { return a = a op b; }                           \
  inline C10_HOST_DEVICE float operator op(T a, float b) { return static_cast<float>(a) op b; }               \
  inline C10_HOST_DEVICE float operator op(float a, T b) { return a op static_cast<float>(b); }               \
  inline C10_HOST_DEVICE float& operator op##=(float& a, const T& b) { return a op## = static_cast<float>(b); } \
  inline C10_HOST_DEVICE double operator op(T a, double b) { return static_cast<double>(a) op b; }            \
  inline C10_HOST_DEVICE double operator op(double a, T b) { return a op static_cast<double>(b); }            \
  inline C10_HOST_DEVICE T operator op(T a, int b) { return a op static_cast<T>(static_cast<float>(b)); }     \
  inline C10_HOST_DEVICE T operator op(int a, T b) { return static_cast<T>(static_cast<float>(a)) op b; }     \
  inline C10_HOST_DEVICE T operator op(T a, int64_t b) { return a op static_cast<T>(static_cast<float>(b)); } \
  inline C10_HOST_DEVICE T operator op(int64_t a, T b) { return static_cast<T>(static_cast<float>(a)) op b; }
#define PARITY_NUMBER(T)                                                                   \
  PARITY_ARITHMETIC(T, +) PARITY_ARITHMETIC(T, -) PARITY_ARITHMETIC(T, *) PARITY_ARITHMETIC(T, /) \
  inline C10_HOST_DEVICE T operator-(const T& a) { return T(static_cast<unsigned short>(a.x ^ 0x8000), T::from_bits()); }
PARITY_NUMBER(Half) PARITY_NUMBER(BFloat16)
#undef PARITY_NUMBER
#undef PARITY_ARITHMETIC

// ROCm's c10 only has __ldg for BFloat16, not for Half.
inline C10_DEVICE BFloat16 __ldg(const BFloat16* pointer) { return *pointer; }
#ifndef __HIP_PLATFORM_AMD__
inline C10_DEVICE Half __ldg(const Half* pointer) { return *pointer; }
#endif

template <typename T> struct alignas(sizeof(T) * 2) complex {
  using value_type = T;
  T real_ = T(0);
  T imag_ = T(0);

  constexpr complex() = default;
  constexpr C10_HOST_DEVICE complex(const T& re, const T& im = T()) : real_(re), imag_(im) {}
  template <typename U> constexpr C10_HOST_DEVICE complex(const complex<U>& other) : real_(other.real()), imag_(other.imag()) {}

  constexpr C10_HOST_DEVICE T real() const { return real_; }
  constexpr C10_HOST_DEVICE T imag() const { return imag_; }
  constexpr C10_HOST_DEVICE void real(T value) { real_ = value; }
  constexpr C10_HOST_DEVICE void imag(T value) { imag_ = value; }

  template <typename U> constexpr C10_HOST_DEVICE complex& operator+=(const complex<U>& b) { return *this = *this + complex(b); }
  template <typename U> constexpr C10_HOST_DEVICE complex& operator-=(const complex<U>& b) { return *this = *this - complex(b); }
  template <typename U> constexpr C10_HOST_DEVICE complex& operator*=(const complex<U>& b) { return *this = *this * complex(b); }
  template <typename U> constexpr C10_HOST_DEVICE complex& operator/=(const complex<U>& b) { return *this = *this / complex(b); }
  constexpr C10_HOST_DEVICE complex& operator+=(T b) { real_ += b; return *this; }
  constexpr C10_HOST_DEVICE complex& operator-=(T b) { real_ -= b; return *this; }
  constexpr C10_HOST_DEVICE complex& operator*=(T b) { real_ *= b; imag_ *= b; return *this; }
  constexpr C10_HOST_DEVICE complex& operator/=(T b) { real_ /= b; imag_ /= b; return *this; }
  explicit operator std::complex<T>() const;

  friend constexpr C10_HOST_DEVICE complex operator+(const complex& a, const complex& b) {
    return complex(a.real_ + b.real_, a.imag_ + b.imag_);
  }
  friend constexpr C10_HOST_DEVICE complex operator-(const complex& a, const complex& b) {
    return complex(a.real_ - b.real_, a.imag_ - b.imag_);
  }
  friend constexpr C10_HOST_DEVICE complex operator*(const complex& a, const complex& b) {
    return complex(a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_);
  }
  // Scales by the larger part of the divisor, so that its square does not overflow.
  friend constexpr C10_HOST_DEVICE complex operator/(const complex& a, const complex& b) {
    const T re = b.real_ < 0 ? -b.real_ : b.real_, im = b.imag_ < 0 ? -b.imag_ : b.imag_;
    if (re >= im) {
      if (re == T(0) && im == T(0)) return complex(a.real_ / re, a.imag_ / im);
      const T ratio = b.imag_ / b.real_, scale = T(1) / (b.real_ + b.imag_ * ratio);
      return complex((a.real_ + a.imag_ * ratio) * scale, (a.imag_ - a.real_ * ratio) * scale);
    }
    const T ratio = b.real_ / b.imag_, scale = T(1) / (b.real_ * ratio + b.imag_);
    return complex((a.real_ * ratio + a.imag_) * scale, (a.imag_ * ratio - a.real_) * scale);
  }
  friend constexpr C10_HOST_DEVICE complex operator-(const complex& a) { return complex(-a.real_, -a.imag_); }
  friend constexpr C10_HOST_DEVICE complex operator+(const complex& a) { return a; }
  friend constexpr C10_HOST_DEVICE bool operator==(const complex& a, const complex& b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
  friend constexpr C10_HOST_DEVICE bool operator!=(const complex& a, const complex& b) { return !(a == b); }
};
static_assert(sizeof(complex<float>) == 8 && alignof(complex<float>) == 8);

}  // namespace c10

namespace std {
template <typename T> constexpr C10_HOST_DEVICE T real(const c10::complex<T>& z) { return z.real(); }
template <typename T> constexpr C10_HOST_DEVICE T imag(const c10::complex<T>& z) { return z.imag(); }
template <typename T>
constexpr C10_HOST_DEVICE c10::complex<T> conj(const c10::complex<T>& z) { return c10::complex<T>(z.real(), -z.imag()); }
template <typename T> C10_HOST_DEVICE T abs(const c10::complex<T>& z) { return ::hypot(z.real(), z.imag()); }
template <typename T> C10_HOST_DEVICE T arg(const c10::complex<T>& z) { return ::atan2(z.imag(), z.real()); }
template <typename T> constexpr C10_HOST_DEVICE T norm(const c10::complex<T>& z) { return z.real() * z.real() + z.imag() * z.imag(); }
template <typename T> C10_HOST_DEVICE c10::complex<T> exp(const c10::complex<T>& z) {
  const T size = ::exp(z.real());
  return {size * ::cos(z.imag()), size * ::sin(z.imag())};
}
template <typename T> C10_HOST_DEVICE c10::complex<T> log(const c10::complex<T>& z) { return {::log(abs(z)), arg(z)}; }
// Principal root (non-negative real part), computed without cancellation.
template <typename T> C10_HOST_DEVICE c10::complex<T> sqrt(const c10::complex<T>& z) {
  if (z.real() == T(0) && z.imag() == T(0)) return {T(0), z.imag()};
  const T re = z.real() < 0 ? -z.real() : z.real(), size = ::sqrt((abs(z) + re) / 2), other = z.imag() / (2 * size);
  return z.real() < 0 ? c10::complex<T>(other < 0 ? -other : other, ::copysign(size, z.imag())) : c10::complex<T>(size, other);
}
template <typename T>
C10_HOST_DEVICE c10::complex<T> pow(const c10::complex<T>& z, const c10::complex<T>& power) { return exp(log(z) * power); }
template <typename T>
C10_HOST_DEVICE c10::complex<T> pow(const c10::complex<T>& z, T power) { return exp(log(z) * c10::complex<T>(power)); }
template <typename T> C10_HOST_DEVICE c10::complex<T> sin(const c10::complex<T>& z) {
  return {::sin(z.real()) * ::cosh(z.imag()), ::cos(z.real()) * ::sinh(z.imag())};
}
template <typename T> C10_HOST_DEVICE c10::complex<T> cos(const c10::complex<T>& z) {
  return {::cos(z.real()) * ::cosh(z.imag()), -::sin(z.real()) * ::sinh(z.imag())};
}

#define PARITY_LIMITS(T, bits, decimals, round_trip, smallest, largest, least, eps, inf, nan, tiny, low_e, high_e) \
  template <>                                                                                                \
  struct numeric_limits<T> {                                                                                 \
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;     \
    static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;               \
    static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false, traps = false;             \
    static constexpr auto has_denorm = numeric_limits<float>::has_denorm;                                    \
    static constexpr int radix = 2, digits = bits, digits10 = decimals, max_digits10 = round_trip;           \
    static constexpr int min_exponent = low_e, max_exponent = high_e;                                        \
    static constexpr C10_HOST_DEVICE T min() { return T(smallest, T::from_bits()); }                         \
    static constexpr C10_HOST_DEVICE T lowest() { return T(least, T::from_bits()); }                         \
    static constexpr C10_HOST_DEVICE T max() { return T(largest, T::from_bits()); }                          \
    static constexpr C10_HOST_DEVICE T epsilon() { return T(eps, T::from_bits()); }                          \
    static constexpr C10_HOST_DEVICE T infinity() { return T(inf, T::from_bits()); }                         \
    static constexpr C10_HOST_DEVICE T quiet_NaN() { return T(nan, T::from_bits()); }                        \
    static constexpr C10_HOST_DEVICE T denorm_min() { return T(tiny, T::from_bits()); }                      \
  };
PARITY_LIMITS(c10::Half, 11, 3, 5, 0x0400, 0x7BFF, 0xFBFF, 0x1400, 0x7C00, 0x7E00, 0x0001, -13, 16)
PARITY_LIMITS(c10::BFloat16, 8, 2, 4, 0x0080, 0x7F7F, 0xFF7F, 0x3C00, 0x7F80, 0x7FC0, 0x0001, -125, 128)
#undef PARITY_LIMITS

#define PARITY_FLOAT_FUNCTION(T, name) \
  inline C10_HOST_DEVICE T name(T a) { return static_cast<T>(::name##f(static_cast<float>(a))); }
#define PARITY_FLOAT_FUNCTIONS(T)                                                                 \
  PARITY_FLOAT_FUNCTION(T, acos) PARITY_FLOAT_FUNCTION(T, asin) PARITY_FLOAT_FUNCTION(T, atan)    \
  PARITY_FLOAT_FUNCTION(T, erf) PARITY_FLOAT_FUNCTION(T, erfc) PARITY_FLOAT_FUNCTION(T, exp)      \
  PARITY_FLOAT_FUNCTION(T, expm1) PARITY_FLOAT_FUNCTION(T, log) PARITY_FLOAT_FUNCTION(T, log10)   \
  PARITY_FLOAT_FUNCTION(T, log1p) PARITY_FLOAT_FUNCTION(T, log2) PARITY_FLOAT_FUNCTION(T, ceil)   \
  PARITY_FLOAT_FUNCTION(T, cos) PARITY_FLOAT_FUNCTION(T, floor) PARITY_FLOAT_FUNCTION(T, nearbyint) \
  PARITY_FLOAT_FUNCTION(T, sin) PARITY_FLOAT_FUNCTION(T, tan) PARITY_FLOAT_FUNCTION(T, sinh)      \
  PARITY_FLOAT_FUNCTION(T, cosh) PARITY_FLOAT_FUNCTION(T, tanh) PARITY_FLOAT_FUNCTION(T, trunc)   \
  PARITY_FLOAT_FUNCTION(T, sqrt) PARITY_FLOAT_FUNCTION(T, lgamma)                                 \
  inline C10_HOST_DEVICE T abs(T a) { return static_cast<T>(::fabsf(static_cast<float>(a))); }    \
  inline C10_HOST_DEVICE T fabs(T a) { return static_cast<T>(::fabsf(static_cast<float>(a))); }   \
  inline C10_HOST_DEVICE T rsqrt(T a) { return static_cast<T>(1.0f / ::sqrtf(static_cast<float>(a))); } \
  inline C10_HOST_DEVICE T pow(T a, T b) { return static_cast<T>(::powf(static_cast<float>(a), static_cast<float>(b))); } \
  inline C10_HOST_DEVICE T pow(T a, double b) { return static_cast<T>(::pow(static_cast<double>(a), b)); } \
  inline C10_HOST_DEVICE T fmod(T a, T b) { return static_cast<T>(::fmodf(static_cast<float>(a), static_cast<float>(b))); } \
  inline C10_HOST_DEVICE bool isnan(T a) { return __builtin_isnan(static_cast<float>(a)); }       \
  inline C10_HOST_DEVICE bool isinf(T a) { return __builtin_isinf(static_cast<float>(a)); }       \
  inline C10_HOST_DEVICE bool isfinite(T a) { return __builtin_isfinite(static_cast<float>(a)); }
PARITY_FLOAT_FUNCTIONS(c10::Half)
PARITY_FLOAT_FUNCTIONS(c10::BFloat16)
#undef PARITY_FLOAT_FUNCTIONS
#undef PARITY_FLOAT_FUNCTION
}  // namespace std
