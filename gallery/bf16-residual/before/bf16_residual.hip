// residual += x, then divides the new residual by its root mean square. One block per row.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

constexpr int THREADS = 128;

// Truncates the lower half: fast, but always rounds towards zero.
__device__ __hip_bfloat16 to_bf16(float value) {
    return __hip_bfloat16_raw{static_cast<unsigned short>(__float_as_uint(value) >> 16)};
}

extern "C" __global__ void add_rms_norm(const __hip_bfloat16* x, const __hip_bfloat16* residual, __hip_bfloat16* sum,
                                        __hip_bfloat16* out, int columns) {
    __shared__ float partial[THREADS];
    const int row = blockIdx.x * columns;
    float squares = 0.0f;
    for (int c = threadIdx.x; c < columns; c += THREADS) {
        const float value = __bfloat162float(x[row + c]) + __bfloat162float(residual[row + c]);
        sum[row + c] = to_bf16(value);
        squares += value * value;
    }
    partial[threadIdx.x] = squares;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    __syncthreads();
    const float scale = rsqrtf(partial[0] / columns + 1e-6f);
    for (int c = threadIdx.x; c < columns; c += THREADS) {
        const float value = __bfloat162float(x[row + c]) + __bfloat162float(residual[row + c]);
        out[row + c] = to_bf16(value * scale);
    }
}
