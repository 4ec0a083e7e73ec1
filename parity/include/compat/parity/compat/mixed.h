// max and min of a float and a double, which CUDA has as overloads. HIP has a template for numbers alone, which takes
// no type that converts to one, such as torch's Half: with a double, its overloads for two floats and two doubles are
// ambiguous.
#pragma once

#include <parity/compat/base.h>

PARITY_COMPAT double max(float x, double y) { return __builtin_fmax(double(x), y); }
PARITY_COMPAT double max(double x, float y) { return __builtin_fmax(x, double(y)); }
PARITY_COMPAT double min(float x, double y) { return __builtin_fmin(double(x), y); }
PARITY_COMPAT double min(double x, float y) { return __builtin_fmin(x, double(y)); }
