"""Builds of small folders with the real compiler and cache."""

import os
import shutil
import subprocess
import zlib

import pytest

from parity import porting
from parity.build.modules import build
from parity.build.settings import BuildCallbacks, BuildSettings
from parity.compilers import nvcc
from parity.compilers.compile_options import CompileOptions, Sides
from parity.errors import ResourceExhausted, UsageError
from parity.platform.cache import Cache
from parity.porting.sources import find_modules
from parity.porting.variants import after_errors

SCALE = """#include <cuda_fp16.h>
#include "shape.cuh"

extern "C" __global__ void scale_f16(size_t n, __half factor, const __half* x, __half* y) {
    size_t i = index();
    if (i < n) y[i] = x[i] * factor;
}
"""
SHAPE = """#pragma once
__device__ inline size_t index() { return blockIdx.x * size_t(blockDim.x) + threadIdx.x; }
"""
REVERSE = """
extern "C" __global__ void reverse(float* x) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void nothing() {}
"""


@pytest.fixture
def kernels(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "scale.cu").write_text(SCALE)
    (folder / "shape.cuh").write_text(SHAPE)
    (folder / "reverse.cu").write_text(REVERSE)
    return folder


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def hits(results):
    return {(b.module, b.target): b.cached for b in results}


def test_build_orders_results_by_module_and_target(kernels, cache):
    results = build(kernels, targets=["gfx1100", "gfx90a"], cache=cache, jobs=2)
    assert [(b.module, b.target) for b in results] == [
        (m, t) for m in ("reverse", "scale") for t in ("gfx1100", "gfx90a")
    ]
    assert all(b.error is None and not b.cached and b.seconds > 0 for b in results)
    reverse, _, scale, _ = results
    assert reverse.entries == ("reverse", "nothing")
    assert reverse.most("lds_bytes") == 1024
    assert reverse.most("scratch_bytes") == reverse.most("spills") == 0
    assert reverse.most("vgprs") > 0
    assert reverse.most("sgprs") > 0
    assert [(a.name, a.offset, a.size) for a in scale.code_object.kernels["scale_f16"].args] == [
        ("n", 0, 8),
        ("factor", 8, 2),
        ("x", 16, 8),
        ("y", 24, 8),
    ]
    assert scale.code_object.binary.read_bytes()[:4] == b"\x7fELF"


def test_build_again_starts_no_process(kernels, cache, monkeypatch):
    first = build(kernels, targets=["gfx1100"], cache=cache)
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("a process was started"))
    second = build(kernels, targets=["gfx1100"], cache=cache)
    assert all(hits(second).values())
    for one, two in zip(first, second, strict=True):
        assert one.code_object == two.code_object
        changes, same = one.changes, two.changes
        assert (changes.replaced, changes.unmapped, changes.hazards) == (same.replaced, same.unmapped, same.hazards)


def test_build_after_header_change_rebuilds_only_its_users(kernels, cache):
    build(kernels, targets=["gfx1100"], cache=cache)
    (kernels / "shape.cuh").write_text(SHAPE.replace("size_t(blockDim.x)", "blockDim.x"))
    assert hits(build(kernels, targets=["gfx1100"], cache=cache)) == {
        ("reverse", "gfx1100"): True,
        ("scale", "gfx1100"): False,
    }


def test_build_in_moved_folder_uses_cache(kernels, cache, tmp_path):
    build(kernels, targets=["gfx1100"], cache=cache)
    moved = tmp_path / "deep" / "elsewhere"
    shutil.copytree(kernels, moved)
    results = build(moved, targets=["gfx1100"], cache=cache)
    assert all(hits(results).values())
    assert moved / "scale.cu" in results[1].code_object.sources


def test_listing_has_lines_of_cuda_source(kernels, cache):
    (built,) = build(kernels, ["scale"], ["gfx1100"], cache=cache)
    assert "scale.cu:6:" in built.code_object.listing
    assert "shape.cuh:2:" in built.code_object.listing
    assert {kernels / "scale.cu", kernels / "shape.cuh"} <= set(built.code_object.sources)
    assert all(path.is_file() for path in built.code_object.sources)


def test_built_has_hipified_text(kernels, cache):
    (built,) = build(kernels, ["scale"], ["gfx1100"], cache=cache)
    assert "#include <hip/hip_fp16.h>" in built.hip.read_text()
    assert built.hip.with_name("shape.cuh").is_file()
    assert built.changes.replaced["cuda_fp16.h"] == 1


