// The C++ library reports errors through these functions, which are host-only. Its constexpr functions (std::array::at,
// std::optional::value) are callable on the device, so the device overloads trap. Include this header before all other
// headers of the library, which may call the functions.
#pragma once

#if __has_include(<__config>)
#include <__config>
#define PARITY_BEGIN _LIBCPP_BEGIN_NAMESPACE_STD
#define PARITY_END _LIBCPP_END_NAMESPACE_STD
#else // libstdc++
#include <cstddef>
#define PARITY_BEGIN namespace std { _GLIBCXX_BEGIN_NAMESPACE_VERSION
#define PARITY_END _GLIBCXX_END_NAMESPACE_VERSION }
#endif

PARITY_BEGIN
#define PARITY_THROWS(name, ...) \
  [[noreturn]] inline __attribute__((device)) void __throw_##name(__VA_ARGS__) { __builtin_trap(); }
PARITY_THROWS(logic_error, const char*)
PARITY_THROWS(domain_error, const char*)
PARITY_THROWS(invalid_argument, const char*)
PARITY_THROWS(length_error, const char*)
PARITY_THROWS(out_of_range, const char*)
PARITY_THROWS(runtime_error, const char*)
PARITY_THROWS(range_error, const char*)
PARITY_THROWS(overflow_error, const char*)
PARITY_THROWS(underflow_error, const char*)
PARITY_THROWS(bad_optional_access)
PARITY_THROWS(bad_variant_access)
PARITY_THROWS(bad_variant_access, const char*)
PARITY_THROWS(bad_function_call)
PARITY_THROWS(bad_array_new_length)
template <class... T> PARITY_THROWS(out_of_range_fmt, const char*, T...)
#undef PARITY_THROWS
PARITY_END
#undef PARITY_BEGIN
#undef PARITY_END
