// __half2_raw as in CUDA, where the members are the bits of the halves; in HIP they are structures. AMD's headers are
// included first because they need their own type.
#pragma once

#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>

namespace parity_compat {

struct __attribute__((aligned(4))) half2_raw {
    unsigned short x, y;

    half2_raw() = default;
    __host__ __device__ constexpr half2_raw(unsigned short first, unsigned short second) : x(first), y(second) {}
    __host__ __device__ half2_raw(const __half2_raw& raw) : x(raw.x.x), y(raw.y.x) {}
    __host__ __device__ half2_raw(const __half2& halves) : half2_raw(static_cast<__half2_raw>(halves)) {}
    __host__ __device__ operator __half2_raw() const {
        __half2_raw raw;
        raw.x.x = x;
        raw.y.x = y;
        return raw;
    }
};

}  // namespace parity_compat

#define __half2_raw parity_compat::half2_raw
