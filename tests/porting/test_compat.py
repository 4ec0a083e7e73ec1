"""Compatibility headers: names that AMD's headers lack, the findings about them, and their results in kernels."""

from pathlib import Path

import numpy as np
import pytest
from execution import program

from parity.build.modules import build
from parity.emulator.faults import FailedAssertion
from parity.porting import compat
from parity.porting.compat import confirmed, supplied

HIP = (6, 2, 41134)


def needed(text: str, version: tuple[int, ...] = HIP) -> list[str]:
    return [finding.name for finding in supplied({"k.cu": text}, version).needs]


def test_needs_ignore_comments_and_strings():
    assert needed('int a = __dp4a(x, y, z); // __vadd4\n/* __vsub4 */ const char* s = "__vmaxs4";') == ["__dp4a"]
    assert supplied({"k.cu": "a + b"}, HIP) == compat.Compat()


def test_conditional_need_requires_its_companion_name():
    assert needed("atomicAdd(p, 1.0f);") == []
    found = supplied({"k.cu": "atomicAdd(p, h);", "types.cuh": "using value = __half;"}, HIP)
    assert found.headers == ("parity/compat/atomics_half.h",)
    assert str(found.needs[0]).startswith("k.cu:1:1: atomicAdd: parity/compat/atomics_half.h: ")


def test_needs_with_newer_hip_omit_its_names():
    assert needed("__hip_fp8_e4m3 x; __syncwarp();") == ["__hip_fp8_e4m3", "__syncwarp"]
    assert needed("__hip_fp8_e4m3 x; __syncwarp();", (7, 1, 25424)) == []


def test_macro_defined_by_source_is_not_needed():
    assert needed("#define __ldcs(p) (*(p))\nfloat x = __ldcs(q);") == []


def test_dropped_hip_macro_of_source_is_replaced_by_compat_header():
    hip = "#define __shfl_sync(mask, x, lane) __shfl(x, lane)\n"
    found = supplied({"vendors/hip.h": hip, "k.cu": "float y = __shfl_sync(0xffffffff, x, 0);"}, HIP)
    assert (found.headers, found.needs) == (("parity/compat/shuffles.h",), ())


def test_name_in_preprocessor_condition_is_not_needed():
    assert needed("#if defined(__dp4a) || \\\n  CUDART_VERSION >= 11000\nint x;\n#elif CUDA_VERSION\n#endif\n") == []
    assert needed("#if 1\nstatic_assert(CUDART_VERSION >= 11000);\n#endif\n") == ["CUDART_VERSION"]


def test_cuda_version_names_are_constants_not_macros(tmp_path, cache):
    source = """#ifdef CUDART_VERSION
#error "a macro"
#endif
static_assert(CUDART_VERSION >= 11000 && CUDA_VERSION >= 11000, "CUDA 11 or newer");
extern "C" __global__ void k(int* x) { x[0] = CUDART_VERSION; }
"""
    (tmp_path / "k.cu").write_text(source)
    (built,) = build(tmp_path, ["k"], ["gfx1100"], cache=cache)
    assert not built.error
    assert {(need.name, need.line) for need in built.changes.needs} == {("CUDART_VERSION", 4), ("CUDA_VERSION", 4)}


def test_source_fallback_for_cuda_vector_types_is_skipped(tmp_path, cache):
    source = """#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__
struct float2 { float x, y; };
#endif
extern "C" __global__ void k(float2* x) { x[0].y = x[0].x; }
"""
    (tmp_path / "k.cu").write_text(source)
    (built,) = build(tmp_path, ["k"], ["gfx1100"], cache=cache)
    assert not built.error and built.translation and not built.translation.left_out
    assert [(need.name, need.line) for need in built.changes.needs] == [("__VECTOR_TYPES_H__", 2)]


def test_source_code_for_cuda_headers_compiles_despite_hip_macros(tmp_path, cache):
    source = """#ifdef __DRIVER_TYPES_H__
__device__ int one() { return 1; }
#endif
#ifndef DEPRECATED
#define DEPRECATED [[deprecated]]
#endif
DEPRECATED __device__ int two(int MASK1 = 2) { return MASK1; }
extern "C" __global__ void k(int* x) { x[0] = one(); }
"""
    (tmp_path / "k.cu").write_text(source)
    (built,) = build(tmp_path, ["k"], ["gfx1100"], cache=cache)
    assert not built.error, built.error
    assert [(need.name, need.line) for need in built.changes.needs] == [
        *(("DEPRECATED", 5), ("MASK1", 7), ("__DRIVER_TYPES_H__", 1)),
    ]


