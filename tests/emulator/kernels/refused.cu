// What GPUs have and the emulator has not.
#include <cooperative_groups.h>

extern "C" __global__ void whole_grid(int n, const int* x, int* y) {
    y[0] = x[0];
    cooperative_groups::this_grid().sync();
    y[1] = x[1];
}
#if !__gfx942__
extern "C" __global__ void sampled(int n, const int* x, float* y, cudaTextureObject_t image) {
    y[threadIdx.x] = tex2D<float>(image, threadIdx.x, 0.5f);
}
extern "C" __global__ void fetched(int n, const int* x, float* y, cudaTextureObject_t image) {
    y[threadIdx.x] = tex1Dfetch<float>(image, threadIdx.x);
}
extern "C" __global__ void read_surface(int n, const int* x, float* y, cudaSurfaceObject_t image) {
    surf2Dread(y + threadIdx.x, image, threadIdx.x * 4, 0);
}
#endif
