// The same code. HIP does not define __CUDA_ARCH__, so the preprocessor removes the body of the loop.
#include <hip/hip_runtime.h>

extern "C" __global__ void dots(const int* a, const int* b, int* out, int rows, int words) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    int sum = 0;
#if __CUDA_ARCH__ >= 610
    for (int i = 0; i < words; i++) sum = __dp4a(a[r * words + i], b[i], sum);
#endif
    out[r] = sum;
}
