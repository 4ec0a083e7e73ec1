// <<<>>>, copies in all directions, fills, variables and a fault if there is an argument.
#include "check.h"

__device__ int counter = 5;
__constant__ int factor = 3;
__global__ void scale(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
    if (i == 0) atomicAdd(&counter, 1);
}

int main(int count, char**) {
    const int n = 1000;
    std::vector<int> x(n), y(n);
    for (int i = 0; i < n; i++) x[i] = i;
    int *a, *b, *c, value = 7;
    CHECK(hipMalloc(&a, n * 4)), CHECK(hipMalloc(&b, n * 4)), CHECK(hipMalloc(&c, n * 4));
    CHECK(hipMemcpy(a, x.data(), n * 4, hipMemcpyHostToDevice));
    CHECK(hipMemset(b, 0, n * 4));
    scale<<<4, 256>>>(a, b, count > 1 ? n + 1 : n);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(c, b, n * 4, hipMemcpyDeviceToDevice));
    CHECK(hipMemcpy(y.data(), c, n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(y[i] == 3 * i);
    CHECK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), 4));
    EXPECT(value == 6);
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factor), &value, 4));
    scale<<<4, 256>>>(a, b, n);
    CHECK(hipMemcpy(y.data(), b, n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(y[i] == 6 * i);
    CHECK(hipMemset2D(b, 400, 1, 40, 10));
    CHECK(hipMemcpy2D(y.data(), 40, b, 400, 40, 10, hipMemcpyDeviceToHost));
    for (int i = 0; i < 100; i++) EXPECT(y[i] == 0x01010101);
    CHECK(hipFree(a)), CHECK(hipFree(b)), CHECK(hipFree(c));
    puts("done");
}
