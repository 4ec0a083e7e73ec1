"""The PyTorch stub: complex numbers, block reductions, Half, 8-bit floats and dispatch macros."""

import ml_dtypes
import numpy as np
import pytest

from parity.build.modules import build
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.model.code_object import spelled

SOURCE = """
#include <ATen/ATen.h>
#include <ATen/native/cuda/block_reduce.cuh>
#include <c10/util/complex.h>
#include <iostream>
#if TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 1)
#error "an old torch"
#endif

using number = c10::complex<float>;

extern "C" __global__ void functions(const number* in, number* out) {
  const number z = in[threadIdx.x], w = number(0.5f, -0.25f);
  out += 8 * threadIdx.x;
  out[0] = std::exp(z);
  out[1] = std::log(z);
  out[2] = std::sqrt(z);
  out[3] = std::pow(z, w);
  out[4] = std::sin(z);
  out[5] = std::cos(z);
  out[6] = number(std::arg(z), std::norm(z));
  out[7] = std::pow(z, 1.5f);
}
extern "C" __global__ void sums(const number* in, number* out) {
  __shared__ char memory[64 * sizeof(number)];
  number* shared = reinterpret_cast<number*>(memory);
  const number sum = at::native::cuda_utils::BlockReduceSum<number>(in[threadIdx.x], shared);
  __syncthreads();
  const float most = at::native::cuda_utils::BlockReduceMax(in[threadIdx.x].real(), reinterpret_cast<float*>(shared));
  if (threadIdx.x == 0) out[0] = sum;
  if (threadIdx.x == 0) out[1] = number(most, 0);
}
extern "C" __global__ void copies(const at::Half* in, at::Half* out) { out[threadIdx.x] = __ldg(in + threadIdx.x); }

// Sources defined this for CUDA before PyTorch had it.
__device__ at::Half __shfl_down(const at::Half x, const unsigned lanes) { return __shfl_down(float(x), lanes); }
extern "C" __global__ void moved(const at::Half* in, at::Half* out) {
  out[threadIdx.x] = __shfl_down(in[threadIdx.x], 1);
}

// Sources define this since PyTorch removed it.
template <typename T>
__host__ __device__ __forceinline__ T THCCeilDiv(T a, T b) { return (a + b - 1) / b; }

extern "C" __global__ void limits(const at::Half* in, float* out) {
  const at::Half x = in[threadIdx.x];
  out += 3 * threadIdx.x;
  out[0] = max(x, 0.1);
  out[1] = min(0.1, x);
  out[2] = THCCeilDiv(7, 2);
}
extern "C" __global__ void eights(const float* in, float* out) {
  const at::native::memory::aligned_vector<float, 1> one = at::native::memory::load_vector<1>(in, threadIdx.x);
  const c10::Float8_e4m3fn a = one.val[0];
  const auto b = static_cast<at::Float8_e5m2>(in[threadIdx.x]);
  out[2 * threadIdx.x] = a;
  out[2 * threadIdx.x + 1] = static_cast<float>(b);
}

at::Tensor old() { return at::empty({4}, at::CUDA(at::kInt)); }
void show(const at::Tensor& x) { std::cout << x.options() << x.dtype() << std::endl; }
void check(int major) { if (major < 8) throw c10::TypeError({__func__, __FILE__, uint32_t(__LINE__)}, c10::str("no")); }
"""
Z = np.array([1 + 2j, -3 + 0.5j, -0.25 - 4j, 2 - 1e-3j, -1e-3 + 1e-4j, 0.5j, 3, 1e-4 - 2j], np.complex64)


@pytest.fixture(scope="module", params=["gfx1100", "gfx90a"])
def launched(request, cache, tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch_stub")
    (folder / "numbers.cu").write_text(SOURCE)
    (built,) = build(folder, ["numbers"], [request.param], cache=cache)
    assert built.error is None, built.error
    assert not built.translation.left_out
    assert {"__ldg", "max", "min"} <= {need.name for need in built.changes.needs}
    device = AmdgpuDevice(cache=cache)

    def launch(kernel, given, size, threads):
        buffers = [device.allocate(given.nbytes, "in"), device.allocate(size, "out")]
        device.write(buffers[0], given)
        args = pack(built.code_object.kernels[kernel], buffers)
        device.launch(built.code_object, kernel, grid=(1, 1, 1), block=(threads, 1, 1), args=args)
        return device.read(buffers[1])

    return launch


@pytest.mark.thorough
def test_torch_stub_complex_functions_match_numpy(launched):
    found = launched("functions", Z, 64 * Z.size, Z.size).view(np.complex64).reshape(Z.size, 8)
    z = Z.astype(np.complex128)
    expected = [np.exp(z), np.log(z), np.sqrt(z), z ** (0.5 - 0.25j), np.sin(z), np.cos(z)]
    expected += [np.angle(z) + 1j * np.abs(z) ** 2, z**1.5]
    np.testing.assert_allclose(found, np.stack(expected, 1), rtol=3e-6)


def test_torch_stub_block_reductions_match_numpy(launched):
    given = (np.arange(256) % 17 - 8 + 1j * (np.arange(256) % 5)).astype(np.complex64)
    total, most = launched("sums", given, 16, given.size).view(np.complex64)
    assert (total, most) == (given.sum(), given.real.max())


def test_ldg_reads_torch_half(launched):
    given = np.arange(32, dtype=np.float16)
    assert launched("copies", given, given.nbytes, 32).view(np.float16).tolist() == given.tolist()


def test_half_shuffle_defined_by_source_is_used(launched):
    given = np.arange(32, dtype=np.float16)
    assert launched("moved", given, given.nbytes, 32).view(np.float16)[:31].tolist() == given[1:].tolist()


def test_torch_half_and_double_are_compared(launched):
    given = np.array([-1, 0.0999, 0.1, 2, np.inf], np.float16)
    found = launched("limits", given, 12 * given.size, given.size).view(np.float32).reshape(-1, 3)
    exact = given.astype(np.float64)
    expected = np.stack([np.maximum(exact, 0.1), np.minimum(exact, 0.1), np.full(given.size, 4.0)], 1)
    assert found.tolist() == expected.astype(np.float32).tolist()


def test_torch_stub_8_bit_floats_round_to_nearest(launched):
    codes = np.arange(256, dtype=np.uint8)
    exact = [codes.view(kind).astype(np.float32) for kind in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)]
    ties = [(each[:-1] + each[1:]) / 2 for each in exact]
    given = np.concatenate([*exact, *ties, [464, 464.1, 61440, 61439, 65535.9, 1e30, -1e30, 1e-9]]).astype(np.float32)
    given = np.concatenate([given, np.zeros(-given.size % 32, np.float32)])
    for part in given.reshape(-1, 32):
        found = launched("eights", part, 8 * part.size, part.size).view(np.float32).reshape(-1, 2).T
        for each, kind in zip(found, (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2), strict=True):
            np.testing.assert_array_equal(each, part.astype(kind).astype(np.float32))