def test_build_with_broken_module_continues(kernels, cache):
    (kernels / "broken.cu").write_text('#include "shape.cuh"\n\n__global__ void k(int* x) { *x = oops; }\n')
    broken, reverse, scale = build(kernels, targets=["gfx1100"], cache=cache)
    assert f"{kernels / 'broken.cu'}:3:34: error: use of undeclared identifier 'oops'" in str(broken.error)
    assert broken.code_object is None
    assert broken.entries == ()
    assert broken.most("vgprs") == 0
    assert reverse.error is None
    assert scale.error is None
    assert not build(kernels, ["broken"], ["gfx1100"], cache=cache)[0].cached


def test_error_in_header_names_header_and_includer(kernels, cache):
    (kernels / "shape.cuh").write_text(SHAPE.replace("blockIdx.x", "blockIndex.x"))
    (built,) = build(kernels, ["scale"], ["gfx1100"], cache=cache)
    assert f"In file included from {kernels / 'scale.cu'}:2:" in str(built.error)
    assert f"{kernels / 'shape.cuh'}:2:43: error:" in str(built.error)


def test_missing_header_is_reported_by_compiler(kernels, cache):
    (kernels / "shape.cuh").unlink()
    (built,) = build(kernels, ["scale"], ["gfx1100"], cache=cache)
    assert "'shape.cuh' file not found" in str(built.error)


def test_build_finds_headers_above_and_in_include_folders(kernels, cache, tmp_path):
    (kernels / "shape.cuh").rename(tmp_path / "shape.cuh")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "type.cuh").write_text("#pragma once\n#include <cuda_bf16.h>\nusing T = __nv_bfloat16;\n")
    (kernels / "scale.cu").write_text(
        '#include "../shape.cuh"\n#include "type.cuh"\nextern "C" __global__ void k(T* x) { x[index()] = x[0]; }\n'
    )
    (built,) = build(
        kernels,
        ["scale"],
        ["gfx1100"],
        cache=cache,
        settings=BuildSettings(Sides.both(CompileOptions((tmp_path / "more",)))),
    )
    assert built.error is None
    assert {tmp_path / "shape.cuh", tmp_path / "more" / "type.cuh"} & set(built.code_object.sources)
    assert built.changes.replaced == {"__nv_bfloat16": 1, "cuda_bf16.h": 1}


def test_built_from_cache_has_hipify_findings(kernels, cache):
    (kernels / "scale.cu").write_text(
        "#ifdef __CUDA_ARCH__\n#endif\n#if N\ncudaFrobnicate(warpSize);\n#endif\n"
        + SCALE.replace("index()", "threadIdx.x")
    )
    for cached in (False, True):
        (built,) = build(kernels, ["scale"], ["gfx1100"], cache=cache)
        assert built.cached is cached
        assert [(f.name, f.file, f.line) for f in built.changes.unmapped] == [("cudaFrobnicate", "scale.cu", 4)]
        assert [(f.name, f.line) for f in built.changes.hazards] == [("warpSize", 4)]
        assert [(f.name, f.line) for f in built.changes.branches] == [("#ifdef __CUDA_ARCH__", 1)]


def test_build_with_damaged_cache_entry_warns_and_rebuilds(kernels, cache, caplog):
    (built,) = build(kernels, ["reverse"], ["gfx1100"], cache=cache)
    listing = built.hip.parents[1] / "reverse.s.z"
    assert zlib.decompress(listing.read_bytes()).decode() == built.code_object.listing
    assert 4 * listing.stat().st_size < len(built.code_object.listing)
    listing.write_bytes(zlib.compress(built.code_object.listing.replace("ds_", "sd_").encode()))
    (again,) = build(kernels, ["reverse"], ["gfx1100"], cache=cache)
    assert not again.cached
    assert again.code_object == built.code_object
    assert "damaged" in caplog.text


def test_build_with_unwritable_cache_raises(kernels, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceExhausted, match="cannot write the cache folder"):
        build(kernels, ["scale"], ["gfx1100"], cache=Cache(tmp_path / "file"))


def test_build_reports_results_as_they_arrive(kernels, cache):
    told = []
    results = build(kernels, targets=["gfx1100"], cache=cache, progress=BuildCallbacks(told.append))
    assert sorted(b.module for b in told) == [b.module for b in results]


