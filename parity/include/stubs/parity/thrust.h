// Thrust for host code, which only needs the names of containers and algorithms. Pairs, tuples, pointers, complex and
// random numbers, element access of device_vector and common sequential algorithms (thrust_sequential.h) also work on
// the device. Functions that take anything have a body, because functions of lambdas need one.
#pragma once

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <parity/wrapped.h>

#include <complex>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <parity/thrust_random.h>

// The version of rocThrust in ROCm 6.2.
#define THRUST_VERSION 200100
#define THRUST_MAJOR_VERSION 2
#define THRUST_MINOR_VERSION 1
#define THRUST_SUBMINOR_VERSION 0

PARITY_WRAPPED_BEGIN
namespace thrust {
using std::get; using std::make_tuple; using std::tuple; using std::tuple_element; using std::tuple_size;

template <typename T> constexpr __host__ __device__ void swap(T& a, T& b) {
  T c = static_cast<T&&>(a);
  a = static_cast<T&&>(b);
  b = static_cast<T&&>(c);
}
template <typename T> constexpr __host__ __device__ T min(const T& a, const T& b) { return b < a ? b : a; }
template <typename T> constexpr __host__ __device__ T max(const T& a, const T& b) { return a < b ? b : a; }
template <typename T, typename F> constexpr __host__ __device__ T min(const T& a, const T& b, F less) { return less(b, a) ? b : a; }
template <typename T, typename F> constexpr __host__ __device__ T max(const T& a, const T& b, F less) { return less(a, b) ? b : a; }

// In C++17, device code can assign neither std::pair nor the result of std::tie.
template <typename A, typename B> struct pair {
  using first_type = A;
  using second_type = B;
  A first{};
  B second{};
  constexpr __host__ __device__ pair() {}
  template <typename C, typename D> constexpr __host__ __device__ pair(const C& a, const D& b) : first(a), second(b) {}
  template <typename C, typename D>
  constexpr __host__ __device__ pair(const pair<C, D>& other) : first(other.first), second(other.second) {}
  template <typename C, typename D>
  constexpr __host__ __device__ pair(const std::pair<C, D>& other) : first(other.first), second(other.second) {}
  constexpr __host__ __device__ operator std::pair<A, B>() const { return {first, second}; }
};
template <typename A, typename B>
constexpr __host__ __device__ bool operator==(const pair<A, B>& a, const pair<A, B>& b) { return a.first == b.first && a.second == b.second; }
template <typename A, typename B>
constexpr __host__ __device__ bool operator!=(const pair<A, B>& a, const pair<A, B>& b) { return !(a == b); }
template <typename A, typename B> constexpr __host__ __device__ bool operator<(const pair<A, B>& a, const pair<A, B>& b) {
  return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
}
template <typename A, typename B>
constexpr __host__ __device__ pair<std::decay_t<A>, std::decay_t<B>> make_pair(A&& a, B&& b) { return {a, b}; }
template <size_t I, typename A, typename B> constexpr __host__ __device__ auto& get(pair<A, B>& values) {
  if constexpr (I == 0) return values.first; else return values.second;
}
template <size_t I, typename A, typename B> constexpr __host__ __device__ const auto& get(const pair<A, B>& values) {
  if constexpr (I == 0) return values.first; else return values.second;
}

namespace parity_tie {
template <typename... T> struct Tied {
  std::tuple<T&...> to;
  template <typename A, typename B> constexpr __host__ __device__ const Tied& operator=(const pair<A, B>& from) const {
    std::get<0>(to) = from.first;
    std::get<1>(to) = from.second;
    return *this;
  }
  template <typename... U>
  constexpr __host__ __device__ const Tied& operator=(const std::tuple<U...>& from) const { return each(from, std::index_sequence_for<T...>()); }
  template <typename From, size_t... I> constexpr __host__ __device__ const Tied& each(const From& from, std::index_sequence<I...>) const {
    ((std::get<I>(to) = std::get<I>(from)), ...);
    return *this;
  }
};
}  // namespace parity_tie
template <typename... T> constexpr __host__ __device__ parity_tie::Tied<T...> tie(T&... values) { return {std::tuple<T&...>(values...)}; }

using std::minus; using std::multiplies; using std::divides; using std::modulus; using std::negate;
using std::less_equal; using std::greater_equal; using std::equal_to; using std::not_equal_to;
using std::logical_and; using std::logical_or; using std::logical_not; using std::bit_and; using std::bit_or; using std::bit_xor;

#define PARITY_BINARY(name, result, expression)                                                          \
  template <typename T = void>                                                                           \
  struct name {                                                                                          \
    constexpr __host__ __device__ result operator()(const T& a, const T& b) const { return expression; } \
  };
PARITY_BINARY(plus, T, a + b) PARITY_BINARY(maximum, T, a < b ? b : a) PARITY_BINARY(minimum, T, b < a ? b : a)
PARITY_BINARY(less, bool, a < b) PARITY_BINARY(greater, bool, b < a)
PARITY_BINARY(project1st, T, a) PARITY_BINARY(project2nd, T, b)
#undef PARITY_BINARY
template <typename T = void> struct identity { constexpr __host__ __device__ const T& operator()(const T& a) const { return a; } };
template <typename T = void> struct square { constexpr __host__ __device__ T operator()(const T& a) const { return a * a; } };
template <typename A, typename R> struct unary_function { using argument_type = A; using result_type = R; };
template <typename A, typename B, typename R>
struct binary_function { using first_argument_type = A; using second_argument_type = B; using result_type = R; };

template <typename T> struct complex : std::complex<T> {
  using std::complex<T>::complex;
  constexpr __host__ __device__ complex(const std::complex<T>& z) : std::complex<T>(z) {}
  template <typename U, typename = std::enable_if_t<std::is_convertible_v<U, T>>>
  constexpr __host__ __device__ complex(const complex<U>& z) : std::complex<T>(T(z.real()), T(z.imag())) {}
};
template <typename T>
constexpr __host__ __device__ complex<T> operator+(complex<T> a, complex<T> b) { return {a.real() + b.real(), a.imag() + b.imag()}; }
template <typename T>
constexpr __host__ __device__ complex<T> operator-(complex<T> a, complex<T> b) { return {a.real() - b.real(), a.imag() - b.imag()}; }
template <typename T> constexpr __host__ __device__ complex<T> operator*(complex<T> a, complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <typename T> __host__ __device__ T abs(const complex<T>& z) { return ::hypot(z.real(), z.imag()); }
template <typename T> constexpr __host__ __device__ T norm(const complex<T>& z) { return z.real() * z.real() + z.imag() * z.imag(); }
template <typename T> constexpr __host__ __device__ complex<T> conj(const complex<T>& z) { return {z.real(), -z.imag()}; }
// Thrust's functions follow FreeBSD's, with other results than these formulas only for numbers at the ends of the range.
template <typename T> __host__ __device__ complex<T> exp(const complex<T>& z) {
  const T r = ::exp(z.real()), c = ::cos(z.imag()), s = ::sin(z.imag());
  if (z.imag() == 0) return {r, z.imag()};
  if (const T root = ::exp(z.real() / 2); isinf(r) && !isinf(root)) return {root * c * root, root * s * root};
  return {r * c, r * s};
}

template <typename T> constexpr __host__ __device__ complex<T> operator-(const complex<T>& z) { return {-z.real(), -z.imag()}; }
template <typename T> constexpr __host__ __device__ complex<T> operator/(complex<T> a, T b) { return {a.real() / b, a.imag() / b}; }
template <typename T> __host__ __device__ complex<T> operator/(complex<T> a, complex<T> b) {
  const T scale = 1 / (::fabs(b.real()) + ::fabs(b.imag()));
  a = {a.real() * scale, a.imag() * scale}, b = {b.real() * scale, b.imag() * scale};
  const T over = 1 / norm(b);
  return {(a.real() * b.real() + a.imag() * b.imag()) * over, (a.imag() * b.real() - a.real() * b.imag()) * over};
}
template <typename T> __host__ __device__ complex<T> operator/(T a, complex<T> b) { return complex<T>(a) / b; }
template <typename T> constexpr __host__ __device__ complex<T> operator+(complex<T> a, T b) { return {a.real() + b, a.imag()}; }
template <typename T> constexpr __host__ __device__ complex<T> operator-(complex<T> a, T b) { return {a.real() - b, a.imag()}; }
template <typename T> constexpr __host__ __device__ complex<T> operator*(complex<T> a, T b) { return {a.real() * b, a.imag() * b}; }
template <typename T> constexpr __host__ __device__ complex<T> operator+(T a, complex<T> b) { return {a + b.real(), b.imag()}; }
template <typename T> constexpr __host__ __device__ complex<T> operator-(T a, complex<T> b) { return {a - b.real(), -b.imag()}; }
template <typename T> constexpr __host__ __device__ complex<T> operator*(T a, complex<T> b) { return {a * b.real(), a * b.imag()}; }
#define PARITY_COMPLEX(op)                                                                                              \
  template <typename T, typename U>                                                                                     \
  constexpr __host__ __device__ complex<T>& operator op##=(complex<T>& a, const U& b) { return a = a op b; }
PARITY_COMPLEX(+) PARITY_COMPLEX(-) PARITY_COMPLEX(*) PARITY_COMPLEX(/)
#undef PARITY_COMPLEX
template <typename T> __host__ __device__ T arg(const complex<T>& z) { return ::atan2(z.imag(), z.real()); }
template <typename T> __host__ __device__ complex<T> polar(T r, T angle = T()) { return {r * ::cos(angle), r * ::sin(angle)}; }
template <typename T> __host__ __device__ complex<T> sqrt(const complex<T>& z) {
  if (z.real() == 0 && z.imag() == 0) return {T(), z.imag()};
  const T t = ::sqrt((::fabs(z.real()) + abs(z)) / 2);
  if (z.real() >= 0) return {t, z.imag() / (2 * t)};
  return {::fabs(z.imag()) / (2 * t), ::copysign(t, z.imag())};
}
template <typename T> __host__ __device__ complex<T> log(const complex<T>& z) {
  const T x = ::fmax(::fabs(z.real()), ::fabs(z.imag())), y = ::fmin(::fabs(z.real()), ::fabs(z.imag()));
  const bool is_near_1 = x * x + y * y > T(0.5) && x * x + y * y < 3;
  return {is_near_1 ? ::log1p((x - 1) * (x + 1) + y * y) / 2 : ::log(abs(z)), arg(z)};
}
template <typename T> __host__ __device__ complex<T> pow(const complex<T>& z, const T& n) { return exp(log(z) * n); }

struct random_access_traversal_tag {};
template <typename T> struct device_ptr {
  using value_type = std::remove_cv_t<T>; using element_type = T; using reference = T&; using pointer = device_ptr; using difference_type = ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;
  T* address = nullptr;
  device_ptr() = default;
  template <typename U> constexpr __host__ __device__ explicit device_ptr(U* address) : address(address) {}
  template <typename U, std::enable_if_t<std::is_convertible_v<U*, T*>, U>* = nullptr>
  constexpr __host__ __device__ device_ptr(const device_ptr<U>& other) : address(other.address) {}
  constexpr __host__ __device__ T* get() const { return address; }
  constexpr __host__ __device__ T& operator*() const { return *address; }
  constexpr __host__ __device__ T* operator->() const { return address; }
  constexpr __host__ __device__ T& operator[](ptrdiff_t i) const { return address[i]; }
  constexpr __host__ __device__ operator T*() const { return address; }
  constexpr __host__ __device__ device_ptr operator+(ptrdiff_t n) const { return device_ptr(address + n); }
  constexpr __host__ __device__ device_ptr operator-(ptrdiff_t n) const { return device_ptr(address - n); }
  constexpr __host__ __device__ ptrdiff_t operator-(device_ptr other) const { return address - other.address; }
  constexpr __host__ __device__ device_ptr& operator++() { ++address; return *this; }
  constexpr __host__ __device__ device_ptr& operator--() { --address; return *this; }
  constexpr __host__ __device__ device_ptr operator++(int) { return device_ptr(address++); }
  constexpr __host__ __device__ device_ptr& operator+=(ptrdiff_t n) { address += n; return *this; }
  constexpr __host__ __device__ device_ptr& operator-=(ptrdiff_t n) { address -= n; return *this; }
};
template <typename T> struct device_reference { operator T() const; device_reference& operator=(const T&); T* operator&() const; };
template <typename T> constexpr __host__ __device__ device_ptr<T> device_pointer_cast(T* address) { return device_ptr<T>(address); }
template <typename T> constexpr __host__ __device__ device_ptr<T> device_pointer_cast(const device_ptr<T>& pointer) { return pointer; }
template <typename T> device_ptr<T> device_malloc(size_t);
template <typename T> void device_free(T);
template <typename T> struct device_malloc_allocator {
  using value_type = T; using pointer = device_ptr<T>; using const_pointer = device_ptr<const T>; using size_type = size_t; using difference_type = ptrdiff_t;
  template <typename U> struct rebind { using other = device_malloc_allocator<U>; };
  device_malloc_allocator(); device_malloc_allocator(const device_malloc_allocator&); ~device_malloc_allocator();
  pointer allocate(size_type); void deallocate(pointer, size_type); size_type max_size() const;
};
template <typename T> using device_allocator = device_malloc_allocator<T>;
template <typename T> __host__ __device__ T* raw_pointer_cast(T* pointer) { return pointer; }
template <typename T> constexpr __host__ __device__ T* raw_pointer_cast(const device_ptr<T>& pointer) { return pointer.get(); }

struct host_system_tag {};
struct device_system_tag {};
struct any_system_tag {
  operator host_system_tag() const;
  operator device_system_tag() const;
};

template <typename T> constexpr __host__ __device__ T& raw_reference_cast(T& x) { return x; }
template <typename T> constexpr __host__ __device__ const T& raw_reference_cast(const T& x) { return x; }

template <typename T, typename Allocator = std::allocator<T>> struct host_vector : std::vector<T> {
  using std::vector<T>::vector;
  template <class Other> host_vector(const Other&);
  template <class Other> host_vector& operator=(const Other&);
};
template <typename T, typename Allocator = std::allocator<T>> struct device_vector {
  using value_type = T;
  using iterator = device_ptr<T>;
  using const_iterator = device_ptr<T>;
  template <class... Arguments> device_vector(Arguments&&...) {}
  device_vector(std::initializer_list<T>);
  template <class Other> device_vector& operator=(const Other&);
  T* first = nullptr;
  size_t count = 0;
  __host__ __device__ iterator begin() const { return iterator(first); }
  __host__ __device__ iterator end() const { return iterator(first + count); }
  __host__ __device__ iterator cbegin() const { return begin(); }
  __host__ __device__ iterator cend() const { return end(); }
  __host__ __device__ device_ptr<T> data() const { return begin(); }
  __host__ __device__ size_t size() const { return count; }
  __host__ __device__ bool empty() const { return count == 0; }
  size_t capacity() const; void clear(); void shrink_to_fit(); void reserve(size_t); void push_back(const T&);
  template <class... Arguments> void resize(Arguments&&...);
  template <class... Arguments> void assign(Arguments&&...);
  template <class... Arguments> iterator insert(Arguments&&...);
  template <class... Arguments> iterator erase(Arguments&&...);
  void swap(device_vector&); __host__ __device__ T& operator[](size_t i) const { return first[i]; }
  device_reference<T> front() const; device_reference<T> back() const;
};
template <typename T, typename Allocator = std::allocator<T>> using universal_vector = device_vector<T>;

template <typename T> struct counting_iterator {
  using value_type = T; using difference_type = ptrdiff_t; using reference = T; using pointer = const T*; using iterator_category = std::random_access_iterator_tag;
  T value;
  __host__ __device__ counting_iterator(T value = T()) : value(value) {}
  __host__ __device__ T operator*() const { return value; }
  __host__ __device__ T operator[](ptrdiff_t i) const { return value + i; }
  __host__ __device__ counting_iterator operator+(ptrdiff_t i) const { return counting_iterator(value + i); }
  __host__ __device__ counting_iterator& operator++() { ++value; return *this; }
};
template <typename T> __host__ __device__ counting_iterator<T> make_counting_iterator(T value) { return counting_iterator<T>(value); }
#define PARITY_ITERATOR(name)                                                 \
  template <class... Types>                                                   \
  struct name { template <class... Arguments> name(Arguments&&...) {} name operator+(ptrdiff_t) const; int operator-(const name&) const; }; \
  template <class... Arguments>                                               \
  name<> make_##name(Arguments&&...) { __builtin_unreachable(); }
PARITY_ITERATOR(transform_iterator) PARITY_ITERATOR(zip_iterator) PARITY_ITERATOR(permutation_iterator) PARITY_ITERATOR(constant_iterator)
PARITY_ITERATOR(discard_iterator) PARITY_ITERATOR(reverse_iterator) PARITY_ITERATOR(transform_output_iterator)
#undef PARITY_ITERATOR
template <class Iterator> struct iterator_traits : std::iterator_traits<Iterator> {};
template <typename T> struct iterator_value { using type = typename std::iterator_traits<T>::value_type; };

namespace parity_stub { struct policy { template <class... A> policy operator()(A&&...) const; template <class... A> policy on(A&&...) const; }; }
inline constexpr parity_stub::policy device{}, host{}, seq{};
namespace cuda {
namespace experimental { template <typename T> using pinned_allocator = std::allocator<T>; }
inline constexpr parity_stub::policy par{}, par_nosync{}; template <class... A> using pointer = device_ptr<A...>; }
namespace hip { inline constexpr parity_stub::policy par{}, par_nosync{}; }
namespace system { struct system_error : std::exception {}; namespace cuda = thrust::cuda; }
using system::system_error;
namespace placeholders {}

// Result of any algorithm: converts to an iterator, a number or nothing, as the caller requires.
namespace parity_stub {
struct result {
  template <typename T> operator T() const;
  result operator+(ptrdiff_t) const; ptrdiff_t operator-(const result&) const; result operator*() const; result operator[](ptrdiff_t) const; bool operator==(const result&) const; bool operator!=(const result&) const;
  template <typename T> friend ptrdiff_t operator-(const result&, const device_ptr<T>&);
  result* operator->() const; result get() const; static result first, second;
};
}  // namespace parity_stub
#define PARITY_ALGORITHM(name)  \
  template <class... Arguments> \
  parity_stub::result name(Arguments&&...) { __builtin_unreachable(); }
#define PARITY_ALGORITHMS(_)                                                                                            \
  _(adjacent_difference) _(all_of) _(any_of) _(binary_search) _(copy) _(copy_if) _(copy_n) _(count) _(count_if) _(distance) \
  _(equal) _(equal_range) _(exclusive_scan) _(exclusive_scan_by_key) _(fill) _(fill_n) _(find) _(find_if) _(for_each)   \
  _(for_each_n) _(gather) _(gather_if) _(generate) _(inclusive_scan) _(inclusive_scan_by_key) _(inner_product)          \
  _(is_sorted) _(lower_bound) _(max_element) _(merge) _(min_element) _(minmax_element) _(mismatch) _(none_of)           \
  _(partition) _(reduce) _(reduce_by_key) _(remove) _(remove_if) _(replace) _(replace_if) _(reverse) _(scatter)         \
  _(scatter_if) _(sequence) _(set_difference) _(set_intersection) _(set_union) _(sort) _(sort_by_key) _(stable_partition) _(stable_sort)  \
  _(stable_sort_by_key) _(swap_ranges) _(tabulate) _(transform) _(transform_exclusive_scan) _(transform_if)             \
  _(transform_inclusive_scan) _(transform_reduce) _(uninitialized_copy) _(uninitialized_fill) _(unique) _(unique_by_key) _(unique_by_key_copy)    \
  _(unique_copy) _(upper_bound) _(advance)
PARITY_ALGORITHMS(PARITY_ALGORITHM)
#undef PARITY_ALGORITHMS
#undef PARITY_ALGORITHM
#include <parity/thrust_sequential.h>
}  // namespace thrust
PARITY_WRAPPED_END
