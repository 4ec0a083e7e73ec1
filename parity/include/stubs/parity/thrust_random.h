// Thrust's random number engines and distributions, which device code also uses, with the formulas of its source
// documentation. The normal distribution is inverted.
#pragma once

#include <hip/hip_runtime.h>
#include <parity/wrapped.h>

PARITY_WRAPPED_BEGIN
namespace thrust {
namespace random {

template <typename Word, Word A, Word C, Word M> struct linear_congruential_engine {
  typedef Word result_type;
  static constexpr Word multiplier = A, increment = C, modulus = M, min = C == 0, max = M - 1, default_seed = 1;
  __host__ __device__ explicit linear_congruential_engine(Word value = default_seed) { seed(value); }
  __host__ __device__ void seed(Word value = default_seed) { x = C % M == 0 && value % M == 0 ? 1 : value % M; }
  __host__ __device__ Word operator()() { return x = next(x, A, C); }
  __host__ __device__ void discard(unsigned long long n) {  // doubles the steps with every bit
    unsigned long long a = A, c = C;
    for (; n; n >>= 1) {
      if (n & 1) x = next(x, a, c);
      c = (a * c + c) % M;
      a = a * a % M;
    }
  }

 private:
  static __host__ __device__ Word next(unsigned long long x, unsigned long long a, unsigned long long c) {
    return static_cast<Word>((a * x + c) % M);
  }
  Word x;
};
typedef linear_congruential_engine<unsigned int, 16807, 0, 2147483647> minstd_rand0;
typedef linear_congruential_engine<unsigned int, 48271, 0, 2147483647> minstd_rand;
typedef minstd_rand default_random_engine;

template <typename Real = double> struct uniform_real_distribution {
  typedef Real result_type;
  __host__ __device__ explicit uniform_real_distribution(Real low = 0, Real high = 1) : low(low), high(high) {}
  template <typename Engine> __host__ __device__ Real operator()(Engine& engine) const {
    const Real unit = static_cast<Real>(engine() - Engine::min) / (Real(1) + static_cast<Real>(Engine::max - Engine::min));
    return unit * (high - low) + low;
  }
  __host__ __device__ Real a() const { return low; }
  __host__ __device__ Real b() const { return high; }

 private:
  Real low, high;
};
template <typename Integer = int> struct uniform_int_distribution {
  typedef Integer result_type;
  __host__ __device__ explicit uniform_int_distribution(Integer low = 0, Integer high = 2147483647) : low(low), high(high) {}
  template <typename Engine> __host__ __device__ Integer operator()(Engine& engine) const {
    return static_cast<Integer>(uniform_real_distribution<double>(low, static_cast<double>(high) + 1)(engine));
  }

 private:
  Integer low, high;
};
template <typename Real = double> struct normal_distribution {
  typedef Real result_type;
  __host__ __device__ explicit normal_distribution(Real mean = 0, Real deviation = 1) : mean(mean), deviation(deviation) {}
  template <typename Engine> __device__ Real operator()(Engine& engine) const {
    const double unit = (engine() - Engine::min + 0.5) / (1.0 + (Engine::max - Engine::min));
    return mean + deviation * static_cast<Real>(normcdfinv(unit));
  }

 private:
  Real mean, deviation;
};

}  // namespace random

using random::default_random_engine; using random::linear_congruential_engine; using random::minstd_rand; using random::minstd_rand0;
using random::normal_distribution; using random::uniform_int_distribution; using random::uniform_real_distribution;
}  // namespace thrust
PARITY_WRAPPED_END
