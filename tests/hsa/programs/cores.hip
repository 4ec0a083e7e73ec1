// A launch that several threads may execute, and one whose blocks communicate. Prints the bits of the results. With an
// argument, the last blocks of the first launch have a fault.
#include "check.h"

__global__ void mixed(float* out, int rounds, long far) {
    __shared__ float sum;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int k = 0; k < rounds; k++) {
        x = x * 0.37f + k;
        if (threadIdx.x % 61 == 0) atomicAdd(&sum, x); // the order of the wavefronts changes the sum
        __syncthreads();
    }
    out[i + (blockIdx.x > 50 ? far : 0)] = x + sum;
}
__global__ void counted(float* out, unsigned* counter, int rounds) {
    for (int k = 0; k < rounds; k++) atomicAdd(counter, 1);
    if (threadIdx.x == 0) out[blockIdx.x] += atomicAdd(counter + 1, 1);
}

int main(int count, char**) {
    const int blocks = 64, threads = 256, rounds = 200, n = blocks * threads;
    std::vector<unsigned> bits(n);
    float* out;
    unsigned *counter, counts[2];
    CHECK(hipMalloc(&out, n * 4)), CHECK(hipMalloc(&counter, 8)), CHECK(hipMemset(counter, 0, 8));
    mixed<<<blocks, threads>>>(out, rounds, count > 1 ? 1l << 40 : 0);
    CHECK(hipDeviceSynchronize());
    counted<<<blocks, threads>>>(out, counter, rounds);
    CHECK(hipMemcpy(bits.data(), out, n * 4, hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(counts, counter, 8, hipMemcpyDeviceToHost));
    EXPECT(counts[0] == unsigned(n * rounds));
    unsigned digest = 0;
    for (unsigned each : bits) digest = digest * 31 + each;
    printf("%u\n", digest);
}
