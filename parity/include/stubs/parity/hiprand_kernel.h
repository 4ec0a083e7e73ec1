// hipRAND's device functions. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) and
// Sobol sequences are exact. Other generators are Marsaglia's xorwow with the subsequence mixed into the seed: random,
// reproducible, different in each stream, but with other numbers than an installed hipRAND.
#pragma once

#include <hip/hip_runtime.h>

#include "libraries.h"

struct hiprandStatePhilox4_32_10 {
  unsigned int key[2], counter[4], output[4];
  unsigned int used;
};
struct hiprandStateXORWOW {
  unsigned int d, x[5];
};
typedef hiprandStatePhilox4_32_10 hiprandStatePhilox4_32_10_t;
typedef hiprandStateXORWOW hiprandStateXORWOW_t, hiprandState, hiprandState_t, hiprandStateMRG32k3a, hiprandStateMRG32k3a_t;

namespace parity_stub {
inline __host__ __device__ void philox(hiprandStatePhilox4_32_10& s) {
  unsigned int c0 = s.counter[0], c1 = s.counter[1], c2 = s.counter[2], c3 = s.counter[3], k0 = s.key[0], k1 = s.key[1];
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
    const unsigned int high_a = static_cast<unsigned int>(a >> 32), high_b = static_cast<unsigned int>(b >> 32);
    c0 = high_b ^ c1 ^ k0;
    c2 = high_a ^ c3 ^ k1;
    c1 = static_cast<unsigned int>(b);
    c3 = static_cast<unsigned int>(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  s.output[0] = c0; s.output[1] = c1; s.output[2] = c2; s.output[3] = c3;
}
inline __host__ __device__ void advance(hiprandStatePhilox4_32_10& s) {
  for (int i = 0; i < 4 && ++s.counter[i] == 0; ++i) {}
}
inline __host__ __device__ unsigned long long mixed(unsigned long long z) {  // splitmix64
  z += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
}  // namespace parity_stub

inline __host__ __device__ void hiprand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, hiprandStatePhilox4_32_10* s) {
  s->key[0] = static_cast<unsigned int>(seed);
  s->key[1] = static_cast<unsigned int>(seed >> 32);
  const unsigned long long block = offset / 4;
  s->counter[0] = static_cast<unsigned int>(block);
  s->counter[1] = static_cast<unsigned int>(block >> 32);
  s->counter[2] = static_cast<unsigned int>(subsequence);
  s->counter[3] = static_cast<unsigned int>(subsequence >> 32);
  s->used = offset % 4;
  parity_stub::philox(*s);
}
inline __host__ __device__ unsigned int hiprand(hiprandStatePhilox4_32_10* s) {
  const unsigned int value = s->output[s->used++];
  if (s->used == 4) {
    s->used = 0;
    parity_stub::advance(*s);
    parity_stub::philox(*s);
  }
  return value;
}
inline __host__ __device__ unsigned int hiprand(hiprandStateXORWOW* s) {
  const unsigned int t = s->x[0] ^ (s->x[0] >> 2);
  for (int i = 0; i < 4; ++i) s->x[i] = s->x[i + 1];
  s->x[4] = (s->x[4] ^ (s->x[4] << 4)) ^ (t ^ (t << 1));
  s->d += 362437;
  return s->d + s->x[4];
}
inline __host__ __device__ void hiprand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, hiprandStateXORWOW* s) {
  unsigned long long z = parity_stub::mixed(seed) ^ (subsequence * 0xD1342543DE82EF95ull);
  for (int i = 0; i < 5; ++i) s->x[i] = static_cast<unsigned int>((z = parity_stub::mixed(z)) >> 16) | 1u;
  s->d = static_cast<unsigned int>(parity_stub::mixed(z));
  for (unsigned long long i = 0; i < offset % 4096; ++i) hiprand(s);
}
template <typename State> __host__ __device__ void skipahead(unsigned long long n, State* s) { for (; n; --n) hiprand(s); }

