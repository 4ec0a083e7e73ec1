"""CUDA targets: names, kernels in PTX, and builds with nvcc."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers import cuda_toolkit, zig
from parity.compilers import nvcc as nvcc_module
from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.ptx.device import PtxDevice
from parity.errors import MissingTool, UsageError
from parity.model.code_object import Argument, first_difference
from parity.platform.cache import Cache
from parity.porting.stubs import library_names

PTX = """
.visible .entry mix(
	.param .u64 mix_param_0,
	.param .align 2 .b8 mix_param_1[2],
	.param .f32 mix_param_2,
	.param .u8 mix_param_3,
	.param .u64 .ptr .global .align 1 mix_param_4
)
.maxntid 16, 16
{
}
.visible .entry nothing()
{
}
"""
USAGE = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'mix' for 'sm_90'
ptxas info    : Function properties for mix
    8 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 42 registers, used 1 barriers, 1024 bytes smem
ptxas info    : Compiling entry function 'nothing' for 'sm_90'
ptxas info    : Function properties for nothing
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
"""


@pytest.mark.parametrize(("name", "isa"), [("sm_75", 7500), ("sm_90", 9000), ("sm_90a", 9000), ("sm_103", 10300)])
def test_target_name_gives_compute_capability(name, isa):
    found = target(name)
    assert (found.name, found.vendor, found.wavefront, found.isa) == (name, "cuda", 32, isa)


@pytest.mark.parametrize("name", ["sm_9", "sm_09", "sm_90x", "SM_90", "compute_90"])
def test_target_with_invalid_name_is_refused(name):
    with pytest.raises(UsageError, match=r"unknown target .*known: gfx1030 .*sm_NN"):
        target(name)


def test_parse_ptx_reads_arguments_and_resources():
    code = parse_ptx(PTX, "module", target("sm_90"), USAGE)
    assert list(code.kernels) == ["mix", "nothing"]
    mix, nothing = code.kernels.values()
    assert mix.args == (
        Argument("", 0, 8, ""),
        Argument("", 8, 2, "by_value"),
        Argument("", 12, 4, "by_value"),
        Argument("", 16, 1, "by_value"),
        Argument("", 24, 8, "global_buffer"),
    )
    assert (mix.kernarg_bytes, mix.max_threads, mix.wavefront) == (32, 256, 32)
    assert (mix.vgprs, mix.lds_bytes, mix.scratch_bytes, mix.spills) == (42, 1024, 8, 3)
    assert (nothing.args, nothing.vgprs, nothing.lds_bytes, nothing.max_threads) == ((), 4, 0, 1024)


def test_parse_ptx_omits_kernels_of_cuda_headers():
    text = PTX.replace("{\n}", "{\n.loc\t1 3 0\n}", 1).replace("{\n}", "{\n.loc\t2 73 0\n}", 1)
    files = '\t.file\t1 "k.cu"\n\t.file\t2 "{}"\n'
    found = parse_ptx(text + files.format("cuda-include/cccl/cub/util_device.cuh"), "module", target("sm_90"))
    assert list(found.kernels) == ["mix"]
    assert list(parse_ptx(text + files.format("own.cuh"), "module", target("sm_90")).kernels) == ["mix", "nothing"]


def test_nvcc_compiles_cub(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(
        "#include <cub/block/block_reduce.cuh>\n"
        'extern "C" __global__ void total(const float* x, float* out) {\n'
        "  using Reduce = cub::BlockReduce<float, 128>;\n  __shared__ typename Reduce::TempStorage shared;\n"
        "  float sum = Reduce(shared).Sum(x[threadIdx.x]);\n  if (threadIdx.x == 0) *out = sum;\n}\n"
    )
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.error is None, built.error
    assert built.entries == ("total",)
    assert built.code_object.kernels["total"].lds_bytes > 0


def test_parse_ptx_eight_bytes_may_be_pointer_or_number():
    mix = parse_ptx(PTX, "module", target("sm_90")).kernels["mix"]
    rest = [(2, False), (4, False), (1, False), (8, True)]
    assert first_difference(mix, [(8, True), *rest]) == first_difference(mix, [(8, False), *rest]) == ""
    assert "has 8 bytes, not 4" in first_difference(mix, [(4, False), *rest])
    assert "a pointer, not passed by value" in first_difference(mix, [(8, False), *rest[:-1], (8, False)])


def test_nvcc_missing_names_package_to_install(monkeypatch, tmp_path):
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k() {}')
    monkeypatch.setattr(cuda_toolkit, "toolkit_programs", lambda name, wheels: [])
    with pytest.raises(MissingTool, match=r"nvcc not found .*install it with: python -m pip install .*\[nvcc\]"):
        build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))


