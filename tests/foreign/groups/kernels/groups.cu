// Sums of rows by cooperative groups: a tile of 32 threads for each row, and the whole block for each of its parts.
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

template <typename Group>
__device__ int sum_of(const Group& group, int value) {
    for (int distance = group.size() / 2; distance > 0; distance /= 2) value += group.shfl_xor(value, distance);
    return value;
}

extern "C" __global__ void row_sums(const int* x, int* out, int rows, int columns) {
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<32>(block);
    const int row = block.group_index().x * (block.size() / 32) + block.thread_rank() / 32;
    int sum = 0;
    if (row < rows)
        for (int column = tile.thread_rank(); column < columns; column += tile.size()) sum += x[row * columns + column];
    sum = sum_of(tile, sum);
    if (row < rows && tile.thread_rank() == 0) out[row] = sum;
}

// The elements of each block of 128 in reverse, through shared memory; an index beyond it would be a mistake.
extern "C" __global__ void reversed(const int* x, int* out, int n) {
    __shared__ int kept[128];
    const cg::thread_block block = cg::this_thread_block();
    const int first = block.group_index().x * 128, t = block.thread_rank(), count = min(128, n - first);
    if (t < count) kept[t] = x[first + t];
    block.sync();
    const int from = count - 1 - t;
    if (t < count) {
        assert(from >= 0 && from < 128);
        out[first + t] = kept[from];
    }
    if (n < 0) printf("block %d has %d elements\n", int(block.group_index().x), count);
}

// What no host code launches is there as the declaration calls it.
namespace scaling {
template <typename T, int FACTOR>
__global__ void scaled(const T* x, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * FACTOR;
}
}  // namespace scaling
