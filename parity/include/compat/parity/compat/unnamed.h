// HIP has its functions of halves in an unnamed namespace. There they hide the other functions of their names from code
// that is in an unnamed namespace itself, which then calls __ldg with nothing but halves.
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
