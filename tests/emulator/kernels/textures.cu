// Each thread reads one place of a texture, or copies one texel of a surface.
#include <cuda_runtime.h>

#define EACH(n) const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return

extern "C" __global__ void sample1(cudaTextureObject_t t, const float* x, float4* y, int n) { EACH(n); y[i] = tex1D<float4>(t, x[i]); }
extern "C" __global__ void sample2(cudaTextureObject_t t, const float2* x, float* y, int n) { EACH(n); y[i] = tex2D<float>(t, x[i].x, x[i].y); }
extern "C" __global__ void sample2_pair(cudaTextureObject_t t, const float2* x, float2* y, int n) { EACH(n); y[i] = tex2D<float2>(t, x[i].x, x[i].y); }
extern "C" __global__ void sample3(cudaTextureObject_t t, const float4* x, float* y, int n) { EACH(n); y[i] = tex3D<float>(t, x[i].x, x[i].y, x[i].z); }
extern "C" __global__ void sample_layer(cudaTextureObject_t t, const float2* x, float* y, int n, int layers) {
    EACH(n);
    y[i] = tex2DLayered<float>(t, x[i].x, x[i].y, i % layers);
}
extern "C" __global__ void bytes(cudaTextureObject_t t, const float2* x, uchar4* y, int n) { EACH(n); y[i] = tex2D<uchar4>(t, x[i].x, x[i].y); }
extern "C" __global__ void words(cudaTextureObject_t t, const float2* x, short2* y, int n) { EACH(n); y[i] = tex2D<short2>(t, x[i].x, x[i].y); }
extern "C" __global__ void fetched(cudaTextureObject_t t, const int* x, float2* y, int n) { EACH(n); y[i] = tex1Dfetch<float2>(t, x[i]); }
extern "C" __global__ void integers(cudaTextureObject_t t, int* y, int n) { EACH(n); y[i] = tex1Dfetch<int>(t, n - 1 - i); }
// The level and the gradients have no effect on a texture of one level. gfx90a has no such instructions.
extern "C" __global__ void gathered(cudaTextureObject_t t, const float2* x, float4* y, int n) { EACH(n); y[i] = tex2Dgather<float4>(t, x[i].x, x[i].y, 0); }
extern "C" __global__ void turned(cudaSurfaceObject_t s, cudaSurfaceObject_t d, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uchar4 v;
    surf2Dread(&v, s, x * sizeof(v), y);
    surf2Dwrite(uchar4{v.w, v.z, v.y, v.x}, d, (width - 1 - x) * sizeof(v), height - 1 - y);
}
extern "C" __global__ void doubled(cudaSurfaceObject_t s, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    float v;
    surf2Dread(&v, s, x * sizeof(v), y);
    surf2Dwrite(2 * v, s, x * sizeof(v), y);
}
extern "C" __global__ void planes(cudaSurfaceObject_t s, float* y, int width, int height) {
    const int x = threadIdx.x, row = blockIdx.x, plane = blockIdx.y;
    for (int k = x; k < width; k += blockDim.x) surf3Dread(y + (plane * height + row) * width + k, s, k * sizeof(float), row, plane);
}
