// Rows of a matrix, one group of 32 threads for each. Right for wavefronts of 32 and of 64 lanes: every exchange says
// its width, and every vote is shifted to the 32 lanes that it is about.
#include <hip/hip_runtime.h>

constexpr int GROUP = 32;

__device__ unsigned votes(bool yes) {
    const unsigned long long all = __ballot(yes);
    return unsigned(all >> (threadIdx.x & (warpSize - 1) & GROUP));
}

// Every element less the first of its row.
extern "C" __global__ void from_first(const float* x, float* out, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / GROUP, lane = threadIdx.x % GROUP;
    const float own = row < rows ? x[row * GROUP + lane] : 0.0f;
    const float first = __shfl(own, 0, GROUP);
    if (row < rows) out[row * GROUP + lane] = own - first;
}

// The sum of each row, in every one of its places.
extern "C" __global__ void sum_everywhere(const int* x, int* out, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / GROUP, lane = threadIdx.x % GROUP;
    int sum = row < rows ? x[row * GROUP + lane] : 0;
    for (int mask = GROUP / 2; mask > 0; mask /= 2) sum += __shfl_xor(sum, mask, GROUP);
    if (row < rows) out[row * GROUP + lane] = sum;
}

// How many elements of a row are positive.
extern "C" __global__ void count_positive(const float* x, int* out, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / GROUP, lane = threadIdx.x % GROUP;
    const unsigned positive = votes(row < rows && x[row * GROUP + lane] > 0.0f);
    if (row < rows && lane == 0) out[row] = __popc(positive);
}
