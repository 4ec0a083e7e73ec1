// Catch2 and doctest as tests that launch kernels are written with them: their bodies are read, and nothing of them
// runs. A test for several types is there for each.
#pragma once

#include <initializer_list>

#include <parity/each.h>
#include <parity/log.h>

namespace Catch {
struct Session {
  template <class... T>
  int run(const T&...) { return 0; }
  template <class... T>
  int applyCommandLine(const T&...) { return 0; }
};
struct Approx {
  template <typename T>
  explicit Approx(const T&) {}
  template <typename T>
  Approx& epsilon(const T&) { return *this; }
  template <typename T>
  Approx& margin(const T&) { return *this; }
  template <typename T>
  Approx& scale(const T&) { return *this; }
};
#define PARITY_APPROX(operator_)                                                                      \
  template <typename T>                                                                               \
  bool operator operator_(const T&, const Approx&) { return true; }                                   \
  template <typename T>                                                                               \
  bool operator operator_(const Approx&, const T&) { return true; }
PARITY_APPROX(==)
PARITY_APPROX(!=)
PARITY_APPROX(<=)
PARITY_APPROX(>=)
PARITY_APPROX(<)
PARITY_APPROX(>)
#undef PARITY_APPROX
namespace Generators {}
namespace literals {}
namespace Matchers {}
}  // namespace Catch
namespace doctest {
using Catch::Approx;
}
namespace parity_stub {
template <typename T, class... Others>
T generated(const T& first, const Others&...) { return first; }
template <typename T>
T values(std::initializer_list<T>);
template <typename T, class... Others>
T range(const T& first, const Others&...) { return first; }
}  // namespace parity_stub

#define PARITY_TEST_NAME PARITY_CAT(parity_test_, __LINE__)
#define PARITY_TEST_IN(fixture)              \
  struct PARITY_TEST_NAME : fixture {        \
    void test();                             \
  };                                         \
  inline void PARITY_TEST_NAME::test()
#define PARITY_CALLED(name, arguments) name<PARITY_BARE(arguments)>();
#define PARITY_TEST_FOR(name, parameters, ...)                                       \
  template <PARITY_BARE(parameters)>                                                 \
  static void name();                                                                \
  static void PARITY_CAT(name, _all)() { PARITY_EACH(PARITY_CALLED, name, __VA_ARGS__) } \
  template <PARITY_BARE(parameters)>                                                 \
  static void name()
#define PARITY_FIRST_OF(first, ...) first

#define TEST_CASE(...) static void PARITY_TEST_NAME()
#define SCENARIO(...) TEST_CASE()
#define TEST_CASE_METHOD(fixture, ...) PARITY_TEST_IN(fixture)
#define TEST_CASE_PERSISTENT_FIXTURE(fixture, ...) PARITY_TEST_IN(fixture)
#define TEST_CASE_FIXTURE(fixture, ...) PARITY_TEST_IN(fixture)
#define TEMPLATE_TEST_CASE(name, tags, ...) PARITY_TEST_FOR(PARITY_TEST_NAME, (typename TestType), __VA_ARGS__)
#define TEMPLATE_TEST_CASE_SIG(name, tags, signature, ...) \
  PARITY_TEST_FOR(PARITY_TEST_NAME, PARITY_1(PARITY_FIRST_OF signature), __VA_ARGS__)
#define TEST_CASE_TEMPLATE(name, type, ...) PARITY_TEST_FOR(PARITY_TEST_NAME, (typename type), __VA_ARGS__)
#define TEST_SUITE(...) namespace
#define SECTION(...) if (true)
#define DYNAMIC_SECTION(...) if (true)
#define SUBCASE(...) if (true)
#define GIVEN(...) if (true)
#define WHEN(...) if (true)
#define AND_WHEN(...) if (true)
#define THEN(...) if (true)
#define AND_THEN(...) if (true)
#define BENCHMARK(...) (void)[&]
#define GENERATE(...) ::parity_stub::generated(__VA_ARGS__)
#define GENERATE_COPY(...) ::parity_stub::generated(__VA_ARGS__)
#define GENERATE_REF(...) ::parity_stub::generated(__VA_ARGS__)

// A condition is compiled: it may be where a kernel is launched.
#define PARITY_DONE(...) (void)(__VA_ARGS__)
#define PARITY_SAID(...) (void)::parity_stub::Log()
#define REQUIRE(...) PARITY_DONE(__VA_ARGS__)
#define REQUIRE_FALSE(...) PARITY_DONE(__VA_ARGS__)
#define REQUIRE_NOTHROW(...) PARITY_DONE(__VA_ARGS__)
#define REQUIRE_THROWS(...) PARITY_SAID()
#define REQUIRE_THROWS_AS(...) PARITY_SAID()
#define REQUIRE_THROWS_WITH(...) PARITY_SAID()
#define REQUIRE_THAT(...) PARITY_SAID()
#define REQUIRE_EQ(...) PARITY_SAID()
#define REQUIRE_NE(...) PARITY_SAID()
#define REQUIRE_MESSAGE(...) PARITY_SAID()
#define CHECK(...) PARITY_DONE(__VA_ARGS__)
#define CHECK_FALSE(...) PARITY_DONE(__VA_ARGS__)
#define CHECK_NOFAIL(...) PARITY_SAID()
#define CHECK_NOTHROW(...) PARITY_DONE(__VA_ARGS__)
#define CHECK_THROWS(...) PARITY_SAID()
#define CHECK_THROWS_AS(...) PARITY_SAID()
#define CHECK_THROWS_WITH(...) PARITY_SAID()
#define CHECK_THAT(...) PARITY_SAID()
#define CHECK_EQ(...) PARITY_SAID()
#define CHECK_NE(...) PARITY_SAID()
#define CHECK_LT(...) PARITY_SAID()
#define CHECK_LE(...) PARITY_SAID()
#define CHECK_GT(...) PARITY_SAID()
#define CHECK_GE(...) PARITY_SAID()
#define CHECK_MESSAGE(...) PARITY_SAID()
#define STATIC_REQUIRE(...) static_assert(true, "")
#define STATIC_REQUIRE_FALSE(...) static_assert(true, "")
#define STATIC_CHECK(...) static_assert(true, "")
#define INFO(...) PARITY_SAID()
#define UNSCOPED_INFO(...) PARITY_SAID()
#define CAPTURE(...) PARITY_SAID()
#define WARN(...) PARITY_SAID()
#define MESSAGE(...) PARITY_SAID()
#define FAIL(...) PARITY_SAID()
#define FAIL_CHECK(...) PARITY_SAID()
#define SUCCEED(...) PARITY_SAID()
#define SKIP(...) PARITY_SAID()
