#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
        }                                                                               \
    } while (0)

namespace ops {
template <typename T>
struct Vec2 {
    T x, y;
};
constexpr int kThreads = 256;
inline int ceil_div(int a, int b) { return (a + b - 1) / b; }
}  // namespace ops
