#include <cuda_runtime.h>

// Halves an image with a filter of 2 by 2 pixels.
extern "C" __global__ void halve(cudaTextureObject_t image, float4* out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    out[y * width + x] = tex2D<float4>(image, 2 * x + 1.0f, 2 * y + 1.0f);
}

struct Lookup {
    cudaTextureObject_t table;
    float scale;
};
extern "C" __global__ void look_up(Lookup lookup, const int* ids, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = lookup.scale * tex1Dfetch<float>(lookup.table, ids[i]);
}

// Mirrors the columns of a surface, and moves its rows down.
extern "C" __global__ void mirror(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uchar4 pixel;
    surf2Dread(&pixel, from, x * sizeof(pixel), y);
    surf2Dwrite(pixel, to, (width - 1 - x) * sizeof(pixel), (y + 1) % height);
}
