// E4M3 on this GPU (FNUZ) has half the value for the same bits: 224 instead of 448, so scales are doubled. The cast
// treats the largest exponent as an overflow, and rounds ties up.
#include <hip/hip_runtime.h>

constexpr int GROUP = 64;

// The exponent of the smallest power of two that scales all numbers of the group to at most 448.
__device__ int scale_of_group(float value) {
    __shared__ float largest[GROUP];
    largest[threadIdx.x] = fabsf(value);
    for (int half = GROUP / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) largest[threadIdx.x] = fmaxf(largest[threadIdx.x], largest[threadIdx.x + half]);
    }
    __syncthreads();
    const int bits = __float_as_int(largest[0]);
    return max(-100, (bits >> 23) - 127 - 8 + ((bits & 0x7fffff) > 0x600000));
}

__device__ float power_of_two(int exponent) { return __int_as_float((exponent + 127) << 23); }

constexpr int BIAS = 8;

__device__ unsigned to_e4m3(float value) {
    const unsigned bits = __float_as_uint(value), sign = bits >> 31 << 7, fraction = bits & 0x7fffff;
    int exponent = int(bits >> 23 & 255) - 127 + BIAS;
    if (exponent >= 15) return sign | 0x7f;
    if (exponent <= 0) {
        const unsigned steps = unsigned(fabsf(value) * 1024.0f + 0.5f);
        return steps ? sign | steps : 0;
    }
    unsigned kept = (fraction >> 20) + (fraction >> 19 & 1);
    if (kept == 8) kept = 0, ++exponent;
    return sign | exponent << 3 | kept;
}

__device__ float from_e4m3(unsigned stored) {
    const int exponent = stored >> 3 & 15, kept = stored & 7;
    const float size = exponent ? (8 + kept) * power_of_two(exponent - BIAS - 3) : kept * power_of_two(1 - BIAS - 3);
    return stored & 0x80 ? -size : size;
}

extern "C" __global__ void quantized(const float* x, float* out) {
    const int i = blockIdx.x * GROUP + threadIdx.x, scale = scale_of_group(x[i]) + 1;
    out[i] = from_e4m3(to_e4m3(x[i] * power_of_two(-scale))) * power_of_two(scale);
}
