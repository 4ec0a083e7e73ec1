// An int holds the votes of 64 lanes, and counts and masks them.
#include <hip/hip_runtime.h>

constexpr int THREADS = 256;

extern "C" __global__ void compact(const int* x, int* out, int* found, int n) {
    __shared__ int before[THREADS / 32 + 1];
    const int i = blockIdx.x * THREADS + threadIdx.x, warp = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
    const bool kept = i < n && x[i] > 0;
    const int votes = __ballot(kept);
    if (lane == 0) before[warp + 1] = __popc(votes);
    __syncthreads();
    if (threadIdx.x == 0) {
        before[0] = 0;
        for (int w = 0; w < THREADS / warpSize; ++w) before[w + 1] += before[w];
        found[blockIdx.x] = before[THREADS / warpSize];
    }
    __syncthreads();
    if (i < n) out[i] = 0;
    __syncthreads();
    if (kept) out[blockIdx.x * THREADS + before[warp] + __popc(votes & ~(-1 << lane))] = x[i];
}
