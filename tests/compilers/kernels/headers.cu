// Functions of the device headers other than mathematics: shuffles, votes, atomics and bit operations.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// out[k * blockDim.x + t] is the result of shuffle k in thread t.
#define EXCHANGE(name, T)                                                                     \
    extern "C" __global__ void exchange_##name(const T* x, T* out) {                          \
        const T v = x[threadIdx.x];                                                           \
        T got[9];                                                                             \
        got[0] = __shfl_sync(0xffffffffu, v, 35, 32);                                         \
        got[1] = __shfl_sync(0xffffffff, v, 3, 8);                                            \
        got[2] = __shfl_up_sync(0xffffffff, v, 5, 32);                                        \
        got[3] = __shfl_up_sync(0xffffffff, v, 1, 4);                                         \
        got[4] = __shfl_down_sync(0xffffffff, v, 7, 32);                                      \
        got[5] = __shfl_down_sync(~0u, v, 3, 16);                                             \
        got[6] = __shfl_xor_sync(0xffffffff, v, 16, 32);                                      \
        got[7] = __shfl_xor_sync(-1, v, 5, 8);                                                \
        got[8] = __shfl_xor_sync(0xffffffffu, v, 12, 8);                                      \
        for (int k = 0; k < 9; ++k) out[k * blockDim.x + threadIdx.x] = got[k];               \
    }
EXCHANGE(u8, unsigned char)
EXCHANGE(i32, int)
EXCHANGE(u64, unsigned long long)
EXCHANGE(f16, __half)
EXCHANGE(bf16, __nv_bfloat16)
EXCHANGE(f32, float)
EXCHANGE(f64, double)

// Votes of a wavefront in a branch that only some lanes take.
extern "C" __global__ void votes(const int* x, unsigned long long* out) {
    const int v = x[threadIdx.x];
    if (v == 0) return;
    unsigned long long* to = out + 6 * threadIdx.x;
    to[0] = __activemask();
    to[1] = __ballot(v > 0);
    to[2] = __any(v > 100);
    to[3] = __any(v > 0);
    to[4] = __all(v > 0);
    to[5] = __all(v > -100);
    if (threadIdx.x == 0) out[6 * blockDim.x] = warpSize;
}

// Every thread of the grid contributes to every result.
#define ATOMICS(name, T)                                                               \
    extern "C" __global__ void atomics_##name(const T* x, T* out) {                    \
        const T v = x[blockIdx.x * blockDim.x + threadIdx.x];                          \
        atomicAdd(&out[0], v);                                                         \
        atomicSub(&out[1], v);                                                         \
        atomicMin(&out[2], v);                                                         \
        atomicMax(&out[3], v);                                                         \
        if (atomicExch(&out[4], v) == v) atomicAdd(&out[5], (T)1);                     \
    }
ATOMICS(i32, int)
ATOMICS(u32, unsigned)
ATOMICS(u64, unsigned long long)
ATOMICS(f32, float)
ATOMICS(f64, double)

#define BITWISE(name, T)                                                               \
    extern "C" __global__ void bitwise_##name(const T* x, T* out) {                    \
        const T v = x[blockIdx.x * blockDim.x + threadIdx.x];                          \
        atomicAnd(&out[0], v);                                                         \
        atomicOr(&out[1], v);                                                          \
        atomicXor(&out[2], v);                                                         \
        T seen = out[3], expected;                                                     \
        do {                                                                           \
            expected = seen;                                                           \
            seen = atomicCAS(&out[3], expected, expected + v);                         \
        } while (seen != expected);                                                    \
    }
BITWISE(i32, int)
BITWISE(u32, unsigned)
BITWISE(u64, unsigned long long)

extern "C" __global__ void bits(const unsigned long long* x, unsigned long long* out) {
    const unsigned long long v = __ldg(&x[threadIdx.x]);
    const unsigned low = unsigned(v);
    unsigned long long got[] = {(unsigned long long)__popc(low), (unsigned long long)__popcll(v),
                                (unsigned long long)__clz(int(low)), (unsigned long long)__clzll((long long)v),
                                (unsigned long long)__ffs(int(low)), (unsigned long long)__ffsll((long long)v),
                                __brev(low), __brevll(v)};
    for (int k = 0; k < 8; ++k) out[k * blockDim.x + threadIdx.x] = got[k];
}
