"""The stub of MXNet's mshadow: tensors in kernels and launches of operators."""

import numpy as np
from execution import program

SOURCE = """
#include <dmlc/parameter.h>
#include <mshadow/tensor.h>

namespace mshadow {
namespace cuda {
template <int bits, typename DType>
__global__ void Twice(Tensor<gpu, 3, DType> to, const Tensor<gpu, 2, DType> from) {
  const index_t row = blockIdx.x;
  for (index_t i = threadIdx.x; i < to.size(2); i += 1 << bits) to[1][row][i] = from[row][i] * 2;
}

template <typename DType>
void run(Tensor<gpu, 3, DType> to, Tensor<gpu, 2, DType> from) {
  CheckLaunchParam(dim3(to.size(1)), dim3(kBaseThreadNum), "Twice");
  Twice<kBaseThreadBits, DType><<<to.size(1), kBaseThreadNum, 0, Stream<gpu>::GetStream(to.stream_)>>>(to, from);
  MSHADOW_CUDA_POST_KERNEL_CHECK(Twice);
}
}  // namespace cuda
}  // namespace mshadow

namespace mxnet {
void Compute(int type, TBlob to, TBlob from) {
  MSHADOW_REAL_TYPE_SWITCH(type, DType, { mshadow::cuda::run<DType>(to.get<DType>(), from.get<DType>()); });
}
}  // namespace mxnet

template void mshadow::cuda::run<float>(mshadow::Tensor<gpu, 3, float>, mshadow::Tensor<gpu, 2, float>);

extern "C" __global__ void places(const int* n, int* out) {
  mshadow::Tensor<mshadow::gpu, 3, int> all(out, mshadow::Shape3(2, 4, 8), 16, nullptr);
  all[threadIdx.x / 32][threadIdx.x / 8 % 4][threadIdx.x % 8] = n[threadIdx.x];
  mshadow::half::half_t half = threadIdx.x;
  half += 0.5f;
  if (threadIdx.x == 3) all[1][3][14] = half.half_ + int(half * half);
  if (threadIdx.x == 0) all.FlatTo2D()[7][15] = all.MSize();
}
"""


def test_mshadow_stub_tensors_index_and_launch_kernels(tmp_path, cache):
    source = SOURCE.replace("mshadow::Tensor<gpu", "mshadow::Tensor<mshadow::gpu")
    kernels = program(tmp_path, source, "gfx1100", cache)
    assert kernels.built.translation.stubs == ("mshadow/tensor.h",)
    twice = kernels.built.code_object.symbol("mshadow::cuda::Twice<8, float>")
    assert [each.size for each in kernels.built.code_object.kernels[twice].args[:2]] == [32, 32]
    n = np.arange(64, dtype=np.int32)
    out = kernels.run("places", np.zeros((2, 4, 16), np.int32), n, block=64)
    assert np.array_equal(out[:, :, :8].ravel(), n)
    assert out[1, 3, 15] == 128 and out[1, 3, 14] == 0x4300 + 12 and not out[:, :, 8:14].any()
