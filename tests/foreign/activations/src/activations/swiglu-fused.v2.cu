#include "ops/common.hpp"

namespace ops {

// out[r, c] = silu(x[r, c]) * x[r, c + cols]
template <typename T>
__global__ void swiglu(T* __restrict__ out, const T* __restrict__ x, const int rows, const int cols) {
    const int row = blockIdx.y;
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += blockDim.x * gridDim.x) {
        const float gate = static_cast<float>(x[row * 2 * cols + c]);
        const float up = static_cast<float>(x[row * 2 * cols + cols + c]);
        out[row * cols + c] = static_cast<T>(gate / (1.0f + expf(-gate)) * up);
    }
}

template <typename T>
void swiglu_forward(T* out, const T* x, int rows, int cols, cudaStream_t stream) {
    dim3 grid(ceil_div(cols, kThreads), rows);
    swiglu<T><<<grid, kThreads, 0, stream>>>(out, x, rows, cols);
    CHECK(cudaGetLastError());
}

template void swiglu_forward<float>(float*, const float*, int, int, cudaStream_t);
template void swiglu_forward<half>(half*, const half*, int, int, cudaStream_t);

}  // namespace ops

// A plain kernel with C++ linkage, and two outputs.
__global__ void minmax(const float* x, float* lo, float* hi, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { lo[i] = fminf(x[i], 0.0f); hi[i] = fmaxf(x[i], 0.0f); }
}