// Uniform in (0, 1], as hipRAND documents it.
template <typename State> __host__ __device__ float hiprand_uniform(State* s) { return 2.3283064e-10f + hiprand(s) * 2.3283064e-10f; }
template <typename State> __host__ __device__ double hiprand_uniform_double(State* s) {
  const unsigned long long low = hiprand(s), high = hiprand(s);
  return 1.1102230246251565e-16 + ((low ^ (high << 21)) & ((1ull << 53) - 1)) * 1.1102230246251565e-16;
}
template <typename State> __host__ __device__ float2 hiprand_normal2(State* s) {
  const float radius = sqrtf(-2.0f * logf(hiprand_uniform(s))), angle = 6.2831853f * hiprand_uniform(s);
  return make_float2(radius * sinf(angle), radius * cosf(angle));
}
template <typename State> __host__ __device__ float hiprand_normal(State* s) { return hiprand_normal2(s).x; }
template <typename State> __host__ __device__ double2 hiprand_normal2_double(State* s) {
  const double radius = sqrt(-2.0 * log(hiprand_uniform_double(s))), angle = 6.283185307179586 * hiprand_uniform_double(s);
  return make_double2(radius * sin(angle), radius * cos(angle));
}
template <typename State> __host__ __device__ double hiprand_normal_double(State* s) { return hiprand_normal2_double(s).x; }
template <typename State>
__host__ __device__ float hiprand_log_normal(State* s, float mean, float deviation) { return expf(mean + deviation * hiprand_normal(s)); }
inline __host__ __device__ uint4 hiprand4(hiprandStatePhilox4_32_10* s) {
  const unsigned int a = hiprand(s), b = hiprand(s), c = hiprand(s), d = hiprand(s);
  return make_uint4(a, b, c, d);
}
inline __host__ __device__ float4 hiprand_uniform4(hiprandStatePhilox4_32_10* s) {
  const float a = hiprand_uniform(s), b = hiprand_uniform(s), c = hiprand_uniform(s), d = hiprand_uniform(s);
  return make_float4(a, b, c, d);
}
inline __host__ __device__ float4 hiprand_normal4(hiprandStatePhilox4_32_10* s) {
  const float2 a = hiprand_normal2(s), b = hiprand_normal2(s);
  return make_float4(a.x, a.y, b.x, b.y);
}
template <typename State>
__host__ __device__ double hiprand_log_normal_double(State* s, double mean, double deviation) { return exp(mean + deviation * hiprand_normal_double(s)); }
template <typename State> __host__ __device__ float2 hiprand_log_normal2(State* s, float mean, float deviation) {
  const float2 n = hiprand_normal2(s);
  return make_float2(expf(mean + deviation * n.x), expf(mean + deviation * n.y));
}
template <typename State> __host__ __device__ double2 hiprand_log_normal2_double(State* s, double mean, double deviation) {
  const double2 n = hiprand_normal2_double(s);
  return make_double2(exp(mean + deviation * n.x), exp(mean + deviation * n.y));
}
inline __host__ __device__ double2 hiprand_uniform2_double(hiprandStatePhilox4_32_10* s) {
  const double a = hiprand_uniform_double(s), b = hiprand_uniform_double(s);
  return make_double2(a, b);
}
inline __host__ __device__ float4 hiprand_log_normal4(hiprandStatePhilox4_32_10* s, float mean, float deviation) {
  const float2 a = hiprand_log_normal2(s, mean, deviation), b = hiprand_log_normal2(s, mean, deviation);
  return make_float4(a.x, a.y, b.x, b.y);
}
// Knuth's product of uniform numbers. For large means, uses the normal approximation instead.
template <typename State> __host__ __device__ unsigned int hiprand_poisson(State* s, double mean) {
  if (mean > 64.0) {
    const double value = mean + sqrt(mean) * hiprand_normal_double(s) + 0.5;
    return value > 0.0 ? static_cast<unsigned int>(value) : 0u;
  }
  unsigned int count = 0;
  for (double left = exp(-mean), product = hiprand_uniform_double(s); product > left; ++count) product *= hiprand_uniform_double(s);
  return count;
}