def test_functions_hidden_by_half_overloads_in_unnamed_namespace_are_found(tmp_path, cache, wheels):
    source = """#include <cuda_fp16.h>
namespace {
__device__ float read(const float* x) { return __shfl_down(__ldg(x + threadIdx.x) + __ldcs(x), 1, 32); }
}
extern "C" __global__ void k(const float* x, float* y) { y[threadIdx.x] = read(x); }
"""
    kernels = program(tmp_path, source, "gfx1100", cache)
    assert kernels.built.switches[0].says == 'hip-force-include = ["parity/compat/unnamed.h"] in [tool.parity]'
    x = np.arange(32, dtype=np.float32)
    assert (kernels.run("k", np.zeros(32, np.float32), x, block=32)[:31] == x[1:] + x[0]).all()


def test_half2_raw_bits_and_long_double_classification_compile(tmp_path, cache):
    source = """#include <cuda_fp16.h>
__host__ __device__ inline bool is_number(volatile long double x) { return !isnan(x) && !isinf(x); }
extern "C" __global__ void k(const __half2* x, unsigned* y) {
    __half2_raw bits = x[threadIdx.x], back = {0, 0};
    back.x = bits.y;
    back.y = bits.x;
    const __half2 other = __half2(back);
    y[threadIdx.x] = *reinterpret_cast<const unsigned*>(&other);
}
"""
    kernels = program(tmp_path, source, "gfx1100", cache)
    x = np.arange(64, dtype=np.uint32) * 0x3C01_0203
    assert (kernels.run("k", np.zeros(64, np.uint32), x, block=64) == (x >> 16 | x << 16)).all()


def test_min_and_max_of_mixed_signedness_return_integers_if_needed(tmp_path, cache):
    source = """extern "C" __global__ void k(const int* n, unsigned* x) {
    const unsigned t = threadIdx.x;
    long long z = n[t];
    x[min(t, 63)] = max(n[t], 3u) + (min(1ull, z) << 4) + max(2ul, long(z)) % 1000;
}
"""
    kernels = program(tmp_path, source, "gfx1100", cache)
    assert kernels.built.switches[0].says == 'hip-force-include = ["parity/compat/min_max.h"] in [tool.parity]'
    n = np.arange(64, dtype=np.int32) - 5
    z = n.astype(np.int64).astype(np.uint64)
    wanted = np.maximum(n.astype(np.uint32), 3) + (np.minimum(1, z) << 4) + np.maximum(2, z) % 1000
    assert (kernels.run("k", np.zeros(64, np.uint32), n, block=64) == wanted.astype(np.uint32)).all()
    plain = "__global__ void k(const int* n, double* x) { x[0] = min(threadIdx.x, n[0]); }"
    assert not program(tmp_path, plain, "gfx1100", cache).built.switches  # it compiles as in a port, without the header


def test_class_derived_from_vector_type_inherits_no_operators(tmp_path, cache):
    source = """struct Word : public uint2 {
    __device__ Word(unsigned long long w) : uint2(make_uint2(w, w >> 32)) {}
    __device__ operator unsigned long long() const { return (unsigned long long)y << 32 | x; }
};
struct alignas(16) Rows { Word word; float4 row; };
__device__ uint2 turned(uint2 v) { return make_uint2(v.y, v.x); }
extern "C" __global__ void k(const unsigned long long* in, unsigned long long* out) {
    const Word word = in[threadIdx.x], other = Word(turned(word).x) ^ word;
    out[threadIdx.x] = (other ^ word) * word + sizeof(Rows);
}
"""
    kernels = program(tmp_path, source, "gfx1100", cache)
    (said,) = kernels.built.switches
    assert said.says == 'hip-force-include = ["parity/compat/plain_vectors.h"] in [tool.parity]'
    given = np.arange(64, dtype=np.uint64) * np.uint64(0x3C01_0203_0405_0607)
    assert (kernels.run("k", np.zeros(64, np.uint64), given, block=64) == (given >> np.uint64(32)) * given + 32).all()


def test_dependent_template_call_without_keyword_is_repaired(tmp_path, cache):
    source = """struct S {
  template <class T> __device__ int size() const { return sizeof(T); }
  template <int N> __device__ int operator()() const { return N; }
};
template <class A> __device__ int of(A a) { return a.size<float>() + a.operator()<3>(); }
extern "C" __global__ void k(const int* n, int* x) { x[threadIdx.x] = of(S()) + n[threadIdx.x]; }
"""
    kernels = program(tmp_path, source, "gfx1100", cache)
    assert (kernels.run("k", np.zeros(64, np.int32), np.ones(64, np.int32), block=64) == 8).all()
    assert [each.instead for each in kernels.built.translation.left_out] == ["template ", "template "]


