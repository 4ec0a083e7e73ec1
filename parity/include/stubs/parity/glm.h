// GLM's vectors and matrices of 2 to 4, columns first, as far as kernels commonly use them: written from its manual.
#pragma once

#include <hip/hip_runtime.h>
#include <math.h>

#include <limits>

#ifndef GLM_FORCE_CUDA
#define GLM_FORCE_CUDA
#endif
#define GLM_FUNC_QUALIFIER __host__ __device__
#define PARITY_GLM __host__ __device__ inline

namespace glm {
typedef int length_t;
enum qualifier { packed_highp, highp = packed_highp, defaultp = highp };
template <length_t L, typename T, qualifier Q = defaultp>
struct vec;
template <length_t C, length_t R, typename T, qualifier Q = defaultp>
struct mat;

template <typename T, qualifier Q>
struct vec<2, T, Q> {
  typedef T value_type;
  typedef vec type;
  union { T x, r, s; };
  union { T y, g, t; };
  static constexpr PARITY_GLM length_t length() { return 2; }
  vec() = default;
  constexpr PARITY_GLM explicit vec(T s) : x(s), y(s) {}
  template <typename X_, typename Y_>
  constexpr PARITY_GLM vec(X_ x_, Y_ y_) : x(static_cast<T>(x_)), y(static_cast<T>(y_)) {}
  template <typename U, qualifier P>
  constexpr PARITY_GLM vec(const vec<2, U, P>& v) : x(static_cast<T>(v.x)), y(static_cast<T>(v.y)) {}
  template <typename U, qualifier P>
  constexpr PARITY_GLM explicit vec(const vec<3, U, P>& v) : x(static_cast<T>(v.x)), y(static_cast<T>(v.y)) {}
  template <typename U, qualifier P>
  constexpr PARITY_GLM explicit vec(const vec<4, U, P>& v) : x(static_cast<T>(v.x)), y(static_cast<T>(v.y)) {}
  PARITY_GLM T& operator[](length_t i) { return (&x)[i]; }
  PARITY_GLM const T& operator[](length_t i) const { return (&x)[i]; }
  template <typename U>
  PARITY_GLM vec& operator+=(const vec<2, U, Q>& v) { x += static_cast<T>(v.x); y += static_cast<T>(v.y); return *this; }
  template <typename U>
  PARITY_GLM vec& operator+=(U s) { x += static_cast<T>(s); y += static_cast<T>(s); return *this; }
  template <typename U>
  PARITY_GLM vec& operator-=(const vec<2, U, Q>& v) { x -= static_cast<T>(v.x); y -= static_cast<T>(v.y); return *this; }
  template <typename U>
  PARITY_GLM vec& operator-=(U s) { x -= static_cast<T>(s); y -= static_cast<T>(s); return *this; }
  template <typename U>
  PARITY_GLM vec& operator*=(const vec<2, U, Q>& v) { x *= static_cast<T>(v.x); y *= static_cast<T>(v.y); return *this; }
  template <typename U>
  PARITY_GLM vec& operator*=(U s) { x *= static_cast<T>(s); y *= static_cast<T>(s); return *this; }
  template <typename U>
  PARITY_GLM vec& operator/=(const vec<2, U, Q>& v) { x /= static_cast<T>(v.x); y /= static_cast<T>(v.y); return *this; }
  template <typename U>
  PARITY_GLM vec& operator/=(U s) { x /= static_cast<T>(s); y /= static_cast<T>(s); return *this; }
  friend constexpr PARITY_GLM vec operator+(const vec& a, const vec& b) { return vec(a.x + b.x, a.y + b.y); }
  friend constexpr PARITY_GLM vec operator+(const vec& a, T s) { return vec(a.x + s, a.y + s); }
  friend constexpr PARITY_GLM vec operator+(T s, const vec& a) { return vec(s + a.x, s + a.y); }
  friend constexpr PARITY_GLM vec operator-(const vec& a, const vec& b) { return vec(a.x - b.x, a.y - b.y); }
  friend constexpr PARITY_GLM vec operator-(const vec& a, T s) { return vec(a.x - s, a.y - s); }
  friend constexpr PARITY_GLM vec operator-(T s, const vec& a) { return vec(s - a.x, s - a.y); }
  friend constexpr PARITY_GLM vec operator*(const vec& a, const vec& b) { return vec(a.x * b.x, a.y * b.y); }
  friend constexpr PARITY_GLM vec operator*(const vec& a, T s) { return vec(a.x * s, a.y * s); }
  friend constexpr PARITY_GLM vec operator*(T s, const vec& a) { return vec(s * a.x, s * a.y); }
  friend constexpr PARITY_GLM vec operator/(const vec& a, const vec& b) { return vec(a.x / b.x, a.y / b.y); }
  friend constexpr PARITY_GLM vec operator/(const vec& a, T s) { return vec(a.x / s, a.y / s); }
  friend constexpr PARITY_GLM vec operator/(T s, const vec& a) { return vec(s / a.x, s / a.y); }
  friend constexpr PARITY_GLM vec operator%(const vec& a, const vec& b) { return vec(a.x % b.x, a.y % b.y); }
  friend constexpr PARITY_GLM vec operator%(const vec& a, T s) { return vec(a.x % s, a.y % s); }
  friend constexpr PARITY_GLM vec operator%(T s, const vec& a) { return vec(s % a.x, s % a.y); }
  friend constexpr PARITY_GLM vec operator&(const vec& a, const vec& b) { return vec(a.x & b.x, a.y & b.y); }
  friend constexpr PARITY_GLM vec operator&(const vec& a, T s) { return vec(a.x & s, a.y & s); }
  friend constexpr PARITY_GLM vec operator&(T s, const vec& a) { return vec(s & a.x, s & a.y); }
  friend constexpr PARITY_GLM vec operator|(const vec& a, const vec& b) { return vec(a.x | b.x, a.y | b.y); }
  friend constexpr PARITY_GLM vec operator|(const vec& a, T s) { return vec(a.x | s, a.y | s); }
  friend constexpr PARITY_GLM vec operator|(T s, const vec& a) { return vec(s | a.x, s | a.y); }
  friend constexpr PARITY_GLM vec operator^(const vec& a, const vec& b) { return vec(a.x ^ b.x, a.y ^ b.y); }
  friend constexpr PARITY_GLM vec operator^(const vec& a, T s) { return vec(a.x ^ s, a.y ^ s); }
  friend constexpr PARITY_GLM vec operator^(T s, const vec& a) { return vec(s ^ a.x, s ^ a.y); }
  friend constexpr PARITY_GLM vec operator<<(const vec& a, const vec& b) { return vec(a.x << b.x, a.y << b.y); }
  friend constexpr PARITY_GLM vec operator<<(const vec& a, T s) { return vec(a.x << s, a.y << s); }
  friend constexpr PARITY_GLM vec operator<<(T s, const vec& a) { return vec(s << a.x, s << a.y); }
  friend constexpr PARITY_GLM vec operator>>(const vec& a, const vec& b) { return vec(a.x >> b.x, a.y >> b.y); }
  friend constexpr PARITY_GLM vec operator>>(const vec& a, T s) { return vec(a.x >> s, a.y >> s); }
  friend constexpr PARITY_GLM vec operator>>(T s, const vec& a) { return vec(s >> a.x, s >> a.y); }
  friend constexpr PARITY_GLM vec operator-(const vec& a) { return vec(-a.x, -a.y); }
  friend constexpr PARITY_GLM vec operator+(const vec& a) { return a; }
  PARITY_GLM vec& operator++() { return *this += T(1); }
  PARITY_GLM vec& operator--() { return *this -= T(1); }
  friend constexpr PARITY_GLM bool operator==(const vec& a, const vec& b) { return a.x == b.x && a.y == b.y; }
  friend constexpr PARITY_GLM bool operator!=(const vec& a, const vec& b) { return !(a == b); }
};

template <typename T, qualifier Q>
struct vec<3, T, Q> {
  typedef T value_type;
  typedef vec type;
  union { T x, r, s; };
  union { T y, g, t; };
  union { T z, b, p; };
  static constexpr PARITY_GLM length_t length() { return 3; }
  vec() = default;
  constexpr PARITY_GLM explicit vec(T s) : x(s), y(s), z(s) {}
  template <typename X_, typename Y_, typename Z_>
  constexpr PARITY_GLM vec(X_ x_, Y_ y_, Z_ z_) : x(static_cast<T>(x_)), y(static_cast<T>(y_)), z(static_cast<T>(z_)) {}
  template <typename U, qualifier P>
  constexpr PARITY_GLM vec(const vec<3, U, P>& v) : x(static_cast<T>(v.x)), y(static_cast<T>(v.y)), z(static_cast<T>(v.z)) {}
  template <typename U, qualifier P>
  constexpr PARITY_GLM explicit vec(const vec<4, U, P>& v) : x(static_cast<T>(v.x)), y(static_cast<T>(v.y)), z(static_cast<T>(v.z)) {}
  template <typename A, typename B>
  constexpr PARITY_GLM vec(const vec<2, A, Q>& v, B s) : x(static_cast<T>(v.x)), y(static_cast<T>(v.y)), z(static_cast<T>(s)) {}
  template <typename A, typename B>
  constexpr PARITY_GLM vec(A s, const vec<2, B, Q>& v) : x(static_cast<T>(s)), y(static_cast<T>(v.x)), z(static_cast<T>(v.y)) {}
  PARITY_GLM T& operator[](length_t i) { return (&x)[i]; }
  PARITY_GLM const T& operator[](length_t i) const { return (&x)[i]; }
  template <typename U>
  PARITY_GLM vec& operator+=(const vec<3, U, Q>& v) { x += static_cast<T>(v.x); y += static_cast<T>(v.y); z += static_cast<T>(v.z); return *this; }
  template <typename U>
  PARITY_GLM vec& operator+=(U s) { x += static_cast<T>(s); y += static_cast<T>(s); z += static_cast<T>(s); return *this; }
  template <typename U>
  PARITY_GLM vec& operator-=(const vec<3, U, Q>& v) { x -= static_cast<T>(v.x); y -= static_cast<T>(v.y); z -= static_cast<T>(v.z); return *this; }
  template <typename U>
  PARITY_GLM vec& operator-=(U s) { x -= static_cast<T>(s); y -= static_cast<T>(s); z -= static_cast<T>(s); return *this; }
  template <typename U>
  PARITY_GLM vec& operator*=(const vec<3, U, Q>& v) { x *= static_cast<T>(v.x); y *= static_cast<T>(v.y); z *= static_cast<T>(v.z); return *this; }
  template <typename U>
  PARITY_GLM vec& operator*=(U s) { x *= static_cast<T>(s); y *= static_cast<T>(s); z *= static_cast<T>(s); return *this; }
  template <typename U>
  PARITY_GLM vec& operator/=(const vec<3, U, Q>& v) { x /= static_cast<T>(v.x); y /= static_cast<T>(v.y); z /= static_cast<T>(v.z); return *this; }
  template <typename U>
  PARITY_GLM vec& operator/=(U s) { x /= static_cast<T>(s); y /= static_cast<T>(s); z /= static_cast<T>(s); return *this; }
  friend constexpr PARITY_GLM vec operator+(const vec& a, const vec& b) { return vec(a.x + b.x, a.y + b.y, a.z + b.z); }
  friend constexpr PARITY_GLM vec operator+(const vec& a, T s) { return vec(a.x + s, a.y + s, a.z + s); }
  friend constexpr PARITY_GLM vec operator+(T s, const vec& a) { return vec(s + a.x, s + a.y, s + a.z); }
  friend constexpr PARITY_GLM vec operator-(const vec& a, const vec& b) { return vec(a.x - b.x, a.y - b.y, a.z - b.z); }
  friend constexpr PARITY_GLM vec operator-(const vec& a, T s) { return vec(a.x - s, a.y - s, a.z - s); }
  friend constexpr PARITY_GLM vec operator-(T s, const vec& a) { return vec(s - a.x, s - a.y, s - a.z); }
  friend constexpr PARITY_GLM vec operator*(const vec& a, const vec& b) { return vec(a.x * b.x, a.y * b.y, a.z * b.z); }
  friend constexpr PARITY_GLM vec operator*(const vec& a, T s) { return vec(a.x * s, a.y * s, a.z * s); }
  friend constexpr PARITY_GLM vec operator*(T s, const vec& a) { return vec(s * a.x, s * a.y, s * a.z); }
  friend constexpr PARITY_GLM vec operator/(const vec& a, const vec& b) { return vec(a.x / b.x, a.y / b.y, a.z / b.z); }
  friend constexpr PARITY_GLM vec operator/(const vec& a, T s) { return vec(a.x / s, a.y / s, a.z / s); }
  friend constexpr PARITY_GLM vec operator/(T s, const vec& a) { return vec(s / a.x, s / a.y, s / a.z); }
  friend constexpr PARITY_GLM vec operator%(const vec& a, const vec& b) { return vec(a.x % b.x, a.y % b.y, a.z % b.z); }
  friend constexpr PARITY_GLM vec operator%(const vec& a, T s) { return vec(a.x % s, a.y % s, a.z % s); }
  friend constexpr PARITY_GLM vec operator%(T s, const vec& a) { return vec(s % a.x, s % a.y, s % a.z); }
  friend constexpr PARITY_GLM vec operator&(const vec& a, const vec& b) { return vec(a.x & b.x, a.y & b.y, a.z & b.z); }
  friend constexpr PARITY_GLM vec operator&(const vec& a, T s) { return vec(a.x & s, a.y & s, a.z & s); }
  friend constexpr PARITY_GLM vec operator&(T s, const vec& a) { return vec(s & a.x, s & a.y, s & a.z); }
  friend constexpr PARITY_GLM vec operator|(const vec& a, const vec& b) { return vec(a.x | b.x, a.y | b.y, a.z | b.z); }
  friend constexpr PARITY_GLM vec operator|(const vec& a, T s) { return vec(a.x | s, a.y | s, a.z | s); }
  friend constexpr PARITY_GLM vec operator|(T s, const vec& a) { return vec(s | a.x, s | a.y, s | a.z); }
  friend constexpr PARITY_GLM vec operator^(const vec& a, const vec& b) { return vec(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z); }
  friend constexpr PARITY_GLM vec operator^(const vec& a, T s) { return vec(a.x ^ s, a.y ^ s, a.z ^ s); }
  friend constexpr PARITY_GLM vec operator^(T s, const vec& a) { return vec(s ^ a.x, s ^ a.y, s ^ a.z); }
  friend constexpr PARITY_GLM vec operator<<(const vec& a, const vec& b) { return vec(a.x << b.x, a.y << b.y, a.z << b.z); }
  friend constexpr PARITY_GLM vec operator<<(const vec& a, T s) { return vec(a.x << s, a.y << s, a.z << s); }
  friend constexpr PARITY_GLM vec operator<<(T s, const vec& a) { return vec(s << a.x, s << a.y, s << a.z); }
  friend constexpr PARITY_GLM vec operator>>(const vec& a, const vec& b) { return vec(a.x >> b.x, a.y >> b.y, a.z >> b.z); }
  friend constexpr PARITY_GLM vec operator>>(const vec& a, T s) { return vec(a.x >> s, a.y >> s, a.z >> s); }
  friend constexpr PARITY_GLM vec operator>>(T s, const vec& a) { return vec(s >> a.x, s >> a.y, s >> a.z); }
  friend constexpr PARITY_GLM vec operator-(const vec& a) { return vec(-a.x, -a.y, -a.z); }
  friend constexpr PARITY_GLM vec operator+(const vec& a) { return a; }
  PARITY_GLM vec& operator++() { return *this += T(1); }
  PARITY_GLM vec& operator--() { return *this -= T(1); }
  friend constexpr PARITY_GLM bool operator==(const vec& a, const vec& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
  friend constexpr PARITY_GLM bool operator!=(const vec& a, const vec& b) { return !(a == b); }
};

template <typename T, qualifier Q>
struct vec<4, T, Q> {
  typedef T value_type;
  typedef vec type;
  union { T x, r, s; };
  union { T y, g, t; };
  union { T z, b, p; };
  union { T w, a, q; };
  static constexpr PARITY_GLM length_t length() { return 4; }
  vec() = default;
  constexpr PARITY_GLM explicit vec(T s) : x(s), y(s), z(s), w(s) {}
  template <typename X_, typename Y_, typename Z_, typename W_>
  constexpr PARITY_GLM vec(X_ x_, Y_ y_, Z_ z_, W_ w_) : x(static_cast<T>(x_)), y(static_cast<T>(y_)), z(static_cast<T>(z_)), w(static_cast<T>(w_)) {}
  template <typename U, qualifier P>
  constexpr PARITY_GLM vec(const vec<4, U, P>& v) : x(static_cast<T>(v.x)), y(static_cast<T>(v.y)), z(static_cast<T>(v.z)), w(static_cast<T>(v.w)) {}
  template <typename A, typename B>
  constexpr PARITY_GLM vec(const vec<3, A, Q>& v, B s) : x(static_cast<T>(v.x)), y(static_cast<T>(v.y)), z(static_cast<T>(v.z)), w(static_cast<T>(s)) {}
  template <typename A, typename B>
  constexpr PARITY_GLM vec(A s, const vec<3, B, Q>& v) : x(static_cast<T>(s)), y(static_cast<T>(v.x)), z(static_cast<T>(v.y)), w(static_cast<T>(v.z)) {}
  template <typename A, typename B>
  constexpr PARITY_GLM vec(const vec<2, A, Q>& a, const vec<2, B, Q>& b) : x(static_cast<T>(a.x)), y(static_cast<T>(a.y)), z(static_cast<T>(b.x)), w(static_cast<T>(b.y)) {}
  PARITY_GLM T& operator[](length_t i) { return (&x)[i]; }
  PARITY_GLM const T& operator[](length_t i) const { return (&x)[i]; }
  template <typename U>
  PARITY_GLM vec& operator+=(const vec<4, U, Q>& v) { x += static_cast<T>(v.x); y += static_cast<T>(v.y); z += static_cast<T>(v.z); w += static_cast<T>(v.w); return *this; }
  template <typename U>
  PARITY_GLM vec& operator+=(U s) { x += static_cast<T>(s); y += static_cast<T>(s); z += static_cast<T>(s); w += static_cast<T>(s); return *this; }
  template <typename U>
  PARITY_GLM vec& operator-=(const vec<4, U, Q>& v) { x -= static_cast<T>(v.x); y -= static_cast<T>(v.y); z -= static_cast<T>(v.z); w -= static_cast<T>(v.w); return *this; }
  template <typename U>
  PARITY_GLM vec& operator-=(U s) { x -= static_cast<T>(s); y -= static_cast<T>(s); z -= static_cast<T>(s); w -= static_cast<T>(s); return *this; }
  template <typename U>
  PARITY_GLM vec& operator*=(const vec<4, U, Q>& v) { x *= static_cast<T>(v.x); y *= static_cast<T>(v.y); z *= static_cast<T>(v.z); w *= static_cast<T>(v.w); return *this; }
  template <typename U>
  PARITY_GLM vec& operator*=(U s) { x *= static_cast<T>(s); y *= static_cast<T>(s); z *= static_cast<T>(s); w *= static_cast<T>(s); return *this; }
  template <typename U>
  PARITY_GLM vec& operator/=(const vec<4, U, Q>& v) { x /= static_cast<T>(v.x); y /= static_cast<T>(v.y); z /= static_cast<T>(v.z); w /= static_cast<T>(v.w); return *this; }
  template <typename U>
  PARITY_GLM vec& operator/=(U s) { x /= static_cast<T>(s); y /= static_cast<T>(s); z /= static_cast<T>(s); w /= static_cast<T>(s); return *this; }
  friend constexpr PARITY_GLM vec operator+(const vec& a, const vec& b) { return vec(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
  friend constexpr PARITY_GLM vec operator+(const vec& a, T s) { return vec(a.x + s, a.y + s, a.z + s, a.w + s); }
  friend constexpr PARITY_GLM vec operator+(T s, const vec& a) { return vec(s + a.x, s + a.y, s + a.z, s + a.w); }
  friend constexpr PARITY_GLM vec operator-(const vec& a, const vec& b) { return vec(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w); }
  friend constexpr PARITY_GLM vec operator-(const vec& a, T s) { return vec(a.x - s, a.y - s, a.z - s, a.w - s); }
  friend constexpr PARITY_GLM vec operator-(T s, const vec& a) { return vec(s - a.x, s - a.y, s - a.z, s - a.w); }
  friend constexpr PARITY_GLM vec operator*(const vec& a, const vec& b) { return vec(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
  friend constexpr PARITY_GLM vec operator*(const vec& a, T s) { return vec(a.x * s, a.y * s, a.z * s, a.w * s); }
  friend constexpr PARITY_GLM vec operator*(T s, const vec& a) { return vec(s * a.x, s * a.y, s * a.z, s * a.w); }
  friend constexpr PARITY_GLM vec operator/(const vec& a, const vec& b) { return vec(a.x / b.x, a.y / b.y, a.z / b.z, a.w / b.w); }
  friend constexpr PARITY_GLM vec operator/(const vec& a, T s) { return vec(a.x / s, a.y / s, a.z / s, a.w / s); }
  friend constexpr PARITY_GLM vec operator/(T s, const vec& a) { return vec(s / a.x, s / a.y, s / a.z, s / a.w); }
  friend constexpr PARITY_GLM vec operator%(const vec& a, const vec& b) { return vec(a.x % b.x, a.y % b.y, a.z % b.z, a.w % b.w); }
  friend constexpr PARITY_GLM vec operator%(const vec& a, T s) { return vec(a.x % s, a.y % s, a.z % s, a.w % s); }
  friend constexpr PARITY_GLM vec operator%(T s, const vec& a) { return vec(s % a.x, s % a.y, s % a.z, s % a.w); }
  friend constexpr PARITY_GLM vec operator&(const vec& a, const vec& b) { return vec(a.x & b.x, a.y & b.y, a.z & b.z, a.w & b.w); }
  friend constexpr PARITY_GLM vec operator&(const vec& a, T s) { return vec(a.x & s, a.y & s, a.z & s, a.w & s); }
  friend constexpr PARITY_GLM vec operator&(T s, const vec& a) { return vec(s & a.x, s & a.y, s & a.z, s & a.w); }
  friend constexpr PARITY_GLM vec operator|(const vec& a, const vec& b) { return vec(a.x | b.x, a.y | b.y, a.z | b.z, a.w | b.w); }
  friend constexpr PARITY_GLM vec operator|(const vec& a, T s) { return vec(a.x | s, a.y | s, a.z | s, a.w | s); }
  friend constexpr PARITY_GLM vec operator|(T s, const vec& a) { return vec(s | a.x, s | a.y, s | a.z, s | a.w); }
  friend constexpr PARITY_GLM vec operator^(const vec& a, const vec& b) { return vec(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w); }
  friend constexpr PARITY_GLM vec operator^(const vec& a, T s) { return vec(a.x ^ s, a.y ^ s, a.z ^ s, a.w ^ s); }
  friend constexpr PARITY_GLM vec operator^(T s, const vec& a) { return vec(s ^ a.x, s ^ a.y, s ^ a.z, s ^ a.w); }
  friend constexpr PARITY_GLM vec operator<<(const vec& a, const vec& b) { return vec(a.x << b.x, a.y << b.y, a.z << b.z, a.w << b.w); }
  friend constexpr PARITY_GLM vec operator<<(const vec& a, T s) { return vec(a.x << s, a.y << s, a.z << s, a.w << s); }
  friend constexpr PARITY_GLM vec operator<<(T s, const vec& a) { return vec(s << a.x, s << a.y, s << a.z, s << a.w); }
  friend constexpr PARITY_GLM vec operator>>(const vec& a, const vec& b) { return vec(a.x >> b.x, a.y >> b.y, a.z >> b.z, a.w >> b.w); }
  friend constexpr PARITY_GLM vec operator>>(const vec& a, T s) { return vec(a.x >> s, a.y >> s, a.z >> s, a.w >> s); }
  friend constexpr PARITY_GLM vec operator>>(T s, const vec& a) { return vec(s >> a.x, s >> a.y, s >> a.z, s >> a.w); }
  friend constexpr PARITY_GLM vec operator-(const vec& a) { return vec(-a.x, -a.y, -a.z, -a.w); }
  friend constexpr PARITY_GLM vec operator+(const vec& a) { return a; }
  PARITY_GLM vec& operator++() { return *this += T(1); }
  PARITY_GLM vec& operator--() { return *this -= T(1); }
  friend constexpr PARITY_GLM bool operator==(const vec& a, const vec& b) { return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w; }
  friend constexpr PARITY_GLM bool operator!=(const vec& a, const vec& b) { return !(a == b); }
};

template <typename T, qualifier Q>
struct mat<2, 2, T, Q> {
  typedef T value_type;
  typedef vec<2, T, Q> col_type;
  typedef vec<2, T, Q> row_type;
  col_type value[2];
  static constexpr PARITY_GLM length_t length() { return 2; }
  mat() = default;
  constexpr PARITY_GLM explicit mat(T s) : value{col_type(s, T(0)), col_type(T(0), s)} {}
  constexpr PARITY_GLM mat(const col_type& c0, const col_type& c1) : value{c0, c1} {}
  constexpr PARITY_GLM mat(T m00, T m01, T m10, T m11) : value{col_type(m00, m01), col_type(m10, m11)} {}
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<2, 2, U, P>& m) : value{col_type(m[0]), col_type(m[1])} {}
  template <length_t C2, length_t R2, typename U>
  PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : mat(T(1)) {
    for (int i = 0; i < (C2 < 2 ? C2 : 2); ++i) for (int k = 0; k < (R2 < 2 ? R2 : 2); ++k) value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { return mat(a[0] + b[0], a[1] + b[1]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { return mat(a[0] - b[0], a[1] - b[1]); }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  friend PARITY_GLM mat operator*(const mat& a, T s) { return mat(a[0] * s, a[1] * s); }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  friend PARITY_GLM mat operator/(const mat& a, T s) { return mat(a[0] / s, a[1] / s); }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM mat operator*(T s, const mat& a) { return mat(s * a[0], s * a[1]); }
  friend PARITY_GLM mat operator-(const mat& a) { return mat(-a[0], -a[1]); }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) { return a[0] * v.x + a[1] * v.y; }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) { return row_type((v.x * a[0].x + v.y * a[0].y), (v.x * a[1].x + v.y * a[1].y)); }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) { return a[0] == b[0] && a[1] == b[1]; }
};

template <typename T, qualifier Q>
struct mat<2, 3, T, Q> {
  typedef T value_type;
  typedef vec<3, T, Q> col_type;
  typedef vec<2, T, Q> row_type;
  col_type value[2];
  static constexpr PARITY_GLM length_t length() { return 2; }
  mat() = default;
  constexpr PARITY_GLM explicit mat(T s) : value{col_type(s, T(0), T(0)), col_type(T(0), s, T(0))} {}
  constexpr PARITY_GLM mat(const col_type& c0, const col_type& c1) : value{c0, c1} {}
  constexpr PARITY_GLM mat(T m00, T m01, T m02, T m10, T m11, T m12) : value{col_type(m00, m01, m02), col_type(m10, m11, m12)} {}
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<2, 3, U, P>& m) : value{col_type(m[0]), col_type(m[1])} {}
  template <length_t C2, length_t R2, typename U>
  PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : mat(T(1)) {
    for (int i = 0; i < (C2 < 2 ? C2 : 2); ++i) for (int k = 0; k < (R2 < 3 ? R2 : 3); ++k) value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { return mat(a[0] + b[0], a[1] + b[1]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { return mat(a[0] - b[0], a[1] - b[1]); }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  friend PARITY_GLM mat operator*(const mat& a, T s) { return mat(a[0] * s, a[1] * s); }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  friend PARITY_GLM mat operator/(const mat& a, T s) { return mat(a[0] / s, a[1] / s); }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM mat operator*(T s, const mat& a) { return mat(s * a[0], s * a[1]); }
  friend PARITY_GLM mat operator-(const mat& a) { return mat(-a[0], -a[1]); }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) { return a[0] * v.x + a[1] * v.y; }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) { return row_type((v.x * a[0].x + v.y * a[0].y + v.z * a[0].z), (v.x * a[1].x + v.y * a[1].y + v.z * a[1].z)); }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) { return a[0] == b[0] && a[1] == b[1]; }
};

template <typename T, qualifier Q>
struct mat<2, 4, T, Q> {
  typedef T value_type;
  typedef vec<4, T, Q> col_type;
  typedef vec<2, T, Q> row_type;
  col_type value[2];
  static constexpr PARITY_GLM length_t length() { return 2; }
  mat() = default;
  constexpr PARITY_GLM explicit mat(T s) : value{col_type(s, T(0), T(0), T(0)), col_type(T(0), s, T(0), T(0))} {}
  constexpr PARITY_GLM mat(const col_type& c0, const col_type& c1) : value{c0, c1} {}
  constexpr PARITY_GLM mat(T m00, T m01, T m02, T m03, T m10, T m11, T m12, T m13) : value{col_type(m00, m01, m02, m03), col_type(m10, m11, m12, m13)} {}
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<2, 4, U, P>& m) : value{col_type(m[0]), col_type(m[1])} {}
  template <length_t C2, length_t R2, typename U>
  PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : mat(T(1)) {
    for (int i = 0; i < (C2 < 2 ? C2 : 2); ++i) for (int k = 0; k < (R2 < 4 ? R2 : 4); ++k) value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { return mat(a[0] + b[0], a[1] + b[1]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { return mat(a[0] - b[0], a[1] - b[1]); }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  friend PARITY_GLM mat operator*(const mat& a, T s) { return mat(a[0] * s, a[1] * s); }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  friend PARITY_GLM mat operator/(const mat& a, T s) { return mat(a[0] / s, a[1] / s); }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM mat operator*(T s, const mat& a) { return mat(s * a[0], s * a[1]); }
  friend PARITY_GLM mat operator-(const mat& a) { return mat(-a[0], -a[1]); }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) { return a[0] * v.x + a[1] * v.y; }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) { return row_type((v.x * a[0].x + v.y * a[0].y + v.z * a[0].z + v.w * a[0].w), (v.x * a[1].x + v.y * a[1].y + v.z * a[1].z + v.w * a[1].w)); }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) { return a[0] == b[0] && a[1] == b[1]; }
};

template <typename T, qualifier Q>
struct mat<3, 2, T, Q> {
  typedef T value_type;
  typedef vec<2, T, Q> col_type;
  typedef vec<3, T, Q> row_type;
  col_type value[3];
  static constexpr PARITY_GLM length_t length() { return 3; }
  mat() = default;
  constexpr PARITY_GLM explicit mat(T s) : value{col_type(s, T(0)), col_type(T(0), s), col_type(T(0), T(0))} {}
  constexpr PARITY_GLM mat(const col_type& c0, const col_type& c1, const col_type& c2) : value{c0, c1, c2} {}
  constexpr PARITY_GLM mat(T m00, T m01, T m10, T m11, T m20, T m21) : value{col_type(m00, m01), col_type(m10, m11), col_type(m20, m21)} {}
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<3, 2, U, P>& m) : value{col_type(m[0]), col_type(m[1]), col_type(m[2])} {}
  template <length_t C2, length_t R2, typename U>
  PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : mat(T(1)) {
    for (int i = 0; i < (C2 < 3 ? C2 : 3); ++i) for (int k = 0; k < (R2 < 2 ? R2 : 2); ++k) value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { return mat(a[0] + b[0], a[1] + b[1], a[2] + b[2]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { return mat(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  friend PARITY_GLM mat operator*(const mat& a, T s) { return mat(a[0] * s, a[1] * s, a[2] * s); }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  friend PARITY_GLM mat operator/(const mat& a, T s) { return mat(a[0] / s, a[1] / s, a[2] / s); }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM mat operator*(T s, const mat& a) { return mat(s * a[0], s * a[1], s * a[2]); }
  friend PARITY_GLM mat operator-(const mat& a) { return mat(-a[0], -a[1], -a[2]); }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) { return a[0] * v.x + a[1] * v.y + a[2] * v.z; }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) { return row_type((v.x * a[0].x + v.y * a[0].y), (v.x * a[1].x + v.y * a[1].y), (v.x * a[2].x + v.y * a[2].y)); }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }
};

template <typename T, qualifier Q>
struct mat<3, 3, T, Q> {
  typedef T value_type;
  typedef vec<3, T, Q> col_type;
  typedef vec<3, T, Q> row_type;
  col_type value[3];
  static constexpr PARITY_GLM length_t length() { return 3; }
  mat() = default;
  constexpr PARITY_GLM explicit mat(T s) : value{col_type(s, T(0), T(0)), col_type(T(0), s, T(0)), col_type(T(0), T(0), s)} {}
  constexpr PARITY_GLM mat(const col_type& c0, const col_type& c1, const col_type& c2) : value{c0, c1, c2} {}
  constexpr PARITY_GLM mat(T m00, T m01, T m02, T m10, T m11, T m12, T m20, T m21, T m22) : value{col_type(m00, m01, m02), col_type(m10, m11, m12), col_type(m20, m21, m22)} {}
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<3, 3, U, P>& m) : value{col_type(m[0]), col_type(m[1]), col_type(m[2])} {}
  template <length_t C2, length_t R2, typename U>
  PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : mat(T(1)) {
    for (int i = 0; i < (C2 < 3 ? C2 : 3); ++i) for (int k = 0; k < (R2 < 3 ? R2 : 3); ++k) value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { return mat(a[0] + b[0], a[1] + b[1], a[2] + b[2]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { return mat(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  friend PARITY_GLM mat operator*(const mat& a, T s) { return mat(a[0] * s, a[1] * s, a[2] * s); }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  friend PARITY_GLM mat operator/(const mat& a, T s) { return mat(a[0] / s, a[1] / s, a[2] / s); }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM mat operator*(T s, const mat& a) { return mat(s * a[0], s * a[1], s * a[2]); }
  friend PARITY_GLM mat operator-(const mat& a) { return mat(-a[0], -a[1], -a[2]); }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) { return a[0] * v.x + a[1] * v.y + a[2] * v.z; }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) { return row_type((v.x * a[0].x + v.y * a[0].y + v.z * a[0].z), (v.x * a[1].x + v.y * a[1].y + v.z * a[1].z), (v.x * a[2].x + v.y * a[2].y + v.z * a[2].z)); }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }
};

template <typename T, qualifier Q>
struct mat<3, 4, T, Q> {
  typedef T value_type;
  typedef vec<4, T, Q> col_type;
  typedef vec<3, T, Q> row_type;
  col_type value[3];
  static constexpr PARITY_GLM length_t length() { return 3; }
  mat() = default;
  constexpr PARITY_GLM explicit mat(T s) : value{col_type(s, T(0), T(0), T(0)), col_type(T(0), s, T(0), T(0)), col_type(T(0), T(0), s, T(0))} {}
  constexpr PARITY_GLM mat(const col_type& c0, const col_type& c1, const col_type& c2) : value{c0, c1, c2} {}
  constexpr PARITY_GLM mat(T m00, T m01, T m02, T m03, T m10, T m11, T m12, T m13, T m20, T m21, T m22, T m23) : value{col_type(m00, m01, m02, m03), col_type(m10, m11, m12, m13), col_type(m20, m21, m22, m23)} {}
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<3, 4, U, P>& m) : value{col_type(m[0]), col_type(m[1]), col_type(m[2])} {}
  template <length_t C2, length_t R2, typename U>
  PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : mat(T(1)) {
    for (int i = 0; i < (C2 < 3 ? C2 : 3); ++i) for (int k = 0; k < (R2 < 4 ? R2 : 4); ++k) value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { return mat(a[0] + b[0], a[1] + b[1], a[2] + b[2]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { return mat(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  friend PARITY_GLM mat operator*(const mat& a, T s) { return mat(a[0] * s, a[1] * s, a[2] * s); }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  friend PARITY_GLM mat operator/(const mat& a, T s) { return mat(a[0] / s, a[1] / s, a[2] / s); }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM mat operator*(T s, const mat& a) { return mat(s * a[0], s * a[1], s * a[2]); }
  friend PARITY_GLM mat operator-(const mat& a) { return mat(-a[0], -a[1], -a[2]); }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) { return a[0] * v.x + a[1] * v.y + a[2] * v.z; }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) { return row_type((v.x * a[0].x + v.y * a[0].y + v.z * a[0].z + v.w * a[0].w), (v.x * a[1].x + v.y * a[1].y + v.z * a[1].z + v.w * a[1].w), (v.x * a[2].x + v.y * a[2].y + v.z * a[2].z + v.w * a[2].w)); }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }
};

template <typename T, qualifier Q>
struct mat<4, 2, T, Q> {
  typedef T value_type;
  typedef vec<2, T, Q> col_type;
  typedef vec<4, T, Q> row_type;
  col_type value[4];
  static constexpr PARITY_GLM length_t length() { return 4; }
  mat() = default;
  constexpr PARITY_GLM explicit mat(T s) : value{col_type(s, T(0)), col_type(T(0), s), col_type(T(0), T(0)), col_type(T(0), T(0))} {}
  constexpr PARITY_GLM mat(const col_type& c0, const col_type& c1, const col_type& c2, const col_type& c3) : value{c0, c1, c2, c3} {}
  constexpr PARITY_GLM mat(T m00, T m01, T m10, T m11, T m20, T m21, T m30, T m31) : value{col_type(m00, m01), col_type(m10, m11), col_type(m20, m21), col_type(m30, m31)} {}
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<4, 2, U, P>& m) : value{col_type(m[0]), col_type(m[1]), col_type(m[2]), col_type(m[3])} {}
  template <length_t C2, length_t R2, typename U>
  PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : mat(T(1)) {
    for (int i = 0; i < (C2 < 4 ? C2 : 4); ++i) for (int k = 0; k < (R2 < 2 ? R2 : 2); ++k) value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { return mat(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { return mat(a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]); }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  friend PARITY_GLM mat operator*(const mat& a, T s) { return mat(a[0] * s, a[1] * s, a[2] * s, a[3] * s); }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  friend PARITY_GLM mat operator/(const mat& a, T s) { return mat(a[0] / s, a[1] / s, a[2] / s, a[3] / s); }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM mat operator*(T s, const mat& a) { return mat(s * a[0], s * a[1], s * a[2], s * a[3]); }
  friend PARITY_GLM mat operator-(const mat& a) { return mat(-a[0], -a[1], -a[2], -a[3]); }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) { return a[0] * v.x + a[1] * v.y + a[2] * v.z + a[3] * v.w; }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) { return row_type((v.x * a[0].x + v.y * a[0].y), (v.x * a[1].x + v.y * a[1].y), (v.x * a[2].x + v.y * a[2].y), (v.x * a[3].x + v.y * a[3].y)); }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3]; }
};

template <typename T, qualifier Q>
struct mat<4, 3, T, Q> {
  typedef T value_type;
  typedef vec<3, T, Q> col_type;
  typedef vec<4, T, Q> row_type;
  col_type value[4];
  static constexpr PARITY_GLM length_t length() { return 4; }
  mat() = default;
  constexpr PARITY_GLM explicit mat(T s) : value{col_type(s, T(0), T(0)), col_type(T(0), s, T(0)), col_type(T(0), T(0), s), col_type(T(0), T(0), T(0))} {}
  constexpr PARITY_GLM mat(const col_type& c0, const col_type& c1, const col_type& c2, const col_type& c3) : value{c0, c1, c2, c3} {}
  constexpr PARITY_GLM mat(T m00, T m01, T m02, T m10, T m11, T m12, T m20, T m21, T m22, T m30, T m31, T m32) : value{col_type(m00, m01, m02), col_type(m10, m11, m12), col_type(m20, m21, m22), col_type(m30, m31, m32)} {}
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<4, 3, U, P>& m) : value{col_type(m[0]), col_type(m[1]), col_type(m[2]), col_type(m[3])} {}
  template <length_t C2, length_t R2, typename U>
  PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : mat(T(1)) {
    for (int i = 0; i < (C2 < 4 ? C2 : 4); ++i) for (int k = 0; k < (R2 < 3 ? R2 : 3); ++k) value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { return mat(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { return mat(a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]); }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  friend PARITY_GLM mat operator*(const mat& a, T s) { return mat(a[0] * s, a[1] * s, a[2] * s, a[3] * s); }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  friend PARITY_GLM mat operator/(const mat& a, T s) { return mat(a[0] / s, a[1] / s, a[2] / s, a[3] / s); }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM mat operator*(T s, const mat& a) { return mat(s * a[0], s * a[1], s * a[2], s * a[3]); }
  friend PARITY_GLM mat operator-(const mat& a) { return mat(-a[0], -a[1], -a[2], -a[3]); }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) { return a[0] * v.x + a[1] * v.y + a[2] * v.z + a[3] * v.w; }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) { return row_type((v.x * a[0].x + v.y * a[0].y + v.z * a[0].z), (v.x * a[1].x + v.y * a[1].y + v.z * a[1].z), (v.x * a[2].x + v.y * a[2].y + v.z * a[2].z), (v.x * a[3].x + v.y * a[3].y + v.z * a[3].z)); }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3]; }
};

