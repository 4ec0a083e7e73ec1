// Pairs, tuples, complex and random numbers, and algorithms that one thread executes.
#include <thrust/binary_search.h>
#include <thrust/complex.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/pair.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/tuple.h>

extern "C" __global__ void values(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  thrust::pair<float, int> p(in[0], 1);
  const auto q = thrust::make_pair(in[1], 2);
  out[0] = p < q; out[1] = p == q;
  const auto tuple = thrust::make_tuple(in[2], in[3], 7);
  out[2] = thrust::get<0>(tuple) + thrust::get<1>(tuple) * thrust::get<2>(tuple);
  const thrust::complex<float> z(in[4], in[5]), w(in[6], in[7]), product = z * w, sum = z + w - thrust::conj(z);
  out[3] = product.real(); out[4] = product.imag(); out[5] = sum.real(); out[6] = sum.imag(); out[7] = thrust::norm(z);
  thrust::minstd_rand engine(threadIdx.x + 1);
  engine.discard(3);
  out[8] = engine() % 1024; out[9] = engine() % 1024;
}
extern "C" __global__ void algorithms(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  out[0] = thrust::reduce(thrust::seq, in, in + 16, 0.0f);
  out[1] = thrust::reduce(thrust::seq, in, in + 16, -9.0f, thrust::maximum<float>());
  thrust::inclusive_scan(thrust::seq, in, in + 8, out + 2);
  for (int i = 0; i < 16; ++i) out[16 + i] = in[i];
  thrust::sort(thrust::seq, out + 16, out + 32);
  out[10] = thrust::lower_bound(thrust::seq, out + 16, out + 32, 2.0f) - (out + 16);
  out[11] = thrust::upper_bound(thrust::seq, out + 16, out + 32, 2.0f) - (out + 16);
}
