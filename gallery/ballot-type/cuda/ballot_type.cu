// Moves the positive numbers of each block of 256 to the front, in order. The votes of a warp give their positions.
constexpr int WARP = 32, THREADS = 256;

extern "C" __global__ void compact(const int* x, int* out, int* found, int n) {
    __shared__ int before[THREADS / WARP + 1];
    const int i = blockIdx.x * THREADS + threadIdx.x, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const bool kept = i < n && x[i] > 0;
    const int votes = __ballot_sync(0xffffffffu, kept);
    if (lane == 0) before[warp + 1] = __popc(votes);
    __syncthreads();
    if (threadIdx.x == 0) {
        before[0] = 0;
        for (int w = 0; w < THREADS / WARP; ++w) before[w + 1] += before[w];
        found[blockIdx.x] = before[THREADS / WARP];
    }
    __syncthreads();
    if (i < n) out[i] = 0;
    __syncthreads();
    if (kept) out[blockIdx.x * THREADS + before[warp] + __popc(votes & ~(-1 << lane))] = x[i];
}