@pytest.fixture
def compilers(monkeypatch, tmp_path):
    """Return a function that creates an nvcc of a version in a folder; only the wheel has one by default."""

    def make(folder, version):
        path = tmp_path / folder / "nvcc"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {version[:4]}, V{version}'\n")
        path.chmod(0o755)
        return path

    for name in ("CUDA_HOME", "CUDA_PATH", "PARITY_TOOLCHAIN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "usr"))
    monkeypatch.setattr(cuda_toolkit, "_DEFAULT", tmp_path / "default")
    make("site/nvidia/cu13/bin", "13.5.1")
    package = SimpleNamespace(submodule_search_locations=[str(tmp_path / "site" / "nvidia")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: package)
    return make


def test_nvcc_prefers_installed_toolkit_to_wheel(compilers, monkeypatch, tmp_path):
    assert cuda_toolkit.located().startswith("13.5.1, ")
    assert cuda_toolkit.located().endswith("(of the Python package nvidia-cuda-nvcc)")
    compilers("default", "12.9.3")
    assert cuda_toolkit.located() == f"12.9.3, {tmp_path}/default/nvcc (where CUDA is installed by default)"
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    compilers("home/bin", "13.0.2")
    assert cuda_toolkit.located() == f"13.0.2, {tmp_path}/home/bin/nvcc (by $CUDA_HOME)"
    compilers("usr", "13.1.4")
    assert cuda_toolkit.located() == f"13.1.4, {tmp_path}/usr/nvcc (on PATH)"
    monkeypatch.setenv("PARITY_TOOLCHAIN", "wheels")
    assert cuda_toolkit.located().startswith("13.5.1, ")


def test_nvcc_with_toolchain_wheels_ignores_installed_toolkit(compilers, monkeypatch, tmp_path):
    compilers("usr", "13.1.4")
    (tmp_path / "site/nvidia/cu13/bin/nvcc").unlink()
    assert cuda_toolkit.located().startswith("13.1.4, ")
    monkeypatch.setenv("PARITY_TOOLCHAIN", "wheels")
    with pytest.raises(
        MissingTool,
        match=r"only the Python package .*, because PARITY_TOOLCHAIN is wheels\); install it with: .*\[nvcc\]",
    ):
        nvcc()


@pytest.fixture
def compiler(with_nvcc):
    return with_nvcc


def test_nvcc_build_is_cached(compiler, tmp_path):
    (tmp_path / "size.cuh").write_text("constexpr int SIZE = 64;\n")
    (tmp_path / "k.cu").write_text(
        '#include "size.cuh"\n'
        'extern "C" __global__ void k(float* x, unsigned short n) { __shared__ float t[SIZE];\n'
        "t[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = t[SIZE - 1 - threadIdx.x] + n; }\n"
    )
    cache = Cache(tmp_path / "cache")
    (built,) = build(tmp_path, targets=["sm_90"], cache=cache)
    code = built.code_object
    assert (built.error, built.cached, built.hip) == (None, False, None)
    assert code.binary.read_bytes()[:4] == b"\x7fELF"
    assert ".target sm_90" in code.listing
    assert [argument.size for argument in code.kernels["k"].args] == [8, 2]
    assert code.kernels["k"].lds_bytes == 256
    assert code.kernels["k"].vgprs > 0
    assert {path.name for path in code.sources} == {"k.cu", "size.cuh"}
    (again,) = build(tmp_path, targets=["sm_90"], cache=cache)
    assert again.cached
    assert again.code_object == code
    (tmp_path / "size.cuh").write_text("constexpr int SIZE = 32;\n")
    (changed,) = build(tmp_path, targets=["sm_90"], cache=cache)
    assert not changed.cached
    assert changed.code_object.kernels["k"].lds_bytes == 128


def test_nvcc_fingerprint_covers_compiler_and_headers(compilers, monkeypatch, tmp_path):
    def now():
        cuda_toolkit._version.cache_clear()
        return nvcc_module.fingerprint(target("sm_90"))

    (tmp_path / "include").mkdir()
    monkeypatch.setattr(nvcc_module, "HEADERS", tmp_path / "include")
    found = [now(), nvcc_module.fingerprint(target("sm_100"))]
    (tmp_path / "include" / "torch.h").write_text("#pragma once\n")
    found.append(now())
    compilers("default", "12.9.3")
    found.append(now())
    assert len(set(found)) == len(found)
    assert now() == found[-1]


LINED = """#include <cuda_fp16.h>
#include "twice.cuh"
extern "C" __global__ void k(__half* x, __half* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hadd(x[i], twice(x[i]));
}
"""


def test_ptx_does_not_depend_on_folder(compiler, tmp_path):
    found = []
    for folder in (tmp_path / "here", tmp_path / "elsewhere" / "deep"):
        folder.mkdir(parents=True)
        (folder / "k.cu").write_text(LINED)
        (folder / "twice.cuh").write_text("__device__ __half twice(__half x) { return __hmul(x, __half(2.0f)); }\n")
        (built,) = build(folder, targets=["sm_90"], cache=Cache(tmp_path / folder.name))
        found.append(built.code_object)
    here, there = found
    assert here.listing == there.listing
    files = dict(re.findall(r'\.file\s+(\d+) "([^"]*)"', here.listing))
    assert {"k.cu", "twice.cuh"} == {name for name in files.values() if not name.startswith("cuda-include/cuda_fp16.h")}
    lines = {(files[number], int(line)) for number, line in re.findall(r"\.loc\s+(\d+) (\d+) ", here.listing)}
    assert {("k.cu", 4), ("k.cu", 5), ("twice.cuh", 1)} <= lines


@pytest.fixture
def from_wheels(monkeypatch):
    monkeypatch.setenv("PARITY_TOOLCHAIN", "wheels")
    try:
        nvcc()
    except MissingTool as error:
        pytest.skip(str(error))


@pytest.fixture
def without_gcc(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")

    def hide():
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        assert shutil.which("gcc") is None

    return hide


def test_nvcc_without_gcc_uses_ziglang(from_wheels, without_gcc, tmp_path):
    (tmp_path / "k.cu").write_text("#include <cmath>\n#include <vector>\n" + LINED.replace('"twice.cuh"', "<limits>"))
    (tmp_path / "k.cu").write_text((tmp_path / "k.cu").read_text().replace("twice(x[i])", "x[i]"))
    (with_gcc,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "one"))
    without_gcc()
    (without,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "two"))
    assert without.error is None, without.error
    assert without.code_object.listing == with_gcc.code_object.listing


def test_old_nvcc_without_gcc_is_an_error(compilers, without_gcc, tmp_path):
    compilers("default", "13.3.9")
    without_gcc()
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k() {}')
    with pytest.raises(
        MissingTool, match=r"C\+\+ compiler.* not found .*nvcc 13\.3 does not support.*apt-get install g\+\+"
    ):
        build(tmp_path, ["k"], targets=["sm_90"], cache=Cache(tmp_path / "cache"))


def test_nvcc_without_host_compiler_names_package_to_install(compilers, monkeypatch, tmp_path):
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k() {}')
    monkeypatch.setattr(cuda_toolkit, "_gcc", lambda: None)

    def missing():
        raise MissingTool("ziglang", "wheels", "pip")

    monkeypatch.setattr(zig, "zig", missing)
    with pytest.raises(MissingTool, match=r"C\+\+ compiler.* not found .*g\+\+ on PATH.*install it with: .*ziglang"):
        build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))