def test_build_keeps_comment_in_other_encoding(kernels, cache):
    (kernels / "reverse.cu").write_bytes(b"// gr\xf6\xdfe\n" + REVERSE.encode())
    (built,) = build(kernels, ["reverse"], ["gfx1100"], cache=cache)
    assert built.error is None
    assert b"gr\xf6\xdfe" in built.hip.read_bytes()


def test_build_with_unknown_folder_module_or_target_raises(kernels, cache, tmp_path):
    with pytest.raises(UsageError, match=r"no kernels folder .*absent"):
        build(tmp_path / "absent", cache=cache)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"empty holds no \.cu or \.hip file"):
        build(tmp_path / "empty", cache=cache)
    with pytest.raises(UsageError, match=r"no module 'scael'.*did you mean scale"):
        build(kernels, ["scael"], cache=cache)
    with pytest.raises(UsageError, match=r"unknown target 'gfx110'"):
        build(kernels, targets=["gfx110"], cache=cache)


def test_find_modules_keeps_requested_order(kernels):
    assert list(find_modules(kernels)) == ["reverse", "scale"]
    assert list(find_modules(kernels, ["scale", "reverse"])) == ["scale", "reverse"]


def test_build_of_relative_folder_uses_cache(kernels, cache, monkeypatch):
    build(kernels, ["reverse"], ["gfx1100"], cache=cache)
    monkeypatch.chdir(kernels.parent)
    (built,) = build(kernels.relative_to(os.getcwd()), ["reverse"], ["gfx1100"], cache=cache)  # noqa: PTH109
    assert built.cached


SWITCHED = """
#ifdef WITH_CUDA
__device__ int half_of(int x) { return x / 2; }
#endif
extern "C" __global__ void fill(int* x) { x[threadIdx.x] = half_of(TILE); }
"""


def test_build_takes_required_switch_from_build_files(tmp_path, cache):
    (tmp_path / "fill.cu").write_text(SWITCHED)
    (tmp_path / "setup.py").write_text("flags = ['-DWITH_CUDA', '-DTILE=64', '-DUNUSED']\n")

    def built(**sides):
        (one,) = build(
            tmp_path, ["fill"], ["gfx1100"], cache=cache, settings=BuildSettings(Sides.both(CompileOptions(**sides)))
        )
        return one.error, [(each.flag, each.file.name, each.line) for each in one.switches], one.cached

    taken = [("-DTILE=64", "setup.py", 1), ("-DWITH_CUDA", "setup.py", 1)]
    error, switches, cached = built()
    assert (error, sorted(switches), cached) == (None, taken, False)
    assert built() == (None, switches, True)
    assert built(flags=tuple(flag for flag, _, _ in switches)) == (
        None,
        [],
        True,
    )  # the printed setting gives the same build
    (tmp_path / "setup.py").write_text("\nflags = ['-DWITH_CUDA', '-DTILE=32']\n")
    error, switches, cached = built()
    assert (error, cached) == (None, False)
    assert ("-DTILE=32", "setup.py", 2) in switches
    (tmp_path / "setup.py").unlink()
    error, switches, _ = built()
    assert 'flags = ["-DTILE=..."]' in str(error.findings)
    assert not switches


def test_build_defines_cuda_switch_that_source_needs(tmp_path, cache):
    """The build defines the switch for any error, because no message names a specialization behind a switch."""
    (tmp_path / "cast.h").write_text(
        "template <class T> struct Cast {};\n#if defined(MINE_WITH_CUDA) && !defined(NO_CUDA)\n"
        "template <> struct Cast<int> { __device__ float operator()(int x) { return x; } };\n#endif\n"
    )
    (tmp_path / "cast.cu").write_text(
        '#include "cast.h"\nextern "C" __global__ void cast(int* x, float* y) { *y = Cast<int>()(*x); }\n'
    )
    (one,) = build(tmp_path, ["cast"], ["gfx1100"], cache=cache)
    assert (one.error, one.entries) == (None, ("cast",))
    assert [(each.flag, each.file.name, each.line) for each in one.switches] == [("-DMINE_WITH_CUDA", "cast.h", 2)]


