// Counts the tokens of each of 256 experts. Each of 32 warps clears the counts of 8 experts.
constexpr int WARP = 32, EXPERTS = 256, PER_WARP = 8;

extern "C" __global__ void count_tokens(const unsigned* expert, int* counts, int tokens) {
    __shared__ int shared[EXPERTS / PER_WARP][PER_WARP];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (lane < PER_WARP) shared[warp][lane] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < tokens; i += blockDim.x)
        atomicAdd(&shared[expert[i] / PER_WARP][expert[i] % PER_WARP], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < EXPERTS; i += blockDim.x) counts[i] = shared[i / PER_WARP][i % PER_WARP];
}
