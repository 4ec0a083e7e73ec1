// max and min of a float and a double, which CUDA overloads. HIP's template accepts only numbers, not types that
// convert to a number, such as torch's Half. With such a type and a double, HIP's overloads are ambiguous.
#pragma once

#include <parity/compat/base.h>

PARITY_COMPAT double max(float x, double y) { return __builtin_fmax(double(x), y); }
PARITY_COMPAT double max(double x, float y) { return __builtin_fmax(x, double(y)); }
PARITY_COMPAT double min(float x, double y) { return __builtin_fmin(double(x), y); }
PARITY_COMPAT double min(double x, float y) { return __builtin_fmin(x, double(y)); }
