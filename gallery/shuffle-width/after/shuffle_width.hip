// Uses the wavefront width of the target GPU.
#include <hip/hip_runtime.h>

#if defined(__GFX9__)
constexpr int WARP = 64;
#else
constexpr int WARP = 32;
#endif

__device__ float warp_sum(float value) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) value += __shfl_down(value, offset, WARP);
    return value;
}

extern "C" __global__ void normalize(const float* x, float* out, int columns) {
    __shared__ float shared[32];
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c];
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0) shared[threadIdx.x / WARP] = sum;
    __syncthreads();
    if (threadIdx.x < WARP) {
        sum = warp_sum(threadIdx.x < blockDim.x / WARP ? shared[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0) shared[0] = sum;
    }
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[blockIdx.x * columns + c] = row[c] / shared[0];
}
