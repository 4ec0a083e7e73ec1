// A kernel that copies bytes which nothing has written, from LDS and from an allocation. It ignores all errors.
#include "check.h"

__global__ void shift(const int* x, int* out) {
    __shared__ int tile[65];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + 1];  // the last element was never written
}

int main(int count, char**) {
    int *x, *y;
    CHECK(hipMalloc(&x, 256)), CHECK(hipMalloc(&y, 256));
    if (count == 1) CHECK(hipMemset(x, 0, 256));
    shift<<<1, 64>>>(x, y);
    (void)hipDeviceSynchronize();
    puts("done");
}