// Sobol sequences in Gray code order, exact for the given direction vectors.
namespace parity_stub {
template <typename Word> struct Sobol {
  Word direction[8 * sizeof(Word)], x, place;
};
template <typename Word> __host__ __device__ void start(Sobol<Word>* s, const Word* direction, Word scramble, unsigned long long offset) {
  for (unsigned int i = 0; i < 8 * sizeof(Word); ++i) s->direction[i] = direction[i];
  s->place = static_cast<Word>(offset);
  s->x = scramble;
  const Word gray = s->place ^ (s->place >> 1);
  for (unsigned int i = 0; i < 8 * sizeof(Word); ++i) if (gray >> i & 1) s->x ^= direction[i];
}
template <typename Word> __host__ __device__ Word next(Sobol<Word>* s) {
  const Word value = s->x;
  unsigned int zero = 0;
  for (Word place = s->place++; place & 1; place >>= 1) ++zero;
  if (zero < 8 * sizeof(Word)) s->x ^= s->direction[zero];
  return value;
}
}  // namespace parity_stub

typedef unsigned int hiprandDirectionVectors32_t[32];
typedef unsigned long long hiprandDirectionVectors64_t[64];
#define PARITY_STUB_SOBOL(Word, State, Scrambled)                                                                           \
  struct State : parity_stub::Sobol<Word> {};                                                                              \
  struct Scrambled : parity_stub::Sobol<Word> {};                                                                          \
  inline __host__ __device__ void hiprand_init(const Word* direction, unsigned int offset, State* s) {                     \
    parity_stub::start<Word>(s, direction, 0, offset);                                                                     \
  }                                                                                                                        \
  inline __host__ __device__ void hiprand_init(const Word* direction, Word scramble, unsigned int offset, Scrambled* s) {  \
    parity_stub::start<Word>(s, direction, scramble, offset);                                                              \
  }                                                                                                                        \
  inline __host__ __device__ Word hiprand(parity_stub::Sobol<Word>* s) { return parity_stub::next(s); }
PARITY_STUB_SOBOL(unsigned int, hiprandStateSobol32, hiprandStateScrambledSobol32)
PARITY_STUB_SOBOL(unsigned long long, hiprandStateSobol64, hiprandStateScrambledSobol64)
#undef PARITY_STUB_SOBOL
typedef hiprandStateSobol32 hiprandStateSobol32_t;
typedef hiprandStateSobol64 hiprandStateSobol64_t;
typedef hiprandStateScrambledSobol32 hiprandStateScrambledSobol32_t;
typedef hiprandStateScrambledSobol64 hiprandStateScrambledSobol64_t;

// Uses one number of the sequence per result and inverts the normal distribution, as hipRAND does.
#define PARITY_STUB_QUASI(State, unit)                                                                                \
  inline __host__ __device__ float hiprand_uniform(State* s) {                                                         \
    return (static_cast<float>(hiprand(s) >> (8 * sizeof(s->x) - 23)) + 0.5f) * 1.1920929e-7f;                         \
  }                                                                                                                    \
  inline __host__ __device__ double hiprand_uniform_double(State* s) { return (hiprand(s) + 0.5) * unit; }             \
  inline __device__ float hiprand_normal(State* s) { return normcdfinvf(hiprand_uniform(s)); }                         \
  inline __device__ double hiprand_normal_double(State* s) { return normcdfinv(hiprand_uniform_double(s)); }
PARITY_STUB_QUASI(hiprandStateSobol32, 2.3283064365386963e-10)
PARITY_STUB_QUASI(hiprandStateScrambledSobol32, 2.3283064365386963e-10)
PARITY_STUB_QUASI(hiprandStateSobol64, 5.421010862427522e-20)
PARITY_STUB_QUASI(hiprandStateScrambledSobol64, 5.421010862427522e-20)
#undef PARITY_STUB_QUASI