def test_build_takes_switch_that_enables_kernels(tmp_path, cache):
    (tmp_path / "fill.cu").write_text(
        '#include "config.h"\n#ifdef HAS_CUDA\nextern "C" __global__ void fill(int* x) { *x = WIDTH; }\n#endif\n'
    )
    (tmp_path / "compiler.py").write_text('flags = "-DHAS_CUDA"\n')
    (tmp_path / "CMakeLists.txt").write_text("set(WIDTH 8)\n")
    (tmp_path / "config.h.in").write_text("#define WIDTH @WIDTH@\n#cmakedefine USE_CUDA\n")
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert (one.error, one.entries, [each.flag for each in one.switches]) == (None, ("fill",), ["-DHAS_CUDA"])
    assert [str(each) for each in one.translation.made] == ["config.h.in:1:1: config.h: with USE_CUDA"]
    (tmp_path / "compiler.py").unlink()
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert [(each.flag, each.file.name, each.line) for each in one.switches] == [("-DHAS_CUDA", "fill.cu", 2)]
    assert one.entries == ("fill",)
    (tmp_path / "fill.cu").write_text((tmp_path / "fill.cu").read_text().replace("HAS_CUDA", "USE_CUDA_FILL"))
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert (one.entries, [each.flag for each in one.switches]) == (("fill",), ["-DUSE_CUDA_FILL"])
    (tmp_path / "fill.cu").write_text((tmp_path / "fill.cu").read_text().replace("USE_CUDA_FILL", "HAS_FILL"))
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert (one.error, one.entries, one.switches, one.behind) == (None, (), (), ("HAS_FILL",))
    (tmp_path / "setup.py").write_text('flags = "-DHAS_FILL"\n')
    (tmp_path / "fill.cu").write_text((tmp_path / "fill.cu").read_text().replace("*x", "*nothing"))
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert ([each.flag for each in one.switches], one.error.findings[0].name) == (["-DHAS_FILL"], "nothing")


def test_build_with_declared_template_takes_switch_that_enables_it(tmp_path, cache):
    (tmp_path / "fill.cu").write_text(
        "#ifdef USE_CUDA_FILL\ntemplate <class T> __global__ void fill(T* x) { *x = 1; }\n#endif\n"
    )
    settings = BuildSettings(kernels={"fill": ("fill<float>",)})
    for one in build(tmp_path, ["fill"], ["sm_90", "gfx1100"], cache=cache, settings=settings):
        assert one.code_object and one.code_object.symbol("fill<float>") in one.code_object.kernels, one.target


HALVES = """
#include <torch/extension.h>
#include <mma.h>
__device__ void add(float* x, c10::Half h) { *x += float(h); }
__device__ void add(float* x, float f) { *x += f; }
using sums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, half>;
using factor = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major>;
using other = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::row_major>;
extern "C" __global__ void products(const half* x, float* y) {
  sums total; factor left; other right;
  nvcuda::wmma::fill_fragment(total, __float2half(0));
  nvcuda::wmma::load_matrix_sync(left, x, 16);
  nvcuda::wmma::load_matrix_sync(right, x, 16);
  nvcuda::wmma::mma_sync(total, left, right, total);
  add(y, total.x[0]);
}
"""


@pytest.mark.thorough
def test_build_disables_half_conversions_like_torch(tmp_path, cache):
    (tmp_path / "products.cu").write_text(HALVES)
    (one,) = build(tmp_path, ["products"], ["gfx1100"], cache=cache)
    assert (one.error, one.entries) == (None, ("products",))
    assert [(each.flag, each.file.name, each.line) for each in one.switches] == [
        ("-D__HIP_NO_HALF_CONVERSIONS__=1", "products.cu", 2), ("-D__HIP_NO_HALF_OPERATORS__=1", "products.cu", 2),
    ]  # fmt: skip
    assert one.switches[0].says == 'hip-flags = ["-D__HIP_NO_HALF_CONVERSIONS__=1"] in [tool.parity]'