def test_nvcc_compile_error_has_compiler_message(compiler, tmp_path):
    (tmp_path / "bad.cu").write_text('extern "C" __global__ void k() { undeclared = 1; }\n')
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.code_object is None
    assert "bad.cu" in built.error.log
    assert '"undeclared" is undefined' in built.error.log


def test_nvcc_build_needs_no_amd_tools(compiler, monkeypatch, tmp_path):
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k() {}')
    monkeypatch.setattr(zig, "zig", lambda: pytest.fail("ziglang is not installed with parity's CUDA extra"))
    cache = Cache(tmp_path / "cache")
    for _ in range(2):
        (built,) = build(tmp_path, targets=["sm_90"], cache=cache)
        assert built.code_object


EXTENSION = """#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include "common.h"
template <typename T>
__global__ void scale(const T* x, T* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * T(FACTOR);
}
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  scale<float><<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "scale"); }
#include <nosuch/library.h>
nosuch::Image show(const nosuch::Image& from) { return from.shown(); }
"""


def test_nvcc_build_omits_host_code_with_missing_names(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(EXTENSION)
    (tmp_path / "common.h").write_text("#define FACTOR 2\n")
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.error is None, built.error
    (kernel,) = built.code_object.kernels.values()
    assert built.code_object.symbol("scale<float>") == kernel.name
    assert [argument.name for argument in kernel.args] == ["x", "y", "n"]
    assert built.translation.stubs == ("torch/extension.h", "ATen/cuda/CUDAContext.h")
    assert built.translation.empty_headers == ("nosuch/library.h",)
    assert [(piece.file, piece.line) for piece in built.translation.left_out] == [("k.cu", 16)]
    assert '"k.cu"' in built.code_object.listing and str(tmp_path) not in built.code_object.listing


def test_nvcc_build_has_torch_types_in_device_code(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(
        "#include <torch/extension.h>\n"
        "__global__ void k(const c10::Half* x, at::BFloat16* out) { *out = float(*x) + 1; }\n"
    )
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.error is None, built.error
    assert len(built.entries) == 1


HALVES = """#include <torch/extension.h>
__global__ void most(const at::Half* x, at::Half* out) { const at::Half a = __ldg(x); if (*out < a) *out = a; }
"""


def test_nvcc_build_disables_half_conversions_like_torch(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(HALVES)
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert (built.error, len(built.entries)) == (None, 1)
    assert built.switches[0].flag == "-D__CUDA_NO_HALF_OPERATORS__"
    assert built.switches[0].says == 'cuda-flags = ["-D__CUDA_NO_HALF_OPERATORS__"] in [tool.parity]'


VECTORS = """#include <glm/glm.hpp>
#include <helper_cuda.h>
#include <helper_math.h>
extern "C" __global__ void k(const float3* x, float* y) {
  float3 a = 2.0f * x[0] - x[1] / make_float3(4.0f) + 1.0f;
  a *= 0.5f;
  a -= -x[1];
  const uint4 u = make_uint4(3u) * make_uint4(1u, 2u, 3u, 4u);
  const glm::vec3 g = glm::cross(glm::vec3(a.x, a.y, a.z), glm::vec3(1, 2, 4)) / 2.0f;
  y[0] = dot(a, cross(x[0], x[1]));
  y[1] = u.w + length(make_float2(a)) + clamp(a.x, 0.0f, 1.0f);
  y[2] = glm::dot(g, glm::vec3(1, 10, 100));
}
int main() { checkCudaErrors(cudaDeviceSynchronize()); }
"""


@pytest.mark.thorough
def test_glm_and_sample_vectors_match_on_both_sides(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(VECTORS)
    x = np.arange(1, 7, dtype=np.float32)
    values = []
    for built in build(tmp_path, targets=["sm_90", "gfx1100"], cache=Cache(tmp_path / "cache")):
        assert built.error is None, built.error
        device = PtxDevice(traced=True) if built.target == "sm_90" else AmdgpuDevice()
        buffers = [device.allocate(x.nbytes, "x"), device.allocate(12, "y")]
        device.write(buffers[0], x)
        args = pack(built.code_object.kernels["k"], buffers)
        device.launch(built.code_object, "k", grid=(1, 1, 1), block=(1, 1, 1), args=args)
        values.append(device.read(buffers[1]).view(np.float32))
    a = 2 * x[:3] - x[3:] / 4 + 1
    a = a * 0.5 + x[3:]
    g = np.cross(a, [1, 2, 4]) / 2
    wanted = [a @ np.cross(x[:3], x[3:]), 12 + np.hypot(a[0], a[1]) + 1, g @ [1, 10, 100]]
    np.testing.assert_allclose(values, [wanted, wanted], rtol=1e-6)


SWITCHED = """#include "k.h"
__global__ void k(wide_t* x) { *x = twice(*x); }
__global__ void n(int* x) { *x = STEPS; }
"""


def test_nvcc_build_takes_required_switch_from_build_files(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(SWITCHED)
    (tmp_path / "k.h").write_text(
        "#ifdef WITH_IT\ntypedef long wide_t;\n__device__ long twice(long x) { return 2 * x; }\n#endif\n"
    )
    (tmp_path / "setup.py").write_text("macros = [('WITH_IT', None), ('STEPS', '4')]\n")
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert (built.error, sorted(each.flag for each in built.switches)) == (None, ["-DSTEPS=4", "-DWITH_IT"])


def test_nvcc_build_supplies_implicit_standard_headers(compiler, tmp_path):
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k(float* x) { x[0] = FLT_MAX; }\n')
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert not built.error, built.error
    assert [(each.flag, each.setting) for each in built.switches] == [
        ("-include parity/standard.h", 'cuda-force-include = ["parity/standard.h"]')
    ]


def test_nvcc_build_accepts_constexpr_functions_and_device_lambdas(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(
        "#include <limits>\n__global__ void least(float* x) { x[0] = std::numeric_limits<float>::lowest(); }\n"
        "template <typename F> __global__ void each(float* x, F f) { x[threadIdx.x] = f(x[0]); }\n"
        "void host(float* x) { each<<<1, 32>>>(x, [] __device__(float low) { return low / 2; }); }\n"
    )
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.error is None and len(built.code_object.kernels) == 2, built.error


@pytest.mark.thorough
def test_nvcc_build_drops_stub_that_hides_kernel(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(
        "#include <ATen/ATen.h>\nnamespace c10 { struct Half { int own; }; }\n"
        'extern "C" __global__ void k(c10::Half* x) { x->own = 1; }\nat::Tensor f(at::Tensor x) { return x; }\n'
    )
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.error is None, built.error
    assert built.entries == ("k",)
    assert (built.translation.stubs, built.translation.empty_headers) == ((), ("ATen/ATen.h",))


@pytest.mark.thorough
def test_nvcc_build_keeps_stub_that_kernels_need(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(
        "#include <ATen/ATen.h>\n#include <torch/extension.h>\n"
        "template <class T> __device__ T twice(c10::Half, T x) { return 2 * x + missing_at_first(x); }\n"
        "template <class T> __global__ void k(T* x) { *x = twice(c10::Half(), *x); }\n"
        "at::Tensor f(at::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); return x; }\n"
    )
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert "missing_at_first" in str(built.error)


def test_nvcc_build_has_names_of_missing_host_libraries(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(
        "#include <cublas_v2.h>\n#include <nccl.h>\n"
        "struct Context {\n  int device;\n  cublasHandle_t handles[2][4] = {nullptr};\n  ncclComm_t comm;\n"
        "  __host__ __device__ int size() const { return device; }\n};\n"
        'extern "C" __global__ void k(const Context* of, int* out) { *out = of->size(); }\n'
        "void check(cublasStatus_t s) { if (s != CUBLAS_STATUS_SUCCESS) { cublasGetStatusString(s); } }\n"
        "typedef __nv_bfloat16 number;  // cuBLAS's own headers bring it\nstatic size_t cublaslt_workspace_size = 32;\n"
        "static cublasHandle_t cublas_handle;\nvoid begin() { cublasCreate(&cublas_handle); }\n"
    )
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.error is None, built.error
    assert built.entries == ("k",)
    if built.translation:  # empty if CUDA is installed with its libraries
        assert not built.translation.left_out


@pytest.mark.thorough
def test_nvcc_build_uses_stubs_of_host_libraries(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(
        "#include <THC/THC.h>\n#include <fmt/format.h>\n#include <glog/logging.h>\n"
        "template <class T> __global__ void k(T* x) { *x = 1; }\n"
        'void run() {\n  CHECK_EQ(1, 0) << fmt::format("{}", 1);\n'
        "  k<<<1, 1>>>((double*)nullptr);\n}\n"
    )
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.error is None, built.error
    assert built.entries == ("_Z1kIdEvPT_",) and not built.translation.left_out


def test_nvcc_build_never_omits_device_code(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(EXTENSION)
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.code_object is None
    found = [(Path(each.file), each.line, each.name) for each in built.error.findings]
    assert (tmp_path / "k.cu", 7, "FACTOR") in found
    assert (tmp_path / "k.cu", 3, "common.h") in found


def test_nvcc_build_guesses_same_template_arguments_as_amd(compiler, tmp_path):
    (tmp_path / "k.cu").write_text("template <typename T> __global__ void k(T* x) { *x = 0; }\n")
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.guessed and built.code_object.symbol("k<float>") in built.code_object.kernels


TEMPLATES = """#include "scale.cuh"
template <typename T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by + OFFSET; }
namespace ops { template <int N> __global__ void shift(float* x) { x[threadIdx.x] += N; } }
template <typename T> __global__ void no_half(T* x) { static_assert(sizeof(T) > 2, "no half types"); *x = 0; }
void launch(float* x) { scale<float><<<1, 1>>>(x, 2.0f); }
"""


def test_nvcc_build_instantiates_declared_templates(compiler, tmp_path):
    (tmp_path / "scale.cuh").write_text("#define OFFSET 1\n")
    (tmp_path / "k.cu").write_text(TEMPLATES)
    wanted = ("scale<float>", "scale<double>", "ops::shift<3>", "nosuch<float>")

    def symbols(*kernels):
        (built,) = build(
            tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"), settings=BuildSettings(kernels={"k": kernels})
        )
        assert built.error is None, built.error
        return [name for name in wanted if built.code_object.symbol(name) in built.code_object.kernels]

    assert symbols() == symbols("nosuch<float>") == ["scale<float>"]
    assert symbols(*wanted) == ["scale<float>", "scale<double>", "ops::shift<3>"]


def test_nvcc_build_declared_template_error_has_compiler_message(compiler, tmp_path):
    (tmp_path / "scale.cuh").write_text("#define OFFSET 1\n")
    (tmp_path / "k.cu").write_text(TEMPLATES)
    (built,) = build(
        tmp_path,
        targets=["sm_90"],
        cache=Cache(tmp_path / "c"),
        settings=BuildSettings(kernels={"k": ["no_half<short>"]}),
    )
    (finding,) = built.changes.faulty
    assert (finding.name, finding.line) == ("no_half", 4)
    assert finding.advice == 'static assertion failed with "no half types"'


ELSEWHERE = """#include <absent_library.h>
extern __constant__ float table[4];
extern __device__ float twice(float x);
extern "C" __global__ void k(float* x) { x[threadIdx.x] = twice(table[threadIdx.x]); }
"""


def test_nvcc_build_includes_linked_files(compiler, tmp_path):
    (tmp_path / "k.cu").write_text(ELSEWHERE)
    cache = Cache(tmp_path / "cache")
    (alone,) = build(tmp_path, ["k"], ["sm_90"], cache=cache)
    assert "table" in str(alone.error) and "nvcc links several files" in str(alone.error)
    (tmp_path / "tables.cu").write_text(
        "__constant__ float table[4] = {1, 2, 3, 5};\n__device__ float twice(float x) { return 2 * x; }\n"
    )
    (built,) = build(tmp_path, ["k"], ["sm_90"], cache=cache)
    assert built.error is None, built.error
    assert [each.flag for each in built.switches] == ['#include "tables.cu"']
    device = PtxDevice(traced=True)
    x = device.allocate(16, "x")
    args = pack(built.code_object.kernels["k"], [x])
    device.launch(built.code_object, "k", grid=(1, 1, 1), block=(4, 1, 1), args=args)
    assert device.read(x).view(np.float32).tolist() == [2, 4, 6, 10]


def test_library_names_includes_existing_header(tmp_path):
    texts = ["cublasHandle_t handle; cublasCreate(&handle); cusparseHandle_t other;"]
    alone = library_names(texts, cuda=tmp_path)
    assert "struct cublasHandle_t" in alone and "cublasCreate" in alone and "#include <cublas" not in alone
    (tmp_path / "cublas_v2.h").touch()
    beside = library_names(texts, cuda=tmp_path)
    assert "#include <cublas_v2.h>" in beside and "cublasCreate" not in beside and "struct cublas" not in beside
    assert "struct cusparseHandle_t" in beside
