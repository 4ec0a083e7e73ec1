#include <cooperative_groups.h>
#include <cuda_fp16.h>
__global__ void jacobi(const float *in, float *out, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= nx - 1 || j >= ny - 1 || k >= nz - 1) return;
    int c = i + nx * (j + ny * k);
    out[c] = (in[c - 1] + in[c + 1] + in[c - nx] + in[c + nx] + in[c - nx * ny] + in[c + nx * ny]) / 6.0f;
}
__global__ void half_scale(const __half *in, __half *out, float s, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = __float2half(tanhf(__half2float(in[i])) * s); }
__global__ void grid_sum(float *x, float *total, int n) {
    auto g = cooperative_groups::this_grid();
    int i = g.thread_rank();
    if (i < n) x[i] *= 2; g.sync();
    if (i == 0) { float s = 0; for (int k = 0; k < n; k++) s += x[k]; *total = s; }
}
