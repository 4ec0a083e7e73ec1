// Stub of GLM: vectors, column-major matrices of 2 to 4 components, and quaternions, written from GLM's manual.
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
template <length_t L, typename T, qualifier Q = defaultp> struct vec;

// PARITY_GLM_N(f, op) expands f for each of N components, with the component's name and index.
#define PARITY_GLM_2(f, op) f(x, 0, op), f(y, 1, op)
#define PARITY_GLM_3(f, op) PARITY_GLM_2(f, op), f(z, 2, op)
#define PARITY_GLM_4(f, op) PARITY_GLM_3(f, op), f(w, 3, op)
#define PARITY_GLM_VV(c, i, op) a.c op b.c
#define PARITY_GLM_VS(c, i, op) a.c op s
#define PARITY_GLM_SV(c, i, op) s op a.c
#define PARITY_GLM_MINUS(c, i, op) T(0) - a.c
#define PARITY_GLM_TO_V(c, i, op) static_cast<T>(this->c op static_cast<T>(v.c))
#define PARITY_GLM_TO_S(c, i, op) static_cast<T>(this->c op static_cast<T>(s))
#define PARITY_GLM_FILL(c, i, op) c(s)
#define PARITY_GLM_COPY(c, i, op) c(static_cast<T>(v.c))
#define PARITY_GLM_LOAD(c, i, op) p[i]
#define PARITY_GLM_UNIT(c, i, op) i == n ? s : T(0)

#define PARITY_GLM_OPERATOR(EACH, op)                                                                       \
  friend constexpr PARITY_GLM vec operator op(const vec& a, const vec& b) { return vec(EACH(PARITY_GLM_VV, op)); } \
  friend constexpr PARITY_GLM vec operator op(const vec& a, T s) { return vec(EACH(PARITY_GLM_VS, op)); }   \
  friend constexpr PARITY_GLM vec operator op(T s, const vec& a) { return vec(EACH(PARITY_GLM_SV, op)); }
#define PARITY_GLM_ASSIGNMENT(L, EACH, op)                                                                  \
  template <typename U>                                                                                     \
  PARITY_GLM vec& operator op##=(const vec<L, U, Q>& v) { return *this = vec(EACH(PARITY_GLM_TO_V, op)); }  \
  template <typename U>                                                                                     \
  PARITY_GLM vec& operator op##=(U s) { return *this = vec(EACH(PARITY_GLM_TO_S, op)); }
// Members of vectors of every length. A vector converts to other types, and explicitly to shorter vectors.
#define PARITY_GLM_VECTOR(L, EACH)                                                                          \
  typedef T value_type;                                                                                     \
  typedef vec type;                                                                                         \
  static constexpr PARITY_GLM length_t length() { return L; }                                               \
  static constexpr PARITY_GLM vec load(const T* p) { return vec(EACH(PARITY_GLM_LOAD, )); }                 \
  static constexpr PARITY_GLM vec unit(length_t n, T s) { return vec(EACH(PARITY_GLM_UNIT, )); }            \
  vec() = default;                                                                                          \
  constexpr PARITY_GLM explicit vec(T s) : EACH(PARITY_GLM_FILL, ) {}                                       \
  template <typename U, qualifier P>                                                                        \
  constexpr PARITY_GLM vec(const vec<L, U, P>& v) : EACH(PARITY_GLM_COPY, ) {}                              \
  template <length_t M, typename U, qualifier P, typename = typename detail::longer<(M > L)>::type>         \
  constexpr PARITY_GLM explicit vec(const vec<M, U, P>& v) : EACH(PARITY_GLM_COPY, ) {}                     \
  PARITY_GLM T& operator[](length_t i) { return (&x)[i]; }                                                  \
  PARITY_GLM const T& operator[](length_t i) const { return (&x)[i]; }                                      \
  PARITY_GLM_ASSIGNMENT(L, EACH, +) PARITY_GLM_ASSIGNMENT(L, EACH, -)                                       \
  PARITY_GLM_ASSIGNMENT(L, EACH, *) PARITY_GLM_ASSIGNMENT(L, EACH, /)                                       \
  PARITY_GLM_OPERATOR(EACH, +) PARITY_GLM_OPERATOR(EACH, -) PARITY_GLM_OPERATOR(EACH, *)                    \
  PARITY_GLM_OPERATOR(EACH, /) PARITY_GLM_OPERATOR(EACH, %) PARITY_GLM_OPERATOR(EACH, &)                    \
  PARITY_GLM_OPERATOR(EACH, |) PARITY_GLM_OPERATOR(EACH, ^)                                                 \
  PARITY_GLM_OPERATOR(EACH, <<) PARITY_GLM_OPERATOR(EACH, >>)                                               \
  friend constexpr PARITY_GLM vec operator-(const vec& a) { return vec(EACH(PARITY_GLM_MINUS, )); }           \
  friend constexpr PARITY_GLM vec operator+(const vec& a) { return a; }                                     \
  PARITY_GLM vec& operator++() { return *this += T(1); }                                                    \
  PARITY_GLM vec& operator--() { return *this -= T(1); }                                                    \
  friend constexpr PARITY_GLM bool operator==(const vec& a, const vec& b) { return detail::every(EACH(PARITY_GLM_VV, ==)); } \
  friend constexpr PARITY_GLM bool operator!=(const vec& a, const vec& b) { return !(a == b); }

