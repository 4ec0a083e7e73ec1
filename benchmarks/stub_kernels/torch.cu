// Number types and accessors of torch.
#include <torch/extension.h>

extern "C" __global__ void numbers(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  const c10::Half a(in[0]), b(in[1] / 4);
  const c10::BFloat16 c(in[2]), d(in[3] / 8);
  out[0] = a + b; out[1] = a * b; out[2] = a - b; out[3] = c + d; out[4] = c * d; out[5] = -c;
  const c10::complex<float> z(in[4], in[5]), w(in[6], in[7]);
  out[6] = (z * w).real(); out[7] = (z * w).imag(); out[8] = (z + w).real(); out[9] = (z - w).imag();
  out[10] = c10::Half(in[0] * 1234.567f); out[11] = c10::BFloat16(in[1] * 1234.567f);
}
