"""Files that are compiled with a source because they define device functions and variables that it declares."""

from parity.build.modules import build
from parity.build.settings import BuildCallbacks
from parity.compilers import clang
from parity.platform.cache import Cache


def test_undefined_function_is_reported_before_code_generation(built, monkeypatch):
    monkeypatch.setattr(clang.Clang, "_generate", None)
    one = built(
        "__device__ int elsewhere(int);\n__global__ void k(int* x) {\n  int y = int(elsewhere(1));\n  *x = y;\n}\n"
    )
    (finding,) = one.error.findings
    assert not one.translation.left_out  # the initialization of y is not mistaken for a declaration
    assert (finding.name, finding.line) == ("elsewhere(int)", 3)
    assert "#include the file that defines it" in finding.advice


def test_linking_finds_function_whose_address_is_taken(tmp_path, cache):
    source = "__device__ int twice(int);\n__device__ int (*f)(int) = twice;\n"
    (tmp_path / "m.cu").write_text(source + "__global__ void k(int* x) { x[0] = f(x[0]); }\n")
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache)
    assert [(each.name, each.line) for each in one.error.findings] == [("twice(int)", 2)]
    (tmp_path / "twice.cu").write_text("__device__ int twice(int x) { return 2 * x; }\n")
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache)
    assert [each.flag for each in one.switches] == ['#include "twice.cu"']


def test_linking_finds_member_functions(tmp_path, cache):
    members = "ON_GPU int hit(int) const; ON_GPU int operator+(int) const;"
    shapes = "".join(f"struct {name} {{ {members} }};\n" for name in ("Ball", "Box"))
    (tmp_path / "shape.h").write_text(f"#pragma once\n#define ON_GPU __device__\n{shapes}")
    (tmp_path / "ball.cu").write_text('#include "shape.h"\nON_GPU int Ball::operator+(int x) const { return x + 1; }\n')
    own, far = tmp_path / "own", tmp_path / "far" / "gpu" / "shapes" / "flat"
    for folder in (tmp_path / ".git", own, far):
        folder.mkdir(parents=True)
    (far / "box.cu").write_text('#include "../../../../shape.h"\nON_GPU int Box::hit(int x) const { return x + 2; }\n')
    (own / "m.cu").write_text(
        '#include "../shape.h"\n__global__ void k(int* x) { x[0] = (Ball() + 1) + Box().hit(2); }\n'
    )
    (one,) = build(own, ["m"], targets=["gfx1100"], cache=cache)
    assert not one.error, one.error
    assert {each.flag for each in one.switches} == {'#include "../ball.cu"', '#include "../far/gpu/shapes/flat/box.cu"'}


def test_linking_keeps_previous_repairs(tmp_path):
    (tmp_path / "ball.h").write_text(
        "#pragma once\nstruct Ball { __device__ int hit(int) const; int hit(long*) const; };\n"
    )
    (tmp_path / "ball.cu").write_text('#include "ball.h"\n__device__ int Ball::hit(int x) const { return x + 2; }\n')
    (tmp_path / "m.cu").write_text(
        '#include "ball.h"\n#include <absent_library.h>\nvoid host() { absent::call(); }\n'
        "__global__ void k(int* x) { x[0] = Ball().hit(2); }\n"
    )
    told: list[str] = []
    own = Cache(tmp_path / "cache")  # an empty cache, so that every attempt compiles
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=own, progress=BuildCallbacks(retrying=told.append))
    assert not one.error, one.error
    assert [each.flag for each in one.switches] == ['#include "ball.cu"']
    # Attempts: unchanged, without the absent header, without the host function, with the linked file.
    assert told == [f"m gfx1100, compilation {number}" for number in (2, 3, 4)]


def test_linking_prefers_file_with_nearest_header(tmp_path, cache):
    (tmp_path / "old.h").write_text("#pragma once\nnamespace n { __device__ int hash(int); }\n")
    declared = "namespace n { __device__ int hash(int); extern __constant__ int table[2]; }\n"
    (tmp_path / "new.h").write_text(f'#pragma once\n#include "old.h"\n{declared}')
    (tmp_path / "old.cu").write_text('#include "old.h"\n__device__ int n::hash(int x) { return x; }\n')
    defined = "namespace n {\n__device__ int hash(int x) { return x + 1; }\n__constant__ int table[2];\n}\n"
    (tmp_path / "new.cu").write_text(f'#include "new.h"\n{defined}')
    (tmp_path / "none.cu").write_text(defined)
    (tmp_path / "m.cu").write_text('#include "new.h"\n__global__ void k(int* x) { x[0] = n::hash(n::table[x[0]]); }\n')
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache)
    assert not one.error, one.error
    assert {each.flag for each in one.switches} == {'#include "new.cu"'}


