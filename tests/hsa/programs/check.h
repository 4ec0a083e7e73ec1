// What the programs share: CHECK and EXPECT end the program with a message.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

inline void check(hipError_t error, const char* call, int line) {
    if (error == hipSuccess) return;
    printf("line %d: %s: %s\n", line, call, hipGetErrorName(error));
    std::exit(2);
}
inline void expect(bool condition, const char* text, int line) {
    if (condition) return;
    printf("line %d: expected %s\n", line, text);
    std::exit(3);
}
#define CHECK(call) check((call), #call, __LINE__)
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static __global__ void twice(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}