def test_build_of_included_file_builds_includer(tmp_path, cache):
    (tmp_path / "generic").mkdir()
    (tmp_path / "README.md").touch()
    (tmp_path / "generic" / "fill.cu").write_text("#ifdef REAL\n__global__ void fill(REAL* x) { *x = 1; }\n#endif\n")
    (tmp_path / "generic" / "bare.cu").write_text("__global__ void bare(REAL* x) { *x = 1; }\n")
    (tmp_path / "all.cu").write_text(
        '#define REAL double\n#include "generic/fill.cu"\n#undef REAL\n#define REAL float\n#include "generic/bare.cu"\n'
    )
    fill, bare = build(tmp_path, ["generic/fill", "generic/bare"], ["gfx1100"], cache=cache)
    for one in (fill, bare):
        assert (one.error, len(one.entries), one.part_of) == (None, 2, tmp_path / "all.cu")
    (tmp_path / "all.cu").rename(tmp_path / "all.cpp")  # the build files mark it as CUDA
    (bare,) = build(tmp_path, ["generic/bare"], ["gfx1100"], cache=cache)
    assert (bare.error, len(bare.entries), bare.part_of) == (None, 2, tmp_path / "all.cpp")
    (tmp_path / "all.cpp").unlink()
    fill, bare = build(tmp_path, ["generic/fill", "generic/bare"], ["gfx1100"], cache=cache)
    assert (fill.error, fill.entries, fill.part_of) == (None, (), None)
    assert "REAL" in str(bare.error)


def test_build_finds_headers_by_macro_and_windows_path(tmp_path, cache):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "three.h").write_text("#define THREE 3\n#define NAMED <tr1/functional>\n")
    (tmp_path / "deep" / "four.h").write_text("constexpr int four = 4;\n")
    (tmp_path / "deep" / "one.h").write_text("constexpr int one = 1;\n")
    (tmp_path / "fill.cu").write_text(
        '#include "deep\\er\\three.h"\n#include NAMED\n#define OTHER "deep/four.h"\n#include OTHER\n'
        "#include <thrust\\pair.h>\n#define ONE_OF() <deep/one.h>\n#include ONE_OF()\n"
        "using hashed = std::tr1::hash<int>;\n"
        'extern "C" __global__ void fill(int* x) { *x = THREE + four + one; }\n'
    )
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert (one.error, one.entries, one.translation.stubs) == (None, ("fill",), ("thrust/pair.h", "tr1/functional"))


@pytest.mark.thorough
def test_build_sets_cuda_version_that_source_needs(tmp_path, cache):
    (tmp_path / "fill.cu").write_text(
        "#if CUDART_VERSION >= 11000 && __CUDA_ARCH__ >= 750\n__device__ int of_new() { return 1; }\n#endif\n"
        'extern "C" __global__ void fill(int* x) { *x = of_new(); }\n'
    )
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert (one.error, one.entries) == (None, ("fill",))
    assert [each.flag for each in one.switches] == ["-DCUDART_VERSION=12080", "-D__CUDA_ARCH__=750"]


def test_build_defines_cuda_switch_that_header_needs(tmp_path, cache):
    (tmp_path / "words.h").write_text(
        "#ifdef OUR_WITH_CUDA\n#include <cuda.h>\n#else\n#undef __global__\n#define __global__\n#endif\n"
    )
    (tmp_path / "fill.cu").write_text('#include "words.h"\n__global__ void fill(int* x) { *x = 1; }\n')
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert (one.error, len(one.entries), [each.flag for each in one.switches]) == (None, 1, ["-DOUR_WITH_CUDA"])


def test_build_avoids_kernels_with_excluded_body(tmp_path, cache):
    of_cuda = 'extern "C" __global__ void fill(int* x) {\n#if {}\n  *x = 1;\n#endif\n}\n__global__ void none() {}\n'
    (tmp_path / "version.cu").write_text(of_cuda.replace("{}", "CUDA_VERSION >= 11000", 1))
    ptx = '#if __CUDA_ARCH__ >= 700\n  asm("nosuch.instruction;");\n  *x = 1;\n#endif'
    (tmp_path / "ptx.cu").write_text(f'extern "C" __global__ void fill(int* x) {{\n{ptx}\n}}\n')
    sides = Sides(amd=CompileOptions(flags=("-D__CUDA_ARCH__=890",)))
    ptx_one, version = build(tmp_path, ["ptx", "version"], ["gfx1100"], cache=cache, settings=BuildSettings(sides))
    assert (version.error, len(version.entries)) == (None, 2)
    assert [each.flag for each in version.switches] == ["-DCUDA_VERSION=12080"]
    assert "nosuch.instruction" in str(ptx_one.error)


