"""The token translator: replaced names, unchanged code, and reported findings."""

from collections import Counter

import pytest

from parity.porting.cuda_names import defined_macros, header_rules, name_rules
from parity.porting.hipify import STYLES, hipify


def text(source):
    return hipify(source, "m.cu").text


@pytest.mark.parametrize(
    ("cuda", "hip"),
    [
        ("__nv_bfloat16 x;", "__hip_bfloat16 x;"),
        ("cudaMalloc(&p, n);", "hipMalloc(&p, n);"),
        ("cudaMemcpy(a, b, n, cudaMemcpyHostToDevice);", "hipMemcpy(a, b, n, hipMemcpyHostToDevice);"),
        ("cudaError_t e = cudaGetLastError();", "hipError_t e = hipGetLastError();"),
        ("cudaDeviceProp p;", "hipDeviceProp_t p;"),
        ("cuLaunchKernel(f);", "hipModuleLaunchKernel(f);"),
        ("float y = -CUDART_INF_F;", "float y = -HIP_INF_F;"),
        ("cub::BlockReduce<float, 256> r;", "hipcub::BlockReduce<float, 256> r;"),
        ("using namespace cub;", "using namespace hipcub;"),
        ("#include <cuda_fp16.h>", "#include <hip/hip_fp16.h>"),
        ('#  include "cuda_bf16.h"  // why', '#  include "hip/hip_bf16.h"  // why'),
        ("#if __has_include(<cuda_fp8.h>)", "#if __has_include(<hip/hip_fp8.h>)"),
        ("#ifdef __CUDACC__", "#ifdef __HIPCC__"),
        ("#ifdef __NVCC__", "#ifdef __HIPCC__"),
        ("size_t n = 1'000; cudaFree(p);", "size_t n = 1'000; hipFree(p);"),
        ("\ufeffcudaFree(p);", "hipFree(p);"),
        ("if (x) __trap();", "if (x) __builtin_trap();"),
        ("void f(struct float2* x, struct uint3); struct int4 {}", "void f(float2* x, uint3); struct int4 {}"),
        (
            "#ifndef NDEBUG\n  __trap();\n#endif\n  __trap();",
            "#ifndef NDEBUG\n  __builtin_trap();\n#endif\n  __builtin_trap();",
        ),
        ("#include <cub/warp/warp_reduce_of_tomorrow.cuh>", "#include <hipcub/hipcub.hpp>"),
        ("#include <curand_normal.h>", "#include <hiprand/hiprand_kernel.h>"),
        ("cudaDevAttrMaxSharedMemoryPerBlock", "hipDeviceAttributeMaxSharedMemoryPerBlock"),
        ("cublasSgemmStridedBatched(h);", "hipblasSgemmStridedBatched(h);"),
        ("cusparseSpGEMM_compute(h);", "hipsparseSpGEMM_compute(h);"),
        ("__nv_fp8x4_e4m3 x;", "__hip_fp8x4_e4m3 x;"),
        ("cuFloatComplex z = make_cuFloatComplex(1, 2);", "hipFloatComplex z = make_hipFloatComplex(1, 2);"),
        ("auto s = at::cuda::getCurrentCUDAStream();", "auto s = at::cuda::getCurrentCUDAStream();"),
        (
            "cudaFuncSetAttribute(f<float, 2>, cudaFuncAttributeMaxDynamicSharedMemorySize, n);",
            "hipFuncSetAttribute(reinterpret_cast<const void*>(f<float, 2>), "
            "hipFuncAttributeMaxDynamicSharedMemorySize, n);",
        ),
        (
            "#define SET(B) \\\n  cudaFuncSetAttribute(f<int, \\\n    B>, \\\n"
            "  cudaFuncAttributeMaxDynamicSharedMemorySize, n)",
            "#define SET(B) \\\n  hipFuncSetAttribute(reinterpret_cast<const void*>(f<int, \\\n    B>), \\\n"
            "  hipFuncAttributeMaxDynamicSharedMemorySize, n)",
        ),
        ("cudaFuncGetAttributes(&a, &f);", "hipFuncGetAttributes(&a, reinterpret_cast<const void*>(&f));"),
    ],
)
def test_hipify_cuda_name_becomes_hip_name(cuda, hip):
    assert text(cuda) == hip


