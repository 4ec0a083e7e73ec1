// Philox4x32-10, whose numbers are exact. The stub's other generators have different streams than hipRAND.
#include <curand_kernel.h>

extern "C" __global__ void philox(const float* in, float* out) {
  out += 64 * threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(1234ull + (int)in[0], threadIdx.x, 8, &state);
  for (int i = 0; i < 16; ++i) {
    const unsigned word = curand(&state);
    out[2 * i] = word & 0xffff; out[2 * i + 1] = word >> 16;
  }
  const uint4 words = curand4(&state);
  out[32] = words.x & 0xffff; out[33] = words.y & 0xffff; out[34] = words.z & 0xffff; out[35] = words.w & 0xffff;
  out[36] = curand_uniform(&state);
}
