// Kernels that measure the limits of a device.
#include <stddef.h>

struct alignas(16) Quad {
    unsigned words[4];
};

constexpr int UNROLL = 4;
constexpr int CHAINS = 8;

/** Does nothing: measures the overhead of a launch. */
extern "C" __global__ void nothing() {}

/** out = x. A block copies UNROLL * blockDim.x quads; each thread issues all its loads at once. */
extern "C" __global__ void copy(const Quad* x, Quad* out) {
    const size_t first = size_t(blockIdx.x) * blockDim.x * UNROLL + threadIdx.x;
    Quad quads[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) quads[k] = x[first + size_t(k) * blockDim.x];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) out[first + size_t(k) * blockDim.x] = quads[k];
}

/** CHAINS * rounds multiply-adds per thread, CHAINS of them independent of each other. */
template <class T>
__device__ __forceinline__ void multiply_add(unsigned rounds, T factor, T* out) {
    T chains[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; ++k) chains[k] = T(threadIdx.x + k);
    for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < CHAINS; ++k) chains[k] = chains[k] * factor + T(1);
    }
    T sum = T(0);
#pragma unroll
    for (int k = 0; k < CHAINS; ++k) sum += chains[k];
    if (sum == T(-1)) *out = sum;  // never true, but keeps the computation
}

extern "C" __global__ void fma_f32(const unsigned rounds, const float factor, float* out) {
    multiply_add(rounds, factor, out);
}
extern "C" __global__ void fma_f64(const unsigned rounds, const double factor, double* out) {
    multiply_add(rounds, factor, out);
}
