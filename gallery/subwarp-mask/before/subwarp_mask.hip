// The mask has 64 bits but is computed from a 32-bit int, because a shift has the type of its left operand.
#include <hip/hip_runtime.h>

#include <cstdint>

constexpr int CHILDREN = 4;

extern "C" __global__ void count_hits(const float* distance, int* hits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned subwarp = threadIdx.x % warpSize / CHILDREN;
    const uint64_t mask = ((1 << CHILDREN) - 1) << static_cast<uint64_t>(CHILDREN * subwarp);
    const uint64_t votes = __ballot(i < n && distance[i] >= 0.0f);
    if (i < n) hits[i] = __popcll(votes & mask);
}