def test_build_sets_cuda_version_that_enables_kernels(tmp_path, cache):
    source = "#if CUDA_VERSION >= 10010\n#include <NvInfer.h>\n__global__ void fill(int* x) { *x = VALUE; }\n#endif\n"
    (tmp_path / "fill.cu").write_text(source.replace("VALUE", "1"))
    (tmp_path / "none.cu").write_text(source)
    fill, none = build(tmp_path, ["fill", "none"], ["gfx1100"], cache=cache)
    assert (fill.error, len(fill.entries)) == (None, 1)
    assert [each.flag for each in fill.switches] == ["-DCUDA_VERSION=12080"]
    assert "VALUE" in str(none.error)


@pytest.mark.thorough
def test_build_omits_cutlass_that_only_host_code_needs(tmp_path, cache):
    (tmp_path / "cutlass").mkdir()
    (tmp_path / "cutlass" / "gemm.h").write_text(
        "namespace cutlass { __device__ inline void wait() { nothing_of_amd(); } struct Gemm { int run(); }; }\n"
    )
    source = "#include <cutlass/gemm.h>\nint host() { return cutlass::Gemm().run(); }\n"
    (tmp_path / "host.cu").write_text(source + 'extern "C" __global__ void fill(int* x) { *x = 1; }\n')
    (tmp_path / "device.cu").write_text(source + 'extern "C" __global__ void fill(int*) { cutlass::wait(); }\n')
    device, host = build(tmp_path, ["device", "host"], ["gfx1100"], cache=cache)
    assert (host.error, host.entries, host.translation.empty_headers) == (None, ("fill",), ("cutlass/gemm.h",))
    assert "nothing_of_amd" in str(device.error)


def test_build_of_files_that_include_each_other_ends(tmp_path, cache):
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / f"{name}.cu").write_text(f'#pragma once\n#include "{other}.cu"\n__device__ int {name} = 1;\n')
    for built in build(tmp_path, ["one", "two"], ["gfx1100"], cache=cache):
        assert (built.error, built.entries, built.part_of) == (None, (), None)


@pytest.mark.thorough
def test_build_takes_required_cpp_standard_from_build_files(tmp_path, cache):
    source = "template <class T> concept number = sizeof(T) == 4;\n"
    source += "template <number T> __global__ void fill(T* x) { x[threadIdx.x] = 1; }\n"
    (tmp_path / "fill.cu").write_text(source + "template __global__ void fill<float>(float*);\n")
    (tmp_path / "CMakeLists.txt").write_text("set(CMAKE_CUDA_STANDARD 20)\n")
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert (one.error, [each.flag for each in one.switches]) == (None, ["-std=c++20"])
    assert "hipified, fill with -std=c++20 as CMakeLists.txt has it, " in one.code_object.made_by


def test_build_finds_header_through_parent_folder(tmp_path, cache):
    folder = tmp_path / "nn"
    folder.mkdir()
    (folder / "twice.h").write_text("__device__ inline int twice(int x) { return 2 * x; }\n")
    source = '#include "../nn/twice.h"\nextern "C" __global__ void k(int* x) { x[0] = twice(x[0]); }\n'
    (folder / "k.cu").write_text(source)
    (one,) = build(folder, ["k"], ["gfx1100"], cache=cache)
    assert (one.error, one.entries) == (None, ("k",))


LINKED = {
    "share.h": "#pragma once\nextern __constant__ float table[4];\n__device__ float twice(float);\n",
    "main.cu": '#include "share.h"\n'
    "__global__ void k(float* x) { x[0] = twice(x[1]) + table[1]; }\nint main() { k<<<1, 1>>>(nullptr); }\n",
    "other.cu": '#include "share.h"\n__constant__ float table[4] = {1, 2, 3, 4};\n'
    "__device__ auto twice(float x) -> float { return 2 * x; }\nint main() {}\n",
}


def test_build_appends_linked_files(tmp_path, cache):
    for name, text in LINKED.items():
        (tmp_path / name).write_text(text)
    (built,) = build(tmp_path, ["main"], ["gfx1100"], cache=cache)
    assert built.error is None and built.entries == ("_Z1kPf",)
    assert [(each.flag, each.file.name, each.line) for each in built.switches] == [
        ('#include "other.cu"', "other.cu", 3)
    ]
    (again,) = build(tmp_path, ["main"], ["gfx1100"], cache=cache)
    assert again.cached
    (tmp_path / "third.cu").write_text(LINKED["other.cu"])
    (built,) = build(tmp_path, ["main"], ["gfx1100"], cache=cache)  # two candidates: ambiguous
    assert {each.name for each in built.error.findings} == {"twice(float)", "table"}


