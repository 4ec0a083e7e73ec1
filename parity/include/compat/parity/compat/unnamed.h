// HIP declares its half functions in an unnamed namespace. In a program's unnamed namespace, they hide the other
// overloads: __ldg, for example, would accept halves only.
#pragma once

#include <hip/hip_fp16.h>
#include <parity/compat/cache.h>

namespace {
using ::__hadd;
using ::__ldca;
using ::__ldcg;
using ::__ldcs;
using ::__ldcv;
using ::__ldg;
using ::__ldlu;
using ::__shfl;
using ::__shfl_down;
using ::__shfl_up;
using ::__shfl_xor;
}  // namespace
