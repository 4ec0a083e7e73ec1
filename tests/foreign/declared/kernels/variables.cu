// Results that are not behind an argument: a variable, and printed text.
#include <cstdio>

__device__ unsigned above[4];

// Counts the elements of each quarter of the blocks that are above a limit.
__global__ void count_above(const float* x, float limit, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > limit) atomicAdd(&above[i % 4], 1u);
}

// Prints a line in two parts for each odd element.
__global__ void list_odd(const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || x[i] % 2 == 0) return;
    printf("%d: ", i);
    printf("%d\n", x[i]);
}
