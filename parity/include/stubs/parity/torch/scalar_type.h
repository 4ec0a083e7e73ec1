// c10/core/ScalarType.h and ATen/Dispatch.h: tensor dtypes, and macros that generate code for several dtypes.
#pragma once

#include "types.h"

// C++ type, dtype
#define PARITY_SCALAR_TYPES(_)                                                                                   \
  _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long) _(::c10::Half, Half)           \
  _(float, Float) _(double, Double) _(::c10::complex<::c10::Half>, ComplexHalf)                                  \
  _(::c10::complex<float>, ComplexFloat) _(::c10::complex<double>, ComplexDouble) _(bool, Bool)                  \
  _(::c10::qint8, QInt8) _(::c10::quint8, QUInt8) _(::c10::qint32, QInt32) _(::c10::BFloat16, BFloat16)          \
  _(::c10::Float8_e5m2, Float8_e5m2) _(::c10::Float8_e4m3fn, Float8_e4m3fn)                                      \
  _(::c10::Float8_e5m2fnuz, Float8_e5m2fnuz) _(::c10::Float8_e4m3fnuz, Float8_e4m3fnuz)                          \
  _(uint16_t, UInt16) _(uint32_t, UInt32) _(uint64_t, UInt64)

namespace c10 {

enum class ScalarType : int8_t {
#define PARITY_ENUMERATOR(type, name) name,
  PARITY_SCALAR_TYPES(PARITY_ENUMERATOR)
#undef PARITY_ENUMERATOR
  Undefined,
  NumOptions
};

namespace impl {
template <ScalarType> struct ScalarTypeToCPPType;
#define PARITY_TYPE(cpp, name)                                                     \
  template <>                                                                      \
  struct ScalarTypeToCPPType<ScalarType::name> {                                   \
    using type = cpp;                                                              \
    static type t;                                                                 \
  };
PARITY_SCALAR_TYPES(PARITY_TYPE)
#undef PARITY_TYPE
template <ScalarType N> using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;
}  // namespace impl

template <typename T> struct CppTypeToScalarType;
#define PARITY_TYPE(cpp, name) \
  template <>                  \
  struct CppTypeToScalarType<cpp> : std::integral_constant<ScalarType, ScalarType::name> {};
PARITY_SCALAR_TYPES(PARITY_TYPE)
#undef PARITY_TYPE

#define PARITY_CONSTANT(cpp, name) constexpr ScalarType k##name = ScalarType::name;
PARITY_SCALAR_TYPES(PARITY_CONSTANT)
#undef PARITY_CONSTANT
constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong;
constexpr ScalarType kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;
constexpr ScalarType kComplex32 = kComplexHalf, kComplex64 = kComplexFloat, kComplex128 = kComplexDouble;
constexpr ScalarType kU16 = kUInt16, kU32 = kUInt32, kU64 = kUInt64;

const char* toString(ScalarType);
bool isFloatingType(ScalarType);
bool isReducedFloatingType(ScalarType);
bool isComplexType(ScalarType);
bool isIntegralType(ScalarType, bool include_bool = false);
ScalarType toOpMathType(ScalarType);
ScalarType promoteTypes(ScalarType, ScalarType);
size_t elementSize(ScalarType);
template <class Stream> Stream& operator<<(Stream&, ScalarType);

template <typename T> struct is_complex : std::false_type {};
template <typename T> struct is_complex<complex<T>> : std::true_type {};
template <typename T> struct scalar_value_type { using type = T; };
template <typename T> struct scalar_value_type<complex<T>> { using type = T; };

}  // namespace c10

