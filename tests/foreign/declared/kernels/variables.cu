// Results that are not behind an argument: a variable, printed text, and tensors whose addresses are in variables.
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

struct Scene { const float* heights; int width, rows; };
__constant__ Scene scene;
__device__ float* highest;

// Finds the largest height of each row.
__global__ void find_highest() {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= scene.rows) return;
    float most = scene.heights[row * scene.width];
    for (int i = 1; i < scene.width; i++) most = fmaxf(most, scene.heights[row * scene.width + i]);
    highest[row] = most;
}
