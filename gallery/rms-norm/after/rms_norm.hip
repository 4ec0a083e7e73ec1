// Divides the block into 16 wavefronts of 64 threads on GPUs with wavefronts of 64 lanes.
#include <hip/hip_runtime.h>

constexpr int THREADS = 1024;

extern "C" __global__ void rms_norm(const float* x, const float* weight, float* out, int columns) {
    __shared__ float sums[32];
    const int warp = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += THREADS) sum += row[c] * row[c];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_xor(sum, offset);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = lane < THREADS / warpSize ? sums[lane] : 0.0f;
    for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_xor(sum, offset);
    const float scale = rsqrtf(sum / columns + 1e-6f);
    for (int c = threadIdx.x; c < columns; c += THREADS) out[blockIdx.x * columns + c] = row[c] * scale * weight[c];
}
