// Still divides the block into 32 warps of 32 threads, but the butterfly sums cover the whole wavefront.
#include <hip/hip_runtime.h>

constexpr int WARPS = 32, LANES = 32;

extern "C" __global__ void rms_norm(const float* x, const float* weight, float* out, int columns) {
    __shared__ float sums[WARPS];
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += WARPS * LANES) sum += row[c] * row[c];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_xor(sum, offset);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = sums[lane];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_xor(sum, offset);
    const float scale = rsqrtf(sum / columns + 1e-6f);
    for (int c = threadIdx.x; c < columns; c += WARPS * LANES) out[blockIdx.x * columns + c] = row[c] * scale * weight[c];
}