RULES = "#pragma once\n__device__ int score(int);\nenum {{ FACTOR = {} }};\n"


def test_build_reports_chosen_folder_of_alternatives(tmp_path, cache):
    game = '#include "rules.h"\n__device__ int score(int x) { return x * FACTOR; }\n'
    files = {
        "src/play.cu": '#include "rules.h"\n__global__ void play(int* x) { x[0] = score(x[1]) + FACTOR; }\n',
        **{f"src/{name}/score.cu": game for name in ("chess", "draughts")},
        **{f"include/{name}/rules.h": RULES.format(len(name)) for name in ("chess", "draughts")},
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "Makefile").write_text("%.play.o: src/play.cu\n\tnvcc -Iinclude/$* -c $< -o $@\n")
    for _ in range(2):  # the second is from the cache
        (one,) = build(tmp_path / "src", ["play"], ["gfx1100"], cache=cache)
        assert (one.error, one.entries) == (None, ("_Z4playPi",))
        folder, file = (each.flag for each in one.switches)
        assert folder.endswith("/include/chess") and file == '#include "chess/score.cu"'
        assert one.switches[0].why.endswith("include/draughts has it")
        assert one.switches[0].says.endswith('include/chess"] in [tool.parity]')
    (tmp_path / "include" / "draughts").rename(tmp_path / "include" / "on_gpu")
    (one,) = build(tmp_path / "src", ["play"], ["gfx1100"], cache=Cache(tmp_path / "other"))
    assert one.switches[0].flag.endswith("include/on_gpu")


def test_build_defines_cuda_arch_only_if_used(tmp_path, cache):
    needs = "#ifdef __CUDA_ARCH__\n#define D __device__\n#else\n#define D\n#endif\nD float f(float x) { return x; }\n"
    (tmp_path / "needs.cu").write_text(f"{needs}__global__ void k(float* x) {{ x[0] = f(x[1]); }}\n")
    (tmp_path / "not.cu").write_text(
        "#ifdef __CUDA_ARCH__\n#error CUDA\n#endif\n__global__ void k(float* x) { *x = 1; }\n"
    )
    one, other = build(tmp_path, None, ["gfx1100"], cache=cache)
    assert one.error is None and other.error is None and not other.switches
    assert [(each.flag, each.line, each.says) for each in one.switches] == [
        ("-D__CUDA_ARCH__=700", 1, "cuda-arch = 700 in [tool.parity]")
    ]


def test_build_omits_code_for_nvidia_only(tmp_path, cache):
    (tmp_path / "copy.cu").write_text(
        "__global__ void copy(float* x) {\n#if __CUDA_ARCH__ >= 800\n"
        '  asm("cp.async.bulk.commit_group;" : : "l"(x));\n#else\n  x[0] = x[1];\n#endif\n}\n'
    )
    (one,) = build(tmp_path, ["copy"], ["gfx1100"], cache=cache, settings=BuildSettings(Sides(cuda_arch=890)))
    assert (one.error, len(one.entries)) == (None, 1)
    assert [(each.flag, each.line, each.why) for each in one.switches] == [("-U__CUDA_ARCH__", 2, "as hipcc does it")]


def test_build_switch_includes_its_neighbours_except_hip(tmp_path, cache):
    (tmp_path / "CMakeLists.txt").write_text(
        "target_compile_definitions(x PRIVATE FOR_HIP PLACE=hip)\n"
        "target_compile_definitions(y PRIVATE FOR_CUDA PLACE=cuda)\n"
    )
    (tmp_path / "fill.cu").write_text(
        "#ifdef FOR_CUDA\n#define IS(name) const int name = 1;\nIS(VALUE)\n#endif\n"  # its definition is not visible
        "#ifdef FOR_HIP\nconst int VALUE = 2;\n#endif\nnamespace PLACE { const int place = VALUE; }\n"
        "__global__ void fill(int* x) { x[0] = cuda::place + VALUE; }\n"
    )
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert (one.error, len(one.entries)) == (None, 1)
    assert [each.flag for each in one.switches] == ["-DFOR_CUDA", "-DPLACE=cuda"]


def test_build_never_defines_switch_against_cuda(tmp_path, cache):
    (tmp_path / "setup.py").write_text("flags = ['-DDISABLE_CUDA']\n")
    (tmp_path / "fill.cu").write_text(
        "#ifdef DISABLE_CUDA\nconst int value = 1;\n#endif\n__global__ void fill(int* x) { x[0] = value; }\n"
    )
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert one.error and not one.switches


