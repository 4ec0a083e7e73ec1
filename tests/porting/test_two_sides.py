"""A port in separate sources: each side is built from its files, with its flags and its forced headers."""

import pytest

from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers.compile_options import CompileOptions, Sides
from parity.compilers.errors import NoSource
from parity.platform.cache import Cache

CUDA = """
extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= TWO; }
extern "C" __global__ void cuda_only(float* x) { x[0] = 1; }
"""
HIP = """
#include <hip/hip_runtime.h>
extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= TWO; }
extern "C" __global__ void hip_only(float* x) { x[warpSize] = 1; }
"""


@pytest.fixture
def folders(tmp_path):
    for name, text in {"cuda/m.cu": CUDA, "hip/m.hip": HIP, "include/two.h": "#define TWO 2.0f\n"}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def sides(folders, forced="include/two.h", flags=(), ported="hip"):
    side = CompileOptions.from_settings(folders, flags=flags, forced=[forced] if forced else [])
    return Sides(side, side, folders / ported if ported else None)


def test_ported_source_is_built_unchanged(folders, cache):
    (built,) = build(folders / "cuda", targets=["gfx1100"], settings=BuildSettings(sides(folders)), cache=cache)
    assert not built.error, built.error
    assert built.entries == ("twice", "hip_only")
    assert built.translation.ported and not built.changes.unmapped and not built.changes.hazards
    assert built.code_object.made_by.startswith("ported sources, ")
    (hipified,) = build(
        folders / "cuda", targets=["gfx1100"], settings=BuildSettings(sides(folders, ported=None)), cache=cache
    )
    assert hipified.entries == ("twice", "cuda_only")
    assert hipified.code_object.made_by.startswith("hipified, ")


def test_ported_source_gets_no_compat_header(folders, cache):
    """Like hipcc, the build does not add includes to a HIP source."""
    (folders / "hip" / "m.hip").write_text(HIP.replace("#include", "// #include"))
    (built,) = build(folders / "cuda", targets=["gfx1100"], settings=BuildSettings(sides(folders)), cache=cache)
    assert built.error and "m.hip:3" in str(built.error)


def test_module_without_port_is_reported(folders, cache):
    (folders / "cuda" / "n.cu").write_text(CUDA)
    _, missing = build(folders / "cuda", targets=["gfx1100"], settings=BuildSettings(sides(folders)), cache=cache)
    assert isinstance(missing.error, NoSource)
    assert "n.cu has no port in" in str(missing.error) and "n.hip" in str(missing.error)


def test_hip_source_without_cuda_source_is_module(folders, cache):
    amd, cuda = build(
        folders / "hip", targets=["gfx1100", "sm_90"], settings=BuildSettings(sides(folders, ported=None)), cache=cache
    )
    assert amd.entries == ("twice", "hip_only") and amd.translation.ported
    assert "there is no CUDA source" in str(cuda.error)


def test_compile_flags_apply_only_to_their_side(folders, cache):
    both = Sides(CompileOptions(), CompileOptions.from_settings(folders, flags=["-DTWO=2"]), folders / "hip")
    (built,) = build(folders / "cuda", targets=["gfx1100"], settings=BuildSettings(both), cache=cache)
    assert not built.error
    (built,) = build(
        folders / "cuda",
        targets=["gfx1100"],
        settings=BuildSettings(Sides(both.amd, CompileOptions(), folders / "hip")),
        cache=cache,
    )
    assert [(each.name, each.advice) for each in built.changes.faulty] == [
        ("twice", "use of undeclared identifier 'TWO'")
    ]


def test_cuda_arch_is_defined_if_source_tests_it(folders, cache):
    text = "#if __CUDA_ARCH__ >= 800\n" + CUDA.replace("TWO", "2") + "#endif\n"
    (folders / "cuda" / "m.cu").write_text(text)
    (folders / "cuda" / "n.cu").write_text(CUDA.replace("TWO", "2"))
    by_default = build(folders / "cuda", targets=["gfx1100"], cache=cache)
    assert [built.entries for built in by_default] == [(), ("twice", "cuda_only")]
    asked = build(folders / "cuda", targets=["gfx1100"], settings=BuildSettings(Sides(cuda_arch=890)), cache=cache)
    assert [built.entries for built in asked] == [("twice", "cuda_only")] * 2
    assert [built.cached for built in asked] == [False, True]
    assert not any(
        "__CUDA_ARCH__" in branch.advice and "not defined" in branch.advice for branch in asked[0].translation.branches
    )


