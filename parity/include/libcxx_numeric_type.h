// HIP's <hip/amd_detail/amd_math_functions.h> specializes this template for _Float16 if the standard library is libc++.
// Newer versions of libc++ no longer declare it.
#pragma once

namespace std {
template <class T>
struct __numeric_type;
}