template <typename T, qualifier Q>
struct mat<4, 4, T, Q> {
  typedef T value_type;
  typedef vec<4, T, Q> col_type;
  typedef vec<4, T, Q> row_type;
  col_type value[4];
  static constexpr PARITY_GLM length_t length() { return 4; }
  mat() = default;
  constexpr PARITY_GLM explicit mat(T s) : value{col_type(s, T(0), T(0), T(0)), col_type(T(0), s, T(0), T(0)), col_type(T(0), T(0), s, T(0)), col_type(T(0), T(0), T(0), s)} {}
  constexpr PARITY_GLM mat(const col_type& c0, const col_type& c1, const col_type& c2, const col_type& c3) : value{c0, c1, c2, c3} {}
  constexpr PARITY_GLM mat(T m00, T m01, T m02, T m03, T m10, T m11, T m12, T m13, T m20, T m21, T m22, T m23, T m30, T m31, T m32, T m33) : value{col_type(m00, m01, m02, m03), col_type(m10, m11, m12, m13), col_type(m20, m21, m22, m23), col_type(m30, m31, m32, m33)} {}
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<4, 4, U, P>& m) : value{col_type(m[0]), col_type(m[1]), col_type(m[2]), col_type(m[3])} {}
  template <length_t C2, length_t R2, typename U>
  PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : mat(T(1)) {
    for (int i = 0; i < (C2 < 4 ? C2 : 4); ++i) for (int k = 0; k < (R2 < 4 ? R2 : 4); ++k) value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { return mat(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { return mat(a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]); }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  friend PARITY_GLM mat operator*(const mat& a, T s) { return mat(a[0] * s, a[1] * s, a[2] * s, a[3] * s); }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  friend PARITY_GLM mat operator/(const mat& a, T s) { return mat(a[0] / s, a[1] / s, a[2] / s, a[3] / s); }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM mat operator*(T s, const mat& a) { return mat(s * a[0], s * a[1], s * a[2], s * a[3]); }
  friend PARITY_GLM mat operator-(const mat& a) { return mat(-a[0], -a[1], -a[2], -a[3]); }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) { return a[0] * v.x + a[1] * v.y + a[2] * v.z + a[3] * v.w; }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) { return row_type((v.x * a[0].x + v.y * a[0].y + v.z * a[0].z + v.w * a[0].w), (v.x * a[1].x + v.y * a[1].y + v.z * a[1].z + v.w * a[1].w), (v.x * a[2].x + v.y * a[2].y + v.z * a[2].z + v.w * a[2].w), (v.x * a[3].x + v.y * a[3].y + v.z * a[3].z + v.w * a[3].w)); }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3]; }
};

