// Macros and number types of Paddle, from its documentation of custom operators. Its tensors exist on the host only.
#pragma once

#include "torch/types.h"

#ifndef HOSTDEVICE
#define HOSTDEVICE __host__ __device__
#define DEVICE __device__
#define HOST __host__
#endif

namespace phi {
enum class DataType { UNDEFINED, BOOL, UINT8, INT8, UINT16, INT16, UINT32, INT32, UINT64, INT64, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, STRING, PSTRING, FLOAT16, BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2 };
namespace dtype {
using float16 = c10::Half;
using bfloat16 = c10::BFloat16;
template <typename T> using complex = c10::complex<T>;
}  // namespace dtype
}  // namespace phi
namespace paddle {
using phi::DataType;
using namespace phi::dtype;
namespace platform { using namespace phi::dtype; }
namespace experimental { using phi::DataType; }
}  // namespace paddle