@pytest.mark.parametrize(
    "source",
    [
        "// cudaMalloc",
        "// cudaMalloc \\\n cudaFree",
        "/* cudaMalloc\n cudaFree */",
        'const char* s = "cudaMalloc \\" cudaFree";',
        'auto r = R"x(cudaMalloc ")" cudaFree)x";',
        "char c = '\"'; int cub = 3; char d = '\"';",
        "namespace cub = hipcub;",
        "kernel<<<grid, block, 0, stream>>>(x, y);",
        '#include "elementwise.cuh"',
        '#include "cuda_helpers.cuh"',
        "#include <cstdint>",
        "#include <cuda/std/limits>",
        "#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAGuard.h>",
        "x = __ldcs(p); __stcs(p, x); __ldcg(p); __stwt(p, x); __dp4a(a, b, c); __vsubss4(a, b); __syncwarp();",
        "v += __shfl_xor_sync(0xffffffff, v, 16, 32); v += __shfl_down_sync(mask, v, 1, 16);",
        'asm volatile("" ::: "memory"); asm("v_mov_b32 %0, 1" : "=v"(x)); asm volatile("pause");',
        "static void cudaCheck(int e) {} void f() { cudaCheck(1); pool.cuFree(); x->cuOne(); my::cudaTwo(); }",
        "template <class T> __device__ T __shfl_xor_sync(unsigned mask, T value, int lane) { return value; }",
        "#undef __CUDA_FP8_TYPES_EXIST__\n#if CUBLAS_VERSION >= 11000 && CUDNN_MAJOR\n#endif",
        "struct cuThing { int n; }; int cudaIndex = 3; f(cudaIndex);",
        "__shared__ float tile[32]; __syncthreads(); __half h = __float2half(x);",
        "int my_cudaMalloc, cumsum, cutoff, cu_seqlens, nvals, cuda, CUDA_CHECK, CUTOFF;",
    ],
)
def test_hipify_other_text_is_unchanged_and_not_reported(source):
    result = hipify(source, "m.cu")
    assert result.text == source
    assert not result.replaced
    assert not result.unmapped


@pytest.mark.parametrize(
    "source",
    [
        "#ifdef __HIPCC__\nint a;\n#else\na = __pipeline_commit(x, y, a); cudaFree(p);\n#endif\n",
        "#if defined(__HIP_PLATFORM_AMD__) // why\nint a;\n#elif __CUDA_ARCH__\n__nanosleep\n#else\ncuFoo\n#endif\n",
        "#ifndef __HIPCC__\n#include <cuda/pipeline>\n#endif\n",
        "#if !defined __HIP__\r\n# if N > 2\r\ncudaFree\r\n# else\r\n__nanosleep\r\n# endif\r\ncudaFree\r\n#endif",
        '#ifndef __HIPCC__\n"#endif"; /*\n#endif\n*/ __shfl_xor_sync(~0u, x, 1);\n#else\nint a;\n#endif',
    ],
)
def test_hipify_branch_that_hip_never_compiles_is_unchanged(source):
    result = hipify(source, "m.cu")
    assert result.text == source
    assert not (result.replaced or result.unmapped or result.hazards)


@pytest.mark.parametrize(
    "source",
    [
        "#ifdef __HIPCC__\n#if N\n#else\n{}\n#endif\n#else\n#endif",
        "#ifdef __HIPCC__\n#else\n#endif\n{}",
        "#ifndef __HIPCC__\n#else\n{}\n#endif",
        "#ifndef __HIPCC__\n#elif N\n{}\n#endif",
        "#if defined(__HIPCC__) && N > 1\n#else\n{}\n#endif",
        "#ifdef __HIP_DEVICE_COMPILE__\n#else\n{}\n#endif",
        "#ifdef N\n#else\n{}\n#endif",
        "// #ifndef __HIPCC__\n{}",
        "#else\n#endif\n{}",
    ],
)
def test_hipify_branch_that_hip_may_compile_is_translated(source):
    result = hipify(source.format("cudaFree(__pipeline_commit);"), "m.cu")
    assert result.text == source.format("hipFree(__pipeline_commit);")
    assert [f.name for f in result.unmapped] == ["__pipeline_commit"]


