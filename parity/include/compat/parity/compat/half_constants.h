// CUDA's half constants under the names that hipify generates, with the bit patterns of cuda_fp16.h.
#pragma once

#ifndef HIPRT_INF_FP16
#define HIPRT_INF_FP16 __builtin_bit_cast(__half, static_cast<unsigned short>(0x7C00u))
#define HIPRT_NAN_FP16 __builtin_bit_cast(__half, static_cast<unsigned short>(0x7FFFu))
#define HIPRT_MIN_DENORM_FP16 __builtin_bit_cast(__half, static_cast<unsigned short>(0x0001u))
#define HIPRT_MAX_NORMAL_FP16 __builtin_bit_cast(__half, static_cast<unsigned short>(0x7BFFu))
#define HIPRT_NEG_ZERO_FP16 __builtin_bit_cast(__half, static_cast<unsigned short>(0x8000u))
#define HIPRT_ZERO_FP16 __builtin_bit_cast(__half, static_cast<unsigned short>(0x0000u))
#define HIPRT_ONE_FP16 __builtin_bit_cast(__half, static_cast<unsigned short>(0x3C00u))
#endif