def test_names_from_implicit_standard_headers_are_supplied(tmp_path, cache):
    source = 'extern "C" __global__ void k(const float* n, uint32_t* x) { x[threadIdx.x] = n[0] < FLT_MAX; }\n'
    kernels = program(tmp_path, "#include <vector>\n" + source, "gfx1100", cache)
    assert kernels.run("k", np.zeros(64, np.uint32), np.zeros(64, np.float32), block=64).all()
    assert [each.flag for each in kernels.built.switches] == ["-include parity/standard.h"]


@pytest.mark.thorough
def test_surface_reference_compiles_and_traps_when_used(tmp_path, cache):
    source = """surface<void, cudaSurfaceType2D> image;
extern "C" __global__ void draw(const int* n, float* x) {
    x[threadIdx.x] = n[threadIdx.x];
    if (n[threadIdx.x] > 63) surf2Dwrite(x[0], image, 4, 1, cudaBoundaryModeZero);
    if (n[threadIdx.x] > 99) x[1] = surf2Dread<float>(image, 4, 1);
}
__global__ void object(cudaSurfaceObject_t image, float4* x) {
    surf2Dread(&x[0], image, 16, 1, cudaBoundaryModeClamp);
    surf3Dwrite(x[1], image, 16, 1, 2);
    x[2] = surf1Dread<float4>(image, 16);
}
"""
    kernels = program(tmp_path, source, "gfx1100", cache)
    assert len(kernels.built.entries) == 2 and not kernels.built.translation.left_out
    n = np.arange(64, dtype=np.int32)
    assert (kernels.run("draw", np.zeros(64, np.float32), n, block=64) == n).all()
    with pytest.raises(FailedAssertion, match="surface references have no counterpart in HIP"):
        kernels.run("draw", np.zeros(64, np.float32), n + 1, block=64)


def test_included_header_is_reported_as_need():
    assert needed("#include <cuda/std/limits>\n") == ["cuda/std/limits"]


def test_repeated_name_is_listed_once_at_first_use():
    (need,) = supplied({"a.cu": "\n  __dp4a(1, 2, 3);\n__dp4a(4, 5, 6);", "b.cuh": "__dp4a(1, 2, 3);"}, HIP).needs
    assert (need.file, need.line, need.column) == ("a.cu", 2, 3)


def test_unsupplied_name_is_refused_with_reason():
    found = supplied({"k.cu": "x = __dadd_rz(x, y); __dp4a(1, 2, 3);"}, HIP)
    assert [finding.name for finding in found.refused] == ["__dadd_rz"]
    assert "rounding mode" in found.refused[0].advice
    unmapped = [*found.needs, found.refused[0]]
    assert [finding.name for finding in found.left(unmapped)] == ["__dadd_rz"]


def test_possible_need_is_confirmed_by_use_of_its_header():
    needs = supplied({"k.cu": "__half h; atomicAdd(p, 1.0f); __dp4a(1, 2, 3);"}, HIP).needs
    assert [finding.name for finding in confirmed(needs, [Path("k.cu")])] == ["__dp4a"]
    used = [Path("parity-include/compat/parity/compat/atomics_half.h")]
    assert [finding.name for finding in confirmed(needs, used)] == ["__dp4a", "atomicAdd"]


SOURCE = """\
#include <cuda_fp16.h>
__global__ void add(__half* out, const __half* x, float* sum, const int* a, double* d) {
    atomicAdd(out, x[0] <= x[1] ? x[0] : x[1]);
    atomicAdd(sum, __hadd_sat(x[0], x[1]));
    out[1] = __int2half_rn(__dp4a(a[0], a[1], a[2]));
}
"""


def test_build_reports_needs_and_header_defects(tmp_path):
    (tmp_path / "k.cu").write_text(SOURCE)
    (built,) = build(tmp_path, ["k"], ["gfx1030"])
    assert built.error is None, built.error
    if not built.changes.defects:
        pytest.skip("AMD's headers cannot be had here")
    assert {(need.name, need.line) for need in built.changes.needs} == {("atomicAdd", 3), ("__dp4a", 5)}
    assert {(defect.name, defect.line) for defect in built.changes.defects} == {
        ("operator <= >=", 3),
        ("__hadd_sat", 4),
    }
    assert "__dp4a" not in {finding.name for finding in built.changes.unmapped}


def test_rocm_version_header_reports_hip_version(tmp_path, cache):
    (tmp_path / "k.cu").write_text(
        "#include <rocm-core/rocm_version.h>\n#include <hip/hip_fp8.h>\n"
        'extern "C" __global__ void k(int* x) { x[0] = ROCM_VERSION_MAJOR; x[1] = ROCM_VERSION_MINOR; }\n'
        "#if !HIP_FP8_TYPE_OCP\nusing __hip_fp8_e4m3 = __hip_fp8_e4m3_fnuz;\n#endif\n"
    )
    (built,) = build(tmp_path, ["k"], ["gfx1100"], cache=cache)
    assert built.error is None, built.error
    assert "rocm-core/rocm_version.h" in {need.name for need in built.changes.needs}


