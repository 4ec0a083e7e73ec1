// The mean square of each row. A block sums each warp first, and then the warps' sums.
constexpr int WARP = 32;

__device__ float warp_sum(float value) {
    for (int mask = WARP / 2; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
    return value;
}

__device__ float block_sum(float value) {
    __shared__ float shared[WARP];
    const int lane = threadIdx.x & 0x1f, warp = threadIdx.x >> 5;
    value = warp_sum(value);
    if (lane == 0) shared[warp] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / WARP ? shared[lane] : 0.0f;
    return warp_sum(value);
}

extern "C" __global__ void mean_square(const float* x, float* out, int columns) {
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        const float value = x[blockIdx.x * columns + c];
        sum += value * value;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum / columns;
}
