// out = x where x > 0, else alpha * x; one thread per element.
#include <cuda_runtime.h>

extern "C" __global__ void leaky_relu_f32(const float* x, float* out, float alpha, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] > 0.0f ? x[i] : alpha * x[i];
    }
}
