// std::memcpy and std::memset in device code. <cstring> imports only the host's, because HIP declares its own later.
#pragma once

#include <cstring>
#include <hip/hip_runtime.h>

namespace std {
using ::memcpy;
using ::memset;
}
