// cuda::std is the host's C++ library: its constexpr functions and types are for the device as well. What is for the
// host alone there and for the device here (atomics) is declared in cuda::std itself, and found first.
#pragma once

#include <cstddef>

namespace cuda::std {
using namespace ::std;
}