def test_hipify_keeps_line_numbers():
    source = "__shfl_sync(~0u,\n x,\n 1)\n"
    source += '#include <cuda_runtime.h>\n\n/* a\n b */ __nv_bfloat16 x;\r\n"s\\\n t";\ncudaFree(p); // end'
    result = text(source)
    assert result.count("\n") == source.count("\n")
    assert result.splitlines()[1] == " x,"
    assert result.splitlines()[6] == " b */ __hip_bfloat16 x;"
    assert result.splitlines()[-1] == "hipFree(p); // end"


def test_hipify_counts_replacements_by_name():
    result = hipify("cudaFree(a); cudaFree(b); cudaMalloc(&c, 1); // cudaFree", "m.cu")
    assert result.replaced == Counter(cudaFree=2, cudaMalloc=1)


@pytest.mark.parametrize(
    ("source", "name", "line", "column"),
    [
        ("\n  cudaFrobnicate();", "cudaFrobnicate", 2, 3),
        ("/* two\nlines */ cuFrobnicate();", "cuFrobnicate", 2, 10),
        ("x = __nv_frobnicate(x);", "__nv_frobnicate", 1, 5),
        ("CUDART_FROBNICATE", "CUDART_FROBNICATE", 1, 1),
        ("cublasFrobnicate(h);", "cublasFrobnicate", 1, 1),
        ("#include <cuda/pipeline>", "cuda/pipeline", 1, 11),
        ("#include <nv/target>", "nv/target", 1, 11),
        ("return cudaFrobnicate(x);", "cudaFrobnicate", 1, 8),
        ("::cudaFrobnicate(x);", "cudaFrobnicate", 1, 3),
        ("a = __pipeline_commit(x, y, a);", "__pipeline_commit", 1, 5),
    ],
)
def test_hipify_unmapped_name_is_reported_with_location(source, name, line, column):
    result = hipify(source, "kernels/m.cu")
    (finding,) = result.unmapped
    assert (finding.name, finding.file, finding.line, finding.column) == (name, "kernels/m.cu", line, column)
    assert str(finding).startswith(f"kernels/m.cu:{line}:{column}: {name}: ")
    assert result.text == source


def test_hipify_unmapped_name_is_reported_at_every_use():
    assert [f.line for f in hipify("cuFoo();\ncuFoo();\n", "m.cu").unmapped] == [1, 2]


def test_hipify_vector_initialized_by_one_number_is_hazard():
    literal, helpful = (hipify("float4 v{1.0f};", "m.cu", style=style) for style in STYLES)
    assert literal.text == "float4 v{1.0f};" and "all components" in literal.hazards[0].advice
    assert helpful.text == "float4 v{1.0f, 0, 0, 0};"
    assert [each.advice for each in literal.spelled_out] == [helpful.text]


def test_hipify_restrict_on_value_parameter_is_removed():
    result = hipify("void f(const int* __restrict__ x, const size_t __restrict__ n, T __restrict__ p);", "m.cu")
    assert result.text == "void f(const int* __restrict__ x, const size_t  n, T __restrict__ p);"
    assert [each.name for each in result.hazards] == ["__restrict__"]