def test_variant_with_same_errors_has_no_variants(tmp_path, cache, monkeypatch):
    (tmp_path / "setup.py").write_text("flags = ['-DWITH_CUDA', '-DTILE=64']\n")
    (tmp_path / "fill.cu").write_text(
        f"#if __CUDA_ARCH__ > 1 && CUDA_VERSION > 1\n#endif\n{SWITCHED}__device__ none x;\n"
    )
    seen = []
    monkeypatch.setattr(porting, "after_errors", lambda *given: seen.append(given) or after_errors(*given))
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache, settings=BuildSettings(Sides(cuda_arch=890)))
    assert "none" in str(one.error.findings)
    assert len({error.findings for _, _, error in seen[:2]}) == 2
    assert len(seen) == 4  # unmodified, with the switches, without the code that still fails, and in part


@pytest.mark.parametrize(("condition", "tried"), [("#ifdef AWAY\n#else", False), ("#ifndef AWAY", True)])
def test_build_tries_no_switch_for_name_from_missing_header(tmp_path, cache, monkeypatch, condition, tried):
    kernel = "__global__ void fill(elsewhere::Tile* x) { }"
    inside, behind = (kernel, "") if tried else ("", kernel)
    (tmp_path / "fill.cu").write_text(f'#include "elsewhere/tiles.h"\n{condition}\n{inside}\n#endif\n{behind}\n')
    seen = []
    monkeypatch.setattr(porting, "after_errors", lambda *given: seen.append(given) or after_errors(*given))
    (one,) = build(tmp_path, ["fill"], ["gfx1100"], cache=cache)
    assert one.error.findings[0].name == "elsewhere/tiles.h"
    assert ("switches" in {variant.kind for variant in after_errors(*seen[0])}) == tried


def test_undefined_function_is_reported_in_header_of_same_name(tmp_path, cache):
    (tmp_path / "inner").mkdir()
    (tmp_path / "area.h").write_text('#include "inner/area.h"\n')
    (tmp_path / "inner" / "area.h").write_text(
        "\n\n__device__ float area(float x);\n__global__ void k(float* x) { *x = area(*x); }\n"
    )
    (tmp_path / "main.cu").write_text('#include "area.h"\n')
    (one,) = build(tmp_path, ["main"], ["gfx1100"], cache=cache)
    (finding,) = one.error.findings
    assert finding.file.endswith("inner/area.h") and finding.line == 4


def test_undefined_variable_is_reported_where_it_is_read(tmp_path, cache):
    (tmp_path / "main.cu").write_text(
        "struct Table { static __device__ int size; };\n__global__ void k(int* x) {\n    *x = Table::size;\n}\n"
    )
    (one,) = build(tmp_path, ["main"], ["gfx1100"], cache=cache)
    (finding,) = one.error.findings
    assert finding.name == "Table::size" and finding.line == 3


def test_module_with_another_name_is_not_compiled_again(tmp_path, cache):
    (tmp_path / "reverse.cu").write_text(REVERSE)
    for name, is_cached in (("nn/reverse", False), ("nn_reverse", True)):
        (one,) = build(tmp_path, {name: tmp_path / "reverse.cu"}, ["gfx1100"], cache=cache)
        assert (one.cached, one.code_object.module) == (is_cached, name)


def test_nvcc_compiles_source_and_its_templates_at_once(tmp_path, cache, with_nvcc, monkeypatch):
    commands = []

    def run(module, target, folder, *command):
        commands.append("-ptx" in command)
        return original(module, target, folder, *command)

    original = nvcc._run
    monkeypatch.setattr(nvcc, "_run", run)
    source = tmp_path / "fill.cu"
    source.write_text(REVERSE + "template <class T, int N> __global__ void fill(T* x) { *x = N; }\n")
    settings = BuildSettings(kernels={"fill": ("fill<float, 3>", "absent<float>")})
    for name, count in (("fill<float, 3>", 2), ("fill<double, 4>", 1)):
        (one,) = build(tmp_path, {"fill": source}, ["sm_90"], cache=cache, settings=settings)
        assert one.code_object.symbol(name) in one.entries and sum(commands) == count
        settings = BuildSettings(kernels={"fill": ("fill<double, 4>",)})
        commands.clear()
