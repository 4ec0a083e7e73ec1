// Macros of glog for host code, and dmlc-core's macros of the same names. They discard all output.
#pragma once

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <parity/log.h>

#ifndef DMLC_LOGGING_H_  // dmlc-core's guard, which mshadow's copy of the header also tests
#define DMLC_LOGGING_H_
namespace dmlc {
struct Error : std::runtime_error { using std::runtime_error::runtime_error; };
inline void InitLogging(const char*) {}
}  // namespace dmlc
#endif
namespace google {
inline void InitGoogleLogging(const char*) {}
inline void InstallFailureSignalHandler() {}
}  // namespace google

#ifndef CHECK
#define PARITY_LOG(condition) (void)(condition), ::parity_stub::Log()
#define LOG(severity) ::parity_stub::Log()
#define LOG_IF(severity, condition) PARITY_LOG(condition)
#define LOG_EVERY_N(severity, n) PARITY_LOG(n)
#define LOG_FIRST_N(severity, n) PARITY_LOG(n)
#define DLOG(severity) ::parity_stub::Log()
#define DLOG_IF(severity, condition) PARITY_LOG(condition)
#define VLOG(level) PARITY_LOG(level)
#define VLOG_IS_ON(level) false
#define PLOG(severity) ::parity_stub::Log()
#define CHECK(condition) PARITY_LOG(condition)
#define PCHECK(condition) PARITY_LOG(condition)
#define DCHECK(condition) PARITY_LOG(condition)
#define CHECK_EQ(a, b) PARITY_LOG((a) == (b))
#define CHECK_NE(a, b) PARITY_LOG((a) != (b))
#define CHECK_LT(a, b) PARITY_LOG((a) < (b))
#define CHECK_LE(a, b) PARITY_LOG((a) <= (b))
#define CHECK_GT(a, b) PARITY_LOG((a) > (b))
#define CHECK_GE(a, b) PARITY_LOG((a) >= (b))
#define CHECK_NEAR(a, b, margin) PARITY_LOG((a) - (b) < (margin))
#define CHECK_STREQ(a, b) PARITY_LOG((a) == (b))
#define CHECK_NOTNULL(pointer) (pointer)
#define DCHECK_EQ(a, b) CHECK_EQ(a, b)
#define DCHECK_NE(a, b) CHECK_NE(a, b)
#define DCHECK_LT(a, b) CHECK_LT(a, b)
#define DCHECK_LE(a, b) CHECK_LE(a, b)
#define DCHECK_GT(a, b) CHECK_GT(a, b)
#define DCHECK_GE(a, b) CHECK_GE(a, b)
#endif
