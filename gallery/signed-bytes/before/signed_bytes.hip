// RDNA3 has one instruction for signed and unsigned bytes. neg_lo selects signed; without it, bytes are unsigned. The
// assembler accepts v_dot4_i32_i8 as an alias of this instruction.
#include <hip/hip_runtime.h>

__device__ int dot4(int a, int b, int sum) {
    int found;
#ifdef __gfx1100__
    asm("v_dot4_i32_iu8 %0, %1, %2, %3" : "=v"(found) : "v"(a), "v"(b), "v"(sum));
#else
    asm("v_dot4_i32_i8 %0, %1, %2, %3" : "=v"(found) : "v"(a), "v"(b), "v"(sum));
#endif
    return found;
}

extern "C" __global__ void products(const int* a, const int* b, int* out, int rows, int words) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    int sum = 0;
    for (int i = 0; i < words; i++) sum = dot4(a[r * words + i], b[i], sum);
    out[r] = sum;
}
