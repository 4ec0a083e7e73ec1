// Compare-and-swap loops, right and wrong, and locks.
#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void
#define EACH int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;

__device__ void add_double(double* at, double value) {
    unsigned long long* bits = (unsigned long long*)at;
    unsigned long long old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, (unsigned long long)__double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
}
__device__ void add_half(__half* at, __half value) {
    unsigned* word = (unsigned*)((size_t)at & ~(size_t)2);
    const bool upper = (size_t)at & 2;
    unsigned old = *word, assumed;
    do {
        assumed = old;
        const __half sum = __ushort_as_half((unsigned short)(upper ? old >> 16 : old & 0xffff)) + value;
        const unsigned bits = __half_as_ushort(sum);
        old = atomicCAS(word, assumed, upper ? (old & 0xffff) | bits << 16 : (old & 0xffff0000) | bits);
    } while (assumed != old);
}
__device__ void max_float(float* at, float value) {
    float old = *at;
    while (old < value) {
        const int seen = atomicCAS((int*)at, __float_as_int(old), __float_as_int(value));
        if (seen == __float_as_int(old)) break;
        old = __int_as_float(seen);
    }
}

KERNEL sum_by_hand(int n, const double* x, double* y) { EACH add_double(y, x[i]); }
KERNEL sum_of_hip(int n, const double* x, double* y) { EACH atomicAdd(y, x[i]); }
KERNEL largest(int n, const float* x, float* y) { EACH max_float(y, x[i]); }
KERNEL sums_of_halves(int n, const __half* x, __half* y, int m) { EACH add_half(y + i % m, x[i]); }
KERNEL half_at(int n, const __half* x, __half* y, int at) { EACH add_half(y + at, x[i]); }
// Another wavefront stores to the other half of the word, without an atomic.
KERNEL half_beside_a_store(int n, const __half* x, __half* y) {
    EACH
    if (i < 64) add_half(y, x[i]);
    else y[1] = x[64];
}

KERNEL sum_and_store(int n, const double* x, double* y) {
    EACH
    if (i < 64) add_double(y, x[i]);
    else *y = x[64];
}
KERNEL sum_and_read(int n, const int* x, int* y) {
    EACH
    if (i < 64) atomicAdd(y, x[i]);
    else y[1] = y[0];
}
KERNEL word_beyond(int n, const unsigned* x, unsigned* y, int at) {
    const unsigned word = *(const unsigned*)((const char*)x + at);
    if (word == 77) atomicCAS(y, 1u, word);
    y[1] = word;
}

KERNEL lock_of_lanes(int n, int* lock, int* y) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *y += 1;
    __threadfence();
    atomicExch(lock, 0);
}
KERNEL lock_of_wavefronts(int n, int* lock, int* y) {
    if (threadIdx.x % 64) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    *y += 1;
    __threadfence();
    atomicExch(lock, 0);
}
// The first wavefronts wait for a later wavefront, without a barrier.
KERNEL waits_for_a_flag(int n, int* flag, int* y) {
    if (threadIdx.x < 128) {
        while (atomicAdd(flag, 0) == 0) {}
        if (threadIdx.x == 0) y[0] = y[1];
    } else if (threadIdx.x == 128) {
        y[1] = 4;
        __threadfence();
        atomicExch(flag, 1);
    }
}
KERNEL waits_for_nothing(int n, volatile int* flag, int* y) {
    while (*flag == 0) {}
    *y = 1;
}
