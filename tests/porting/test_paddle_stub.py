"""The Paddle stub: a custom operator whose kernel uses Paddle's macros and number types."""

import numpy as np
from execution import program

SOURCE = """
#include "paddle/extension.h"

template <paddle::DataType D> struct Type;
template <> struct Type<paddle::DataType::FLOAT16> { using type = paddle::float16; };

template <typename T>
HOSTDEVICE inline T doubled(T x) { return x + x; }

extern "C" __global__ void twice(const phi::dtype::float16* x, Type<paddle::DataType::FLOAT16>::type* y) {
  y[threadIdx.x] = doubled(x[threadIdx.x]);
}
std::vector<paddle::Tensor> Twice(const paddle::Tensor& x) {
  auto y = paddle::empty_like(x);
  PD_DISPATCH_FLOATING_TYPES(x.type(), "twice", ([&] { twice<<<1, 32>>>(x.data<data_t>(), y.data<data_t>()); }));
  return {y};
}
PD_BUILD_OP(twice).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Twice));
"""


def test_paddle_stub_builds_custom_operator_unchanged(tmp_path, cache):
    kernels = program(tmp_path, SOURCE, "gfx1100", cache)
    x = np.arange(32, dtype=np.float16)
    assert (kernels.run("twice", np.zeros(32, np.float16), x, block=32) == 2 * x).all()
    assert kernels.built.translation.stubs == ("paddle/extension.h",)
