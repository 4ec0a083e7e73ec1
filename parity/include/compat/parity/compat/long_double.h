// What CUDA's headers ask of a long double, in functions for both sides: of HIP's for a float and a double, none is better.
#pragma once

#include <parity/compat/base.h>

PARITY_COMPAT bool isnan(long double x) { return __builtin_isnan(double(x)); }
PARITY_COMPAT bool isinf(long double x) { return __builtin_isinf(double(x)); }
PARITY_COMPAT bool isfinite(long double x) { return __builtin_isfinite(double(x)); }
PARITY_COMPAT bool signbit(long double x) { return __builtin_signbit(double(x)); }
