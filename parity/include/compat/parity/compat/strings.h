// std::memcpy and std::memset of device code: HIP's for the device are declared after the host's library took the host's.
#pragma once

#include <cstring>
#include <hip/hip_runtime.h>

namespace std {
using ::memcpy;
using ::memset;
}
