// cuda::std is the host's C++ library: its constexpr functions and types are for the device as well.
#pragma once

#include <cstddef>

namespace cuda {
namespace std = ::std;
}
