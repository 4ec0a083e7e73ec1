// Kernels with code that few cases reach: for one size, one rank, one value.
#include <math.h>

extern "C" __global__ void one_size_f32(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float y = 2.0f * x[i];
    if (n == 4099) {
        for (int k = 0; k < i % 3; ++k)
            y = y * 0.75f + x[i];
    }
    out[i] = y;
}

extern "C" __global__ void one_rank_f32(size_t n, size_t dims, const size_t* info, const float* x, float* out) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    size_t at = 0, rest = i;
    for (size_t d = dims; d-- > 0;) {
        at += rest % info[d] * info[dims + d];
        rest /= info[d];
    }
    if (dims == 6) {
        for (size_t k = 0; k < i; ++k)
            at = x[at] < x[0] ? at : 0;
    }
    out[i] = x[at];
}

extern "C" __global__ void one_value_f32(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float y = sinf(x[i]);
    if (x[i] == 12345.5f) {
        for (int k = 0; k < n; ++k)
            y = y * y + x[k];
    }
    out[i] = y;
}
