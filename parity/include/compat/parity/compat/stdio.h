// std::printf in device code. <cstdio> imports only the host's printf, because HIP declares its own later.
#pragma once

#include <cstdio>

namespace std {
using ::printf;
}
