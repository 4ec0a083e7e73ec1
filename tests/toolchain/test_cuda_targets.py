"""CUDA targets: names, what PTX says of kernels, and builds by the real nvcc where there is one."""

from __future__ import annotations

import pytest

from parity import zig
from parity.cache import Cache
from parity.codeobject import Argument, first_difference
from parity.errors import MissingTool, UsageError
from parity.toolchain import build, nvcc, target
from parity.toolchain import cuda as module
from parity.toolchain.cuda import parse_ptx

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
def test_targets_are_named_by_their_compute_capability(name, isa):
    found = target(name)
    assert (found.name, found.vendor, found.wavefront, found.isa) == (name, "cuda", 32, isa)


@pytest.mark.parametrize("name", ["sm_9", "sm_09", "sm_90x", "SM_90", "compute_90"])
def test_other_names_are_refused(name):
    with pytest.raises(UsageError, match=r"unknown target .*known: gfx1030 .*sm_NN"):
        target(name)


def test_ptx_says_what_arguments_a_kernel_takes():
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


def test_eight_bytes_may_be_a_pointer_or_a_number():
    mix = parse_ptx(PTX, "module", target("sm_90")).kernels["mix"]
    rest = [(2, False), (4, False), (1, False), (8, True)]
    assert first_difference(mix, [(8, True), *rest]) == first_difference(mix, [(8, False), *rest]) == ""
    assert "has 8 bytes, not 4" in first_difference(mix, [(4, False), *rest])
    assert "a pointer, not passed by value" in first_difference(mix, [(8, False), *rest[:-1], (8, False)])


def test_without_nvcc_the_message_says_what_to_install(monkeypatch, tmp_path):
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k() {}')
    monkeypatch.setattr(module, "_places", lambda: iter([tmp_path / "nvcc"]))
    with pytest.raises(MissingTool, match=r"nvcc not found .*install it with: python -m pip install"):
        build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))


@pytest.fixture
def compiler():
    try:
        return nvcc()
    except MissingTool as error:
        pytest.skip(str(error))


def test_a_module_is_compiled_as_it_is_and_cached(compiler, tmp_path):
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


def test_a_source_that_is_no_cuda_is_an_error_with_the_compiler_s_words(compiler, tmp_path):
    (tmp_path / "bad.cu").write_text('extern "C" __global__ void k() { undeclared = 1; }\n')
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"))
    assert built.code_object is None
    assert "bad.cu" in built.error.log
    assert '"undeclared" is undefined' in built.error.log


def test_it_takes_nothing_of_what_compiles_for_amd(compiler, monkeypatch, tmp_path):
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k() {}')
    monkeypatch.setattr(zig, "zig", lambda: pytest.fail("ziglang is not installed with parity's CUDA extra"))
    cache = Cache(tmp_path / "cache")
    for _ in range(2):
        (built,) = build(tmp_path, targets=["sm_90"], cache=cache)
        assert built.code_object


TEMPLATES = """#include "scale.cuh"
template <typename T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by + OFFSET; }
namespace ops { template <int N> __global__ void shift(float* x) { x[threadIdx.x] += N; } }
template <typename T> __global__ void no_half(T* x) { static_assert(sizeof(T) > 2, "no half types"); *x = 0; }
void launch(float* x) { scale<float><<<1, 1>>>(x, 2.0f); }
"""


def test_templates_that_no_host_code_launches_are_there_if_they_are_declared(compiler, tmp_path):
    (tmp_path / "scale.cuh").write_text("#define OFFSET 1\n")
    (tmp_path / "k.cu").write_text(TEMPLATES)
    wanted = ("scale<float>", "scale<double>", "ops::shift<3>", "nosuch<float>")

    def symbols(*kernels):
        (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "cache"), kernels={"k": kernels})
        assert built.error is None, built.error
        return [name for name in wanted if built.code_object.symbol(name) in built.code_object.kernels]

    assert symbols() == symbols("nosuch<float>") == ["scale<float>"]
    assert symbols(*wanted) == ["scale<float>", "scale<double>", "ops::shift<3>"]


def test_a_declared_template_that_does_not_compile_is_an_error_with_the_compiler_s_words(compiler, tmp_path):
    (tmp_path / "scale.cuh").write_text("#define OFFSET 1\n")
    (tmp_path / "k.cu").write_text(TEMPLATES)
    (built,) = build(tmp_path, targets=["sm_90"], cache=Cache(tmp_path / "c"), kernels={"k": ["no_half<short>"]})
    assert 'k.cu(4): error: static assertion failed with "no half types"' in built.error.log