DISPATCHED = """
#include <ATen/Dispatch_v2.h>
#include <c10/cuda/CUDAGuard.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/Dispatch.h>
#include <torch/headeronly/core/ScalarType.h>

extern "C" AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device_index, void** stream);
template <typename T, int n> __global__ void scaled(T* x) { x[threadIdx.x] *= T(n); }
template <typename T, bool up> __global__ void moved(T* x) { x[threadIdx.x] += T(up ? 1 : -1); }

using torch::stable::Tensor;
Tensor stable(const Tensor& x) {
  STD_TORCH_CHECK(x.is_contiguous() && x.is_cuda(), "x must be ", "contiguous");
  const torch::stable::accelerator::DeviceGuard guard(x.get_device_index());
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(x.get_device_index(), &stream));
  Tensor out = torch::stable::empty_like(x);
  THO_DISPATCH_SWITCH(x.scalar_type(), "scaled",
    THO_DISPATCH_CASE(torch::headeronly::ScalarType::Float, [&] {
      scaled<scalar_t, 3><<<1, 64, 0, static_cast<cudaStream_t>(stream)>>>(out.mutable_data_ptr<scalar_t>()); }));
  return out;
}
STABLE_TORCH_LIBRARY(mine, m) { m.def("stable(Tensor x) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(mine, CUDA, m) { m.impl("stable", TORCH_BOX(&stable)); }

void second(at::Tensor x, const pybind11::dict& settings) {
  if (settings.contains("off") && settings["off"].cast<bool>()) return;
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  AT_DISPATCH_V2(x.scalar_type(), "moved", AT_WRAP([&] { moved<scalar_t, true><<<1, 64>>>(x.data_ptr<scalar_t>()); }),
    AT_EXPAND(AT_FLOATING_TYPES), at::kLong);
}

void third(at::Tensor x) {
  if (::detail::scalar_type(x.scalar_type()) == at::kFloat) scaled<float, 5><<<1, 64>>>(x.data_ptr<float>());
}
"""


def test_torch_dispatch_macros_instantiate_kernels(cache, tmp_path):
    (tmp_path / "kernels.cu").write_text(DISPATCHED)
    (built,) = build(tmp_path, ["kernels"], ["gfx1100"], cache=cache)
    assert built.error is None, built.error
    assert not built.translation.left_out
    assert {(spelled(name) or (name,))[0] for name in built.entries} == {
        "scaled<float, 3>", "scaled<float, 5>", "moved<double, true>", "moved<float, true>", "moved<long, true>",
    }  # fmt: skip


NUMBERS = """
#include <ATen/ATen.h>
using namespace at;
template <typename scalar_t> __global__ void rounded(const scalar_t* x, int* out) {
  const scalar_t h = x[threadIdx.x];
  const int low = floor(h);
  out[threadIdx.x] = abs(low - 1) < 1 ? low : low + 1;
}
void launch(Tensor x, int* out) {
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "rounded", [&] {
    rounded<scalar_t><<<1, 32>>>(x.data_ptr<scalar_t>(), out);
  });
}
Tensor made(Tensor x) {
  return floor(x) + zeros({4}) + arange(4) + scalar_tensor(1.5) + full({4}, 2.0) + clamp(x, 0, 1);
}
"""


@pytest.mark.parametrize("target", ["gfx1100", "sm_90"])
def test_torch_functions_of_numbers_are_cudas_functions(cache, tmp_path, target, with_nvcc):
    (tmp_path / "numbers.cu").write_text(NUMBERS)
    (built,) = build(tmp_path, ["numbers"], [target], cache=cache)
    assert built.error is None, built.error
    assert not built.translation.left_out and len(built.entries) == 3
