// A sum in two kernels: blocks leave partial sums, and one block adds them up.
template <typename T>
__device__ T block_sum(T value) {
    __shared__ T parts[256];
    parts[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    return parts[0];
}

extern "C" __global__ void sum_blocks(const int* x, int* partial, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = block_sum(i < n ? x[i] : 0);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

extern "C" __global__ void sum_partial(const int* partial, int* out, int blocks) {
    int sum = 0;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[0] = sum;
}