def test_kernels_launched_by_cuda_launch_kernel_ex_are_built(tmp_path, cache):
    source = """#include <cuda_runtime.h>
template <typename T, int by>
__global__ void times(const T* x, T* y) {
  cudaGridDependencySynchronize();
  y[threadIdx.x] = by * x[threadIdx.x];
  cudaTriggerProgrammaticLaunchCompletion();
}
template <typename T, int by>
void run(T* y, T* x, cudaStream_t stream) {
  cudaLaunchConfig_t config = {dim3(1), dim3(64)};
  config.dynamicSmemBytes = 0;
  config.stream = stream;
  cudaLaunchAttribute attrs[2];
  attrs[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attrs[0].val.programmaticStreamSerializationAllowed = 1;
  attrs[1].id = cudaLaunchAttributeCooperative;
  attrs[1].val.cooperative = 1;
  config.attrs = attrs;
  config.numAttrs = 2;
  cudaError_t status = cudaLaunchKernelEx(&config, times<T, by>, x, y);
  void* arguments[] = {&x, &y};
  status = cudaLaunchKernelExC(&config, (const void*)times<T, by + 1>, arguments);
}
template void run<int, 3>(int*, int*, cudaStream_t);
"""
    kernels = program(tmp_path, source, "gfx1100", cache)
    assert not kernels.built.translation.left_out and not kernels.built.changes.unmapped
    x = np.arange(64, dtype=np.int32)
    symbols = [kernels.built.code_object.symbol(f"times<int, {by}>") for by in (3, 4)]
    for by, symbol in zip((3, 4), symbols, strict=True):
        assert (kernels.run(symbol, np.zeros(64, np.int32), x, block=64) == x * by).all()


def test_binary_partition_groups_threads_by_predicate(tmp_path, cache):
    source = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* x, int* y) {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const auto same = cg::binary_partition<16>(tile, x[threadIdx.x] % 3 == 0);
    const auto again = cg::binary_partition(same, x[threadIdx.x] % 2 == 0);
    y[threadIdx.x] = 1000 * same.size() + 100 * again.size() + again.thread_rank();
}
"""
    kernels = program(tmp_path, source, "gfx1100", cache)
    x = np.arange(64, dtype=np.int32)
    alike = [[n for n in range(t // 16 * 16, t // 16 * 16 + 16) if (n % 3 == 0) == (t % 3 == 0)] for t in x]
    again = [[n for n in each if n % 2 == t % 2] for t, each in zip(x, alike, strict=True)]
    wanted = [1000 * len(a) + 100 * len(b) + b.index(t) for t, a, b in zip(x, alike, again, strict=True)]
    assert kernels.run("k", np.zeros(64, np.int32), x, block=64).tolist() == wanted


NV = """#include <nv/target>
#include <cuda/std/cstddef>
#include <cuda/stream_ref>
#include <cstddef>
struct Hash {
    __device__ int of(std::byte x) const { return of(cuda::std::byte{(unsigned char)x} << 1); }
    __device__ int of(cuda::std::byte x) const { return cuda::std::to_integer<int>(x | cuda::std::byte{1}); }
};
void host(cuda::stream_ref stream) { if (stream != cuda::stream_ref{}) stream.wait(); }
extern "C" __global__ void k(const int* x, int* y) {
    const unsigned t = threadIdx.x;
    NV_IF_TARGET(NV_IS_HOST, (y[t] = -1;), (y[t] = 1;))
    NV_IF_ELSE_TARGET(NV_IS_DEVICE, (y[t] += 2;), (y[t] = -2;))
    NV_IF_TARGET(NV_PROVIDES_SM_90, (y[t] = -3;))
    NV_IF_ELSE_TARGET(NV_IS_DEVICE, int one = 1; y[t] += one;, y[t] = -4;)
    NV_IF_ELSE_TARGET(NV_IS_HOST, y[t] = -5;, int one = 1; y[t] += one;)
    NV_DISPATCH_TARGET(NV_IS_EXACTLY_SM_70, (y[t] = -4;), NV_NO_TARGET, (y[t] = -5;), NV_ANY_TARGET, (y[t] += 4;))
    y[t] += 8 * Hash().of(std::byte(x[t]));
}
"""


def test_nv_target_macros_select_device_branch(tmp_path, cache):
    kernels = program(tmp_path, NV, "gfx1100", cache)
    x = np.arange(64, dtype=np.int32)
    assert (kernels.run("k", np.zeros(64, np.int32), x, block=64) == 9 + 8 * (2 * x | 1)).all()