def test_linking_finds_definition_by_macro(tmp_path, cache):
    (tmp_path / "get.h").write_text("#pragma once\n__device__ int get_one();\n")
    defined = "#define GET(name) __device__ int get_##name() { return name; }\n__constant__ int one;\nGET(one)\n"
    (tmp_path / "get.cu").write_text(f'#include "get.h"\n{defined}')
    (tmp_path / "m.cu").write_text('#include "get.h"\n__global__ void k(int* x) { x[0] = get_one(); }\n')
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache)
    assert not one.error, one.error
    assert {each.flag for each in one.switches} == {'#include "get.cu"'}


def test_variables_of_file_that_does_not_compile_are_defined(tmp_path, cache):
    declared = "#pragma once\nnamespace n { extern __constant__ int table[2]; }\nextern __constant__ float scale;\n"
    (tmp_path / "common.h").write_text(declared)
    (tmp_path / "m.cu").write_text(
        '#include "common.h"\n__global__ void k(float* x) { x[0] = scale * n::table[int(x[0]) % 2]; }\n'
    )
    broken = '#include "common.h"\nnamespace n { __constant__ int table[2]; }\n__constant__ float scale;\n'
    (tmp_path / "other.cu").write_text(broken + "__device__ int fail() { return absent; }\n")
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache)
    assert not one.error, one.error
    assert [each.flag for each in one.switches] == ["__constant__ int n::table[2];", "__constant__ float scale;"]
    assert "symbols=" in one.switches[0].why
    assert one.switches[0].says == "__constant__ int n::table[2]; in the source"
    (tmp_path / "other.cu").write_text(
        broken.replace("scale;", "scale = 2;") + "__device__ int fail() { return absent; }\n"
    )
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache)  # a zero would be wrong
    assert one.error


def test_extern_shared_memory_with_a_length_is_defined(tmp_path, with_nvcc):
    (tmp_path / "m.cu").write_text(
        "__global__ void k(float* x) {\n"
        "  extern __shared__ float tile[32][32];\n"
        "  tile[threadIdx.y][threadIdx.x] = *x;\n"
        "  x[threadIdx.x] = tile[threadIdx.x][0];\n"
        "}\n"
    )
    amd, cuda = build(tmp_path, ["m"], targets=["gfx1100", "sm_90"], cache=Cache(tmp_path / "cache"))
    assert not amd.error and not cuda.error, (amd.error, cuda.error)
    assert cuda.code_object.kernels["_Z1kPf"].lds_bytes == 4096


def test_linking_finds_virtual_functions_on_both_sides(tmp_path, cache, with_nvcc):
    (tmp_path / "shape.h").write_text(
        "#pragma once\nstruct Shape { __device__ virtual int hit(int) const = 0; };\n"
        "struct Ball : Shape { __device__ int hit(int) const override; };\n"
    )
    (tmp_path / "ball.cu").write_text('#include "shape.h"\n__device__ int Ball::hit(int x) const { return x + 2; }\n')
    (tmp_path / "m.cu").write_text(
        '#include "shape.h"\n__global__ void make(Shape** s) { *s = new Ball(); }\n'
        "__global__ void k(Shape** s, int* x) { x[0] = (*s)->hit(2); }\n"
    )
    for one in build(tmp_path, ["m"], targets=["gfx1100", "sm_90"], cache=cache):
        assert not one.error and len(one.entries) == 2, (one.target, one.error)
        assert [each.flag for each in one.switches] == ['#include "ball.cu"'], one.target


def test_linking_precedes_code_that_is_left_out_for_cuda(tmp_path, cache, with_nvcc):
    """Without the file, every kernel that calls one of its functions would be left out."""
    (tmp_path / "own.h").write_text("#pragma once\n__device__ int once(int x);\n__device__ int twice(int x);\n")
    (tmp_path / "own.cu").write_text(
        '#include "own.h"\n__device__ int once(int x) { return x; }\n__device__ int twice(int x) { return 2 * x; }\n'
    )
    (tmp_path / "m.cu").write_text(
        '#include <eigen3/Eigen/Dense>\n#include "own.h"\n'
        "__global__ void solve(float* x) { Eigen::SelfAdjointEigenSolver<Eigen::Matrix3f> made; *x = made.info(); }\n"
        "__global__ void j(int* x) { x[0] = once(2); }\n__global__ void k(int* x) { x[0] = twice(2); }\n"
    )
    for one in build(tmp_path, ["m"], targets=["gfx1100", "sm_90"], cache=cache):
        assert not one.error and one.entries == ("_Z1jPi", "_Z1kPi"), (one.target, one.error)
        assert [each.flag for each in one.switches if "own.cu" in each.flag], one.target


def test_definition_for_newer_gpus_is_compiled(tmp_path, cache):
    (tmp_path / "m.cu").write_text(
        "template <class T> __device__ float real(T x);\n"
        "#if __CUDA_ARCH__ >= 800\ntemplate <> __device__ float real(int x) { return x; }\n#endif\n"
        "__global__ void k(float* x) { x[0] = real(2); }\n"
    )
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache)
    assert not one.error, one.error
    assert [each.flag for each in one.switches] == ["-D__CUDA_ARCH__=800"]
