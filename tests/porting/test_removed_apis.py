"""Compatibility headers supply functions that CUDA has removed, with the same results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from parity.build.modules import build
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.ptx.device import PtxDevice
from parity.platform.cache import Cache

WARPS = """
__global__ void mixed(const float* x, float* out) {
  float v = x[threadIdx.x], pair = v + __shfl_xor(v, 1), first = __shfl(v, 0);
  out[threadIdx.x] = pair + 10 * first + 100 * __any(v > 1.0f) + 1000 * __all(v > 0.0f);
}
"""
VOTES = """
__global__ void votes(const float* x, unsigned* out) { out[threadIdx.x] = __ballot(x[threadIdx.x] > 1.0f); }
"""
GROUPS = """
#include <cooperative_groups/reduce.h>
__global__ void sums(const float* x, float* out) {
  out[threadIdx.x] = cooperative_groups::reduce(
      cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block()), x[threadIdx.x],
      cooperative_groups::plus<float>()) + __shfl(x[threadIdx.x], 0) + __any(x[threadIdx.x] > 1.0f);
}
"""
LIBRARIES = """
#include <cub/cub.cuh>
#include <thrust/functional.h>
struct twice : public thrust::unary_function<float, float> {
  __host__ __device__ result_type operator()(argument_type x) const { return 2 * x; }
};
__global__ void peaks(const float* x, float* out) {
  typedef cub::BlockReduce<float, 64> Reduce;
  __shared__ typename Reduce::TempStorage room[2];
  float most = Reduce(room[0]).Reduce(x[threadIdx.x], cub::Max());
  float all = Reduce(room[1]).Reduce(x[threadIdx.x], cub::Sum());
  if (threadIdx.x == 0) { out[0] = cub::max(twice()(most), 1.0f); out[1] = all; }
}
"""
CONSTEXPR = """
constexpr int blocks(int n) { return (n + 3) / 4; }
template <typename F> __global__ void each(F f, int* out) { out[threadIdx.x] = f(threadIdx.x) + blocks(threadIdx.x); }
void launch(int* out) { each<<<1, 8>>>([] __device__(int i) { return 10 * i; }, out); }
"""


@pytest.fixture
def compiled(tmp_path, with_nvcc):
    """Return a function that builds a source for CUDA; skip the test without nvcc."""

    def compile_it(text):
        (tmp_path / "k.cu").write_text(text)
        (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
        assert not built.error, built.error
        return built

    return compile_it


def launched(built, block, *arrays, before=()):
    """Run the only kernel in one block with the arguments ``before`` and the arrays; return the last array."""
    (kernel,) = built.code_object.kernels.values()
    device = PtxDevice(traced=True)
    buffers = [device.allocate(array.nbytes, f"b{i}") for i, array in enumerate(arrays)]
    for buffer, array in zip(buffers, arrays, strict=True):
        device.write(buffer, array)
    args = pack(kernel, [*before, *buffers])
    device.launch(built.code_object, kernel.name, grid=(1, 1, 1), block=(block, 1, 1), args=args)
    return device.read(buffers[-1]).view(arrays[-1].dtype)


def test_former_shuffles_use_threads_of_block(compiled):
    built = compiled(WARPS)
    lines = {each.name: each.line for each in built.changes.needs}
    assert lines == {"__shfl_xor": 3, "__shfl": 3, "__any": 4, "__all": 4}
    x = np.ones(48, np.float32)
    x[40] = 3
    # The second warp has 16 threads; its missing threads do not vote.
    wanted = [1012.0] * 32 + [1112.0] * 8 + [1114.0] * 2 + [1112.0] * 6
    assert launched(built, 48, x, np.zeros(48, np.float32)).tolist() == wanted


def test_former_votes_are_supplied_after_warning(compiled):
    built = compiled(VOTES)
    assert [each.name for each in built.changes.needs] == ["__ballot"]
    x = np.where(np.arange(32) % 3 == 0, 2, 0).astype(np.float32)
    assert set(launched(built, 32, x, np.zeros(32, np.uint32))) == {0x49249249}


def test_former_shuffles_compile_with_cooperative_groups_header(compiled):
    x = np.arange(32, dtype=np.float32)
    assert set(launched(compiled(GROUPS), 32, x, np.zeros(32, np.float32))) == {x.sum() + 1}


@pytest.mark.thorough
def test_former_cub_operators_and_thrust_classes_exist(compiled):
    built = compiled(LIBRARIES)
    supplied = {each.name for each in built.changes.needs}
    assert supplied <= {"thrust::unary_function", "cub::Max", "cub::Sum", "cub::max"}
    x = np.arange(64, dtype=np.float32)
    assert launched(built, 64, x, np.zeros(2, np.float32)).tolist() == [126.0, 2016.0]


def test_constexpr_functions_and_device_lambdas_compile_without_flags(compiled):
    built = compiled(CONSTEXPR)
    assert built.changes.needs == ()
    assert launched(built, 8, np.zeros(8, np.int32), before=[bytes(1)]).tolist() == [
        10 * i + (i + 3) // 4 for i in range(8)
    ]


def test_source_without_removed_apis_is_unchanged(compiled):
    assert compiled(re.sub(r"__(shfl|shfl_xor|any|all)\(", r"__\1_sync(~0u, ", WARPS)).changes.needs == ()
