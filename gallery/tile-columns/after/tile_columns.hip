// A tile belongs to 32 lanes, independent of the width of a wavefront.
#include <hip/hip_runtime.h>

constexpr int LANES = 32, VALUES = 8, TILE = LANES * VALUES;

extern "C" __global__ void add(const float* x, const float* y, float* out, int rows, int columns) {
    const int lane = threadIdx.x % LANES, row = blockIdx.y * (blockDim.x / LANES) + threadIdx.x / LANES;
    if (row >= rows) return;
    const int first = row * columns + blockIdx.x * TILE + lane * VALUES;
    for (int i = first; i < first + VALUES; ++i) out[i] = x[i] + y[i];
}
