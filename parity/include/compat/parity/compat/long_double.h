// Classification of long double. Without it, calls are ambiguous between HIP's overloads for float and double.
#pragma once

#include <parity/compat/base.h>

PARITY_COMPAT bool isnan(long double x) { return __builtin_isnan(double(x)); }
PARITY_COMPAT bool isinf(long double x) { return __builtin_isinf(double(x)); }
PARITY_COMPAT bool isfinite(long double x) { return __builtin_isfinite(double(x)); }
PARITY_COMPAT bool signbit(long double x) { return __builtin_signbit(double(x)); }