def test_hipify_pragma_in_macro_becomes_pragma_operator():
    result = hipify("#define UNROLL #pragma unroll 4\n#define NONE\nvoid f() { UNROLL for (;;) { } }", "m.cu")
    assert result.text == '#define UNROLL _Pragma("unroll 4")\n#define NONE\nvoid f() { UNROLL for (;;) { } }'
    assert [each.name for each in result.hazards] == ["#pragma"]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("float4 a = {0}, b, c = {1.0f};", "float4 a = {0, 0, 0, 0}, b, c = {1.0f, 0, 0, 0};"),
        ("float2 a[3] = {0.f};", "float2 a[3] = {};"),
        ("const int2 a[2] = {{1}, {2, 3}};", "const int2 a[2] = {{1, 0}, {2, 3}};"),
        ("f(float3{x, y});", "f(float3{x, y, 0});"),
        ("float2 zero{0};", None),
        ("float4 a = {}, b{c}, d = {1, 2, 3, 4};", None),
        (
            "struct float2 { float x; }; auto f = []() -> float2 { return 0; }; float4 g(float4 a, float4 b) {}",
            None,
        ),
        ("// float4 a = {0};", None),
    ],
)
def test_hipify_partial_vector_initializer_is_filled_with_zeros(source, wanted):
    result = hipify(source, "m.cu")
    assert result.text == (wanted or source)
    assert bool(result.hazards) == bool(wanted)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("const uint3 t = threadIdx;", "const uint3 t = make_uint3(threadIdx.x, threadIdx.y, threadIdx.z);"),
        ("uint3 b(blockIdx)", "uint3 b(make_uint3(blockIdx.x, blockIdx.y, blockIdx.z))"),
        ("dim3 b = blockIdx; f(threadIdx); uint3 t = {threadIdx.x};", None),
        (
            "int3 i(blockIdx * blockDim + threadIdx);",
            "int3 i(make_uint3(blockIdx.x, blockIdx.y, blockIdx.z) * make_uint3(blockDim.x, blockDim.y, blockDim.z)"
            " + make_uint3(threadIdx.x, threadIdx.y, threadIdx.z));",
        ),
        ("int3 i = make_int3(threadIdx);", "int3 i = make_int3(make_uint3(threadIdx.x, threadIdx.y, threadIdx.z));"),
        ("void f(int blockIdx) { g(2 * blockIdx); }", None),
        ("/* a */ f(threadIdx);", None),
    ],
)
def test_hipify_whole_thread_coordinate_becomes_vector(source, wanted):
    result = hipify(source, "m.cu")
    assert result.text == (wanted or source)
    assert bool(result.hazards) == bool(wanted)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("__launch_bounds__(Tile<T, 8>::N, 2) f", "__launch_bounds__((Tile<T, 8>::N),( 2)) f"),
        ("#define B(n) __launch_bounds__(f(2, Tile<n, n>()))", "#define B(n) __launch_bounds__((f(2, Tile<n, n>())))"),
        ("__launch_bounds__(max(128, 64), 2 < 3) f", None),
        ("__launch_bounds__(Tile<8>::N, 2) f", None),
    ],
)
def test_hipify_launch_bounds_with_template_commas_gets_parentheses(source, wanted):
    result = hipify(source, "m.cu")
    assert result.text == (wanted or source)
    assert bool(result.hazards) == bool(wanted)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("using namespace nvcuda;", "namespace wmma = rocwmma;"),
        ("using namespace nvcuda::wmma;", "using namespace rocwmma;"),
        ("nvcuda::wmma::mma_sync(d, a, b, c);", "rocwmma::mma_sync(d, a, b, c);"),
        ("namespace w = nvcuda :: wmma;", "namespace w = rocwmma;"),
        ("namespace nv = nvcuda;", "namespace nv { namespace wmma = rocwmma; };"),
        ("namespace c = cub;", "namespace c = hipcub;"),
    ],
)
def test_hipify_nvcuda_namespace_becomes_rocwmma(source, wanted):
    assert text(source) == wanted


def test_hipify_launch_with_spaced_brackets_is_joined():
    source = "// k << <1, 2>> >(x);\nk<4> << <dim3(1 << 2), T<int>::n >> > (x, y);\n"
    source += "k << <1, 2>>>(a >> b);\nl<<<1, 2>>>(x);\n"
    found = hipify(source, "k.cu")
    assert found.text.splitlines()[1:] == [
        "k<4> <<<dim3(1 << 2), T<int>::n >>> (x, y);", "k <<<1, 2>>>(a >> b);", "l<<<1, 2>>>(x);",
    ]  # fmt: skip
    assert [(each.name, each.line, each.column) for each in found.hazards] == [("<< <", 2, 6)]
    untouched = "std::vector<std::vector<A<int>> >(3); x = a << b < c; y = (p<q>)(1) >> 2 > (3);"
    assert hipify(untouched, "k.cu").text == untouched


def test_hipify_name_defined_by_program_is_not_reported():
    source = "#define CUDA_ERROR_IF(x) x\nCUDA_ERROR_IF(1); cuOwn();"
    assert [f.name for f in hipify(source, "m.cu").unmapped] == ["cuOwn"]
    assert not hipify(source, "m.cu", own={"cuOwn"}).unmapped
    assert defined_macros(source) == {"CUDA_ERROR_IF"}