@pytest.mark.parametrize("flags", [["-Iinclude"], ["-isystem", "include"]])
def test_cache_key_contains_headers_found_by_flags(folders, cache, flags):
    """Regression test: an edit of such a header did not cause a rebuild, so the run tested old code."""
    (folders / "cuda" / "m.cu").write_text("#include <two.h>\n" + CUDA)
    side = sides(folders, forced=None, flags=flags, ported=None)

    def once():
        (built,) = build(folders / "cuda", targets=["gfx1100"], settings=BuildSettings(side), cache=cache)
        assert not built.error, built.error
        return built

    first = once()
    assert once().cached
    (folders / "include" / "two.h").write_text("#define TWO 3.0f\n")
    second = once()
    assert not second.cached and second.code_object.digest != first.code_object.digest


def test_cache_key_contains_forced_headers(folders, cache):
    def once():
        return build(folders / "cuda", targets=["gfx1100"], settings=BuildSettings(sides(folders)), cache=cache)[
            0
        ].code_object.digest

    first = once()
    (folders / "include" / "two.h").write_text("#define TWO 3.0f\n")
    assert once() != first


UNKNOWN_INSTRUCTION = """
#include "checks.h"
__global__ void call(float* x) { asm volatile("nosuch.f32;"); x[0] = 1; }
"""
NESTED = """
#include "checks.h"
__global__ void leaf(float* x) { x[0] = 1; }
__global__ void root(float* x) { leaf<<<1, 1>>>(x); }
"""


def test_first_error_of_cuda_is_what_remains_without_absent_headers(tmp_path, cache, with_nvcc):
    (tmp_path / "m.cu").write_text(UNKNOWN_INSTRUCTION)
    (built,) = build(tmp_path, targets=["sm_90"], cache=cache)
    assert "nosuch" in built.first_finding, built.error


@pytest.mark.parametrize("text", [NESTED, NESTED.replace('#include "checks.h"', "")])
def test_kernels_that_launch_kernels_are_left_out(tmp_path, cache, with_nvcc, text):
    (tmp_path / "m.cu").write_text(text)
    (built,) = build(tmp_path, targets=["sm_90"], cache=cache)
    assert built.entries == ("_Z4leafPf",), built.error
    (piece,) = (each for each in built.translation.left_out if each.function)
    assert piece.function == "root" and "requires separate compilation mode" in piece.because


def test_kernels_with_removed_apis_of_cuda_are_left_out(tmp_path, cache, with_nvcc):
    (tmp_path / "m.cu").write_text(
        "texture<float, 1, cudaReadModeElementType> cells;\n"
        "__device__ float fetch(int i) { return tex1Dfetch(cells, i); }\n"
        "__global__ void reads(float* x) { x[0] = fetch(0); }\n"
        "__global__ void other(int* x) { x[0] = A_WARP_SIZE; }\n"
    )
    (built,) = build(tmp_path, targets=["sm_90"], cache=cache)
    assert built.entries == ("_Z5otherPi",), built.error
    assert {each.function for each in built.translation.left_out if each.function} == {"fetch", "reads"}


def test_absent_headers_with_a_stub_are_not_the_cause(tmp_path, cache, with_nvcc):
    (tmp_path / "m.cu").write_text("#include <helper_cuda.h>\n__global__ void k(int* x) { x[0] = absent; }\n")
    (built,) = build(tmp_path, targets=["sm_90"], cache=cache)
    assert "absent" in built.first_finding, built.first_finding


def test_commands_of_a_notebook_are_left_out(tmp_path, cache, with_nvcc):
    (tmp_path / "m.cu").write_text(
        "%%writefile m.cu\n%%cuda\n#include <vector>\n__global__ void k(int* x) { *x = 1; }\n"
    )
    for built in build(tmp_path, targets=["sm_90", "gfx1100"], cache=cache):
        assert not built.error and len(built.entries) == 1, built.error


