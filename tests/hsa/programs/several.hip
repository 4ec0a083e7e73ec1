// Two GPUs: each has variables, streams and memory of its own, and they copy to each other.
#include "check.h"

__device__ int seen = 0;
__global__ void note(int value, int* out) { out[0] = seen = seen + value; }

int main() {
    int count = 0, value = 0, *out[2];
    CHECK(hipGetDeviceCount(&count));
    EXPECT(count == 2);
    for (int device = 0; device < 2; device++) {
        hipDeviceProp_t properties;
        CHECK(hipSetDevice(device));
        CHECK(hipGetDeviceProperties(&properties, device));
        EXPECT(properties.warpSize == (device ? 32 : 64));
        CHECK(hipMalloc(&out[device], 4));
        for (int i = 0; i <= device; i++) note<<<1, 1>>>(10 + device, out[device]);
        CHECK(hipDeviceSynchronize());
    }
    CHECK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(seen), 4));
    EXPECT(value == 22);
    CHECK(hipMemcpyPeer(out[1], 1, out[0], 0, 4));
    CHECK(hipMemcpy(&value, out[1], 4, hipMemcpyDeviceToHost));
    EXPECT(value == 10);
    CHECK(hipSetDevice(0));
    CHECK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(seen), 4));
    EXPECT(value == 10);
    puts("done");
}
