// One thread for each element.
#include <cuda_runtime.h>

// exp(x), as accurate as the function of the library.
extern "C" __global__ void exponential(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = expf(x[i]);
}

// x * x - y * y, with each product rounded, so that equal squares cancel.
extern "C" __global__ void squares_apart(const float* x, const float* y, float* out, int n) {
#pragma clang fp contract(off)
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * x[i] - y[i] * y[i];
}
