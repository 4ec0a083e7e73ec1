// Streams that wait for events of each other, times, host callbacks, and memory of the host.
#include "check.h"

static void called(void* data) { *(int*)data += 1; }

int main() {
    const int n = 1 << 16;
    hipStream_t streams[4];
    hipEvent_t begin, end, ready[4];
    CHECK(hipEventCreate(&begin)), CHECK(hipEventCreate(&end));
    int *x, *managed, *out[4], callbacks = 0;
    CHECK(hipHostMalloc(&x, n * 4)), CHECK(hipMallocManaged(&managed, n * 4));
    for (int i = 0; i < n; i++) x[i] = i;
    for (int s = 0; s < 4; s++) {
        CHECK(hipStreamCreateWithFlags(&streams[s], hipStreamNonBlocking));
        CHECK(hipEventCreate(&ready[s])), CHECK(hipMalloc(&out[s], n * 4));
    }
    CHECK(hipEventRecord(begin, streams[0]));
    for (int s = 0; s < 4; s++) {  // each stream works on the result of the stream before it
        if (s) CHECK(hipStreamWaitEvent(streams[s], ready[s - 1], 0));
        twice<<<n / 256, 256, 0, streams[s]>>>(s ? out[s - 1] : x, out[s], n);
        CHECK(hipLaunchHostFunc(streams[s], called, &callbacks));
        CHECK(hipEventRecord(ready[s], streams[s]));
    }
    CHECK(hipStreamWaitEvent(streams[0], ready[3], 0));
    CHECK(hipMemcpyAsync(managed, out[3], n * 4, hipMemcpyDefault, streams[0]));
    CHECK(hipEventRecord(end, streams[0]));
    CHECK(hipEventSynchronize(end));
    float time = 0;
    CHECK(hipEventElapsedTime(&time, begin, end));
    EXPECT(time > 0 && callbacks == 4);
    for (int i = 0; i < n; i++) EXPECT(managed[i] == 16 * i);
    twice<<<n / 256, 256>>>(managed, managed, n);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT(managed[i] == 32 * i);

    std::vector<int> own(n, 21);  // memory of the program that the GPU accesses directly
    int* device;
    CHECK(hipHostRegister(own.data(), n * 4, hipHostRegisterDefault));
    CHECK(hipHostGetDevicePointer((void**)&device, own.data(), 0));
    twice<<<n / 256, 256>>>(device, device, n);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT(own[i] == 42);
    CHECK(hipHostUnregister(own.data()));
    EXPECT(own[n - 1] == 42);

    int* pooled;
    CHECK(hipMallocAsync((void**)&pooled, n * 4, streams[1]));
    twice<<<n / 256, 256, 0, streams[1]>>>(x, pooled, n);
    CHECK(hipMemcpyAsync(own.data(), pooled, n * 4, hipMemcpyDeviceToHost, streams[1]));
    CHECK(hipFreeAsync(pooled, streams[1]));
    CHECK(hipStreamSynchronize(streams[1]));
    for (int i = 0; i < n; i++) EXPECT(own[i] == 2 * i);
    puts("done");
}
