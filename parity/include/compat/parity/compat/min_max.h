// max and min of a signed and an unsigned integer, which return an unsigned integer in CUDA. HIP selects the overload
// for doubles: the result cannot be an index or an operand of % or <<, and a negative number is less than any unsigned
// one.
#pragma once

#include <parity/compat/base.h>

#define PARITY_MIN_MAX(type)                                                                                     \
    PARITY_COMPAT unsigned type max(type x, unsigned type y) { return ::max(static_cast<unsigned type>(x), y); } \
    PARITY_COMPAT unsigned type max(unsigned type x, type y) { return ::max(x, static_cast<unsigned type>(y)); } \
    PARITY_COMPAT unsigned type min(type x, unsigned type y) { return ::min(static_cast<unsigned type>(x), y); } \
    PARITY_COMPAT unsigned type min(unsigned type x, type y) { return ::min(x, static_cast<unsigned type>(y)); }
PARITY_MIN_MAX(int)
PARITY_MIN_MAX(long)
PARITY_MIN_MAX(long long)
#undef PARITY_MIN_MAX
