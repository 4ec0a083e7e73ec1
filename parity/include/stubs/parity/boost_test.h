// Boost.Test as tests that launch kernels are written with it: their bodies are read, and nothing of them runs.
#pragma once

#include <parity/log.h>

#define BOOST_AUTO_TEST_SUITE(name, ...) namespace name {
#define BOOST_FIXTURE_TEST_SUITE(name, fixture, ...) namespace name {
#define BOOST_AUTO_TEST_SUITE_END(...) }
#define BOOST_AUTO_TEST_CASE(name, ...) static void name()
#define BOOST_FIXTURE_TEST_CASE(name, fixture, ...) \
  struct name : fixture {                           \
    void test_method();                             \
  };                                                \
  inline void name::test_method()
namespace parity_stub {
template <template <class> class Test, template <class...> class List, class... T>
void tested(List<T...>*) { (Test<T>().test_method(), ...); }
}  // namespace parity_stub
#define BOOST_AUTO_TEST_CASE_TEMPLATE(name, type, types)                                     \
  template <class type>                                                                      \
  struct name {                                                                              \
    void test_method();                                                                      \
  };                                                                                         \
  static void name##_all() { ::parity_stub::tested<name>(static_cast<types*>(nullptr)); }    \
  template <class type>                                                                      \
  void name<type>::test_method()
#define BOOST_DATA_TEST_CASE(name, ...) static void name()
#define BOOST_GLOBAL_FIXTURE(...) static_assert(true, "")

// A condition is compiled: it may be where a kernel is launched.
#define PARITY_BOOST_DONE(...) (void)(__VA_ARGS__)
#define PARITY_BOOST_SAID(...) (void)::parity_stub::Log()
#define BOOST_TEST(...) PARITY_BOOST_SAID()
#define BOOST_TEST_MESSAGE(...) PARITY_BOOST_SAID()
#define BOOST_TEST_REQUIRE(...) PARITY_BOOST_SAID()
#define BOOST_CHECK(...) PARITY_BOOST_DONE(__VA_ARGS__)
#define BOOST_CHECK_CLOSE(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_CLOSE_FRACTION(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_EQUAL(...) PARITY_BOOST_DONE(__VA_ARGS__)
#define BOOST_CHECK_EQUAL_COLLECTIONS(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_GE(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_GT(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_LE(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_LT(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_MESSAGE(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_NE(...) PARITY_BOOST_DONE(__VA_ARGS__)
#define BOOST_CHECK_NO_THROW(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_SMALL(...) PARITY_BOOST_SAID()
#define BOOST_CHECK_THROW(...) PARITY_BOOST_SAID()
#define BOOST_ERROR(...) PARITY_BOOST_SAID()
#define BOOST_FAIL(...) PARITY_BOOST_SAID()
#define BOOST_REQUIRE(...) PARITY_BOOST_DONE(__VA_ARGS__)
#define BOOST_REQUIRE_EQUAL(...) PARITY_BOOST_DONE(__VA_ARGS__)
#define BOOST_REQUIRE_MESSAGE(...) PARITY_BOOST_SAID()
#define BOOST_REQUIRE_NE(...) PARITY_BOOST_DONE(__VA_ARGS__)
#define BOOST_REQUIRE_SMALL(...) PARITY_BOOST_SAID()
#define BOOST_WARN(...) PARITY_BOOST_SAID()
