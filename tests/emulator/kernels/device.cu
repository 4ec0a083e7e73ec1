// Device code other than arithmetic: it asserts, traps, prints, reads clocks, tables and variables, and calls
// through pointers. `i` is the thread, `n` the number of threads.
#include <cassert>
#include <cstdio>

#include <cooperative_groups.h>

#define KERNEL extern "C" __global__ void
namespace cg = cooperative_groups;
#define EACH int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;

KERNEL asserts(int n, const int* x, int* y) {
    EACH
    assert(x[i] >= 0 && "negative");
    y[i] = x[i];
}
KERNEL traps(int n, const int* x, int* y) {
    EACH
    if (x[i] < 0) __builtin_trap();
    y[i] = x[i];
}
KERNEL aborts(int n, const int* x, int* y) {
    EACH
    if (x[i] < 0) abort();
    y[i] = x[i];
}
KERNEL traps_either_way(int n, const int* x, int* y) {
    if (n > 0) {
        y[0] = 1;
        __builtin_trap();
    } else {
        y[1] = 1;
        __builtin_trap();
    }
}

KERNEL prints(int n, const int* x, int* y) {
    EACH
    if (i % 64 == 5) printf("%d of %s: %.3f %5.1e|%-6d|%06x|%c%%\n", i, "many", x[i] * 0.5, 1e10, -x[i], 255, 'z');
    if (i == 70) printf("%lld %llu %zx %hd %p\n", -(1ll << 40), ~0ull, size_t(1) << 36, short(-2), (void*)0x1234);
    if (i == 71) printf("%*d|%.*f|nothing else\n", 7, 42, 2, 3.14159);
    y[i] = x[i];
}
KERNEL prints_a_lot(int n, const int* x, int* y) {
    EACH
    printf("thread %d has %d\n", i, x[i]);
    y[i] = x[i];
}

KERNEL clocks(int n, const int* x, long long* y) {
    if (threadIdx.x) return;
    y[0] = clock64();
    for (int k = 0; k < n; k++) y[1] += x[k];
    y[1] = clock64();
    y[2] = wall_clock64();
    y[3] = clock();
}

__constant__ float scale[4] = {1, 10, 100, 1000};
__constant__ float given[4];
__device__ int counter;
__device__ int three[3] = {5, 6, 7};
__device__ int* second = &three[1];

KERNEL tables(int n, const int* x, float* y) {
    EACH
    y[i] = x[i] * scale[i & 3] + given[i & 3] + scale[3];
}
KERNEL variables(int n, const int* x, int* y) {
    EACH
    if (i == 0) {
        counter += 1;
        y[0] = counter;
        y[1] = *second;
        second = &three[2];
    }
}

extern __shared__ int room[];
KERNEL reversed_in_room(int n, const int* x, int* y) {
    room[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = room[n - 1 - threadIdx.x];
}

typedef int (*Function)(int);
__device__ __noinline__ int doubled(int x) { return 2 * x; }
__device__ __noinline__ int squared(int x) { return x * x; }
__device__ __noinline__ int negated(int x) { return -x; }
__device__ Function functions[] = {doubled, squared, negated};

KERNEL through_a_table(int n, const int* x, int* y) {
    EACH
    y[i] = functions[i % 3](x[i]);
}
KERNEL through_an_argument(int n, const int* x, int* y, Function function) {
    EACH
    y[i] = function(x[i]);
}
struct Shape {
    __device__ virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    __device__ explicit Square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
};
struct Strip : Shape {
    int length;
    __device__ explicit Strip(int length) : length(length) {}
    __device__ int area() const override { return 3 * length; }
};
KERNEL through_a_class(int n, const int* x, int* y) {
    EACH
    Square square(x[i]);
    Strip strip(x[i]);
    const Shape* shape = i & 1 ? static_cast<const Shape*>(&square) : &strip;
    y[i] = shape->area();
}
// Groups of HIP's headers: a block, tiles of 8 and 32 threads, and the active threads.
KERNEL groups(int n, const int* x, int* y) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    auto small = cg::tiled_partition<8>(block);
    int sum = x[block.thread_rank()];
    for (int offset = 16; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
    tile.sync();
    y[block.thread_rank()] = tile.thread_rank() == 0 ? sum : small.shfl(x[block.thread_rank()], 3);
    block.sync();
    if (block.thread_rank() == 0) y[n] = y[32] + block.size() + small.size();
}
KERNEL coalesced(int n, const int* x, int* y) {
    EACH
    y[i] = -1;
    if (x[i] % 3 == 0) {
        auto group = cg::coalesced_threads();
        y[i] = group.thread_rank() + 100 * group.size() + 10000 * group.shfl(i, 0);
    }
}

KERNEL allocates(int n, const int* x, int* y) {
    EACH
    int* own = (int*)malloc(sizeof(int) * 4);
    own[i & 3] = x[i];
    y[i] = own[i & 3];
    free(own);
}
template <int (*F)(int)> __global__ void with_a_function(int n, const int* x, int* y) { EACH y[i] = F(x[i]); }
template __global__ void with_a_function<doubled>(int, const int*, int*);
