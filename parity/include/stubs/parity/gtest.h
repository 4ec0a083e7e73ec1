// Googletest as tests that launch kernels are written with it: their bodies are read, and nothing of them runs.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <parity/anything.h>
#include <parity/log.h>

namespace testing {
struct Test {
  virtual ~Test() = default;
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}
  static bool HasFailure() { return false; }

 protected:
  virtual void SetUp() {}
  virtual void TearDown() {}
};
template <typename P>
struct WithParamInterface {
  using ParamType = P;
  static const P& GetParam();
};
template <typename P>
struct TestWithParam : Test, WithParamInterface<P> {};
template <class... T>
struct Types {};
struct Environment {
  virtual ~Environment() = default;
  virtual void SetUp() {}
  virtual void TearDown() {}
};
struct AssertionResult {
  explicit operator bool() const { return true; }
  template <typename T>
  AssertionResult& operator<<(const T&) { return *this; }
};
inline AssertionResult AssertionSuccess() { return {}; }
inline AssertionResult AssertionFailure() { return {}; }
struct Message : parity_stub::Log {};
template <typename P>
struct TestParamInfo {
  P param;
  std::size_t index;
};
inline void InitGoogleTest(int*, char**) {}
}  // namespace testing
inline int RUN_ALL_TESTS() { return 0; }

#define TEST(suite, name) static void parity_test_##suite##_##name()
#define PARITY_TEST(fixture, name)              \
  struct parity_test_##fixture##_##name : fixture { \
    void TestBody();                            \
  };                                            \
  inline void parity_test_##fixture##_##name::TestBody()
#define TEST_F(fixture, name) PARITY_TEST(fixture, name)
#define TEST_P(fixture, name) PARITY_TEST(fixture, name)
#define TYPED_TEST(fixture, name)                              \
  template <typename parity_type>                              \
  struct parity_test_##fixture##_##name : fixture<parity_type> { \
    using TypeParam = parity_type;                             \
    using TestFixture = fixture<parity_type>;                  \
    void TestBody();                                           \
  };                                                           \
  template <typename parity_type>                              \
  void parity_test_##fixture##_##name<parity_type>::TestBody()
#define TYPED_TEST_P(fixture, name) TYPED_TEST(fixture, name)
#define PARITY_NO_TEST static_assert(true, "")
#define TYPED_TEST_SUITE(...) PARITY_NO_TEST
#define TYPED_TEST_SUITE_P(...) PARITY_NO_TEST
#define TYPED_TEST_CASE(...) PARITY_NO_TEST
#define TYPED_TEST_CASE_P(...) PARITY_NO_TEST
#define REGISTER_TYPED_TEST_SUITE_P(...) PARITY_NO_TEST
#define REGISTER_TYPED_TEST_CASE_P(...) PARITY_NO_TEST
#define INSTANTIATE_TYPED_TEST_SUITE_P(...) PARITY_NO_TEST
#define INSTANTIATE_TYPED_TEST_CASE_P(...) PARITY_NO_TEST
#define INSTANTIATE_TEST_SUITE_P(...) PARITY_NO_TEST
#define INSTANTIATE_TEST_CASE_P(...) PARITY_NO_TEST
#define GTEST_SKIP() return (void)::parity_stub::Log()
#define SUCCEED() ::parity_stub::Log()
#define FAIL() ::parity_stub::Log()
#define ADD_FAILURE() ::parity_stub::Log()
#define SCOPED_TRACE(...) ::parity_stub::Log()
// A condition is compiled: it may be where a kernel is launched.
#define PARITY_DONE(...) ((void)(__VA_ARGS__), ::parity_stub::Log())
#define PARITY_CHECKED(...) ::parity_stub::Log()
#define ASSERT_TRUE(...) PARITY_DONE(__VA_ARGS__)
#define ASSERT_FALSE(...) PARITY_DONE(__VA_ARGS__)
#define ASSERT_EQ(...) PARITY_DONE(__VA_ARGS__)
#define ASSERT_NE(...) PARITY_DONE(__VA_ARGS__)
#define ASSERT_LT(...) PARITY_CHECKED()
#define ASSERT_LE(...) PARITY_CHECKED()
#define ASSERT_GT(...) PARITY_CHECKED()
#define ASSERT_GE(...) PARITY_CHECKED()
#define ASSERT_NEAR(...) PARITY_CHECKED()
#define ASSERT_FLOAT_EQ(...) PARITY_CHECKED()
#define ASSERT_DOUBLE_EQ(...) PARITY_CHECKED()
#define ASSERT_STREQ(...) PARITY_CHECKED()
#define ASSERT_STRNE(...) PARITY_CHECKED()
#define ASSERT_THROW(...) PARITY_CHECKED()
#define ASSERT_NO_THROW(...) PARITY_CHECKED()
#define ASSERT_ANY_THROW(...) PARITY_CHECKED()
#define ASSERT_DEATH(...) PARITY_CHECKED()
#define ASSERT_PRED1(...) PARITY_CHECKED()
#define ASSERT_PRED2(...) PARITY_CHECKED()
#define ASSERT_PRED3(...) PARITY_CHECKED()
#define ASSERT_PRED_FORMAT2(...) PARITY_CHECKED()
#define ASSERT_THAT(...) PARITY_CHECKED()
#define EXPECT_TRUE(...) PARITY_DONE(__VA_ARGS__)
#define EXPECT_FALSE(...) PARITY_DONE(__VA_ARGS__)
#define EXPECT_EQ(...) PARITY_DONE(__VA_ARGS__)
#define EXPECT_NE(...) PARITY_DONE(__VA_ARGS__)
#define EXPECT_LT(...) PARITY_CHECKED()
#define EXPECT_LE(...) PARITY_CHECKED()
#define EXPECT_GT(...) PARITY_CHECKED()
#define EXPECT_GE(...) PARITY_CHECKED()
#define EXPECT_NEAR(...) PARITY_CHECKED()
#define EXPECT_FLOAT_EQ(...) PARITY_CHECKED()
#define EXPECT_DOUBLE_EQ(...) PARITY_CHECKED()
#define EXPECT_STREQ(...) PARITY_CHECKED()
#define EXPECT_STRNE(...) PARITY_CHECKED()
#define EXPECT_THROW(...) PARITY_CHECKED()
#define EXPECT_NO_THROW(...) PARITY_CHECKED()
#define EXPECT_ANY_THROW(...) PARITY_CHECKED()
#define EXPECT_DEATH(...) PARITY_CHECKED()
#define EXPECT_PRED1(...) PARITY_CHECKED()
#define EXPECT_PRED2(...) PARITY_CHECKED()
#define EXPECT_PRED3(...) PARITY_CHECKED()
#define EXPECT_PRED_FORMAT2(...) PARITY_CHECKED()
#define EXPECT_THAT(...) PARITY_CHECKED()
