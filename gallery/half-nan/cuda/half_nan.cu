// Compares elements: x <= y.
#include <cuda_fp16.h>

extern "C" __global__ void at_most(const __half* x, const __half* y, unsigned char* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] <= y[i];
}
