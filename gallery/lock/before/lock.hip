// The same code. Lanes of a wavefront advance together, so the lane with the lock waits for the lanes that want it.
#include <hip/hip_runtime.h>

extern "C" __global__ void add_to_buckets(const int* x, const unsigned* bucket, int* sums, int* locks, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(&locks[bucket[i]], 0, 1) == 0) {
            volatile int* sum = &sums[bucket[i]];
            *sum = *sum + x[i];
            __threadfence();
            done = true;
            atomicExch(&locks[bucket[i]], 0);
        }
    }
}
