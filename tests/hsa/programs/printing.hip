// Kernels print, through calls of the host or through a buffer (-mprintf-kind=buffered), and allocate memory.
#include "check.h"

__global__ void hello(const char* name, double x) {
    if (threadIdx.x % 32 == 5) printf("thread %d of %s: %.2f %s\n", threadIdx.x, "hello", x, threadIdx.x > 32 ? "high" : "low");
}

__global__ void list(int n, int* out) {
    int* numbers = (int*)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++) numbers[i] = i + threadIdx.x;
    int sum = 0;
    for (int i = 0; i < n; i++) sum += numbers[i];
    out[threadIdx.x] = sum;
    free(numbers);
}

int main(int count, char**) {
    hello<<<1, 64>>>(nullptr, 1.5);
    CHECK(hipDeviceSynchronize());
    if (count > 1) {
        int* out;
        std::vector<int> sums(8);
        CHECK(hipMalloc(&out, 32));
        list<<<1, 8>>>(10, out);
        CHECK(hipMemcpy(sums.data(), out, 32, hipMemcpyDeviceToHost));
        for (int i = 0; i < 8; i++) EXPECT(sums[i] == 45 + 10 * i);
    }
    puts("done");
}