namespace detail {
template <bool> struct longer {};
template <> struct longer<true> { typedef int type; };
constexpr PARITY_GLM bool every(bool a, bool b, bool c = true, bool d = true) { return a && b && c && d; }
}  // namespace detail

template <typename T, qualifier Q> struct vec<2, T, Q> {
  union { T x, r, s; };
  union { T y, g, t; };
  template <typename A, typename B> constexpr PARITY_GLM vec(A a, B b) : x(static_cast<T>(a)), y(static_cast<T>(b)) {}
  PARITY_GLM_VECTOR(2, PARITY_GLM_2)
};
template <typename T, qualifier Q> struct vec<3, T, Q> {
  union { T x, r, s; };
  union { T y, g, t; };
  union { T z, b, p; };
  template <typename A, typename B, typename C>
  constexpr PARITY_GLM vec(A a, B b, C c) : x(static_cast<T>(a)), y(static_cast<T>(b)), z(static_cast<T>(c)) {}
  template <typename A, typename B> constexpr PARITY_GLM vec(const vec<2, A, Q>& v, B s) : vec(v.x, v.y, s) {}
  template <typename A, typename B> constexpr PARITY_GLM vec(A s, const vec<2, B, Q>& v) : vec(s, v.x, v.y) {}
  PARITY_GLM_VECTOR(3, PARITY_GLM_3)
};
template <typename T, qualifier Q> struct vec<4, T, Q> {
  union { T x, r, s; };
  union { T y, g, t; };
  union { T z, b, p; };
  union { T w, a, q; };
  template <typename A, typename B, typename C, typename D>
  constexpr PARITY_GLM vec(A x, B y, C z, D w) : x(static_cast<T>(x)), y(static_cast<T>(y)), z(static_cast<T>(z)), w(static_cast<T>(w)) {}
  template <typename A, typename B> constexpr PARITY_GLM vec(const vec<3, A, Q>& v, B s) : vec(v.x, v.y, v.z, s) {}
  template <typename A, typename B> constexpr PARITY_GLM vec(A s, const vec<3, B, Q>& v) : vec(s, v.x, v.y, v.z) {}
  template <typename A, typename B> constexpr PARITY_GLM vec(const vec<2, A, Q>& a, const vec<2, B, Q>& b) : vec(a.x, a.y, b.x, b.y) {}
  PARITY_GLM_VECTOR(4, PARITY_GLM_4)
};

