"""Footprints of real code objects, and remarks on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.build.modules import build
from parity.emulator.amdgpu.classes import CLASSES
from parity.errors import MissingTool
from parity.footprint import sass as sass_module
from parity.footprint.measure import Footprint, footprints
from parity.footprint.remarks import remarks
from parity.footprint.sass import nvdisasm
from parity.platform.cache import Cache

# `nothing` writes on CUDA only, a porting mistake that compiles but does nothing; `once` writes on both sides.
SOURCE = """
__device__ __attribute__((noinline)) float deep(float x, int n) { for (; n > 0; --n) x = x * x + 1; return x; }
extern "C" __global__ void once(float* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void atomic(int* x) { atomicAdd(x, 1); }
extern "C" __global__ void nothing(float* x, int n) {
#ifdef __HIP_PLATFORM_AMD__
    if (n < 0) __syncthreads();
#else
    x[threadIdx.x] = n;
#endif
}
extern "C" __global__ void __launch_bounds__(128) calls(float* x, int n) {
    __shared__ float tile[128];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = deep(tile[127 - threadIdx.x], n);
}
extern "C" __global__ void local(float* x, const int* at) {
    float own[64];
    for (int i = 0; i < 64; ++i) own[i] = x[i];
    own[at[0]] = 1;
    for (int i = 0; i < 64; ++i) x[at[i]] = own[at[i]];
}
"""
KERNELS = ("once", "atomic", "nothing", "calls", "local")


def built(folder, targets):
    (folder / "k.cu").write_text(SOURCE)
    found = {}
    for one in build(folder, targets=targets, cache=Cache(folder / "cache")):
        assert one.error is None, one.error
        found[one.target] = {each.kernel: each for each in footprints(one.code_object, KERNELS)}
    return found


@pytest.fixture(scope="module")
def amd(tmp_path_factory):
    return built(tmp_path_factory.mktemp("amd"), ["gfx1030", "gfx1100", "gfx90a", "gfx942", "gfx1201"])


@pytest.fixture(scope="module")
def cuda(tmp_path_factory, with_nvcc):
    return built(tmp_path_factory.mktemp("cuda"), ["sm_90"])["sm_90"]


def test_footprints_of_amd_kernels(amd):
    for name, kernels in amd.items():
        assert list(kernels) == list(KERNELS)
        once, calls, local = kernels["once"], kernels["calls"], kernels["local"]
        assert (once.module, once.target, once.threads, once.occupancy) == ("k", name, 1024, 1.0)
        assert (once.mix["vmem load"], once.mix["vmem store"], once.mix["other"]) == (1, 1, 1)
        assert once.vgprs > 0
        assert once.sgprs > 0
        # Instructions have 4 to 12 bytes; from gfx11 on, dual instructions have up to 16.
        assert 4 * sum(once.mix.values()) <= once.code_bytes <= 16 * sum(once.mix.values())
        assert (calls.lds_bytes, calls.threads, calls.mix["barrier"]) == (512, 128, 1)
        assert local.scratch_bytes >= 256
        assert local.mix["scratch"] > 0
        assert list(local.mix) == [each for each in CLASSES if each in local.mix]


def test_footprint_includes_callees(amd):
    for kernels in amd.values():
        calls = kernels["calls"]
        assert calls.mix["branch"] >= 3  # the call, the loop, the return
        assert calls.code_bytes > kernels["atomic"].code_bytes


def test_footprints_of_cuda_kernels(cuda):
    once, calls, local = cuda["once"], cuda["calls"], cuda["local"]
    assert (once.threads, once.occupancy, once.sgprs, once.spills) == (1024, 1.0, None, 0)
    assert once.code_bytes % 128 == 0
    assert (calls.lds_bytes, calls.threads) == (512, 128)
    assert calls.occupancy == 1.0
    assert local.scratch_bytes >= 256


def test_instruction_mix_of_cuda_kernels(cuda):
    try:
        nvdisasm()
    except MissingTool as error:
        pytest.skip(str(error))
    assert (cuda["once"].mix["vmem load"], cuda["once"].mix["vmem store"]) == (1, 1)
    assert cuda["atomic"].mix["vmem atomic"] == 1
    assert cuda["calls"].mix["barrier"] == 1
    assert cuda["calls"].mix["lds"] >= 2
    assert cuda["local"].mix["scratch"] > 0
    for kernel in cuda.values():
        assert 16 * sum(kernel.mix.values()) <= kernel.code_bytes


def test_kernel_without_stores_on_one_target_is_vacuous(amd, cuda):
    every = [*cuda.values(), *(each for kernels in amd.values() for each in kernels.values())]
    (found,) = [finding for finding in remarks(every) if finding.what.startswith("vacuous")]
    assert (found.where, found.kernels) == ("gfx1030 gfx1100 gfx90a gfx942 gfx1201", ("nothing",))


def test_cuda_mix_without_disassembler_is_unknown(cuda, tmp_path, monkeypatch):
    monkeypatch.setattr(sass_module, "_candidates", lambda: iter(()))
    nothing = built(tmp_path, ["sm_90"])["sm_90"]["nothing"]
    assert nothing == replace(cuda["nothing"], mix=None)
    assert nothing.stores is None
    assert remarks([nothing]) == []


ONE = Footprint("m", "k", "sm_90", 32, None, 0, 0, 0, 1024, 1.0, 640, {"vmem store": 1})


def side(name="gfx1100", **change):
    return replace(ONE, target=name, sgprs=20, **change)


@pytest.mark.parametrize(
    ("sides", "what", "where"),
    [
        ([ONE, side(spills=3)], "spills on some targets only", "gfx1100, not sm_90"),
        ([ONE, side(scratch_bytes=16)], "scratch memory on some targets only", "gfx1100, not sm_90"),
        ([replace(ONE, occupancy=0.5), side()], "occupancy far apart", "sm_90 50 %, gfx1100 100 %"),
        ([replace(ONE, occupancy=0.0), side()], "cannot be launched", "sm_90 with 1024 threads"),
        ([ONE, side(vgprs=64)], "registers far apart", "most on gfx1100, fewest on sm_90"),
        ([ONE, side(mix={"valu": 3})], "vacuous: no instruction writes global memory", "gfx1100"),
    ],
)
def test_differences_between_targets_are_remarked(sides, what, where):
    (found,) = remarks(sides)
    assert (found.what, found.where, found.kernels) == (what, where, ("k",))


def test_similar_footprints_have_no_remarks():
    for other in (
        side(spills=0, occupancy=0.75),
        side(vgprs=63, occupancy=None),
        side(mix={"vmem atomic": 1}),
        side(mix=None, vgprs=40),
    ):
        assert remarks([ONE, other]) == []
    assert remarks([replace(ONE, spills=2), side(spills=9)]) == []


def test_kernel_absent_on_target_is_missing():
    (found,) = remarks([ONE, side(), replace(ONE, kernel="l")])
    assert (found.what, found.where, found.kernels) == ("missing", "gfx1100", ("l",))
