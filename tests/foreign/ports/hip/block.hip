// Rows of 256 elements, one block of 256 threads for each.
#include <hip/hip_runtime.h>

constexpr int THREADS = 256;

// The sum of each row: a tree in shared memory, with a barrier at each of its steps.
extern "C" __global__ void __launch_bounds__(THREADS) tree_sum(const int* x, int* out) {
    __shared__ int partial[THREADS];
    const int t = threadIdx.x;
    partial[t] = x[blockIdx.x * THREADS + t];
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = partial[0];
}

// Each row backwards, through shared memory of which the host says how much it is.
extern "C" __global__ void __launch_bounds__(THREADS) backwards(const float* x, float* out) {
    extern __shared__ float row[];
    row[threadIdx.x] = x[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * THREADS + threadIdx.x] = row[THREADS - 1 - threadIdx.x];
}
