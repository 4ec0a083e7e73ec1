// libstdc++'s std::tr1, which became part of std in C++11.
#pragma once

#include "everything.h"

namespace std::tr1 {
using namespace std;
}