@pytest.mark.parametrize("condition", ["#ifdef USE_HIP", "#if defined(__HIP_PLATFORM_AMD__)", "#ifndef __CUDACC__"])
def test_hipify_cuda_name_defined_as_hip_macro_is_translated(condition):
    source = f"{condition}\n#define cudaFree hipFree\n#define cudaStream_t hipStream_t\n#endif\ncudaFree(p);"
    *_, free, stream, _, last = text(source).splitlines()
    assert last == "hipFree(p);"
    # Translating the macros' names would define HIP's names as themselves.
    assert (free, stream) == ("#define cudaFree hipFree", "#define cudaStream_t hipStream_t")
    # A macro from a header of the program does not prevent the translation either.
    assert hipify("cudaFree(p);", "m.cu", own={"cudaFree"}).text == "hipFree(p);"


def test_hipify_header_of_program_keeps_its_name():
    source = '#include "cuda.h"\n#include <cuda_fp16.h>\n#include "cuda_bf16.h"'
    result = hipify(source, "m.cu", headers={"cuda.h", "cuda_bf16.h"})
    assert result.text == '#include "cuda.h"\n#include <hip/hip_fp16.h>\n#include "cuda_bf16.h"'


def test_hipify_nvcc_macro_becomes_hipcc_unless_hip_is_tested():
    (finding,) = hipify("#if defined(__NVCC__)\n#endif", "m.cu").hazards
    assert (finding.name, "a port has to test __HIPCC__" in finding.advice) == ("__NVCC__", True)
    both = "#if defined(__NVCC__)\nint a;\n#elif defined(__HIP__)\nint b;\n#endif"
    assert text(both) == both
    # A condition that accepts either compiler does not distinguish them.
    either = "#if defined(__CUDACC__) || defined(__HIPCC__)\nint a;\n#endif\n"
    assert "__HIPCC__" in text(either + "#ifdef __NVCC__").splitlines()[-1]
    assert text(either.replace("||", "&& !") + "#ifdef __NVCC__").splitlines()[-1] == "#ifdef __NVCC__"


@pytest.mark.parametrize("name", ["__CUDA_ARCH__", "__shfl_xor_sync", "__ballot_sync", "CUDA_VERSION"])
def test_hipify_hazardous_name_is_reported_as_hazard(name):
    result = hipify(f"a={name} + b", "m.cu")
    assert [(f.name, f.column) for f in result.hazards] == [(name, 3)]
    assert not result.unmapped


def test_hipify_cuda_condition_is_explained_without_hazard():
    result = hipify("int a;\n#if __CUDA_ARCH__ >= 800\n__pipeline_commit();\nint b;\n#endif\n", "k/m.cu")
    assert not result.hazards and not result.unmapped  # code that is left out has no findings
    assert [str(branch) for branch in result.branches] == [
        "k/m.cu:2:1: #if __CUDA_ARCH__ >= 800: __CUDA_ARCH__ is not defined for AMD, so lines 3 to 4 are left out"
    ]
    given = hipify("#if __CUDA_ARCH__ >= 800\n__pipeline_commit();\n#endif", "m.cu", macros={"__CUDA_ARCH__": "890"})
    assert [finding.name for finding in given.unmapped] == ["__pipeline_commit"]
    assert given.branches[0].advice == "__CUDA_ARCH__ is 890, so line 2 is compiled"


LITERAL = [
    "v += __shfl_xor_sync(0xffffffff, v, 16);",
    "unsigned ballot = __ballot_sync(~0u, p);",
    "if (__any_sync(FULL, p) || __all_sync(-1, q)) return;",
    "m = __activemask();",
]


@pytest.mark.parametrize("source", LITERAL)
def test_hipify_literal_style_keeps_warp_functions_as_hazards(source):
    result = hipify(source, "m.cu")
    assert result.text == source
    assert result.hazards
    assert all("64" in hazard.advice for hazard in result.hazards)


