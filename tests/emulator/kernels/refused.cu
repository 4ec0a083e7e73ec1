// Features of GPUs that the emulator lacks.
#include <cooperative_groups.h>

extern "C" __global__ void whole_grid(int n, const int* x, int* y) {
    y[0] = x[0];
    cooperative_groups::this_grid().sync();
    y[1] = x[1];
}
#if !(__gfx942__ || __gfx950__)
extern "C" __global__ void sampled(int n, const int* x, float* y, cudaTextureObject_t image) {
    y[threadIdx.x] = tex2D<float>(image, threadIdx.x, 0.5f);
}
extern "C" __global__ void fetched(int n, const int* x, float* y, cudaTextureObject_t image) {
    y[threadIdx.x] = tex1Dfetch<float>(image, threadIdx.x);
}
extern "C" __global__ void read_surface(int n, const int* x, float* y, cudaSurfaceObject_t image) {
    surf2Dread(y + threadIdx.x, image, threadIdx.x * 4, 0);
}
extern "C" __global__ void write_surface(int n, const float* x, float* y, cudaSurfaceObject_t image) {
    surf2Dwrite(x[threadIdx.x], image, threadIdx.x * 4, 0);
}
texture<float, 2> table;
extern "C" __global__ void by_reference(int n, const int* x, float* y) {
    y[threadIdx.x] = tex2D(table, threadIdx.x, 0.5f);
}
texture<int, 1, cudaReadModeElementType> line;
extern "C" __global__ void fetched_by_reference(int n, const int* x, int* y) {
    y[threadIdx.x] = tex1Dfetch(line, threadIdx.x);
}
#endif
