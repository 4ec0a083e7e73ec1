// std::printf of device code: HIP's printf for the device is declared after the host's library took the host's alone.
#pragma once

#include <cstdio>

namespace std {
using ::printf;
}
