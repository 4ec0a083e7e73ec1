// HIP's <hip/amd_detail/amd_math_functions.h> specializes this template for _Float16 where the library is libc++, whose
// newer versions have it no longer.
#pragma once

namespace std {
template <class T>
struct __numeric_type;
}
