// Kernels that use the features of workgroups: LDS, barriers, lane exchanges, atomics, scratch memory, constants.
#define KERNEL extern "C" __global__ void

typedef unsigned u32;
typedef unsigned long long u64;

KERNEL block_sum(const float* x, float* out, int n) {
    __shared__ float part[256];
    part[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0.f;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
KERNEL reversed_by_lds(const double* x, double* out, int n) {
    extern __shared__ double all[];
    all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = all[n - 1 - threadIdx.x];
}
KERNEL without_barrier(const int* x, int* out) {
    __shared__ int all[1024];
    all[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}
KERNEL neighbour_in_place(int* x) {
    const int next = x[threadIdx.x + 1];
    x[threadIdx.x] = next;
}
KERNEL all_write_one_place(int* out, int scale) { out[0] = scale * threadIdx.x; }
KERNEL all_write_the_same(int* out, int scale) { out[0] = scale; }
KERNEL blocks_in_a_row(int* x) { x[blockIdx.x + 1] = x[blockIdx.x] + 1; }

/** The last block adds up the results of all blocks; the ticket orders them, not a barrier. */
KERNEL last_block_sums(const u32* x, u32* partial, u32* ticket, u32* out) {
    partial[blockIdx.x] = x[blockIdx.x] * 2;
    __threadfence();
    const u32 mine = __hip_atomic_fetch_add(ticket, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
    if (mine + 1 < gridDim.x) return;
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; ++i) sum += partial[i];
    *out = sum;
}
KERNEL divergent_lanes(const int* x, int* out) {
    __shared__ int all[256];
    all[threadIdx.x] = x[threadIdx.x];
    if (x[threadIdx.x] & 1) __syncthreads();
    out[threadIdx.x] = all[threadIdx.x];
}
KERNEL divergent_waves(const int* x, int* out) {
    if (threadIdx.x < 128) {
        out[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = x[threadIdx.x];
}
KERNEL early_exit(const int* x, int* out, int n) {
    __shared__ int all[256];
    if (threadIdx.x >= n) return;
    all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = all[n - 1 - threadIdx.x];
}
KERNEL unwritten_lds(const int* x, int* out) {
    __shared__ int all[256];
    if (threadIdx.x != 77) all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = all[255 - threadIdx.x];
}
KERNEL past_lds(const int* x, int* out, int n) {
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = dynamic[n - threadIdx.x];
}
__device__ __attribute__((noinline)) float sum_of(float* p, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += p[i];
    return sum;
}
KERNEL scratch(const int* index, float* out, int n) {
    float a[40];
    for (int i = 0; i < 40; i++) a[i] = i * threadIdx.x;
    a[index[threadIdx.x]] = 5;
    out[threadIdx.x] = sum_of(a, n) + a[index[threadIdx.x + 1]];
}
// A private array, through a pointer that may also point to other memory.
__device__ __noinline__ float element(const float* p, int k) { return p[k]; }
KERNEL outside_scratch(const int* index, float* out) {
    float a[40];
    for (int i = 0; i < 40; i++) a[(i + index[0]) % 40] = i;
    out[threadIdx.x] = element(a, index[threadIdx.x]);
}
KERNEL unwritten_scratch(const int* index, float* out) {
    volatile float a[40];
    for (int i = 0; i < 39; i++) a[i] = i;
    out[threadIdx.x] = a[index[threadIdx.x]];
}
// A private array that fits into registers, with a uniform index and with an index per thread.
KERNEL array_in_registers(const int* index, float* out) {
    float a[24];
    for (int i = 0; i < 24; i++) a[i] = 100 * threadIdx.x + i;
    for (int i = 0; i + index[0] < 24; i++) a[i] = a[i + index[0]];
    for (int k = 1; k < 4; k++) a[index[k]] += 0.5f;
    a[index[threadIdx.x]] = -1;
    double d[6];
    for (int i = 0; i < 6; i++) d[i] = a[i];
    for (int k = 1; k < 4; k++) d[index[k] % 6] += a[index[threadIdx.x + 1]];
    for (int i = 0; i < 24; i++) out[24 * threadIdx.x + i] = a[i] + (i < 6 ? d[i] : 0);
}
__constant__ float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int counter = 5;
KERNEL constants(const int* index, float* out) {
    const char* text = "constant data";
    out[threadIdx.x] = table[index[threadIdx.x]] + text[index[threadIdx.x]];
    if (threadIdx.x == 0) counter += 1;
}
KERNEL counted(int* out) { *out = counter; }
KERNEL overwrite_constant(int i) {
    u64 at = (u64)table;
    asm volatile("" : "+s"(at));  // hides the value from the compiler
    ((float*)at)[i] = 0;
}
KERNEL generic_pointer(int* x, int k, int* out) {
    __shared__ int shared[64];
    int own[8];
    for (int i = 0; i < 8; i++) own[i] = i * k;
    shared[threadIdx.x] = k;
    __syncthreads();
    int* p = k == 1 ? shared : k == 2 ? x : own;
    p[threadIdx.x & 7] += 7;
    __syncthreads();
    out[threadIdx.x] = p[(threadIdx.x + 1) & 7];
}

// --- atomics ---
#define EACH(op, p, v) __hip_atomic_##op(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
KERNEL atomics(int* i, u32* u, u64* l, float* f, double* d) {
    const int t = threadIdx.x;
    EACH(fetch_add, i, t), EACH(fetch_sub, i + 1, t), EACH(fetch_min, i + 2, -t), EACH(fetch_max, i + 3, t);
    EACH(fetch_and, u, ~(1u << (t & 31))), EACH(fetch_or, u + 1, 1u << (t & 31)), EACH(fetch_xor, u + 2, t);
    EACH(fetch_min, u + 3, (u32)t), EACH(fetch_max, u + 4, (u32)t);
    EACH(fetch_add, l, 1ull << 33), EACH(fetch_max, l + 1, (u64)t << 40);
    EACH(fetch_add, f, 0.5f), EACH(fetch_add, d, 0.25);
    u[8 + EACH(fetch_add, u + 5, 1u)] = 1;  // tickets: each place is taken once
}
KERNEL atomics_in_lds(const u32* x, u32* out) {
    __shared__ u32 sum, largest, swaps;
    __shared__ float total;
    __shared__ u64 wide;
    if (threadIdx.x == 0) sum = 0, largest = 0, swaps = 0, total = 0, wide = 0;
    __syncthreads();
    __hip_atomic_fetch_add(&sum, x[threadIdx.x], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_max(&largest, x[threadIdx.x], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_add(&total, 1.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_add(&wide, (u64)x[threadIdx.x] << 32, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    for (u32 old = 0; !__hip_atomic_compare_exchange_strong(&swaps, &old, old + 3, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                            __HIP_MEMORY_SCOPE_WORKGROUP);) {
    }
    __syncthreads();
    if (threadIdx.x == 0) out[0] = sum, out[1] = largest, out[2] = total, out[3] = swaps, out[4] = wide >> 32;
}

// --- exchanges between lanes ---
KERNEL bpermute(const int* x, int* out) {
    const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    out[threadIdx.x] = __builtin_amdgcn_ds_bpermute(4 * (lane ^ 5), x[threadIdx.x]);
}
KERNEL bpermute_over_32(const int* x, int* out) {
    const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    out[threadIdx.x] = __builtin_amdgcn_ds_bpermute(4 * (lane ^ 32), x[threadIdx.x]);
}
KERNEL row_shift(const int* x, int* out) {
    out[threadIdx.x] = __builtin_amdgcn_update_dpp(-1, x[threadIdx.x], 0x111, 0xf, 0xf, false);
}
KERNEL swap_16(const int* x, int* out) { out[threadIdx.x] = __builtin_amdgcn_ds_swizzle(x[threadIdx.x], 0x401f); }
KERNEL swizzles(const int* x, int* out) {
    const int v = x[threadIdx.x], n = blockDim.x;
    out += threadIdx.x;
    out[0 * n] = __builtin_amdgcn_ds_swizzle(v, 0x8000 | 0x4e);            // quads 2 3 0 1
    out[1 * n] = __builtin_amdgcn_ds_swizzle(v, 0x1f | 7 << 10);           // reversed eights
    out[2 * n] = __builtin_amdgcn_ds_swizzle(v, (0x1f & ~7) | 3 << 5);     // lane 3 of eight to all
    out[3 * n] = __builtin_amdgcn_ds_swizzle(v, 0x15 | 0x02 << 5 | 0x09 << 10);  // any bits
    out[4 * n] = __builtin_amdgcn_ds_permute(4 * (threadIdx.x ^ 3), v);
    int a = v, b = -v;
    asm("v_swap_b32 %0, %1" : "+v"(a), "+v"(b));
    out[5 * n] = a - 3 * b;
}
/** Reversed rows of 16, exchanged and reversed rows; inactive lanes keep or give 0; exchanged halves of 64. */
KERNEL rows(const int* x, int* out) {
    const int v = x[threadIdx.x], n = blockDim.x;
    out += threadIdx.x;
    out[0] = out[n] = out[2 * n] = out[3 * n] = -1;
#if defined(__gfx1030__) || defined(__gfx1100__) || defined(__gfx1201__)
    out[0] = __builtin_amdgcn_permlane16(-2, v, 0x89abcdef, 0x01234567, false, false);
    out[n] = __builtin_amdgcn_permlanex16(-2, v, 0x89abcdef, 0x01234567, false, false);
    if (threadIdx.x & 1) {
        out[2 * n] = __builtin_amdgcn_permlane16(-2, v, 0x89abcdef, 0x01234567, false, false);
        out[3 * n] = __builtin_amdgcn_permlane16(-2, v, 0x89abcdef, 0x01234567, false, true);
    }
#endif
}
KERNEL ballot(const int* x, u64* out) { out[threadIdx.x] = __builtin_amdgcn_ballot_w64(x[threadIdx.x] & 1); }
KERNEL first_active(const int* x, int* out) {
    out[threadIdx.x] = -1;
    if (x[threadIdx.x] & 1) out[threadIdx.x] = __builtin_amdgcn_readfirstlane(x[threadIdx.x]);
}
/** AMD's header ends the kernel if the mask is not the active one. Of 64 lanes, the bits of the first 32 are counted. */
KERNEL before(const int* x, int* out) {
    unsigned bits = __ballot_sync(__activemask(), x[threadIdx.x] & 1) & ((1 << (threadIdx.x & 31)) - 1);
    out[threadIdx.x] = __popc(bits);
}
/** The barriers that reduce a predicate of all threads: AMD's device library has one function for each. */
KERNEL block_votes(const int* x, int* out) {
    const int odd = x[threadIdx.x] & 1;
    out[3 * threadIdx.x] = __syncthreads_count(odd);
    out[3 * threadIdx.x + 1] = __syncthreads_and(odd) != 0;
    out[3 * threadIdx.x + 2] = __syncthreads_or(odd) != 0;
}
/** Records the order of the wavefronts. */
KERNEL order_of_waves(int* out) {
    const int ticket = __hip_atomic_fetch_add(out, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    out[1 + threadIdx.x] = ticket;
}

/** Reads what the thread with the other number writes afterwards, in LDS or in global memory. */
KERNEL read_too_early(int* out, int in_lds, int other) {
    __shared__ int all[1024];
    volatile int* const p = in_lds ? all : out;
    const int early = p[threadIdx.x ^ other];
    p[threadIdx.x] = early + 1;
}
