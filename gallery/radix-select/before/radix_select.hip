// Alternating two buffers saves a barrier per digit. But publish overwrites what threads read from the first buffer.
#include <hip/hip_runtime.h>

__device__ unsigned publish(unsigned* shared, const unsigned* row, int columns, unsigned mask, unsigned wanted) {
    if (threadIdx.x < 2) shared[threadIdx.x] = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        if ((row[c] & mask) == wanted) shared[0] = 1, shared[1] = row[c];
    __syncthreads();
    return shared[1];
}

__device__ void count(unsigned* shared, unsigned (&counts)[4], const unsigned* row, int columns, unsigned mask,
                      unsigned wanted, int shift) {
    if (threadIdx.x < 4) shared[threadIdx.x] = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        if ((row[c] & mask) == wanted) atomicAdd(&shared[row[c] >> shift & 3], 1u);
    __syncthreads();
    for (int digit = 0; digit < 4; ++digit) counts[digit] = shared[digit];
}

extern "C" __global__ void kth(const unsigned* x, unsigned* out, int columns, unsigned k) {
    __shared__ unsigned shared[2][4];
    const unsigned* row = x + blockIdx.x * columns;
    unsigned mask = 0, wanted = 0, counts[4];
    int buffer = 0;
    for (int shift = 30; shift >= 0; shift -= 2, buffer ^= 1) {
        count(shared[buffer], counts, row, columns, mask, wanted, shift);
        unsigned digit = 0;
        while (k >= counts[digit]) k -= counts[digit++];
        mask |= 3u << shift;
        wanted |= digit << shift;
        if (counts[digit] == 1) {
            wanted = publish(shared[0], row, columns, mask, wanted);
            break;
        }
    }
    if (threadIdx.x == 0) out[blockIdx.x] = wanted;
}