template <length_t C, length_t K, length_t R, typename T, qualifier Q>
PARITY_GLM mat<C, R, T, Q> operator*(const mat<K, R, T, Q>& a, const mat<C, K, T, Q>& b) {
  mat<C, R, T, Q> result;
  for (int i = 0; i < C; ++i) result[i] = a * b[i];
  return result;
}
template <length_t C, length_t R, typename T, qualifier Q>
PARITY_GLM mat<R, C, T, Q> transpose(const mat<C, R, T, Q>& m) {
  mat<R, C, T, Q> result;
  for (int i = 0; i < C; ++i) for (int k = 0; k < R; ++k) result[k][i] = m[i][k];
  return result;
}
template <length_t C, length_t R, typename T, qualifier Q>
PARITY_GLM mat<C, R, T, Q> matrixCompMult(const mat<C, R, T, Q>& a, const mat<C, R, T, Q>& b) {
  mat<C, R, T, Q> result;
  for (int i = 0; i < C; ++i) result[i] = a[i] * b[i];
  return result;
}
template <length_t C, length_t R, typename T, qualifier Q>
PARITY_GLM mat<C, R, T, Q> outerProduct(const vec<R, T, Q>& c, const vec<C, T, Q>& r) {
  mat<C, R, T, Q> result;
  for (int i = 0; i < C; ++i) result[i] = c * r[i];
  return result;
}
template <typename T, qualifier Q>
PARITY_GLM T determinant(const mat<2, 2, T, Q>& m) { return m[0][0] * m[1][1] - m[1][0] * m[0][1]; }
template <typename T, qualifier Q>
PARITY_GLM T determinant(const mat<3, 3, T, Q>& m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[2][1] * m[1][2]) - m[1][0] * (m[0][1] * m[2][2] - m[2][1] * m[0][2]) +
         m[2][0] * (m[0][1] * m[1][2] - m[1][1] * m[0][2]);
}
template <typename T, qualifier Q>
PARITY_GLM mat<2, 2, T, Q> inverse(const mat<2, 2, T, Q>& m) {
  const T d = T(1) / determinant(m);
  return mat<2, 2, T, Q>(m[1][1] * d, -m[0][1] * d, -m[1][0] * d, m[0][0] * d);
}
template <typename T, qualifier Q>
PARITY_GLM mat<3, 3, T, Q> inverse(const mat<3, 3, T, Q>& m) {
  const T d = T(1) / determinant(m);
  mat<3, 3, T, Q> r;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      const int a = (k + 1) % 3, b = (k + 2) % 3, c = (i + 1) % 3, e = (i + 2) % 3;
      r[i][k] = (m[a][c] * m[b][e] - m[b][c] * m[a][e]) * d;
    }
  }
  return r;
}
// A 4x4 matrix without a column and a row.
template <typename T, qualifier Q>
PARITY_GLM mat<3, 3, T, Q> without(const mat<4, 4, T, Q>& m, int column, int row) {
  mat<3, 3, T, Q> r;
  for (int c = 0; c < 3; ++c) {
    for (int k = 0; k < 3; ++k) r[c][k] = m[c + (c >= column)][k + (k >= row)];
  }
  return r;
}
template <typename T, qualifier Q>
PARITY_GLM T determinant(const mat<4, 4, T, Q>& m) {
  T sum = T(0);
  for (int c = 0; c < 4; ++c) sum += (c & 1 ? -m[c][0] : m[c][0]) * determinant(without(m, c, 0));
  return sum;
}
template <typename T, qualifier Q>
PARITY_GLM mat<4, 4, T, Q> inverse(const mat<4, 4, T, Q>& m) {
  const T d = T(1) / determinant(m);
  mat<4, 4, T, Q> r;
  for (int c = 0; c < 4; ++c) {
    for (int k = 0; k < 4; ++k) r[c][k] = ((c + k) & 1 ? -d : d) * determinant(without(m, k, c));
  }
  return r;
}
template <length_t N, typename T, qualifier Q>
PARITY_GLM mat<N, N, T, Q> inverseTranspose(const mat<N, N, T, Q>& m) { return transpose(inverse(m)); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM T dot(const vec<L, T, Q>& a, const vec<L, T, Q>& b) {
  T sum = a[0] * b[0];
  for (int i = 1; i < L; ++i) sum += a[i] * b[i];
  return sum;
}
template <typename T, qualifier Q>
PARITY_GLM vec<3, T, Q> cross(const vec<3, T, Q>& a, const vec<3, T, Q>& b) {
  return vec<3, T, Q>(a.y * b.z - b.y * a.z, a.z * b.x - b.z * a.x, a.x * b.y - b.x * a.y);
}
template <length_t L, typename T, qualifier Q>
PARITY_GLM T length(const vec<L, T, Q>& v) { return ::sqrt(dot(v, v)); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM T distance(const vec<L, T, Q>& a, const vec<L, T, Q>& b) { return length(b - a); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> normalize(const vec<L, T, Q>& v) { return v * (T(1) / ::sqrt(dot(v, v))); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> reflect(const vec<L, T, Q>& i, const vec<L, T, Q>& n) { return i - n * dot(n, i) * T(2); }
template <typename T>
constexpr PARITY_GLM T min(T a, T b) { return b < a ? b : a; }
template <typename T>
constexpr PARITY_GLM T max(T a, T b) { return a < b ? b : a; }
template <typename T>
constexpr PARITY_GLM T clamp(T v, T low, T high) { return min(max(v, low), high); }
template <typename T>
PARITY_GLM T mix(T a, T b, T t) { return a * (T(1) - t) + b * t; }
template <typename T>
constexpr PARITY_GLM T sign(T v) { return T((T(0) < v) - (v < T(0))); }
template <typename T>
constexpr PARITY_GLM T radians(T v) { return v * T(0.01745329251994329576923690768489); }
template <typename T>
constexpr PARITY_GLM T degrees(T v) { return v * T(57.295779513082320876798154814105); }
template <typename T>
constexpr PARITY_GLM T pi() { return T(3.14159265358979323846264338327950288); }
using ::abs; using ::acos; using ::asin; using ::atan; using ::atan2; using ::ceil; using ::cos; using ::exp; using ::exp2; using ::floor;
using ::fma; using ::isinf; using ::isnan; using ::log; using ::log2; using ::pow; using ::round; using ::sin; using ::sqrt; using ::tan; using ::tanh; using ::trunc;
template <typename T>
PARITY_GLM T inversesqrt(T v) { return T(1) / ::sqrt(v); }
template <typename T>
PARITY_GLM T fract(T v) { return v - ::floor(v); }
template <typename T>
PARITY_GLM T mod(T a, T b) { return a - b * ::floor(a / b); }
template <typename T>
PARITY_GLM T atan(T y, T x) { return ::atan2(y, x); }
#define PARITY_EACH(name, expression)                                 \
  template <length_t L, typename T, qualifier Q>                      \
  PARITY_GLM vec<L, T, Q> name(const vec<L, T, Q>& a) {               \
    vec<L, T, Q> result;                                              \
    for (int i = 0; i < L; ++i) result[i] = expression;               \
    return result;                                                    \
  }
PARITY_EACH(abs, a[i] < T(0) ? -a[i] : a[i]) PARITY_EACH(floor, ::floor(a[i])) PARITY_EACH(ceil, ::ceil(a[i])) PARITY_EACH(sqrt, ::sqrt(a[i]))
PARITY_EACH(tan, ::tan(a[i])) PARITY_EACH(acos, ::acos(a[i])) PARITY_EACH(asin, ::asin(a[i])) PARITY_EACH(exp2, ::exp2(a[i])) PARITY_EACH(log2, ::log2(a[i]))
PARITY_EACH(exp, ::exp(a[i])) PARITY_EACH(log, ::log(a[i])) PARITY_EACH(sin, ::sin(a[i])) PARITY_EACH(cos, ::cos(a[i])) PARITY_EACH(round, ::round(a[i]))
PARITY_EACH(fract, a[i] - ::floor(a[i])) PARITY_EACH(sign, T((T(0) < a[i]) - (a[i] < T(0)))) PARITY_EACH(inversesqrt, T(1) / ::sqrt(a[i])) PARITY_EACH(trunc, ::trunc(a[i]))
#undef PARITY_EACH
#define PARITY_EACH(name, expression)                                                      \
  template <length_t L, typename T, qualifier Q>                                           \
  PARITY_GLM vec<L, T, Q> name(const vec<L, T, Q>& a, const vec<L, T, Q>& b) {             \
    vec<L, T, Q> result;                                                                   \
    for (int i = 0; i < L; ++i) result[i] = expression;                                    \
    return result;                                                                         \
  }
PARITY_EACH(min, b[i] < a[i] ? b[i] : a[i]) PARITY_EACH(max, a[i] < b[i] ? b[i] : a[i]) PARITY_EACH(mod, a[i] - b[i] * ::floor(a[i] / b[i])) PARITY_EACH(pow, ::pow(a[i], b[i]))
PARITY_EACH(atan, ::atan2(a[i], b[i]))
#undef PARITY_EACH
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> min(const vec<L, T, Q>& a, T b) { return min(a, vec<L, T, Q>(b)); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> max(const vec<L, T, Q>& a, T b) { return max(a, vec<L, T, Q>(b)); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> clamp(const vec<L, T, Q>& v, T low, T high) { return min(max(v, low), high); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> mix(const vec<L, T, Q>& a, const vec<L, T, Q>& b, T t) { return a * (T(1) - t) + b * t; }
PARITY_GLM bool all(bool v) { return v; }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> clamp(const vec<L, T, Q>& v, const vec<L, T, Q>& low, const vec<L, T, Q>& high) { return min(max(v, low), high); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> mix(const vec<L, T, Q>& a, const vec<L, T, Q>& b, const vec<L, T, Q>& t) { return a * (vec<L, T, Q>(T(1)) - t) + b * t; }
template <typename T>
PARITY_GLM T lerp(T a, T b, T t) { return mix(a, b, t); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> lerp(const vec<L, T, Q>& a, const vec<L, T, Q>& b, T t) { return mix(a, b, t); }
template <typename T>
constexpr PARITY_GLM T saturate(T v) { return clamp(v, T(0), T(1)); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> saturate(const vec<L, T, Q>& v) { return clamp(v, T(0), T(1)); }
template <typename T>
constexpr PARITY_GLM T step(T edge, T v) { return v < edge ? T(0) : T(1); }
template <typename T>
PARITY_GLM T smoothstep(T low, T high, T v) {
  const T t = clamp((v - low) / (high - low), T(0), T(1));
  return t * t * (T(3) - T(2) * t);
}
template <length_t L, typename T, qualifier Q>
PARITY_GLM T length2(const vec<L, T, Q>& v) { return dot(v, v); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM T distance2(const vec<L, T, Q>& a, const vec<L, T, Q>& b) { return length2(b - a); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> faceforward(const vec<L, T, Q>& n, const vec<L, T, Q>& i, const vec<L, T, Q>& reference) {
  return dot(reference, i) < T(0) ? n : -n;
}
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> refract(const vec<L, T, Q>& i, const vec<L, T, Q>& n, T eta) {
  const T cosine = dot(n, i), k = T(1) - eta * eta * (T(1) - cosine * cosine);
  return k < T(0) ? vec<L, T, Q>(T(0)) : i * eta - n * (eta * cosine + ::sqrt(k));
}
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> radians(const vec<L, T, Q>& v) { return v * radians(T(1)); }
template <typename T>
constexpr PARITY_GLM T two_pi() { return T(2) * pi<T>(); }
template <typename T>
constexpr PARITY_GLM T half_pi() { return pi<T>() / T(2); }
template <typename T>
constexpr PARITY_GLM T one_over_pi() { return T(1) / pi<T>(); }
template <typename T>
constexpr PARITY_GLM T epsilon() { return __is_same(T, double) ? T(2.220446049250313e-16) : T(1.1920929e-7f); }
#define PARITY_COMPARED(name, op)                                                              \
  template <length_t L, typename T, qualifier Q>                                               \
  PARITY_GLM vec<L, bool, Q> name(const vec<L, T, Q>& a, const vec<L, T, Q>& b) {              \
    vec<L, bool, Q> result;                                                                    \
    for (int i = 0; i < L; ++i) result[i] = a[i] op b[i];                                      \
    return result;                                                                             \
  }
PARITY_COMPARED(lessThan, <) PARITY_COMPARED(lessThanEqual, <=) PARITY_COMPARED(greaterThan, >) PARITY_COMPARED(greaterThanEqual, >=)
PARITY_COMPARED(equal, ==) PARITY_COMPARED(notEqual, !=)
#undef PARITY_COMPARED
template <length_t L, qualifier Q>
PARITY_GLM bool any(const vec<L, bool, Q>& v) {
  bool found = false;
  for (int i = 0; i < L; ++i) found = found || v[i];
  return found;
}
template <length_t L, qualifier Q>
PARITY_GLM bool all(const vec<L, bool, Q>& v) {
  bool found = true;
  for (int i = 0; i < L; ++i) found = found && v[i];
  return found;
}

// <glm/gtc/matrix_transform.hpp>: right-handed, depths from -1 to 1, as GLM has it by default.
template <typename T, qualifier Q>
PARITY_GLM mat<4, 4, T, Q> translate(const mat<4, 4, T, Q>& m, const vec<3, T, Q>& v) {
  mat<4, 4, T, Q> r = m;
  r[3] = m[0] * v.x + m[1] * v.y + m[2] * v.z + m[3];
  return r;
}
template <typename T, qualifier Q>
PARITY_GLM mat<4, 4, T, Q> scale(const mat<4, 4, T, Q>& m, const vec<3, T, Q>& v) {
  mat<4, 4, T, Q> r = m;
  for (int i = 0; i < 3; ++i) r[i] = m[i] * v[i];
  return r;
}
template <typename T, qualifier Q>
PARITY_GLM mat<4, 4, T, Q> rotate(const mat<4, 4, T, Q>& m, T angle, const vec<3, T, Q>& v) {
  const vec<3, T, Q> a = normalize(v);
  const T c = ::cos(angle), s = ::sin(angle);
  mat<4, 4, T, Q> r = m;
  for (int i = 0; i < 3; ++i) {
    vec<3, T, Q> to = a * (a[i] * (T(1) - c));
    to[i] += c;
    to[(i + 1) % 3] += s * a[(i + 2) % 3];
    to[(i + 2) % 3] -= s * a[(i + 1) % 3];
    r[i] = m[0] * to.x + m[1] * to.y + m[2] * to.z;
  }
  return r;
}
template <typename T, qualifier Q>
PARITY_GLM mat<4, 4, T, Q> lookAt(const vec<3, T, Q>& eye, const vec<3, T, Q>& center, const vec<3, T, Q>& up) {
  const vec<3, T, Q> f = normalize(center - eye), s = normalize(cross(f, up)), u = cross(s, f);
  mat<4, 4, T, Q> r(T(1));
  for (int i = 0; i < 3; ++i) {
    r[i][0] = s[i];
    r[i][1] = u[i];
    r[i][2] = -f[i];
  }
  r[3][0] = -dot(s, eye);
  r[3][1] = -dot(u, eye);
  r[3][2] = dot(f, eye);
  return r;
}
template <typename T>
PARITY_GLM mat<4, 4, T> perspective(T fovy, T aspect, T near, T far) {
  const T t = T(1) / ::tan(fovy / T(2));
  mat<4, 4, T> r(T(0));
  r[0][0] = t / aspect;
  r[1][1] = t;
  r[2][2] = -(far + near) / (far - near);
  r[2][3] = T(-1);
  r[3][2] = -(T(2) * far * near) / (far - near);
  return r;
}

template <typename T>
PARITY_GLM T* value_ptr(vec<2, T>& v) { return &v.x; }
template <typename T>
PARITY_GLM T* value_ptr(vec<3, T>& v) { return &v.x; }
template <typename T>
PARITY_GLM T* value_ptr(vec<4, T>& v) { return &v.x; }
template <length_t C, length_t R, typename T>
PARITY_GLM T* value_ptr(mat<C, R, T>& m) { return &m[0].x; }
template <length_t C, length_t R, typename T>
PARITY_GLM const T* value_ptr(const mat<C, R, T>& m) { return &m[0].x; }
template <typename T>
PARITY_GLM vec<2, T> make_vec2(const T* p) { return vec<2, T>(p[0], p[1]); }
template <typename T>
PARITY_GLM vec<3, T> make_vec3(const T* p) { return vec<3, T>(p[0], p[1], p[2]); }
template <typename T>
PARITY_GLM vec<4, T> make_vec4(const T* p) { return vec<4, T>(p[0], p[1], p[2], p[3]); }
template <typename T>
PARITY_GLM mat<2, 2, T> make_mat2(const T* p) { return mat<2, 2, T>(make_vec2(p), make_vec2(p + 2)); }
template <typename T>
PARITY_GLM mat<2, 2, T> make_mat2x2(const T* p) { return make_mat2(p); }
template <typename T>
PARITY_GLM mat<3, 3, T> make_mat3(const T* p) { return mat<3, 3, T>(make_vec3(p), make_vec3(p + 3), make_vec3(p + 6)); }
template <typename T>
PARITY_GLM mat<3, 3, T> make_mat3x3(const T* p) { return make_mat3(p); }
template <typename T>
PARITY_GLM mat<4, 4, T> make_mat4(const T* p) { return mat<4, 4, T>(make_vec4(p), make_vec4(p + 4), make_vec4(p + 8), make_vec4(p + 12)); }
template <typename T>
PARITY_GLM mat<4, 4, T> make_mat4x4(const T* p) { return make_mat4(p); }

// <glm/gtc/quaternion.hpp> and <glm/gtx/quaternion.hpp>: w is the first argument, and the last in memory.
template <typename T, qualifier Q = defaultp>
struct qua {
  typedef T value_type;
  T x, y, z, w;
  static constexpr PARITY_GLM length_t length() { return 4; }
  qua() = default;
  constexpr PARITY_GLM qua(T w, T x, T y, T z) : x(x), y(y), z(z), w(w) {}
  constexpr PARITY_GLM qua(T s, const vec<3, T, Q>& v) : x(v.x), y(v.y), z(v.z), w(s) {}
  template <typename U, qualifier P>
  constexpr PARITY_GLM qua(const qua<U, P>& q) : x(T(q.x)), y(T(q.y)), z(T(q.z)), w(T(q.w)) {}
  PARITY_GLM explicit qua(const vec<3, T, Q>& angles) {
    const vec<3, T, Q> c(::cos(angles.x / T(2)), ::cos(angles.y / T(2)), ::cos(angles.z / T(2)));
    const vec<3, T, Q> s(::sin(angles.x / T(2)), ::sin(angles.y / T(2)), ::sin(angles.z / T(2)));
    w = c.x * c.y * c.z + s.x * s.y * s.z;
    x = s.x * c.y * c.z - c.x * s.y * s.z;
    y = c.x * s.y * c.z + s.x * c.y * s.z;
    z = c.x * c.y * s.z - s.x * s.y * c.z;
  }
  PARITY_GLM explicit qua(const mat<3, 3, T, Q>& m) {  // the largest component first, so that nothing is lost
    const T of[4] = {m[0][0] - m[1][1] - m[2][2], m[1][1] - m[0][0] - m[2][2], m[2][2] - m[0][0] - m[1][1],
                     m[0][0] + m[1][1] + m[2][2]};
    int most = 3;
    for (int i = 0; i < 3; ++i) most = of[i] > of[most] ? i : most;
    const T half = ::sqrt(of[most] + T(1)) / T(2), part = T(1) / (T(4) * half);
    const T a = (m[1][2] - m[2][1]) * part, b = (m[2][0] - m[0][2]) * part, c = (m[0][1] - m[1][0]) * part;
    const T d = (m[0][1] + m[1][0]) * part, e = (m[2][0] + m[0][2]) * part, f = (m[1][2] + m[2][1]) * part;
    *this = most == 3 ? qua(half, a, b, c) : most == 0 ? qua(a, half, d, e) : most == 1 ? qua(b, d, half, f) : qua(c, e, f, half);
  }
  PARITY_GLM explicit qua(const mat<4, 4, T, Q>& m) : qua(mat<3, 3, T, Q>(m)) {}
  static constexpr PARITY_GLM qua wxyz(T w, T x, T y, T z) { return qua(w, x, y, z); }
  PARITY_GLM T& operator[](length_t i) { return (&x)[i]; }
  PARITY_GLM const T& operator[](length_t i) const { return (&x)[i]; }
  PARITY_GLM qua& operator+=(const qua& q) { return *this = *this + q; }
  PARITY_GLM qua& operator-=(const qua& q) { return *this = *this - q; }
  PARITY_GLM qua& operator*=(const qua& q) { return *this = *this * q; }
  PARITY_GLM qua& operator*=(T s) { return *this = *this * s; }
  PARITY_GLM qua& operator/=(T s) { return *this = *this / s; }
  friend constexpr PARITY_GLM qua operator+(const qua& q) { return q; }
  friend constexpr PARITY_GLM qua operator-(const qua& q) { return qua(-q.w, -q.x, -q.y, -q.z); }
  friend constexpr PARITY_GLM qua operator+(const qua& a, const qua& b) { return qua(a.w + b.w, a.x + b.x, a.y + b.y, a.z + b.z); }
  friend constexpr PARITY_GLM qua operator-(const qua& a, const qua& b) { return qua(a.w - b.w, a.x - b.x, a.y - b.y, a.z - b.z); }
  friend constexpr PARITY_GLM qua operator*(const qua& q, T s) { return qua(q.w * s, q.x * s, q.y * s, q.z * s); }
  friend constexpr PARITY_GLM qua operator*(T s, const qua& q) { return q * s; }
  friend constexpr PARITY_GLM qua operator/(const qua& q, T s) { return qua(q.w / s, q.x / s, q.y / s, q.z / s); }
  friend constexpr PARITY_GLM qua operator*(const qua& p, const qua& q) {
    return qua(p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z, p.w * q.x + p.x * q.w + p.y * q.z - p.z * q.y,
               p.w * q.y + p.y * q.w + p.z * q.x - p.x * q.z, p.w * q.z + p.z * q.w + p.x * q.y - p.y * q.x);
  }
  friend PARITY_GLM vec<3, T, Q> operator*(const qua& q, const vec<3, T, Q>& v) {
    const vec<3, T, Q> u(q.x, q.y, q.z), once = cross(u, v);
    return v + (once * q.w + cross(u, once)) * T(2);
  }
  friend PARITY_GLM vec<4, T, Q> operator*(const qua& q, const vec<4, T, Q>& v) { return vec<4, T, Q>(q * vec<3, T, Q>(v), v.w); }
  friend constexpr PARITY_GLM bool operator==(const qua& a, const qua& b) { return a.w == b.w && a.x == b.x && a.y == b.y && a.z == b.z; }
  friend constexpr PARITY_GLM bool operator!=(const qua& a, const qua& b) { return !(a == b); }
};
template <typename T, qualifier Q>
constexpr PARITY_GLM T dot(const qua<T, Q>& a, const qua<T, Q>& b) { return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z; }
template <typename T, qualifier Q>
PARITY_GLM T length(const qua<T, Q>& q) { return ::sqrt(dot(q, q)); }
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> normalize(const qua<T, Q>& q) {
  const T l = length(q);
  return l <= T(0) ? qua<T, Q>(T(1), T(0), T(0), T(0)) : q * (T(1) / l);
}
template <typename T, qualifier Q>
constexpr PARITY_GLM qua<T, Q> conjugate(const qua<T, Q>& q) { return qua<T, Q>(q.w, -q.x, -q.y, -q.z); }
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> inverse(const qua<T, Q>& q) { return conjugate(q) / dot(q, q); }
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> lerp(const qua<T, Q>& a, const qua<T, Q>& b, T t) { return a * (T(1) - t) + b * t; }
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> mix(const qua<T, Q>& a, const qua<T, Q>& b, T t) {
  const T c = dot(a, b);
  if (c > T(1) - epsilon<T>()) return lerp(a, b, t);
  const T angle = ::acos(c);
  return (a * ::sin((T(1) - t) * angle) + b * ::sin(t * angle)) / ::sin(angle);
}
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> slerp(const qua<T, Q>& a, const qua<T, Q>& b, T t) { return mix(a, dot(a, b) < T(0) ? -b : b, t); }
template <typename T, qualifier Q>
PARITY_GLM vec<3, T, Q> rotate(const qua<T, Q>& q, const vec<3, T, Q>& v) { return q * v; }
template <typename T, qualifier Q>
PARITY_GLM vec<4, T, Q> rotate(const qua<T, Q>& q, const vec<4, T, Q>& v) { return q * v; }
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> angleAxis(T angle, const vec<3, T, Q>& v) { return qua<T, Q>(::cos(angle / T(2)), v * ::sin(angle / T(2))); }
template <typename T, qualifier Q>
PARITY_GLM T angle(const qua<T, Q>& q) { return ::acos(q.w) * T(2); }
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> quat_cast(const mat<3, 3, T, Q>& m) { return qua<T, Q>(m); }
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> quat_cast(const mat<4, 4, T, Q>& m) { return qua<T, Q>(m); }
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> toQuat(const mat<3, 3, T, Q>& m) { return qua<T, Q>(m); }
template <typename T, qualifier Q>
PARITY_GLM mat<3, 3, T, Q> mat3_cast(const qua<T, Q>& q) {
  return mat<3, 3, T, Q>(T(1) - T(2) * (q.y * q.y + q.z * q.z), T(2) * (q.x * q.y + q.w * q.z), T(2) * (q.x * q.z - q.w * q.y),
                         T(2) * (q.x * q.y - q.w * q.z), T(1) - T(2) * (q.x * q.x + q.z * q.z), T(2) * (q.y * q.z + q.w * q.x),
                         T(2) * (q.x * q.z + q.w * q.y), T(2) * (q.y * q.z - q.w * q.x), T(1) - T(2) * (q.x * q.x + q.y * q.y));
}
template <typename T, qualifier Q>
PARITY_GLM mat<4, 4, T, Q> mat4_cast(const qua<T, Q>& q) { return mat<4, 4, T, Q>(mat3_cast(q)); }
template <typename T, qualifier Q>
PARITY_GLM mat<3, 3, T, Q> toMat3(const qua<T, Q>& q) { return mat3_cast(q); }
template <typename T, qualifier Q>
PARITY_GLM mat<4, 4, T, Q> toMat4(const qua<T, Q>& q) { return mat4_cast(q); }
typedef qua<float> quat, fquat;
typedef qua<double> dquat;

typedef vec<2, float> vec2;
typedef vec<3, float> vec3;
typedef vec<4, float> vec4;
typedef vec<2, float> fvec2;
typedef vec<3, float> fvec3;
typedef vec<4, float> fvec4;
typedef vec<2, double> dvec2;
typedef vec<3, double> dvec3;
typedef vec<4, double> dvec4;
typedef vec<2, int> ivec2;
typedef vec<3, int> ivec3;
typedef vec<4, int> ivec4;
typedef vec<2, unsigned int> uvec2;
typedef vec<3, unsigned int> uvec3;
typedef vec<4, unsigned int> uvec4;
#define PARITY_GLM_SIZED(name, T) typedef vec<2, T> name##vec2; typedef vec<3, T> name##vec3; typedef vec<4, T> name##vec4;
PARITY_GLM_SIZED(i8, signed char) PARITY_GLM_SIZED(i16, short) PARITY_GLM_SIZED(i32, int) PARITY_GLM_SIZED(i64, long)
PARITY_GLM_SIZED(u8, unsigned char) PARITY_GLM_SIZED(u16, unsigned short) PARITY_GLM_SIZED(u32, unsigned int)
PARITY_GLM_SIZED(u64, unsigned long) PARITY_GLM_SIZED(f32, float) PARITY_GLM_SIZED(f64, double)
#undef PARITY_GLM_SIZED
typedef vec<2, bool> bvec2;
typedef vec<3, bool> bvec3;
typedef vec<4, bool> bvec4;
typedef mat<2, 2, float> mat2;
typedef mat<3, 3, float> mat3;
typedef mat<4, 4, float> mat4;
typedef mat<2, 2, float> mat2x2;
typedef mat<2, 3, float> mat2x3;
typedef mat<2, 4, float> mat2x4;
typedef mat<3, 2, float> mat3x2;
typedef mat<3, 3, float> mat3x3;
typedef mat<3, 4, float> mat3x4;
typedef mat<4, 2, float> mat4x2;
typedef mat<4, 3, float> mat4x3;
typedef mat<4, 4, float> mat4x4;
typedef mat<2, 2, float> fmat2;
typedef mat<3, 3, float> fmat3;
typedef mat<4, 4, float> fmat4;
typedef mat<2, 2, float> fmat2x2;
typedef mat<2, 3, float> fmat2x3;
typedef mat<2, 4, float> fmat2x4;
typedef mat<3, 2, float> fmat3x2;
typedef mat<3, 3, float> fmat3x3;
typedef mat<3, 4, float> fmat3x4;
typedef mat<4, 2, float> fmat4x2;
typedef mat<4, 3, float> fmat4x3;
typedef mat<4, 4, float> fmat4x4;
typedef mat<2, 2, double> dmat2;
typedef mat<3, 3, double> dmat3;
typedef mat<4, 4, double> dmat4;
typedef mat<2, 2, double> dmat2x2;
typedef mat<2, 3, double> dmat2x3;
typedef mat<2, 4, double> dmat2x4;
typedef mat<3, 2, double> dmat3x2;
typedef mat<3, 3, double> dmat3x3;
typedef mat<3, 4, double> dmat3x4;
typedef mat<4, 2, double> dmat4x2;
typedef mat<4, 3, double> dmat4x3;
typedef mat<4, 4, double> dmat4x4;
template <length_t L, typename T, qualifier Q = defaultp>
using tvec = vec<L, T, Q>;
template <typename T>
using tvec2 = vec<2, T>;
template <typename T>
using tvec3 = vec<3, T>;
template <typename T>
using tvec4 = vec<4, T>;
template <typename T>
using tmat3x3 = mat<3, 3, T>;
template <typename T>
using tmat4x4 = mat<4, 4, T>;
}  // namespace glm
#undef PARITY_GLM
