// Kernels whose workgroups wait for each other, for cooperative launches.
#define KERNEL extern "C" __global__ void
typedef unsigned u32;

/** Waits for all workgroups: threads of the first wavefront count them. */
static __device__ void all_arrive(u32* count, u32 groups) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(count, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        while (__hip_atomic_load(count, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < groups) __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
}
/** Reads values of the next workgroup, kept in memory, and own values, kept in LDS and in an array. */
KERNEL exchanged(const int* x, int* y, int* out, u32* count, int waits) {
    __shared__ int kept[256];
    int own[8];
    const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; ++k) own[k] = x[i] * k;
    kept[threadIdx.x] = x[i], y[i] = 2 * x[i];
    __syncthreads();
    if (waits) all_arrive(count, gridDim.x);
    out[i] = y[(i + blockDim.x) % n] + kept[blockDim.x - 1 - threadIdx.x] + own[x[i] & 7];
}
/** The first workgroup ends without having arrived. */
KERNEL missing(u32* count) {
    if (blockIdx.x) all_arrive(count, gridDim.x);
}
/** Waits for a while, by counting. */
KERNEL delayed(int* out) {
    for (int i = 0; i < 100; ++i) __builtin_amdgcn_s_sleep(1);
    out[blockIdx.x] = 1;
}
/** The last workgroup to take a ticket reads what all have written; all of its wavefronts may. */
KERNEL last_reverses(const int* x, int* y, int* out, u32* ticket) {
    __shared__ bool last;
    const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = __hip_atomic_fetch_add(ticket, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) == gridDim.x - 1;
    __syncthreads();
    if (last)
        for (int k = threadIdx.x; k < n; k += blockDim.x) out[k] = y[n - 1 - k];
}
/** Each workgroup publishes a number, and reads the number of the one before it. `loads`: 0 plain, 1 atomic. */
KERNEL published(int* numbers, int* out, int loads) {
    const int b = blockIdx.x;
    __hip_atomic_store(numbers + b, b + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    int* const before = numbers + (b ? b - 1 : gridDim.x - 1);
    out[b] = loads ? __hip_atomic_load(before, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) : *before;
}
#if __gfx90a__
/** The same with the barrier of the hardware; a second phase without a barrier is a race. */
KERNEL hardware_barrier(const int* x, int* y, int* out, int phases) {
    const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = x[i];
    for (int k = 0; k < phases; ++k) {
        y[i] = value;
        __syncthreads();
        if (threadIdx.x == 0 && k < 2) __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
        __syncthreads();
        value += y[(i + blockDim.x) % n];
        __syncthreads();
        if (threadIdx.x == 0 && k < 2) __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
        __syncthreads();
    }
    out[i] = value;
}
#endif
