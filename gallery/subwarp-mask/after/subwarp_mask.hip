// The mask is computed in 64 bits.
#include <hip/hip_runtime.h>

#include <cstdint>

constexpr int CHILDREN = 4;

extern "C" __global__ void count_hits(const float* distance, int* hits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned subwarp = threadIdx.x % warpSize / CHILDREN;
    const uint64_t mask = ((uint64_t(1) << CHILDREN) - 1) << (CHILDREN * subwarp);
    const uint64_t votes = __ballot(i < n && distance[i] >= 0.0f);
    if (i < n) hits[i] = __popcll(votes & mask);
}
