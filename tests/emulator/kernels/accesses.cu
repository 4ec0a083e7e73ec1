// A kernel that executes a list of accesses: wavefronts load and store numbers of 1 to 8 bytes, between barriers.
#define KERNEL extern "C" __global__ void

struct Access {
    int wavefront;  // -1: a barrier
    int kind, at, step, lanes;
};

__device__ __forceinline__ void execute(const Access* todo, int n, char* memory, unsigned long long* sums) {
    const int lane = threadIdx.x % warpSize, wavefront = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    unsigned long long sum = 0;
    for (int i = 0; i < n; i++) {
        const Access a = todo[i];
        if (a.wavefront < 0) __syncthreads();
        if (a.wavefront != wavefront || lane >= a.lanes) continue;
        char* at = memory + a.at + lane * a.step;
        const int value = 1 + 8 * i + wavefront;
        switch (a.kind) {
        case 0: sum += *(unsigned char*)at; break;
        case 1: sum += *(unsigned short*)at; break;
        case 2: sum += *(unsigned*)at; break;
        case 3: sum += *(unsigned long long*)at; break;
        case 4: *(unsigned char*)at = value; break;
        case 5: *(unsigned short*)at = value; break;
        case 6: *(unsigned*)at = value; break;
        case 7: *(unsigned long long*)at = value; break;
        }
    }
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
KERNEL in_memory(const Access* todo, int n, char* memory, unsigned long long* sums) { execute(todo, n, memory, sums); }
KERNEL in_lds(const Access* todo, int n, char*, unsigned long long* sums) {
    __shared__ unsigned long long all[256];  // bytes as in test_races.py
    for (int i = threadIdx.x; i < 256; i += blockDim.x) all[i] = 0;
    __syncthreads();
    execute(todo, n, (char*)all, sums);
}