namespace at {
using namespace c10;

template <typename T> struct OpMathType { using type = T; };
template <> struct OpMathType<Half> { using type = float; };
template <> struct OpMathType<BFloat16> { using type = float; };
template <> struct OpMathType<Float8_e5m2> { using type = float; };
template <> struct OpMathType<Float8_e4m3fn> { using type = float; };
template <> struct OpMathType<complex<Half>> { using type = complex<float>; };
template <typename T> using opmath_type = typename OpMathType<T>::type;

// Accumulation type: on the host, double for float.
template <typename T, bool is_cuda> struct AccumulateType {
  using Floating = std::conditional_t<std::is_same_v<T, double> || (std::is_same_v<T, float> && !is_cuda), double, float>;
  using Integer = std::conditional_t<std::is_same_v<T, bool>, bool, int64_t>;
  using type = std::conditional_t<std::is_integral_v<T>, Integer, Floating>;
};
template <typename T, bool is_cuda>
struct AccumulateType<complex<T>, is_cuda> { using type = complex<typename AccumulateType<T, is_cuda>::type>; };
template <typename T, bool is_cuda> using acc_type = typename AccumulateType<T, is_cuda>::type;

template <typename T> struct numeric_limits : std::numeric_limits<T> {
  static constexpr C10_HOST_DEVICE T lower_bound() {
    if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  static constexpr C10_HOST_DEVICE T upper_bound() {
    if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
};
template <typename T> struct numeric_limits<c10::complex<T>> : numeric_limits<T> {};

template <class Anything> ScalarType scalar_type(const Anything&);
}  // namespace at

// Dispatch macros that extensions copied from torch use this name.
namespace detail {
using at::scalar_type;
}

namespace at::parity_stub {
ScalarType dtype_of(ScalarType);
template <class Properties> auto dtype_of(const Properties& properties) -> decltype(properties.scalarType());
}  // namespace at::parity_stub

// Each case is a lambda with a different scalar_t, so that the templates it calls are instantiated for every type.
#define AT_PRIVATE_CASE_TYPE_USING_HINT(dtype, hint, ...)                  \
  case dtype: {                                                           \
    using hint [[maybe_unused]] = ::c10::impl::ScalarTypeToCPPTypeT<dtype>; \
    return __VA_ARGS__();                                                 \
  }
#define AT_DISPATCH_CASE(dtype, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(dtype, scalar_t, __VA_ARGS__)
#define AT_PRIVATE_CASE_TYPE(name, dtype, type, ...) \
  case dtype: {                                      \
    using scalar_t [[maybe_unused]] = type;          \
    return __VA_ARGS__();                            \
  }
#define AT_DISPATCH_SWITCH(type, name, ...)                                            \
  [&] {                                                                                \
    const auto& the_type [[maybe_unused]] = type;                                      \
    const char* at_dispatch_name [[maybe_unused]] = name;                              \
    ::at::ScalarType _st = ::at::parity_stub::dtype_of(the_type);                      \
    switch (_st) {                                                                     \
      __VA_ARGS__                                                                      \
      default:                                                                         \
        __builtin_unreachable();                                                       \
    }                                                                                  \
  }()

// Cases of each set of types.
#define PARITY_CASE(dtype, ...) AT_DISPATCH_CASE(::at::ScalarType::dtype, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) PARITY_CASE(Double, __VA_ARGS__) PARITY_CASE(Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) PARITY_CASE(Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) PARITY_CASE(Half, __VA_ARGS__) PARITY_CASE(BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...) PARITY_CASE(ComplexDouble, __VA_ARGS__) PARITY_CASE(ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                                                      \
  PARITY_CASE(Byte, __VA_ARGS__) PARITY_CASE(Char, __VA_ARGS__) PARITY_CASE(Int, __VA_ARGS__)     \
  PARITY_CASE(Long, __VA_ARGS__) PARITY_CASE(Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)

// PARITY_DISPATCH_N takes a set of types, N additional types, the dispatched type, the name and the body.
#define PARITY_DISPATCH_0(cases, type, name, ...) AT_DISPATCH_SWITCH(type, name, cases(__VA_ARGS__))
#define PARITY_DISPATCH_1(cases, a, type, name, ...) AT_DISPATCH_SWITCH(type, name, cases(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__))
#define PARITY_DISPATCH_2(cases, a, b, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, cases(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__))
#define PARITY_DISPATCH_3(cases, a, b, c, type, name, ...)                                                             \
  AT_DISPATCH_SWITCH(type, name, cases(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__)  \
                                     AT_DISPATCH_CASE(c, __VA_ARGS__))
#define PARITY_DISPATCH_4(cases, a, b, c, d, type, name, ...)                                                          \
  AT_DISPATCH_SWITCH(type, name, cases(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE(b, __VA_ARGS__)  \
                                     AT_DISPATCH_CASE(c, __VA_ARGS__) AT_DISPATCH_CASE(d, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES(...) PARITY_DISPATCH_0(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(...) PARITY_DISPATCH_0(AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(...) PARITY_DISPATCH_0(AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(...) PARITY_DISPATCH_1(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(...) PARITY_DISPATCH_2(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND3(...) PARITY_DISPATCH_3(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND4(...) PARITY_DISPATCH_4(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES(...) PARITY_DISPATCH_0(AT_DISPATCH_CASE_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(...) PARITY_DISPATCH_0(AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(...) PARITY_DISPATCH_1(AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(...) PARITY_DISPATCH_2(AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(...) PARITY_DISPATCH_0(AT_DISPATCH_CASE_INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES_AND(...) PARITY_DISPATCH_1(AT_DISPATCH_CASE_INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(...) PARITY_DISPATCH_0(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(...) PARITY_DISPATCH_1(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(...) PARITY_DISPATCH_2(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(...) PARITY_DISPATCH_3(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND4(...) PARITY_DISPATCH_4(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_HALF(...) PARITY_DISPATCH_1(AT_DISPATCH_CASE_ALL_TYPES, ::at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(...) PARITY_DISPATCH_0(AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(...) PARITY_DISPATCH_1(AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(...) PARITY_DISPATCH_2(AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(...) PARITY_DISPATCH_3(AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(type, name, ...)                                                   \
  AT_DISPATCH_SWITCH(type, name,                                                                   \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::at::ScalarType::Int, index_t, __VA_ARGS__)  \
                         AT_PRIVATE_CASE_TYPE_USING_HINT(::at::ScalarType::Long, index_t, __VA_ARGS__))

// AT_DISPATCH_V2(type, name, AT_WRAP([&] { ... }), AT_EXPAND(AT_FLOATING_TYPES), ...) takes its types last. The body is
// passed in parentheses to protect its commas. Three times four scans suffice for 64 types.
#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(...) __VA_ARGS__
#define PARITY_PARENTHESES ()
#define PARITY_SCAN_4(...) __VA_ARGS__
#define PARITY_SCAN_3(...) PARITY_SCAN_4(PARITY_SCAN_4(PARITY_SCAN_4(PARITY_SCAN_4(__VA_ARGS__))))
#define PARITY_SCAN_2(...) PARITY_SCAN_3(PARITY_SCAN_3(PARITY_SCAN_3(PARITY_SCAN_3(__VA_ARGS__))))
#define PARITY_SCAN(...) PARITY_SCAN_2(PARITY_SCAN_2(PARITY_SCAN_2(PARITY_SCAN_2(__VA_ARGS__))))
#define PARITY_CASES(body, dtype, ...) \
  AT_DISPATCH_CASE(dtype, AT_EXPAND body) __VA_OPT__(PARITY_CASES_AGAIN PARITY_PARENTHESES(body, __VA_ARGS__))
#define PARITY_CASES_AGAIN() PARITY_CASES
#define AT_DISPATCH_V2(type, name, body, ...) \
  AT_DISPATCH_SWITCH(type, name, PARITY_SCAN(PARITY_CASES((body), __VA_ARGS__)))
#define AT_FLOATING_TYPES ::at::ScalarType::Double, ::at::ScalarType::Float
#define AT_REDUCED_FLOATING_TYPES ::at::ScalarType::Half, ::at::ScalarType::BFloat16
#define AT_COMPLEX_TYPES ::at::ScalarType::ComplexDouble, ::at::ScalarType::ComplexFloat
#define AT_INTEGRAL_TYPES \
  ::at::ScalarType::Byte, ::at::ScalarType::Char, ::at::ScalarType::Int, ::at::ScalarType::Long, ::at::ScalarType::Short
#define AT_BAREBONES_UNSIGNED_TYPES ::at::ScalarType::UInt16, ::at::ScalarType::UInt32, ::at::ScalarType::UInt64
#define AT_INTEGRAL_TYPES_V2 AT_EXPAND(AT_INTEGRAL_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES)
#define AT_ALL_TYPES AT_EXPAND(AT_INTEGRAL_TYPES), AT_EXPAND(AT_FLOATING_TYPES)
#define AT_ALL_TYPES_AND_COMPLEX AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES)
#define AT_FLOAT8_TYPES                                              \
  ::at::ScalarType::Float8_e5m2, ::at::ScalarType::Float8_e5m2fnuz, \
      ::at::ScalarType::Float8_e4m3fn, ::at::ScalarType::Float8_e4m3fnuz
