// Quantizes groups of 64 numbers to fp8 (E4M3) with a power of two as scale, and converts them back.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

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

extern "C" __global__ void quantized(const float* x, float* out) {
    const int i = blockIdx.x * GROUP + threadIdx.x, scale = scale_of_group(x[i]);
    const __nv_fp8_storage_t stored = __nv_cvt_float_to_fp8(x[i] * power_of_two(-scale), __NV_SATFINITE, __NV_E4M3);
    out[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw(stored, __NV_E4M3))) * power_of_two(scale);
}