@pytest.mark.parametrize(
    ("cuda", "hip"),
    [
        ("x += __shfl_xor_sync(0xffffffff, x, 16, 32);", "x += __shfl_xor(x, 16, 32);"),
        ("__shfl_down_sync(0xFFFFFFFFu, f(x, y), i)", "__shfl_down(f(x, y), i, 32)"),
        ("__shfl_sync( ~0u,\n v[i, j], (l))", "__shfl( \n v[i, j], (l), 32)"),
        ("__shfl_up_sync((unsigned)-1, __shfl_xor_sync(-1, x, 1), 2)", "__shfl_up(__shfl_xor(x, 1, 32), 2, 32)"),
        ("__shfl_xor_sync(0xffffffff, f<a, b>(x), 1)", "__shfl_xor(f<a, b>(x), 1, 32)"),
        ("__shfl_xor_sync(0xffff, x, 1)", "__shfl_xor_sync(0xffff, x, 1, 32)"),
        ("__shfl_xor_sync(mask, x, 1)", "__shfl_xor_sync(mask, x, 1, 32)"),
        ("__shfl_xor_sync(mask, x, 1, 16)", "__shfl_xor_sync(mask, x, 1, 16)"),
        ("#define FULL 0xffffffffu\n__shfl_sync(FULL, x, 0)", "#define FULL 0xffffffffu\n__shfl(x, 0, 32)"),
        ("__ballot_sync(~0u, x > 1)", "((unsigned)(__ballot(x > 1) >> (__lane_id() & 32)))"),
        ("__ballot_sync(\n  ~0u, x > 1)", "((unsigned)(__ballot(\nx > 1) >> (__lane_id() & 32)))"),
        ("__any_sync(~0u, p)", "((unsigned)(__ballot(p) >> (__lane_id() & 32)) != 0)"),
        ("__all_sync(~0u, p)", "((unsigned)(__ballot(!(p)) >> (__lane_id() & 32)) == 0)"),
        ("__activemask()", "((unsigned)(__ballot(1) >> (__lane_id() & 32)))"),
    ],
)
def test_hipify_helpful_style_limits_warp_functions_to_32_lanes(cuda, hip):
    result = hipify(cuda, "m.cu", style="helpful")
    assert result.text == hip
    assert not result.hazards
    # The literal style lists the lines that the helpful style would change.
    differences = [(finding.line, finding.advice) for finding in hipify(cuda, "m.cu").spelled_out]
    lines = zip(cuda.splitlines(), hip.splitlines(), strict=True)
    assert differences == [(n, two.strip()) for n, (one, two) in enumerate(lines, 1) if one != two]


@pytest.mark.parametrize(
    "call", ["__shfl_xor_sync(0xffffffff, x)", "__shfl_xor_sync(0xffffffff, x, 1", "__any_sync(m, x)"]
)
def test_hipify_helpful_style_keeps_incomplete_warp_calls(call):
    result = hipify(call, "m.cu", style="helpful")
    assert result.text == call
    assert [f.name for f in result.hazards] == [call.partition("(")[0]]
    assert not result.replaced


def test_hipify_warp_size_as_width_is_hazard():
    result = hipify("__shfl_down_sync(0xffffffff, x, 1, warpSize)", "m.cu")
    assert [(f.name, f.column) for f in result.hazards] == [("warpSize", 36)]


def test_hipify_unsupported_inline_ptx_is_reported_by_instruction():
    source = 'int a;\n  asm volatile("cp.reduce.async.bulk [%0], [%1], 16;\\n"\n :: "r"(s), "l"(p));\nint b;'
    result = hipify(source, "k/m.cu")
    (finding,) = result.unmapped
    assert str(finding).startswith("k/m.cu:2:3: cp.reduce.async.bulk: inline PTX")
    assert result.text.splitlines()[-1] == "int b;"
    assert not hipify('asm("mov.u32 %0, %%laneid;" : "=r"(l));', "m.cu").unmapped
    assert not hipify(f"#if __CUDA_ARCH__ >= 800\n{source}\n#endif", "m.cu").unmapped


def test_hipify_unterminated_comment_or_raw_string_extends_to_end_of_file():
    assert text("/* cudaFree") == "/* cudaFree"
    assert text('R"(cudaFree') == 'R"(cudaFree'
    assert text('"open\ncudaFree();') == '"open\nhipFree();'


def test_hipify_table_is_consistent():
    names, headers = name_rules(), header_rules()
    assert len(names) > 1000
    assert len(headers) > 50
    for rule in (*names.values(), *headers.values()):
        assert rule.hip or rule.note, f"{rule.cuda} has neither counterpart nor advice"
        assert rule.hip != rule.cuda or rule.note, f"{rule.cuda} maps to itself without a reason"
        assert rule.hip == rule.cuda or rule.hip not in names, f"translating {rule.cuda} twice changes it again"
