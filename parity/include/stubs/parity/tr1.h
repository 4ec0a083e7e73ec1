// std::tr1 of libstdc++: what became a part of std in C++11.
#pragma once

#include "everything.h"

namespace std::tr1 {
using namespace std;
}