namespace detail {
template <length_t... I> struct places {};
template <length_t N, length_t... I> struct count : count<N - 1, N - 1, I...> {};
template <length_t... I> struct count<0, I...> { typedef places<I...> type; };
template <length_t, typename T> struct repeat { typedef T type; };

// The columns of a matrix and its constructors: from one number, from columns, and from single elements.
template <typename T, typename V, typename C, typename E> struct columns;
template <typename T, typename V, length_t... C, length_t... E> struct columns<T, V, places<C...>, places<E...>> {
  struct elements { T at[sizeof...(E)]; };
  V value[sizeof...(C)];
  columns() = default;
  constexpr PARITY_GLM explicit columns(T s) : value{V::unit(C, s)...} {}
  constexpr PARITY_GLM columns(typename repeat<C, const V&>::type... c) : value{c...} {}
  constexpr PARITY_GLM columns(typename repeat<E, T>::type... e) : columns(elements{{e...}}) {}
  constexpr PARITY_GLM columns(const elements& e) : value{V::load(e.at + V::length() * C)...} {}
};
}  // namespace detail

#define PARITY_GLM_COLUMNS(expression) mat result; for (length_t i = 0; i < C; ++i) result[i] = expression; return result
template <length_t C, length_t R, typename T, qualifier Q = defaultp>
struct mat : detail::columns<T, vec<R, T, Q>, typename detail::count<C>::type, typename detail::count<C * R>::type> {
  typedef T value_type;
  typedef vec<R, T, Q> col_type;
  typedef vec<C, T, Q> row_type;
  typedef detail::columns<T, col_type, typename detail::count<C>::type, typename detail::count<C * R>::type> base;
  static constexpr PARITY_GLM length_t length() { return C; }
  using base::base;
  mat() = default;
  template <typename U, qualifier P>
  PARITY_GLM mat(const mat<C, R, U, P>& m) { for (length_t i = 0; i < C; ++i) this->value[i] = col_type(m[i]); }
  template <length_t C2, length_t R2, typename U> PARITY_GLM explicit mat(const mat<C2, R2, U, Q>& m) : base(T(1)) {
    for (length_t i = 0; i < (C2 < C ? C2 : C); ++i) for (length_t k = 0; k < (R2 < R ? R2 : R); ++k) this->value[i][k] = static_cast<T>(m[i][k]);
  }
  PARITY_GLM col_type& operator[](length_t i) { return this->value[i]; }
  PARITY_GLM const col_type& operator[](length_t i) const { return this->value[i]; }
  friend PARITY_GLM mat operator+(const mat& a, const mat& b) { PARITY_GLM_COLUMNS(a[i] + b[i]); }
  friend PARITY_GLM mat operator-(const mat& a, const mat& b) { PARITY_GLM_COLUMNS(a[i] - b[i]); }
  friend PARITY_GLM mat operator*(const mat& a, T s) { PARITY_GLM_COLUMNS(a[i] * s); }
  friend PARITY_GLM mat operator*(T s, const mat& a) { PARITY_GLM_COLUMNS(s * a[i]); }
  friend PARITY_GLM mat operator/(const mat& a, T s) { PARITY_GLM_COLUMNS(a[i] / s); }
  friend PARITY_GLM mat operator-(const mat& a) { PARITY_GLM_COLUMNS(-a[i]); }
  PARITY_GLM mat& operator+=(const mat& b) { return *this = *this + b; }
  PARITY_GLM mat& operator-=(const mat& b) { return *this = *this - b; }
  PARITY_GLM mat& operator*=(T s) { return *this = *this * s; }
  PARITY_GLM mat& operator/=(T s) { return *this = *this / s; }
  friend PARITY_GLM col_type operator*(const mat& a, const row_type& v) {
    col_type sum = a[0] * v[0];
    for (length_t i = 1; i < C; ++i) sum += a[i] * v[i];
    return sum;
  }
  friend PARITY_GLM row_type operator*(const col_type& v, const mat& a) {
    row_type result;
    for (length_t i = 0; i < C; ++i) result[i] = dot(v, a[i]);
    return result;
  }
  friend PARITY_GLM bool operator==(const mat& a, const mat& b) {
    bool same = true;
    for (length_t i = 0; i < C; ++i) same = same && a[i] == b[i];
    return same;
  }
};
#undef PARITY_GLM_COLUMNS