def test_macro_of_a_constant_that_is_left_out_comes_from_the_build(tmp_path, cache, with_nvcc):
    (tmp_path / "build.py").write_text('flags = " -DALPHA=" + str(alpha)\n')
    (tmp_path / "k.cu").write_text("""
constexpr double alpha = ALPHA;
__device__ double scaled(double x) { return alpha * x; }
extern "C" __global__ void k(double* x) { x[threadIdx.x] = scaled(x[threadIdx.x]); }
""")
    for one in build(tmp_path, targets=["gfx1100", "sm_90"], cache=cache):
        assert not one.error and [each.flag for each in one.switches] == ["-DALPHA=64"], one.target


def test_macros_of_a_letter_do_not_change_thrust(tmp_path, cache, with_nvcc):
    (tmp_path / "k.cu").write_text("""
#define E 2.718
#define G 6.674
#include <thrust/device_vector.h>
#include <thrust/sort.h>
extern "C" __global__ void k(float* x) { x[threadIdx.x] *= E * G; }
""")
    for one in build(tmp_path, targets=["gfx1100", "sm_90"], cache=cache):
        assert not one.error and one.entries, (one.target, one.error)


def test_half_functions_that_newer_toolkits_define_are_left_out(tmp_path, cache, with_nvcc):
    """TVM generates these macros. An older toolkit has no ``htanh``."""
    (tmp_path / "k.cu").write_text("""
#include <cuda_fp16.h>
#define UNARY_HALF(NAME, OF_FLOAT) \\
  static inline __device__ half NAME(half x) { return __float2half(OF_FLOAT(__half2float(x))); }
UNARY_HALF(htanh, tanhf)
UNARY_HALF(herf, erff)
static inline __device__ half htanh_approx(half x) { return htanh(x); }
extern "C" __global__ void k(half* x) { x[threadIdx.x] = herf(htanh_approx(x[threadIdx.x])); }
""")
    for one in build(tmp_path, targets=["gfx1100", "sm_90"], cache=cache):
        assert not one.error and one.entries == ("k",), (one.target, one.error)


@pytest.mark.parametrize(("name", "targets"), [("beta", ["sm_90"]), ("size", ["gfx1100", "sm_90"])])
def test_names_of_newer_standards_are_avoided(tmp_path, cache, with_nvcc, name, targets):
    """On AMD's side, parity's standard library has no ``std::beta``."""
    (tmp_path / "k.cu").write_text(f"""
#include <cmath>
#include <vector>
using namespace std;
__constant__ float {name} = 2;
extern "C" __global__ void k(float* x) {{ *x = {name}; }}
""")
    for one in build(tmp_path, targets=["gfx1100", "sm_90"], cache=cache):
        assert not one.error and one.entries == ("k",), (one.target, one.error)
        assert [each.flag for each in one.switches] == ["-std=c++14"] * (one.target in targets), one.target


def test_float_functions_of_namespace_std_compile(tmp_path, cache, with_nvcc):
    (tmp_path / "k.cu").write_text(
        '#include <cmath>\nextern "C" __global__ void k(float* x) { *x = std::sqrtf(*x) + std::powf(*x, 2.0f); }\n'
    )
    for one in build(tmp_path, targets=["gfx1100", "sm_90"], cache=cache):
        assert not one.error and one.entries == ("k",), (one.target, one.error)


def test_types_of_absent_headers_are_supplied_on_both_sides(tmp_path, cache, with_nvcc):
    (tmp_path / "k.cu").write_text(
        "#include <GL/absent.h>\nstruct Buffer { GLuint name; int count; };\n"
        'extern "C" __global__ void k(Buffer buffer, int* x) { x[0] = buffer.count; }\n'
    )
    for one in build(tmp_path, targets=["gfx1100", "sm_90"], cache=cache):
        assert not one.error and one.entries == ("k",), (one.target, one.error)
        assert one.translation.implied == ("typedef unsigned int GLuint;",)
