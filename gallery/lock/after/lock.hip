// Only one lane of the wavefront tries to take a lock at a time.
#include <hip/hip_runtime.h>

extern "C" __global__ void add_to_buckets(const int* x, const unsigned* bucket, int* sums, int* locks, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (unsigned long long waiting = __ballot(1); waiting; waiting &= waiting - 1) {
        if (int(threadIdx.x % warpSize) != __ffsll(waiting) - 1) continue;
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
}