template <length_t C, length_t K, length_t R, typename T, qualifier Q>
PARITY_GLM mat<C, R, T, Q> operator*(const mat<K, R, T, Q>& a, const mat<C, K, T, Q>& b) {
  mat<C, R, T, Q> result;
  for (int i = 0; i < C; ++i) result[i] = a * b[i];
  return result;
}
template <length_t C, length_t R, typename T, qualifier Q> PARITY_GLM mat<R, C, T, Q> transpose(const mat<C, R, T, Q>& m) {
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
template <typename T, qualifier Q> PARITY_GLM T determinant(const mat<2, 2, T, Q>& m) { return m[0][0] * m[1][1] - m[1][0] * m[0][1]; }
template <typename T, qualifier Q> PARITY_GLM T determinant(const mat<3, 3, T, Q>& m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[2][1] * m[1][2]) - m[1][0] * (m[0][1] * m[2][2] - m[2][1] * m[0][2]) +
         m[2][0] * (m[0][1] * m[1][2] - m[1][1] * m[0][2]);
}
template <typename T, qualifier Q> PARITY_GLM mat<2, 2, T, Q> inverse(const mat<2, 2, T, Q>& m) {
  const T d = T(1) / determinant(m);
  return mat<2, 2, T, Q>(m[1][1] * d, -m[0][1] * d, -m[1][0] * d, m[0][0] * d);
}
template <typename T, qualifier Q> PARITY_GLM mat<3, 3, T, Q> inverse(const mat<3, 3, T, Q>& m) {
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
// Removes a column and a row from a 4x4 matrix.
template <typename T, qualifier Q> PARITY_GLM mat<3, 3, T, Q> without(const mat<4, 4, T, Q>& m, int column, int row) {
  mat<3, 3, T, Q> r;
  for (int c = 0; c < 3; ++c) {
    for (int k = 0; k < 3; ++k) r[c][k] = m[c + (c >= column)][k + (k >= row)];
  }
  return r;
}
template <typename T, qualifier Q> PARITY_GLM T determinant(const mat<4, 4, T, Q>& m) {
  T sum = T(0);
  for (int c = 0; c < 4; ++c) sum += (c & 1 ? -m[c][0] : m[c][0]) * determinant(without(m, c, 0));
  return sum;
}
template <typename T, qualifier Q> PARITY_GLM mat<4, 4, T, Q> inverse(const mat<4, 4, T, Q>& m) {
  const T d = T(1) / determinant(m);
  mat<4, 4, T, Q> r;
  for (int c = 0; c < 4; ++c) {
    for (int k = 0; k < 4; ++k) r[c][k] = ((c + k) & 1 ? -d : d) * determinant(without(m, k, c));
  }
  return r;
}
template <length_t N, typename T, qualifier Q>
PARITY_GLM mat<N, N, T, Q> inverseTranspose(const mat<N, N, T, Q>& m) { return transpose(inverse(m)); }
template <length_t L, typename T, qualifier Q> PARITY_GLM T dot(const vec<L, T, Q>& a, const vec<L, T, Q>& b) {
  T sum = a[0] * b[0];
  for (int i = 1; i < L; ++i) sum += a[i] * b[i];
  return sum;
}
template <typename T, qualifier Q> PARITY_GLM vec<3, T, Q> cross(const vec<3, T, Q>& a, const vec<3, T, Q>& b) {
  return vec<3, T, Q>(a.y * b.z - b.y * a.z, a.z * b.x - b.z * a.x, a.x * b.y - b.x * a.y);
}
template <length_t L, typename T, qualifier Q> PARITY_GLM T length(const vec<L, T, Q>& v) { return ::sqrt(dot(v, v)); }
template <length_t L, typename T, qualifier Q> PARITY_GLM T distance(const vec<L, T, Q>& a, const vec<L, T, Q>& b) { return length(b - a); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> normalize(const vec<L, T, Q>& v) { return v * (T(1) / ::sqrt(dot(v, v))); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> reflect(const vec<L, T, Q>& i, const vec<L, T, Q>& n) { return i - n * dot(n, i) * T(2); }
template <typename T> constexpr PARITY_GLM T min(T a, T b) { return b < a ? b : a; }
template <typename T> constexpr PARITY_GLM T max(T a, T b) { return a < b ? b : a; }
template <typename T> constexpr PARITY_GLM T clamp(T v, T low, T high) { return min(max(v, low), high); }
template <typename T> PARITY_GLM T mix(T a, T b, T t) { return a * (T(1) - t) + b * t; }
template <typename T> constexpr PARITY_GLM T sign(T v) { return T((T(0) < v) - (v < T(0))); }
template <typename T> constexpr PARITY_GLM T radians(T v) { return v * T(0.01745329251994329576923690768489); }
template <typename T> constexpr PARITY_GLM T degrees(T v) { return v * T(57.295779513082320876798154814105); }
template <typename T> constexpr PARITY_GLM T pi() { return T(3.14159265358979323846264338327950288); }
using ::abs; using ::acos; using ::asin; using ::atan; using ::atan2; using ::ceil; using ::cos; using ::exp; using ::exp2; using ::floor;
using ::fma; using ::isinf; using ::isnan; using ::log; using ::log2; using ::pow; using ::round; using ::sin; using ::sqrt; using ::tan; using ::tanh; using ::trunc;
template <typename T> PARITY_GLM T inversesqrt(T v) { return T(1) / ::sqrt(v); }
template <typename T> PARITY_GLM T fract(T v) { return v - ::floor(v); }
template <typename T> PARITY_GLM T mod(T a, T b) { return a - b * ::floor(a / b); }
template <typename T> PARITY_GLM T atan(T y, T x) { return ::atan2(y, x); }
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
template <length_t L, typename T, qualifier Q> PARITY_GLM vec<L, T, Q> min(const vec<L, T, Q>& a, T b) { return min(a, vec<L, T, Q>(b)); }
template <length_t L, typename T, qualifier Q> PARITY_GLM vec<L, T, Q> max(const vec<L, T, Q>& a, T b) { return max(a, vec<L, T, Q>(b)); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> clamp(const vec<L, T, Q>& v, T low, T high) { return min(max(v, low), high); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> mix(const vec<L, T, Q>& a, const vec<L, T, Q>& b, T t) { return a * (T(1) - t) + b * t; }
PARITY_GLM bool all(bool v) { return v; }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> clamp(const vec<L, T, Q>& v, const vec<L, T, Q>& low, const vec<L, T, Q>& high) { return min(max(v, low), high); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> mix(const vec<L, T, Q>& a, const vec<L, T, Q>& b, const vec<L, T, Q>& t) { return a * (vec<L, T, Q>(T(1)) - t) + b * t; }
template <typename T> PARITY_GLM T lerp(T a, T b, T t) { return mix(a, b, t); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> lerp(const vec<L, T, Q>& a, const vec<L, T, Q>& b, T t) { return mix(a, b, t); }
template <typename T> constexpr PARITY_GLM T saturate(T v) { return clamp(v, T(0), T(1)); }
template <length_t L, typename T, qualifier Q> PARITY_GLM vec<L, T, Q> saturate(const vec<L, T, Q>& v) { return clamp(v, T(0), T(1)); }
template <typename T> constexpr PARITY_GLM T step(T edge, T v) { return v < edge ? T(0) : T(1); }
template <typename T> PARITY_GLM T smoothstep(T low, T high, T v) {
  const T t = clamp((v - low) / (high - low), T(0), T(1));
  return t * t * (T(3) - T(2) * t);
}
template <length_t L, typename T, qualifier Q> PARITY_GLM T length2(const vec<L, T, Q>& v) { return dot(v, v); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM T distance2(const vec<L, T, Q>& a, const vec<L, T, Q>& b) { return length2(b - a); }
template <length_t L, typename T, qualifier Q>
PARITY_GLM vec<L, T, Q> faceforward(const vec<L, T, Q>& n, const vec<L, T, Q>& i, const vec<L, T, Q>& reference) {
  return dot(reference, i) < T(0) ? n : -n;
}
template <length_t L, typename T, qualifier Q> PARITY_GLM vec<L, T, Q> refract(const vec<L, T, Q>& i, const vec<L, T, Q>& n, T eta) {
  const T cosine = dot(n, i), k = T(1) - eta * eta * (T(1) - cosine * cosine);
  return k < T(0) ? vec<L, T, Q>(T(0)) : i * eta - n * (eta * cosine + ::sqrt(k));
}
template <length_t L, typename T, qualifier Q> PARITY_GLM vec<L, T, Q> radians(const vec<L, T, Q>& v) { return v * radians(T(1)); }
template <typename T> constexpr PARITY_GLM T two_pi() { return T(2) * pi<T>(); }
template <typename T> constexpr PARITY_GLM T half_pi() { return pi<T>() / T(2); }
template <typename T> constexpr PARITY_GLM T one_over_pi() { return T(1) / pi<T>(); }
template <typename T> constexpr PARITY_GLM T epsilon() { return __is_same(T, double) ? T(2.220446049250313e-16) : T(1.1920929e-7f); }
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
template <length_t L, qualifier Q> PARITY_GLM bool any(const vec<L, bool, Q>& v) {
  bool found = false;
  for (int i = 0; i < L; ++i) found = found || v[i];
  return found;
}
template <length_t L, qualifier Q> PARITY_GLM bool all(const vec<L, bool, Q>& v) {
  bool found = true;
  for (int i = 0; i < L; ++i) found = found && v[i];
  return found;
}

// <glm/gtc/matrix_transform.hpp>: right-handed, depths from -1 to 1, which is GLM's default.
template <typename T, qualifier Q> PARITY_GLM mat<4, 4, T, Q> translate(const mat<4, 4, T, Q>& m, const vec<3, T, Q>& v) {
  mat<4, 4, T, Q> r = m;
  r[3] = m[0] * v.x + m[1] * v.y + m[2] * v.z + m[3];
  return r;
}
template <typename T, qualifier Q> PARITY_GLM mat<4, 4, T, Q> scale(const mat<4, 4, T, Q>& m, const vec<3, T, Q>& v) {
  mat<4, 4, T, Q> r = m;
  for (int i = 0; i < 3; ++i) r[i] = m[i] * v[i];
  return r;
}
template <typename T, qualifier Q> PARITY_GLM mat<4, 4, T, Q> rotate(const mat<4, 4, T, Q>& m, T angle, const vec<3, T, Q>& v) {
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
template <typename T> PARITY_GLM mat<4, 4, T> perspective(T fovy, T aspect, T near, T far) {
  const T t = T(1) / ::tan(fovy / T(2));
  mat<4, 4, T> r(T(0));
  r[0][0] = t / aspect;
  r[1][1] = t;
  r[2][2] = -(far + near) / (far - near);
  r[2][3] = T(-1);
  r[3][2] = -(T(2) * far * near) / (far - near);
  return r;
}

template <length_t L, typename T> PARITY_GLM T* value_ptr(vec<L, T>& v) { return &v.x; }
template <length_t C, length_t R, typename T> PARITY_GLM T* value_ptr(mat<C, R, T>& m) { return &m[0].x; }
template <length_t C, length_t R, typename T> PARITY_GLM const T* value_ptr(const mat<C, R, T>& m) { return &m[0].x; }
#define PARITY_GLM_MAKE(N)                                                       \
  template <typename T>                                                          \
  PARITY_GLM vec<N, T> make_vec##N(const T* p) { return vec<N, T>::load(p); }    \
  template <typename T>                                                          \
  PARITY_GLM mat<N, N, T> make_mat##N(const T* p) {                              \
    mat<N, N, T> m;                                                              \
    for (length_t i = 0; i < N; ++i) m[i] = vec<N, T>::load(p + N * i);          \
    return m;                                                                    \
  }                                                                              \
  template <typename T>                                                          \
  PARITY_GLM mat<N, N, T> make_mat##N##x##N(const T* p) { return make_mat##N(p); }
PARITY_GLM_MAKE(2) PARITY_GLM_MAKE(3) PARITY_GLM_MAKE(4)
#undef PARITY_GLM_MAKE

// <glm/gtc/quaternion.hpp> and <glm/gtx/quaternion.hpp>: w is the first argument, but the last in memory.
template <typename T, qualifier Q = defaultp> struct qua {
  typedef T value_type;
  T x, y, z, w;
  static constexpr PARITY_GLM length_t length() { return 4; }
  qua() = default;
  constexpr PARITY_GLM qua(T w, T x, T y, T z) : x(x), y(y), z(z), w(w) {}
  constexpr PARITY_GLM qua(T s, const vec<3, T, Q>& v) : x(v.x), y(v.y), z(v.z), w(s) {}
  template <typename U, qualifier P> constexpr PARITY_GLM qua(const qua<U, P>& q) : x(T(q.x)), y(T(q.y)), z(T(q.z)), w(T(q.w)) {}
  PARITY_GLM explicit qua(const vec<3, T, Q>& angles) {
    const vec<3, T, Q> c(::cos(angles.x / T(2)), ::cos(angles.y / T(2)), ::cos(angles.z / T(2)));
    const vec<3, T, Q> s(::sin(angles.x / T(2)), ::sin(angles.y / T(2)), ::sin(angles.z / T(2)));
    w = c.x * c.y * c.z + s.x * s.y * s.z;
    x = s.x * c.y * c.z - c.x * s.y * s.z;
    y = c.x * s.y * c.z + s.x * c.y * s.z;
    z = c.x * c.y * s.z - s.x * s.y * c.z;
  }
  PARITY_GLM explicit qua(const mat<3, 3, T, Q>& m) {  // starts with the largest component to avoid cancellation
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
template <typename T, qualifier Q> PARITY_GLM T length(const qua<T, Q>& q) { return ::sqrt(dot(q, q)); }
template <typename T, qualifier Q> PARITY_GLM qua<T, Q> normalize(const qua<T, Q>& q) {
  const T l = length(q);
  return l <= T(0) ? qua<T, Q>(T(1), T(0), T(0), T(0)) : q * (T(1) / l);
}
template <typename T, qualifier Q> constexpr PARITY_GLM qua<T, Q> conjugate(const qua<T, Q>& q) { return qua<T, Q>(q.w, -q.x, -q.y, -q.z); }
template <typename T, qualifier Q> PARITY_GLM qua<T, Q> inverse(const qua<T, Q>& q) { return conjugate(q) / dot(q, q); }
template <typename T, qualifier Q> PARITY_GLM qua<T, Q> lerp(const qua<T, Q>& a, const qua<T, Q>& b, T t) { return a * (T(1) - t) + b * t; }
template <typename T, qualifier Q> PARITY_GLM qua<T, Q> mix(const qua<T, Q>& a, const qua<T, Q>& b, T t) {
  const T c = dot(a, b);
  if (c > T(1) - epsilon<T>()) return lerp(a, b, t);
  const T angle = ::acos(c);
  return (a * ::sin((T(1) - t) * angle) + b * ::sin(t * angle)) / ::sin(angle);
}
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> slerp(const qua<T, Q>& a, const qua<T, Q>& b, T t) { return mix(a, dot(a, b) < T(0) ? -b : b, t); }
template <typename T, qualifier Q> PARITY_GLM vec<3, T, Q> rotate(const qua<T, Q>& q, const vec<3, T, Q>& v) { return q * v; }
template <typename T, qualifier Q> PARITY_GLM vec<4, T, Q> rotate(const qua<T, Q>& q, const vec<4, T, Q>& v) { return q * v; }
template <typename T, qualifier Q>
PARITY_GLM qua<T, Q> angleAxis(T angle, const vec<3, T, Q>& v) { return qua<T, Q>(::cos(angle / T(2)), v * ::sin(angle / T(2))); }
template <typename T, qualifier Q> PARITY_GLM T angle(const qua<T, Q>& q) { return ::acos(q.w) * T(2); }
template <typename T, qualifier Q> PARITY_GLM qua<T, Q> quat_cast(const mat<3, 3, T, Q>& m) { return qua<T, Q>(m); }
template <typename T, qualifier Q> PARITY_GLM qua<T, Q> quat_cast(const mat<4, 4, T, Q>& m) { return qua<T, Q>(m); }
template <typename T, qualifier Q> PARITY_GLM qua<T, Q> toQuat(const mat<3, 3, T, Q>& m) { return qua<T, Q>(m); }
template <typename T, qualifier Q> PARITY_GLM mat<3, 3, T, Q> mat3_cast(const qua<T, Q>& q) {
  return mat<3, 3, T, Q>(T(1) - T(2) * (q.y * q.y + q.z * q.z), T(2) * (q.x * q.y + q.w * q.z), T(2) * (q.x * q.z - q.w * q.y),
                         T(2) * (q.x * q.y - q.w * q.z), T(1) - T(2) * (q.x * q.x + q.z * q.z), T(2) * (q.y * q.z + q.w * q.x),
                         T(2) * (q.x * q.z + q.w * q.y), T(2) * (q.y * q.z - q.w * q.x), T(1) - T(2) * (q.x * q.x + q.y * q.y));
}
template <typename T, qualifier Q> PARITY_GLM mat<4, 4, T, Q> mat4_cast(const qua<T, Q>& q) { return mat<4, 4, T, Q>(mat3_cast(q)); }
template <typename T, qualifier Q> PARITY_GLM mat<3, 3, T, Q> toMat3(const qua<T, Q>& q) { return mat3_cast(q); }
template <typename T, qualifier Q> PARITY_GLM mat<4, 4, T, Q> toMat4(const qua<T, Q>& q) { return mat4_cast(q); }
typedef qua<float> quat, fquat;
typedef qua<double> dquat;

template <length_t L, typename T, qualifier Q = defaultp> using tvec = vec<L, T, Q>;
template <typename T> using tvec2 = vec<2, T>;
template <typename T> using tvec3 = vec<3, T>;
template <typename T> using tvec4 = vec<4, T>;
template <typename T> using tmat3x3 = mat<3, 3, T>;
template <typename T> using tmat4x4 = mat<4, 4, T>;
#define PARITY_GLM_VECTORS(name, T) typedef vec<2, T> name##vec2; typedef vec<3, T> name##vec3; typedef vec<4, T> name##vec4;
#define PARITY_GLM_MATRICES(name, T)                                                                             \
  typedef mat<2, 2, T> name##mat2, name##mat2x2; typedef mat<3, 3, T> name##mat3, name##mat3x3;                  \
  typedef mat<4, 4, T> name##mat4, name##mat4x4; typedef mat<2, 3, T> name##mat2x3; typedef mat<2, 4, T> name##mat2x4; \
  typedef mat<3, 2, T> name##mat3x2; typedef mat<3, 4, T> name##mat3x4; typedef mat<4, 2, T> name##mat4x2; typedef mat<4, 3, T> name##mat4x3;
PARITY_GLM_VECTORS(, float) PARITY_GLM_VECTORS(f, float) PARITY_GLM_VECTORS(d, double) PARITY_GLM_VECTORS(b, bool)
PARITY_GLM_VECTORS(i, int) PARITY_GLM_VECTORS(u, unsigned int) PARITY_GLM_VECTORS(i8, signed char) PARITY_GLM_VECTORS(i16, short)
PARITY_GLM_VECTORS(i32, int) PARITY_GLM_VECTORS(i64, long) PARITY_GLM_VECTORS(u8, unsigned char) PARITY_GLM_VECTORS(u16, unsigned short)
PARITY_GLM_VECTORS(u32, unsigned int) PARITY_GLM_VECTORS(u64, unsigned long) PARITY_GLM_VECTORS(f32, float) PARITY_GLM_VECTORS(f64, double)
PARITY_GLM_MATRICES(, float) PARITY_GLM_MATRICES(f, float) PARITY_GLM_MATRICES(d, double)
}  // namespace glm
#undef PARITY_GLM
