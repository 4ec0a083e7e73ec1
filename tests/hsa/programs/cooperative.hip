// A cooperative launch, in which all blocks wait for each other several times; with an argument, once too seldom.
#include <hip/hip_cooperative_groups.h>

#include "check.h"

__global__ void rotate(int* x, int* y, int rounds, int waits) {
    auto grid = cooperative_groups::this_grid();
    const int n = grid.size(), i = grid.thread_rank();
    for (int k = 0; k < rounds; ++k) {
        y[i] = 2 * x[i];
        if (k < waits) grid.sync();
        x[i] = y[(i + blockDim.x) % n] + 1;
        grid.sync();
    }
}

int main(int count, char**) {
    int rounds = 3, waits = count > 1 ? 0 : rounds, blocks = 0, supported = 0;
    CHECK(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
    EXPECT(supported);
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rotate, 128, 0));
    EXPECT(blocks > 0);
    const int n = 6 * 128;
    std::vector<int> x(n), expected(n), last(n);
    for (int i = 0; i < n; i++) x[i] = expected[i] = i;
    int *a, *b;
    CHECK(hipMalloc(&a, n * 4)), CHECK(hipMalloc(&b, n * 4));
    CHECK(hipMemcpy(a, x.data(), n * 4, hipMemcpyHostToDevice));
    CHECK(hipMemset(b, 0, n * 4));
    void* arguments[] = {&a, &b, &rounds, &waits};
    CHECK(hipLaunchCooperativeKernel(rotate, 6, 128, arguments, 0, nullptr));
    CHECK(hipMemcpy(x.data(), a, n * 4, hipMemcpyDeviceToHost));
    for (int k = 0; k < rounds; k++) {
        last = expected;
        for (int i = 0; i < n; i++) expected[i] = 2 * last[(i + 128) % n] + 1;
    }
    EXPECT(x == expected);
    EXPECT(hipLaunchCooperativeKernel(rotate, 1 << 20, 128, arguments, 0, nullptr) == hipErrorCooperativeLaunchTooLarge);
    puts("done");
}
