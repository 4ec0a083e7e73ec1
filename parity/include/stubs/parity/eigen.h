// Eigen's matrices, vectors, arrays, maps and rotations as kernels commonly use them, written from its documentation.
// Operations return results instead of expressions. Parts of a matrix are views of its elements.
#pragma once

#include <hip/hip_runtime.h>
#include <math.h>

#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <memory>
#include <type_traits>

#ifndef EIGEN_WORLD_VERSION
#define EIGEN_WORLD_VERSION 3
#define EIGEN_MAJOR_VERSION 4
#define EIGEN_MINOR_VERSION 0
#endif
#define EIGEN_VERSION_AT_LEAST(world, major, minor) (30400 >= (world) * 10000 + (major) * 100 + (minor))
#define EIGEN_DEVICE_FUNC __host__ __device__
#define EIGEN_STRONG_INLINE inline
#define EIGEN_ALWAYS_INLINE inline
#define EIGEN_DONT_INLINE __attribute__((noinline))
#define EIGEN_MAKE_ALIGNED_OPERATOR_NEW
#define EIGEN_PI 3.141592653589793238462643383279502884197169399375105820974944592307816406L
#define PARITY_EIGEN __host__ __device__ inline

namespace Eigen {
using Index = std::ptrdiff_t;
constexpr int Dynamic = -1;
enum { ColMajor = 0, RowMajor = 1, AutoAlign = 0, DontAlign = 2 };
enum { Unaligned = 0, Aligned8 = 8, Aligned16 = 16, Aligned = 16, Aligned32 = 32 };
enum TransformTraits { Isometry = 1, Affine = 2, AffineCompact = 18, Projective = 32 };
template <typename T> using aligned_allocator = std::allocator<T>;

template <typename T> struct NumTraits {
  using Real = T;
  static constexpr PARITY_EIGEN T epsilon() { return std::numeric_limits<T>::epsilon(); }
  static constexpr PARITY_EIGEN T dummy_precision() { return sizeof(T) == 8 ? T(1e-12) : T(1e-5); }
  static constexpr PARITY_EIGEN T highest() { return std::numeric_limits<T>::max(); }
  static constexpr PARITY_EIGEN T lowest() { return std::numeric_limits<T>::lowest(); }
  static constexpr PARITY_EIGEN T infinity() { return std::numeric_limits<T>::infinity(); }
  static constexpr PARITY_EIGEN T quiet_NaN() { return std::numeric_limits<T>::quiet_NaN(); }
};
namespace numext {
template <typename T> PARITY_EIGEN T mini(const T& a, const T& b) { return b < a ? b : a; }
template <typename T> PARITY_EIGEN T maxi(const T& a, const T& b) { return a < b ? b : a; }
template <typename T> PARITY_EIGEN T abs(const T& a) { return a < T(0) ? -a : a; }
template <typename T> PARITY_EIGEN T abs2(const T& a) { return a * a; }
template <typename T> PARITY_EIGEN T sqrt(const T& a) { return ::sqrt(a); }
template <typename T> PARITY_EIGEN T exp(const T& a) { return ::exp(a); }
template <typename T> PARITY_EIGEN T log(const T& a) { return ::log(a); }
template <typename T> PARITY_EIGEN T floor(const T& a) { return ::floor(a); }
template <typename T> PARITY_EIGEN T ceil(const T& a) { return ::ceil(a); }
template <typename T> PARITY_EIGEN bool isnan(const T& a) { return a != a; }
template <typename T> PARITY_EIGEN bool isfinite(const T& a) { return a - a == T(0); }
}  // namespace numext

template <typename T, int R, int C, int Options = (R == 1 && C != 1 ? RowMajor : ColMajor), int MaxR = R, int MaxC = C> class Matrix;
template <typename T, int R, int C, int Options = (R == 1 && C != 1 ? RowMajor : ColMajor), int MaxR = R, int MaxC = C> class Array;
template <typename T, int R, int C, bool coefficients> class View;
template <typename T> class Quaternion;
template <typename T> class AngleAxis;

namespace parity_stub {
// Element type of a class, number of rows and columns (or Dynamic), and whether it is an array.
template <class D> struct Traits;
template <typename T, int R, int C, int O, int MR, int MC>
struct Traits<Matrix<T, R, C, O, MR, MC>> { using Scalar = T; static constexpr int rows = R, cols = C; static constexpr bool array = false; };
template <typename T, int R, int C, int O, int MR, int MC>
struct Traits<Array<T, R, C, O, MR, MC>> { using Scalar = T; static constexpr int rows = R, cols = C; static constexpr bool array = true; };
template <typename T, int R, int C, bool A>
struct Traits<View<T, R, C, A>> { using Scalar = std::remove_const_t<T>; static constexpr int rows = R, cols = C; static constexpr bool array = A; };

template <typename T, int R, int C, bool array> using Plain = std::conditional_t<array, Array<T, R, C>, Matrix<T, R, C>>;
// The type that holds a copy of an object: the class itself for matrices and arrays, else one with default options.
template <class D> struct PlainOf { using type = Plain<typename Traits<D>::Scalar, Traits<D>::rows, Traits<D>::cols, Traits<D>::array>; };
template <typename T, int R, int C, int O, int MR, int MC>
struct PlainOf<Matrix<T, R, C, O, MR, MC>> { using type = Matrix<T, R, C, O, MR, MC>; };
template <typename T, int R, int C, int O, int MR, int MC>
struct PlainOf<Array<T, R, C, O, MR, MC>> { using type = Array<T, R, C, O, MR, MC>; };
constexpr int known(int a, int b) { return a == Dynamic ? b : a; }

// Fixed-size elements are stored in the object with Eigen's alignment; others are allocated.
constexpr size_t alignment(size_t bytes, size_t least, bool aligned) { return aligned && bytes % 16 == 0 && least < 16 ? 16 : least; }
template <typename T, int R, int C, int O, bool fixed = (R != Dynamic && C != Dynamic)> struct Storage {
  alignas(alignment(sizeof(T) * R * C, alignof(T), !(O & DontAlign))) T elements[R * C];
  PARITY_EIGEN void resize(Index, Index) {}
  static constexpr PARITY_EIGEN Index rows() { return R; }
  static constexpr PARITY_EIGEN Index cols() { return C; }
};
template <typename T, int R, int C, int O> struct Storage<T, R, C, O, false> {
  T* elements = nullptr;
  Index rows_ = R == Dynamic ? 0 : R, cols_ = C == Dynamic ? 0 : C;
  Storage() = default;
  PARITY_EIGEN Storage(const Storage& other) { *this = other; }
  PARITY_EIGEN Storage& operator=(const Storage& other) {
    if (this == &other) return *this;
    resize(other.rows_, other.cols_);
    for (Index i = 0; i < rows_ * cols_; ++i) elements[i] = other.elements[i];
    return *this;
  }
  PARITY_EIGEN ~Storage() { delete[] elements; }
  PARITY_EIGEN void resize(Index rows, Index cols) {
    if (rows * cols != rows_ * cols_) { delete[] elements; elements = new T[rows * cols]; }
    rows_ = rows; cols_ = cols;
  }
  PARITY_EIGEN Index rows() const { return rows_; }
  PARITY_EIGEN Index cols() const { return cols_; }
};

// m << 1, 2, 3; vectors and blocks are placed next to each other.
template <class D> struct CommaInitializer {
  D& to;
  Index row = 0, col = 0, height = 1;
  template <class Value> PARITY_EIGEN CommaInitializer& operator,(const Value& value) {
    if (col == to.cols()) { row += height; col = 0; }
    if constexpr (std::is_convertible_v<Value, typename D::Scalar>) {
      to(row, col++) = static_cast<typename D::Scalar>(value);
      height = 1;
    } else {
      for (Index i = 0; i < value.rows(); ++i) for (Index j = 0; j < value.cols(); ++j) to(row + i, col + j) = value(i, j);
      col += value.cols();
      height = value.rows();
    }
    return *this;
  }
  PARITY_EIGEN D& finished() { return to; }
};

template <class M> struct Solver;
template <class M> struct Cholesky;
}  // namespace parity_stub

template <class D> class DenseBase {
 public:
  using Traits = parity_stub::Traits<D>;
  using Scalar = typename Traits::Scalar;
  using RealScalar = Scalar;
  using value_type = Scalar;
  using Index = Eigen::Index;
  static constexpr int RowsAtCompileTime = Traits::rows, ColsAtCompileTime = Traits::cols;
  static constexpr int SizeAtCompileTime = Traits::rows == Dynamic || Traits::cols == Dynamic ? Dynamic : Traits::rows * Traits::cols;
  static constexpr bool IsVectorAtCompileTime = Traits::rows == 1 || Traits::cols == 1;
  static constexpr bool array_ = Traits::array;
  using PlainObject = typename parity_stub::PlainOf<D>::type;
  template <typename U> using Of = parity_stub::Plain<U, Traits::rows, Traits::cols, array_>;

  PARITY_EIGEN D& derived() { return static_cast<D&>(*this); }
  PARITY_EIGEN const D& derived() const { return static_cast<const D&>(*this); }
  PARITY_EIGEN Index rows() const { return derived().rows(); }
  PARITY_EIGEN Index cols() const { return derived().cols(); }
  PARITY_EIGEN Index size() const { return rows() * cols(); }

  PARITY_EIGEN decltype(auto) operator()(Index i, Index j) { return at(derived(), i, j); }
  PARITY_EIGEN decltype(auto) operator()(Index i, Index j) const { return at(derived(), i, j); }
  PARITY_EIGEN decltype(auto) operator()(Index i) { return at(derived(), i); }
  PARITY_EIGEN decltype(auto) operator()(Index i) const { return at(derived(), i); }
  PARITY_EIGEN decltype(auto) operator[](Index i) { return at(derived(), i); }
  PARITY_EIGEN decltype(auto) operator[](Index i) const { return at(derived(), i); }
  PARITY_EIGEN decltype(auto) coeff(Index i) const { return at(derived(), i); }
  PARITY_EIGEN decltype(auto) coeff(Index i, Index j) const { return at(derived(), i, j); }
  PARITY_EIGEN decltype(auto) coeffRef(Index i) { return at(derived(), i); }
  PARITY_EIGEN decltype(auto) coeffRef(Index i, Index j) { return at(derived(), i, j); }
#define PARITY_PART(name, i)                                           \
  PARITY_EIGEN decltype(auto) name() { return at(derived(), i); }      \
  PARITY_EIGEN decltype(auto) name() const { return at(derived(), i); }
  PARITY_PART(x, 0) PARITY_PART(y, 1) PARITY_PART(z, 2) PARITY_PART(w, 3) PARITY_PART(value, 0)
#undef PARITY_PART

  // Assignable parts, given by the distance in elements between rows and between columns.
#define PARITY_PART(head, signature, ...)                       \
  head PARITY_EIGEN auto signature { return __VA_ARGS__; }      \
  head PARITY_EIGEN auto signature const { return __VA_ARGS__; }
#define PARITY_OF(R, C) template <int R, int C>
#define PARITY_ONE this->template view
#define PARITY_LINE(N, first, count) this->template line<N>(first, count)
  PARITY_PART(PARITY_OF(R, C), view(Index i, Index j, Index r, Index c), window<R, C, array_>(derived(), i, j, r, c))
  PARITY_PART(template <int N>, line(Index first, Index count),
              window<RowsAtCompileTime == 1 ? 1 : N, RowsAtCompileTime == 1 ? N : 1, array_>(
                  derived(), RowsAtCompileTime == 1 ? 0 : first, RowsAtCompileTime == 1 ? first : 0,
                  RowsAtCompileTime == 1 ? 1 : count, RowsAtCompileTime == 1 ? count : 1))
  PARITY_PART(PARITY_OF(R, C), block(Index i, Index j), PARITY_ONE<R, C>(i, j, R, C))
  PARITY_PART(PARITY_OF(R, C), block(Index i, Index j, Index r, Index c), PARITY_ONE<R, C>(i, j, r, c))
  PARITY_PART(, block(Index i, Index j, Index r, Index c), PARITY_ONE<Dynamic, Dynamic>(i, j, r, c))
  PARITY_PART(, row(Index i), PARITY_ONE<1, ColsAtCompileTime>(i, 0, 1, cols()))
  PARITY_PART(, col(Index j), PARITY_ONE<RowsAtCompileTime, 1>(0, j, rows(), 1))
  PARITY_PART(template <int N>, head(), PARITY_LINE(N, 0, N))
  PARITY_PART(template <int N>, head(Index n), PARITY_LINE(N, 0, n))
  PARITY_PART(, head(Index n), PARITY_LINE(Dynamic, 0, n))
  PARITY_PART(template <int N>, tail(), PARITY_LINE(N, size() - N, N))
  PARITY_PART(, tail(Index n), PARITY_LINE(Dynamic, size() - n, n))
  PARITY_PART(template <int N>, segment(Index i), PARITY_LINE(N, i, N))
  PARITY_PART(, segment(Index i, Index n), PARITY_LINE(Dynamic, i, n))
  PARITY_PART(template <int N>, topRows(), PARITY_ONE<N, ColsAtCompileTime>(0, 0, N, cols()))
  PARITY_PART(, topRows(Index n), PARITY_ONE<Dynamic, ColsAtCompileTime>(0, 0, n, cols()))
  PARITY_PART(template <int N>, bottomRows(), PARITY_ONE<N, ColsAtCompileTime>(rows() - N, 0, N, cols()))
  PARITY_PART(, bottomRows(Index n), PARITY_ONE<Dynamic, ColsAtCompileTime>(rows() - n, 0, n, cols()))
  PARITY_PART(template <int N>, leftCols(), PARITY_ONE<RowsAtCompileTime, N>(0, 0, rows(), N))
  PARITY_PART(, leftCols(Index n), PARITY_ONE<RowsAtCompileTime, Dynamic>(0, 0, rows(), n))
  PARITY_PART(template <int N>, rightCols(), PARITY_ONE<RowsAtCompileTime, N>(0, cols() - N, rows(), N))
  PARITY_PART(, rightCols(Index n), PARITY_ONE<RowsAtCompileTime, Dynamic>(0, cols() - n, rows(), n))
  PARITY_PART(PARITY_OF(R, C), topLeftCorner(), PARITY_ONE<R, C>(0, 0, R, C))
  PARITY_PART(, topLeftCorner(Index r, Index c), PARITY_ONE<Dynamic, Dynamic>(0, 0, r, c))
  PARITY_PART(PARITY_OF(R, C), topRightCorner(), PARITY_ONE<R, C>(0, cols() - C, R, C))
  PARITY_PART(, topRightCorner(Index r, Index c), PARITY_ONE<Dynamic, Dynamic>(0, cols() - c, r, c))
  PARITY_PART(PARITY_OF(R, C), bottomLeftCorner(), PARITY_ONE<R, C>(rows() - R, 0, R, C))
  PARITY_PART(PARITY_OF(R, C), bottomRightCorner(), PARITY_ONE<R, C>(rows() - R, cols() - C, R, C))
  PARITY_PART(, array(), window<RowsAtCompileTime, ColsAtCompileTime, true>(derived(), 0, 0, rows(), cols()))
  PARITY_PART(, matrix(), window<RowsAtCompileTime, ColsAtCompileTime, false>(derived(), 0, 0, rows(), cols()))
  PARITY_PART(, transpose(), turned(derived()))
  PARITY_PART(, diagonal(), along(derived()))
#undef PARITY_LINE
#undef PARITY_ONE
#undef PARITY_OF
#undef PARITY_PART
  PARITY_EIGEN auto adjoint() const { return transpose(); }
  PARITY_EIGEN D& noalias() { return derived(); }
  PARITY_EIGEN PlainObject eval() const { return derived(); }
  PARITY_EIGEN void transposeInPlace() { *this = PlainObject(transpose()); }

  template <class B> PARITY_EIGEN D& operator=(const DenseBase<B>& other) {
    constexpr bool turn = (RowsAtCompileTime == 1) != (B::RowsAtCompileTime == 1) && IsVectorAtCompileTime && B::IsVectorAtCompileTime;
    derived().resize(turn ? other.cols() : other.rows(), turn ? other.rows() : other.cols());
    return fill([&](Index i, Index j) { return static_cast<Scalar>(turn ? other(j, i) : other(i, j)); });
  }
  PARITY_EIGEN D& operator=(const DenseBase& other) { return this->template operator=<D>(other); }
  DenseBase() = default;
  DenseBase(const DenseBase&) = default;
  template <typename Value> PARITY_EIGEN parity_stub::CommaInitializer<D> operator<<(const Value& value) {
    parity_stub::CommaInitializer<D> values{derived()};
    values, value;
    return values;
  }
  template <class Function> PARITY_EIGEN D& fill(Function of) {
    for (Index j = 0; j < cols(); ++j) for (Index i = 0; i < rows(); ++i) (*this)(i, j) = of(i, j);
    return derived();
  }
  PARITY_EIGEN D& setConstant(Scalar value) { return fill([&](Index, Index) { return value; }); }
  PARITY_EIGEN D& setZero() { return setConstant(Scalar(0)); }
  PARITY_EIGEN D& setOnes() { return setConstant(Scalar(1)); }
  PARITY_EIGEN D& setIdentity() { return fill([](Index i, Index j) { return Scalar(i == j); }); }
  PARITY_EIGEN D& setZero(Index n) { derived().resize(n); return setZero(); }
  PARITY_EIGEN D& setZero(Index r, Index c) { derived().resize(r, c); return setZero(); }
  static PARITY_EIGEN PlainObject Constant(Scalar value) { return PlainObject().setConstant(value); }
  static PARITY_EIGEN PlainObject Zero() { return Constant(Scalar(0)); }
  static PARITY_EIGEN PlainObject Ones() { return Constant(Scalar(1)); }
  static PARITY_EIGEN PlainObject Identity() { return PlainObject().setIdentity(); }
  static PARITY_EIGEN PlainObject Zero(Index r, Index c = 1) { return PlainObject(r, c).setZero(); }
  static PARITY_EIGEN PlainObject Ones(Index r, Index c = 1) { return PlainObject(r, c).setOnes(); }
  static PARITY_EIGEN PlainObject Identity(Index r, Index c) { return PlainObject(r, c).setIdentity(); }
  static PARITY_EIGEN PlainObject Unit(Index i) { PlainObject unit = Zero(); unit(i) = Scalar(1); return unit; }
  static PARITY_EIGEN PlainObject UnitX() { return Unit(0); }
  static PARITY_EIGEN PlainObject UnitY() { return Unit(1); }
  static PARITY_EIGEN PlainObject UnitZ() { return Unit(2); }
  static PARITY_EIGEN PlainObject UnitW() { return Unit(3); }

  // Elementwise operations.
  template <class Function> PARITY_EIGEN auto unaryExpr(Function f) const {
    Of<std::decay_t<decltype(f(Scalar()))>> out;
    out.resize(rows(), cols());
    return out.fill([&](Index i, Index j) { return f((*this)(i, j)); });
  }
  template <class B, class Function> PARITY_EIGEN auto binaryExpr(const DenseBase<B>& b, Function f) const {
    using U = std::decay_t<decltype(f(Scalar(), typename B::Scalar()))>;
    parity_stub::Plain<U, parity_stub::known(RowsAtCompileTime, B::RowsAtCompileTime), parity_stub::known(ColsAtCompileTime, B::ColsAtCompileTime), array_> out;
    out.resize(rows(), cols());
    return out.fill([&](Index i, Index j) { return f((*this)(i, j), b(i, j)); });
  }
  template <typename U> PARITY_EIGEN Of<U> cast() const { return unaryExpr([](Scalar a) { return static_cast<U>(a); }); }
  template <class B> PARITY_EIGEN D& operator+=(const DenseBase<B>& b) { return *this = *this + b; }
  template <class B> PARITY_EIGEN D& operator-=(const DenseBase<B>& b) { return *this = *this - b; }
  PARITY_EIGEN D& operator/=(Scalar b) { return *this = *this / b; }
  template <typename U> PARITY_EIGEN D& operator*=(const U& b) { return *this = *this * b; }
  template <class B, std::enable_if_t<array_, B>* = nullptr> PARITY_EIGEN D& operator/=(const DenseBase<B>& b) { return *this = *this / b; }
  template <typename U, std::enable_if_t<array_ && std::is_arithmetic_v<U>, U>* = nullptr>
  PARITY_EIGEN D& operator+=(U b) { return *this = *this + b; }
  template <typename U, std::enable_if_t<array_ && std::is_arithmetic_v<U>, U>* = nullptr>
  PARITY_EIGEN D& operator-=(U b) { return *this = *this - b; }
  PARITY_EIGEN auto operator-() const { return unaryExpr([](Scalar a) { return static_cast<Scalar>(-a); }); }
#define PARITY_UNARY(array, matrix, ...)                                                                               \
  PARITY_EIGEN auto array() const { return unaryExpr([](Scalar a) { return static_cast<Scalar>(__VA_ARGS__); }); }     \
  PARITY_EIGEN auto matrix() const { return array(); }
  PARITY_UNARY(abs, cwiseAbs, numext::abs(a)) PARITY_UNARY(abs2, cwiseAbs2, a * a) PARITY_UNARY(sqrt, cwiseSqrt, ::sqrt(a))
  PARITY_UNARY(sign, cwiseSign, (Scalar(0) < a) - (a < Scalar(0))) PARITY_UNARY(reciprocal, cwiseInverse, Scalar(1) / a)
#undef PARITY_UNARY
#define PARITY_UNARY(name, ...) \
  PARITY_EIGEN auto name() const { return unaryExpr([](Scalar a) { return static_cast<Scalar>(__VA_ARGS__); }); }
  PARITY_UNARY(square, a * a) PARITY_UNARY(cube, a * a * a) PARITY_UNARY(exp, ::exp(a)) PARITY_UNARY(log, ::log(a))
  PARITY_UNARY(sin, ::sin(a)) PARITY_UNARY(cos, ::cos(a)) PARITY_UNARY(tan, ::tan(a)) PARITY_UNARY(tanh, ::tanh(a))
  PARITY_UNARY(floor, ::floor(a)) PARITY_UNARY(ceil, ::ceil(a)) PARITY_UNARY(round, ::round(a)) PARITY_UNARY(rsqrt, Scalar(1) / ::sqrt(a))
#undef PARITY_UNARY
  PARITY_EIGEN auto pow(Scalar n) const { return unaryExpr([=](Scalar a) { return static_cast<Scalar>(::pow(a, n)); }); }
#define PARITY_BINARY(name, expression)                                                                                     \
  template <class B>                                                                                                        \
  PARITY_EIGEN auto name(const DenseBase<B>& o) const { return binaryExpr(o, [](Scalar a, Scalar b) { return expression; }); } \
  PARITY_EIGEN auto name(Scalar b) const { return unaryExpr([=](Scalar a) { return expression; }); }
  PARITY_BINARY(cwiseMin, (b < a ? b : a)) PARITY_BINARY(cwiseMax, (a < b ? b : a)) PARITY_BINARY(min, (b < a ? b : a))
  PARITY_BINARY(max, (a < b ? b : a)) PARITY_BINARY(cwiseProduct, static_cast<Scalar>(a * b))
  PARITY_BINARY(cwiseQuotient, static_cast<Scalar>(a / b)) PARITY_BINARY(cwiseEqual, a == b) PARITY_BINARY(cwiseNotEqual, a != b)
#undef PARITY_BINARY
  template <class A, class B> PARITY_EIGEN auto select(const DenseBase<A>& a, const DenseBase<B>& b) const {
    typename A::PlainObject out = b;
    return out.fill([&](Index i, Index j) { return (*this)(i, j) ? a(i, j) : b(i, j); });
  }
  template <class B> PARITY_EIGEN void swap(const DenseBase<B>& other) {
    PlainObject mine = derived();
    *this = other;
    const_cast<DenseBase<B>&>(other) = mine;
  }

  // Reductions.
  template <typename U, class Function> PARITY_EIGEN U fold(U sum, Function f) const {
    for (Index j = 0; j < cols(); ++j) for (Index i = 0; i < rows(); ++i) sum = f(sum, (*this)(i, j));
    return sum;
  }
  PARITY_EIGEN Scalar sum() const { return fold(static_cast<Scalar>(-Scalar(0)), [](Scalar a, Scalar b) { return static_cast<Scalar>(a + b); }); }
  PARITY_EIGEN Scalar prod() const { return fold(Scalar(1), [](Scalar a, Scalar b) { return static_cast<Scalar>(a * b); }); }
  PARITY_EIGEN Scalar mean() const { return sum() / static_cast<Scalar>(size()); }
  PARITY_EIGEN Scalar trace() const { return diagonal().sum(); }
  PARITY_EIGEN Scalar squaredNorm() const { return fold(Scalar(0), [](Scalar a, Scalar b) { return static_cast<Scalar>(a + b * b); }); }
  PARITY_EIGEN Scalar norm() const { return static_cast<Scalar>(::sqrt(squaredNorm())); }
  PARITY_EIGEN Scalar stableNorm() const { return norm(); }
  PARITY_EIGEN bool all() const { return fold(true, [](bool a, Scalar b) { return a && b; }); }
  PARITY_EIGEN bool any() const { return fold(false, [](bool a, Scalar b) { return a || b; }); }
  PARITY_EIGEN Index count() const { return fold(Index(0), [](Index a, Scalar b) { return a + (b != Scalar(0)); }); }
  PARITY_EIGEN bool hasNaN() const { return fold(false, [](bool a, Scalar b) { return a || numext::isnan(b); }); }
  PARITY_EIGEN bool allFinite() const { return fold(true, [](bool a, Scalar b) { return a && numext::isfinite(b); }); }
#define PARITY_EXTREME(name, better)                                                                              \
  template <typename I, typename J>                                                                               \
  PARITY_EIGEN Scalar name(I* row, J* col) const {                                                                \
    *row = *col = 0;                                                                                              \
    for (Index j = 0; j < cols(); ++j) for (Index i = 0; i < rows(); ++i)                                         \
      if ((*this)(i, j) better (*this)(*row, *col)) { *row = static_cast<I>(i); *col = static_cast<J>(j); }       \
    return (*this)(*row, *col);                                                                                   \
  }                                                                                                               \
  template <typename I>                                                                                           \
  PARITY_EIGEN Scalar name(I* place) const {                                                                      \
    Index row, col;                                                                                               \
    const Scalar found = name(&row, &col);                                                                        \
    *place = static_cast<I>(row + col);                                                                           \
    return found;                                                                                                 \
  }                                                                                                               \
  PARITY_EIGEN Scalar name() const { Index row, col; return name(&row, &col); }
  PARITY_EXTREME(minCoeff, <)
  PARITY_EXTREME(maxCoeff, >)
#undef PARITY_EXTREME

  // Linear algebra.
  template <class B> PARITY_EIGEN Scalar dot(const DenseBase<B>& b) const {
    Scalar sum = -Scalar(0);
    for (Index i = 0; i < size(); ++i) sum += (*this)(i) * b(i);
    return sum;
  }
  template <class B> PARITY_EIGEN PlainObject cross(const DenseBase<B>& b) const {
    PlainObject out;
    for (int i = 0; i < 3; ++i) out(i) = (*this)((i + 1) % 3) * b((i + 2) % 3) - (*this)((i + 2) % 3) * b((i + 1) % 3);
    return out;
  }
  PARITY_EIGEN PlainObject normalized() const {
    const Scalar square = squaredNorm();
    return square > Scalar(0) ? PlainObject(*this / static_cast<Scalar>(::sqrt(square))) : PlainObject(derived());
  }
  PARITY_EIGEN void normalize() { *this = normalized(); }
  PARITY_EIGEN PlainObject conjugate() const { return derived(); }
  PARITY_EIGEN auto homogeneous() const {
    parity_stub::Plain<Scalar, RowsAtCompileTime == 1 ? 1 : SizeAtCompileTime + 1, RowsAtCompileTime == 1 ? SizeAtCompileTime + 1 : 1, array_> out;
    for (Index i = 0; i < size(); ++i) out(i) = (*this)(i);
    out(size()) = Scalar(1);
    return out;
  }
  PARITY_EIGEN auto hnormalized() const { return this->template head<SizeAtCompileTime - 1>() / (*this)(size() - 1); }
  PARITY_EIGEN auto asDiagonal() const {
    Matrix<Scalar, SizeAtCompileTime, SizeAtCompileTime> out;
    out.resize(size(), size());
    return out.fill([&](Index i, Index j) { return i == j ? (*this)(i) : Scalar(0); });
  }
  template <class B> PARITY_EIGEN bool isApprox(const DenseBase<B>& b, Scalar precision = NumTraits<Scalar>::dummy_precision()) const {
    return (*this - b).squaredNorm() <= precision * precision * numext::mini(squaredNorm(), b.squaredNorm());
  }
  PARITY_EIGEN bool isZero(Scalar precision = NumTraits<Scalar>::dummy_precision()) const { return abs().maxCoeff() <= precision; }
  template <class B> PARITY_EIGEN bool equals(const DenseBase<B>& b) const {
    for (Index j = 0; j < cols(); ++j) for (Index i = 0; i < rows(); ++i) if (!((*this)(i, j) == b(i, j))) return false;
    return true;
  }
  PARITY_EIGEN parity_stub::Solver<PlainObject> lu() const { return parity_stub::Solver<PlainObject>(derived()); }
#define PARITY_SOLVER(name) \
  PARITY_EIGEN auto name() const { return lu(); }
  PARITY_SOLVER(partialPivLu) PARITY_SOLVER(fullPivLu) PARITY_SOLVER(householderQr) PARITY_SOLVER(colPivHouseholderQr)
#undef PARITY_SOLVER
  PARITY_EIGEN parity_stub::Cholesky<PlainObject> llt() const { return parity_stub::Cholesky<PlainObject>(derived()); }
  PARITY_EIGEN parity_stub::Cholesky<PlainObject> ldlt() const { return llt(); }
  PARITY_EIGEN Scalar determinant() const {
    const auto& m = derived();
    const auto minor = [&](int a, int b, int c) { return m(0, a) * (m(1, b) * m(2, c) - m(1, c) * m(2, b)); };
    if constexpr (SizeAtCompileTime == 4 && RowsAtCompileTime == 2) return m(0, 0) * m(1, 1) - m(1, 0) * m(0, 1);
    else if constexpr (SizeAtCompileTime == 9 && RowsAtCompileTime == 3) return minor(0, 1, 2) - minor(1, 0, 2) + minor(2, 0, 1);
    else return lu().determinant();
  }
  PARITY_EIGEN PlainObject inverse() const {
    if constexpr (array_) return reciprocal();
    else return lu().solve(PlainObject(derived()).setIdentity());
  }

 private:
  template <class Self>
  static PARITY_EIGEN decltype(auto) at(Self& self, Index i, Index j) { return (self.data()[i * self.rowStep() + j * self.colStep()]); }
  template <class Self> static PARITY_EIGEN decltype(auto) at(Self& self, Index i) {
    if constexpr (RowsAtCompileTime == 1) return at(self, 0, i);
    else if constexpr (ColsAtCompileTime == 1) return at(self, i, 0);
    else return at(self, self.rowStep() <= self.colStep() ? i % self.rows() : i / self.cols(), self.rowStep() <= self.colStep() ? i / self.rows() : i % self.cols());
  }
  template <class Self> using Element = std::remove_reference_t<decltype(*std::declval<Self&>().data())>;
  template <int R, int C, bool array, class Self> static PARITY_EIGEN auto window(Self& self, Index i, Index j, Index r, Index c) {
    return View<Element<Self>, R, C, array>(self.data() + i * self.rowStep() + j * self.colStep(), r, c, self.rowStep(), self.colStep());
  }
  template <class Self> static PARITY_EIGEN auto turned(Self& self) {
    return View<Element<Self>, ColsAtCompileTime, RowsAtCompileTime, array_>(self.data(), self.cols(), self.rows(), self.colStep(), self.rowStep());
  }
  template <class Self> static PARITY_EIGEN auto along(Self& self) {
    constexpr int N = RowsAtCompileTime < ColsAtCompileTime ? RowsAtCompileTime : ColsAtCompileTime;
    return View<Element<Self>, N, 1, array_>(self.data(), numext::mini(self.rows(), self.cols()), 1, self.rowStep() + self.colStep(), 0);
  }
};
template <class D> struct MatrixBase : DenseBase<D> { using DenseBase<D>::operator=; MatrixBase() = default; MatrixBase(const MatrixBase&) = default; };
template <class D> struct ArrayBase : DenseBase<D> { using DenseBase<D>::operator=; ArrayBase() = default; ArrayBase(const ArrayBase&) = default; };
template <class D> using EigenBase = DenseBase<D>;

namespace parity_stub {
template <class D> using Base = std::conditional_t<Traits<D>::array, ArrayBase<D>, MatrixBase<D>>;
template <typename U> using Number = std::enable_if_t<std::is_convertible_v<U, double>, U>;
}  // namespace parity_stub

template <typename T, int R, int C, bool coefficients> class View : public parity_stub::Base<View<T, R, C, coefficients>> {
  T* data_;
  Index rows_, cols_, rowStep_, colStep_;

 public:
  using parity_stub::Base<View>::operator=;
  PARITY_EIGEN View(T* data, Index rows, Index cols, Index rowStep, Index colStep) : data_(data), rows_(rows), cols_(cols), rowStep_(rowStep), colStep_(colStep) {}
  View(const View&) = default;
  PARITY_EIGEN View& operator=(const View& other) { return DenseBase<View>::operator=(other); }
  template <typename U = T, std::enable_if_t<R == 1 && C == 1, U>* = nullptr>
  PARITY_EIGEN operator std::remove_const_t<U>() const { return *data_; }
  PARITY_EIGEN T* data() const { return data_; }
  PARITY_EIGEN Index rows() const { return R == Dynamic ? rows_ : R; }
  PARITY_EIGEN Index cols() const { return C == Dynamic ? cols_ : C; }
  PARITY_EIGEN Index rowStep() const { return rowStep_; }
  PARITY_EIGEN Index colStep() const { return colStep_; }
  PARITY_EIGEN Index innerStride() const { return numext::mini(rowStep_, colStep_); }
  PARITY_EIGEN Index outerStride() const { return numext::maxi(rowStep_, colStep_); }
  PARITY_EIGEN void resize(Index, Index) {}
};

#define PARITY_DENSE(name)                                                                                                 \
  template <typename T, int R, int C, int Options, int MaxR, int MaxC>                                                     \
  class name : public parity_stub::Base<name<T, R, C, Options, MaxR, MaxC>>, public parity_stub::Storage<T, R, C, Options> { \
    using Kept = parity_stub::Storage<T, R, C, Options>;                                                                   \
                                                                                                                           \
   public:                                                                                                                 \
    using Dense = parity_stub::Base<name>;                                                                                 \
    using Dense::operator=;                                                                                                \
    using typename Dense::Index;                                                                                           \
    static constexpr bool IsRowMajor = (Options & RowMajor) != 0;                                                          \
    name() = default;                                                                                                      \
    name(const name&) = default;                                                                                           \
    name& operator=(const name&) = default;                                                                                \
    template <class B>                                                                                                     \
    PARITY_EIGEN name(const DenseBase<B>& other) { *this = other; }                                                        \
    PARITY_EIGEN explicit name(const T* from) { for (Index i = 0; i < this->size(); ++i) data()[i] = from[i]; }            \
    template <typename U, parity_stub::Number<U>* = nullptr>                                                               \
    PARITY_EIGEN explicit name(const U& value) {                                                                           \
      if constexpr (R == Dynamic || C == Dynamic) resize(static_cast<Index>(value));                                       \
      else this->setConstant(static_cast<T>(value));                                                                       \
    }                                                                                                                      \
    template <typename U, typename V, parity_stub::Number<U>* = nullptr, parity_stub::Number<V>* = nullptr>                \
    PARITY_EIGEN name(const U& a, const V& b) {                                                                            \
      if constexpr (R != Dynamic && C != Dynamic && R * C == 2) { data()[0] = static_cast<T>(a); data()[1] = static_cast<T>(b); } \
      else resize(static_cast<Index>(a), static_cast<Index>(b));                                                           \
    }                                                                                                                      \
    template <typename U, typename... More, std::enable_if_t<(sizeof...(More) > 1), U>* = nullptr>                         \
    PARITY_EIGEN name(const U& first, const More&... more) {                                                               \
      const T values[] = {static_cast<T>(first), static_cast<T>(more)...};                                                 \
      resize(static_cast<Index>(sizeof...(More) + 1));                                                                     \
      for (Index i = 0; i < this->size(); ++i) data()[i] = values[i];                                                      \
    }                                                                                                                      \
    PARITY_EIGEN name(std::initializer_list<std::initializer_list<T>> rows) {                                              \
      resize(static_cast<Index>(rows.size()), static_cast<Index>(rows.begin()->size()));                                   \
      for (Index i = 0; i < this->rows(); ++i) for (Index j = 0; j < this->cols(); ++j) (*this)(i, j) = rows.begin()[i].begin()[j]; \
    }                                                                                                                      \
    template <typename U = T, std::enable_if_t<R == 1 && C == 1, U>* = nullptr>                                            \
    PARITY_EIGEN operator U() const { return *data(); }                                                                    \
    PARITY_EIGEN T* data() { return Kept::elements; }                                                                      \
    PARITY_EIGEN const T* data() const { return Kept::elements; }                                                          \
    PARITY_EIGEN Index rows() const { return Kept::rows(); }                                                               \
    PARITY_EIGEN Index cols() const { return Kept::cols(); }                                                               \
    PARITY_EIGEN Index rowStep() const { return IsRowMajor ? cols() : 1; }                                                 \
    PARITY_EIGEN Index colStep() const { return IsRowMajor ? 1 : rows(); }                                                 \
    PARITY_EIGEN Index innerStride() const { return 1; }                                                                   \
    PARITY_EIGEN Index outerStride() const { return IsRowMajor ? cols() : rows(); }                                        \
    PARITY_EIGEN void resize(Index r, Index c) { Kept::resize(r, c); }                                                     \
    PARITY_EIGEN void resize(Index n) { Kept::resize(R == 1 ? 1 : n, R == 1 ? n : 1); }                                    \
  };
PARITY_DENSE(Matrix)
PARITY_DENSE(Array)
#undef PARITY_DENSE

// Sums, products and comparisons: elementwise for arrays; the product of two matrices is the matrix product.
#define PARITY_BOTH(op, result, condition)                                                                                 \
  template <class A, class B, std::enable_if_t<(condition), A>* = nullptr>                                                 \
  PARITY_EIGEN auto operator op(const DenseBase<A>& a, const DenseBase<B>& b) {                                            \
    return a.binaryExpr(b, [](typename A::Scalar x, typename B::Scalar y) { return static_cast<result>(x op y); });        \
  }
#define PARITY_RIGHT(op, result, condition)                                                                                \
  template <class A, typename U, std::enable_if_t<(condition), A>* = nullptr, parity_stub::Number<U>* = nullptr>           \
  PARITY_EIGEN auto operator op(const DenseBase<A>& a, const U& b) {                                                       \
    return a.unaryExpr([y = static_cast<typename A::Scalar>(b)](typename A::Scalar x) { return static_cast<result>(x op y); }); \
  }
#define PARITY_LEFT(op, result, condition)                                                                                 \
  template <class A, typename U, std::enable_if_t<(condition), A>* = nullptr, parity_stub::Number<U>* = nullptr>           \
  PARITY_EIGEN auto operator op(const U& b, const DenseBase<A>& a) {                                                       \
    return a.unaryExpr([y = static_cast<typename A::Scalar>(b)](typename A::Scalar x) { return static_cast<result>(y op x); }); \
  }
#define PARITY_ARRAY(op, result) PARITY_BOTH(op, result, A::array_) PARITY_RIGHT(op, result, A::array_) PARITY_LEFT(op, result, A::array_)
PARITY_BOTH(+, typename A::Scalar, true) PARITY_BOTH(-, typename A::Scalar, true)
PARITY_RIGHT(*, typename A::Scalar, true) PARITY_LEFT(*, typename A::Scalar, true) PARITY_RIGHT(/, typename A::Scalar, true)
PARITY_RIGHT(+, typename A::Scalar, A::array_) PARITY_LEFT(+, typename A::Scalar, A::array_) PARITY_RIGHT(-, typename A::Scalar, A::array_)
PARITY_LEFT(-, typename A::Scalar, A::array_) PARITY_BOTH(*, typename A::Scalar, A::array_) PARITY_BOTH(/, typename A::Scalar, A::array_)
PARITY_LEFT(/, typename A::Scalar, A::array_)
PARITY_ARRAY(<, bool) PARITY_ARRAY(>, bool) PARITY_ARRAY(<=, bool) PARITY_ARRAY(>=, bool)
PARITY_BOTH(==, bool, A::array_) PARITY_RIGHT(==, bool, A::array_) PARITY_BOTH(!=, bool, A::array_) PARITY_RIGHT(!=, bool, A::array_)
PARITY_BOTH(&&, bool, A::array_) PARITY_BOTH(||, bool, A::array_)
#undef PARITY_ARRAY
#undef PARITY_LEFT
#undef PARITY_RIGHT
#undef PARITY_BOTH
template <class A, class B, std::enable_if_t<!A::array_, B>* = nullptr>
PARITY_EIGEN bool operator==(const DenseBase<A>& a, const DenseBase<B>& b) { return a.equals(b); }
template <class A, class B, std::enable_if_t<!A::array_, B>* = nullptr>
PARITY_EIGEN bool operator!=(const DenseBase<A>& a, const DenseBase<B>& b) { return !a.equals(b); }
template <class A, class B, std::enable_if_t<!A::array_, B>* = nullptr>
PARITY_EIGEN auto operator*(const DenseBase<A>& a, const DenseBase<B>& b) {
  using T = typename A::Scalar;
  Matrix<T, A::RowsAtCompileTime, B::ColsAtCompileTime> out;
  out.resize(a.rows(), b.cols());
  return out.fill([&](Index i, Index j) {
    T sum = -T(0);  // the neutral element: a sum from 0 would turn -0 into 0
    for (Index k = 0; k < a.cols(); ++k) sum += a(i, k) * b(k, j);
    return sum;
  });
}
template <class D> std::ostream& operator<<(std::ostream& out, const DenseBase<D>&);

namespace parity_stub {
// Gaussian elimination with partial pivoting.
template <class M> struct Solver {
  using Scalar = typename M::Scalar;
  M left;
  explicit PARITY_EIGEN Solver(const M& m) : left(m) {}
  template <class B> PARITY_EIGEN auto solve(const DenseBase<B>& b) const {
    Matrix<Scalar, M::ColsAtCompileTime, B::ColsAtCompileTime> x = b;
    eliminate(x);
    return x;
  }
  PARITY_EIGEN Scalar determinant() const { Matrix<Scalar, M::RowsAtCompileTime, 1> none(left.col(0)); return eliminate(none); }
  PARITY_EIGEN M inverse() const { return left.inverse(); }
  PARITY_EIGEN bool isInvertible() const { return determinant() != Scalar(0); }

 private:
  template <class X> PARITY_EIGEN Scalar eliminate(X& x) const {
    M m = left;
    Scalar determinant(1);
    for (Index k = 0; k < m.rows(); ++k) {
      Index pivot = k;
      for (Index i = k + 1; i < m.rows(); ++i) if (numext::abs(m(i, k)) > numext::abs(m(pivot, k))) pivot = i;
      if (pivot != k) { m.row(k).swap(m.row(pivot)); x.row(k).swap(x.row(pivot)); determinant = -determinant; }
      determinant *= m(k, k);
      if (m(k, k) == Scalar(0)) return Scalar(0);
      for (Index i = k + 1; i < m.rows(); ++i) {
        const Scalar factor = m(i, k) / m(k, k);
        for (Index j = k; j < m.cols(); ++j) m(i, j) -= factor * m(k, j);
        for (Index j = 0; j < x.cols(); ++j) x(i, j) -= factor * x(k, j);
      }
    }
    for (Index k = m.rows(); k-- > 0;) for (Index j = 0; j < x.cols(); ++j) {
      for (Index i = k + 1; i < m.rows(); ++i) x(k, j) -= m(k, i) * x(i, j);
      x(k, j) /= m(k, k);
    }
    return determinant;
  }
};
template <class M> struct Cholesky : Solver<M> {
  explicit PARITY_EIGEN Cholesky(const M& m) : Solver<M>(m) {}
  PARITY_EIGEN M matrixL() const {
    M l = M(this->left).setZero();
    for (Index i = 0; i < l.rows(); ++i) for (Index j = 0; j <= i; ++j) {
      typename M::Scalar sum = this->left(i, j);
      for (Index k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
      l(i, j) = i == j ? ::sqrt(sum) : sum / l(j, j);
    }
    return l;
  }
};
}  // namespace parity_stub
template <class M> using LLT = parity_stub::Cholesky<M>;
template <class M> using LDLT = parity_stub::Cholesky<M>;
template <class M> using PartialPivLU = parity_stub::Solver<M>;
template <class M> using FullPivLU = parity_stub::Solver<M>;

// Views of external memory as a matrix.
template <int outer = 0, int inner = 0> struct Stride {
  Index outer_ = outer, inner_ = inner;
  Stride() = default;
  PARITY_EIGEN Stride(Index o, Index i) : outer_(o), inner_(i) {}
};
template <int N = Dynamic>
struct OuterStride : Stride<N, 0> { OuterStride() = default; PARITY_EIGEN OuterStride(Index n) : Stride<N, 0>(n, 0) {} };
template <int N = Dynamic>
struct InnerStride : Stride<0, N> { InnerStride() = default; PARITY_EIGEN InnerStride(Index n) : Stride<0, N>(0, n) {} };
namespace parity_stub {
template <class M> using Elements = std::conditional_t<std::is_const_v<M>, const typename M::Scalar, typename M::Scalar>;
template <class M> using ViewOf = View<Elements<M>, M::RowsAtCompileTime, M::ColsAtCompileTime, M::array_>;
}  // namespace parity_stub
template <class M, int Options = 0, class S = Stride<>> class Map : public parity_stub::ViewOf<M> {
  using Parent = parity_stub::ViewOf<M>;
  static constexpr bool across = M::IsRowMajor;
  static PARITY_EIGEN Index step(bool along, Index r, Index c, const S& s) {
    const Index inner = s.inner_ ? s.inner_ : 1;
    return along || M::IsVectorAtCompileTime ? inner : s.outer_ ? s.outer_ : inner * (across ? c : r);
  }

 public:
  using Parent::operator=;
  PARITY_EIGEN Map(parity_stub::Elements<M>* data, Index r, Index c, const S& s = S()) : Parent(data, r, c, step(!across, r, c, s), step(across, r, c, s)) {}
  PARITY_EIGEN Map(parity_stub::Elements<M>* data, Index n, const S& s = S()) : Map(data, M::RowsAtCompileTime == 1 ? 1 : n, M::RowsAtCompileTime == 1 ? n : 1, s) {}
  PARITY_EIGEN Map(parity_stub::Elements<M>* data, const S& s = S()) : Map(data, M::RowsAtCompileTime, M::ColsAtCompileTime, s) {}
  Map(const Map&) = default;
  PARITY_EIGEN Map& operator=(const Map& other) { Parent::operator=(other); return *this; }
};
template <class M, int Options = 0, class S = OuterStride<>> class Ref : public parity_stub::ViewOf<M> {
 public:
  using parity_stub::ViewOf<M>::operator=;
  template <class D>
  PARITY_EIGEN Ref(const DenseBase<D>& m) : parity_stub::ViewOf<M>(const_cast<D&>(m.derived()).data(), m.rows(), m.cols(), m.derived().rowStep(), m.derived().colStep()) {}
};

#define PARITY_SIZES(T, suffix)                                                                                            \
  PARITY_SQUARE(T, suffix, 2, 2) PARITY_SQUARE(T, suffix, 3, 3) PARITY_SQUARE(T, suffix, 4, 4) PARITY_SQUARE(T, suffix, Dynamic, X) \
  using Array2##suffix = Array<T, 2, 1>; using Array3##suffix = Array<T, 3, 1>; using Array4##suffix = Array<T, 4, 1>;     \
  using ArrayX##suffix = Array<T, Dynamic, 1>; using Matrix2X##suffix = Matrix<T, 2, Dynamic>;                             \
  using Matrix3X##suffix = Matrix<T, 3, Dynamic>; using Matrix4X##suffix = Matrix<T, 4, Dynamic>;                          \
  using MatrixX2##suffix = Matrix<T, Dynamic, 2>; using MatrixX3##suffix = Matrix<T, Dynamic, 3>; using MatrixX4##suffix = Matrix<T, Dynamic, 4>;
#define PARITY_SQUARE(T, suffix, N, name)                                                                       \
  using Matrix##name##suffix = Matrix<T, N, N>; using Vector##name##suffix = Matrix<T, N, 1>;                   \
  using RowVector##name##suffix = Matrix<T, 1, N>; using Array##name##name##suffix = Array<T, N, N>;
PARITY_SIZES(int, i)
PARITY_SIZES(float, f)
PARITY_SIZES(double, d)
#undef PARITY_SQUARE
#undef PARITY_SIZES
template <typename T, int N> using Vector = Matrix<T, N, 1>;
template <typename T, int N> using RowVector = Matrix<T, 1, N>;
#define PARITY_SQUARE(N, name)                                                                                          \
  template <typename T> using Matrix##name = Matrix<T, N, N>; template <typename T> using Vector##name = Matrix<T, N, 1>; \
  template <typename T> using RowVector##name = Matrix<T, 1, N>;
PARITY_SQUARE(2, 2) PARITY_SQUARE(3, 3) PARITY_SQUARE(4, 4) PARITY_SQUARE(Dynamic, X)
#undef PARITY_SQUARE

// Rotations. The formulas for quaternions assume unit quaternions.
template <typename T> class AngleAxis {
  T angle_;
  Matrix<T, 3, 1> axis_;

 public:
  using Scalar = T;
  AngleAxis() = default;
  template <class D> PARITY_EIGEN AngleAxis(T angle, const DenseBase<D>& axis) : angle_(angle), axis_(axis) {}
  PARITY_EIGEN T angle() const { return angle_; }
  PARITY_EIGEN const Matrix<T, 3, 1>& axis() const { return axis_; }
  PARITY_EIGEN Matrix<T, 3, 3> toRotationMatrix() const { return Quaternion<T>(*this).toRotationMatrix(); }
  PARITY_EIGEN Matrix<T, 3, 3> matrix() const { return toRotationMatrix(); }
  template <class D> PARITY_EIGEN Matrix<T, 3, 1> operator*(const DenseBase<D>& v) const { return toRotationMatrix() * v; }
  PARITY_EIGEN Quaternion<T> operator*(const AngleAxis& other) const { return Quaternion<T>(*this) * Quaternion<T>(other); }
  PARITY_EIGEN operator Matrix<T, 3, 3>() const { return toRotationMatrix(); }
};
template <typename T> class Quaternion {
  Matrix<T, 4, 1> coeffs_;  // x, y, z, w

 public:
  using Scalar = T;
  Quaternion() = default;
  PARITY_EIGEN Quaternion(T w, T x, T y, T z) : coeffs_(x, y, z, w) {}
  PARITY_EIGEN explicit Quaternion(const T* xyzw) : coeffs_(xyzw) {}
  PARITY_EIGEN Quaternion(const AngleAxis<T>& turn) { vec() = turn.axis() * T(::sin(turn.angle() / 2)); w() = ::cos(turn.angle() / 2); }
  template <class D> PARITY_EIGEN explicit Quaternion(const DenseBase<D>& m) {
    if constexpr (D::RowsAtCompileTime == 4) coeffs_ = m;
    else {
      const T trace = m.trace();
      int i = 0;
      if (m(1, 1) > m(0, 0)) i = 1;
      if (m(2, 2) > m(i, i)) i = 2;
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      if (trace > T(0)) {
        const T root = ::sqrt(trace + T(1));
        w() = root / 2;
        for (int n = 0; n < 3; ++n) coeffs_(n) = (m((n + 2) % 3, (n + 1) % 3) - m((n + 1) % 3, (n + 2) % 3)) / (2 * root);
      } else {
        const T root = ::sqrt(m(i, i) - m(j, j) - m(k, k) + T(1));
        coeffs_(i) = root / 2;
        w() = (m(k, j) - m(j, k)) / (2 * root);
        coeffs_(j) = (m(j, i) + m(i, j)) / (2 * root);
        coeffs_(k) = (m(k, i) + m(i, k)) / (2 * root);
      }
    }
  }
  static PARITY_EIGEN Quaternion Identity() { return Quaternion(T(1), T(0), T(0), T(0)); }
  PARITY_EIGEN Quaternion& setIdentity() { return *this = Identity(); }
#define PARITY_PART(name, i) \
  PARITY_EIGEN T& name() { return coeffs_(i); } PARITY_EIGEN T name() const { return coeffs_(i); }
  PARITY_PART(x, 0) PARITY_PART(y, 1) PARITY_PART(z, 2) PARITY_PART(w, 3)
#undef PARITY_PART
  PARITY_EIGEN auto vec() { return coeffs_.template head<3>(); }
  PARITY_EIGEN auto vec() const { return coeffs_.template head<3>(); }
  PARITY_EIGEN Matrix<T, 4, 1>& coeffs() { return coeffs_; }
  PARITY_EIGEN const Matrix<T, 4, 1>& coeffs() const { return coeffs_; }
  PARITY_EIGEN T norm() const { return coeffs_.norm(); }
  PARITY_EIGEN T squaredNorm() const { return coeffs_.squaredNorm(); }
  PARITY_EIGEN T dot(const Quaternion& b) const { return coeffs_.dot(b.coeffs_); }
  PARITY_EIGEN void normalize() { coeffs_.normalize(); }
  PARITY_EIGEN Quaternion normalized() const { return Quaternion(coeffs_.normalized()); }
  PARITY_EIGEN Quaternion conjugate() const { return Quaternion(w(), -x(), -y(), -z()); }
  PARITY_EIGEN Quaternion inverse() const { return Quaternion(conjugate().coeffs_ / squaredNorm()); }
  template <typename U> PARITY_EIGEN Quaternion<U> cast() const { return Quaternion<U>(coeffs_.template cast<U>()); }
  PARITY_EIGEN Quaternion operator*(const Quaternion& b) const {
    return Quaternion(w() * b.w() - x() * b.x() - y() * b.y() - z() * b.z(), w() * b.x() + x() * b.w() + y() * b.z() - z() * b.y(),
                      w() * b.y() + y() * b.w() + z() * b.x() - x() * b.z(), w() * b.z() + z() * b.w() + x() * b.y() - y() * b.x());
  }
  PARITY_EIGEN Quaternion& operator*=(const Quaternion& b) { return *this = *this * b; }
  template <class D> PARITY_EIGEN Matrix<T, 3, 1> operator*(const DenseBase<D>& v) const { return _transformVector(v); }
  template <class D> PARITY_EIGEN Matrix<T, 3, 1> _transformVector(const DenseBase<D>& v) const {
    const Matrix<T, 3, 1> twice = vec().cross(v) * T(2);
    return v + twice * w() + vec().cross(twice);
  }
  PARITY_EIGEN Matrix<T, 3, 3> toRotationMatrix() const {
    Matrix<T, 3, 3> out;
    for (int j = 0; j < 3; ++j) { Matrix<T, 3, 1> axis = Matrix<T, 3, 1>::Zero(); axis(j) = T(1); out.col(j) = _transformVector(axis); }
    return out;
  }
  PARITY_EIGEN Matrix<T, 3, 3> matrix() const { return toRotationMatrix(); }
  PARITY_EIGEN operator Matrix<T, 3, 3>() const { return toRotationMatrix(); }
  PARITY_EIGEN Quaternion slerp(T t, const Quaternion& b) const {
    const T cosine = dot(b), angle = ::acos(numext::mini(numext::abs(cosine), T(1)));
    const bool near = angle < NumTraits<T>::epsilon();
    const T mine = near ? T(1) - t : T(::sin((T(1) - t) * angle) / ::sin(angle)), other = near ? t : T(::sin(t * angle) / ::sin(angle));
    return Quaternion(coeffs_ * mine + b.coeffs_ * (cosine < T(0) ? -other : other));
  }
};
using Quaternionf = Quaternion<float>; using Quaterniond = Quaternion<double>;
using AngleAxisf = AngleAxis<float>; using AngleAxisd = AngleAxis<double>;

template <typename T, int N, int Mode, int Options = 0> class Transform {
  Matrix<T, N + 1, N + 1> matrix_ = Matrix<T, N + 1, N + 1>::Identity();

 public:
  using Scalar = T;
  Transform() = default;
  template <class D> PARITY_EIGEN explicit Transform(const DenseBase<D>& m) { *this = m; }
  template <class D> PARITY_EIGEN Transform& operator=(const DenseBase<D>& m) { matrix_.block(0, 0, m.rows(), m.cols()) = m; return *this; }
  static PARITY_EIGEN Transform Identity() { return Transform(); }
  PARITY_EIGEN Transform& setIdentity() { matrix_.setIdentity(); return *this; }
  PARITY_EIGEN Matrix<T, N + 1, N + 1>& matrix() { return matrix_; }
  PARITY_EIGEN const Matrix<T, N + 1, N + 1>& matrix() const { return matrix_; }
  PARITY_EIGEN T& operator()(Index i, Index j) { return matrix_(i, j); }
  PARITY_EIGEN const T& operator()(Index i, Index j) const { return matrix_(i, j); }
  PARITY_EIGEN T* data() { return matrix_.data(); }
  PARITY_EIGEN const T* data() const { return matrix_.data(); }
#define PARITY_PART(name, ...) \
  PARITY_EIGEN auto name() { return matrix_.template __VA_ARGS__; } PARITY_EIGEN auto name() const { return matrix_.template __VA_ARGS__; }
  PARITY_PART(linear, block<N, N>(0, 0)) PARITY_PART(rotation, block<N, N>(0, 0)) PARITY_PART(translation, block<N, 1>(0, N))
#undef PARITY_PART
  template <typename U> PARITY_EIGEN Transform<U, N, Mode> cast() const { return Transform<U, N, Mode>(matrix_.template cast<U>()); }
  PARITY_EIGEN Transform inverse() const { return Transform(matrix_.inverse()); }
  PARITY_EIGEN Transform operator*(const Transform& other) const { return Transform(matrix_ * other.matrix_); }
  template <class D> PARITY_EIGEN auto operator*(const DenseBase<D>& v) const {
    if constexpr (D::RowsAtCompileTime == N) return linear() * v + translation();
    else return matrix_ * v;
  }
};
#define PARITY_MODES(T, suffix)                                                                                          \
  using Affine2##suffix = Transform<T, 2, Affine>; using Affine3##suffix = Transform<T, 3, Affine>;                      \
  using Isometry2##suffix = Transform<T, 2, Isometry>; using Isometry3##suffix = Transform<T, 3, Isometry>;              \
  using Projective3##suffix = Transform<T, 3, Projective>;
PARITY_MODES(float, f)
PARITY_MODES(double, d)
#undef PARITY_MODES
}  // namespace Eigen
