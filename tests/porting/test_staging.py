"""Staged sources: stubs, forced headers, advice, and source names that conflict with HIP's."""

import string

import numpy as np
import pytest
from execution import program
from kernels_built import has

from parity.build import compilation
from parity.build.modules import build
from parity.build.settings import BuildCallbacks
from parity.emulator.faults import Trapped
from parity.platform.cache import Cache


def test_compat_calling_conventions_are_empty(built):
    one = built("static void CUDART_CB done(void*) {}\n__global__ void CUDARTAPI k(float* x) { *x = 1; }\n")
    assert has(one, "k") and not one.translation.left_out


def test_variant_standard_header_replaces_implicit_includes(built):
    source = (
        "__global__ void k(float* x, uint16_t n) { *x = n < SHRT_MAX ? FLT_MAX : std::numeric_limits<float>::min(); }\n"
    )
    guessed = built(source)  # the headers of other compilers include more, so sources may lack an include
    assert has(guessed, "k") and [each.flag for each in guessed.switches] == ["-include parity/standard.h"]
    assert has(built("#include <TH/general.h>\n" + source), "k")
    assert has(built("#include <thrust/sort.h>\n" + source), "k")
    everything = built("#include <bits/stdc++.h>\n" + source)
    assert has(everything, "k") and not everything.translation.empty_headers


def test_variant_bf16_header_is_forced(built):
    one = built("__global__ void k(float* x, const __nv_bfloat16* y) { *x = __bfloat162float(*y); }\n")
    assert has(one, "k") and [each.flag for each in one.switches] == ["-include hip/hip_bf16.h"]


def test_error_missing_project_header_comes_first(built):
    one = built('#include "mine.h"\n__global__ void k(MyStruct s, float* x) { x[0] = s.a; }\n')
    first = one.error.findings[0]
    assert (first.name, first.line) == ("mine.h", 1) and "file not found; the project does not have it" in first.advice


def test_error_in_stub_is_reported_in_user_file(built):
    one = built(
        "#include <thrust/complex.h>\n"
        "struct S {};\n"
        '#include "twice.h"\n'
        "__global__ void k(float* x) {\n"
        "  at::Half h = thrust::plus<S>()(S(), S());\n"
        "}\n",
        twice_h="template <typename T> __device__ T twice(T x) { return x + x; }\n",
    )
    assert {finding.file for finding in one.error.findings} <= {f"{one.error.findings[0].file}"}
    assert all(finding.file.endswith("m.cu") for finding in one.error.findings)
    assert len(set(one.error.findings)) == len(one.error.findings)


def test_error_about_name_missing_in_stub_names_library(built, wheels):
    one = built(
        "#include <cub/cub.cuh>\n#include <thrust/sort.h>\n"
        "__global__ void k(int* x) {\n"
        "  hipcub::NoSuchThing a;\n"
        "  thrust::set_union(x, x + 4);\n"
        "  x[0] = BLOCK_SIZE;\n"
        "  nvshmem_int_put(x, x, 4, 1);\n"
        "  Eigen::Vector3f v;\n"
        "}\n"
    )
    advice = {finding.line: finding.advice for finding in one.error.findings}
    assert "needs hipCUB" in advice[4]
    assert "Thrust is replaced by a stub" in advice[5]
    assert 'flags = ["-DBLOCK_SIZE=..."]' in advice[6]
    assert "needs NVSHMEM" in advice[7] and "needs Eigen" in advice[8]
    assert one.translation.stubs == ("hipcub/hipcub.hpp", "thrust/sort.h")


def test_stub_is_not_used_if_project_has_header(built):
    one = built(
        '#include "helper_cuda.h"\n__global__ void k(int* x) { x[0] = MINE; }\n', helper_cuda_h="#define MINE 3\n"
    )
    assert not one.error and one.translation.stubs == ()


def test_vector_operator_equal_to_hip_operator_is_removed(built):
    own = "inline __host__ __device__ float2 operator*(float2 a, float2 b) { return make_float2(%s); }\n"
    kernel = "__global__ void k(float2* x) { x[0] = x[1] * x[2]; }\n"
    one = built(own % "a.x * b.x, a.y * b.y" + kernel)
    assert not one.error and "operator* of float2" in one.translation.left_out[0].name
    one = built(own % "a.x * b.x, a.y * b.x" + kernel)
    assert not one.error and "enable_if" in one.translation.left_out[0].instead, "the source's own operator is used"
    own = "inline __host__ __device__ void operator+=(float2& a, float2 b) noexcept { a.x += b.x; a.y += b.y; }\n"
    one = built(own + "__global__ void k(float2* x) { x[0] += x[1]; }\n")
    assert not one.error and "operator+= of float2" in one.translation.left_out[0].name


@pytest.mark.parametrize(
    "named", ["#if 1\ntypedef {}2 Real2;\n#else\ntypedef double2 Real2;\n#endif", "using Real2 = {}2;"]
)
def test_vector_operator_of_renamed_type_is_removed(built, named):
    text = (
        f"namespace m {{\n{named.format('float')}\nstatic inline __host__ __device__ Real2 make_real2(float x, float y)"
        " { return {x, y}; }\n}\ninline __host__ __device__ m::Real2 operator*(m::Real2 a, m::Real2 b) {"
        " return m::make_real2(a.x * b.x, a.y * b.y); }\n"
        "__global__ void k(m::Real2* x) { x[0] = x[1] * x[2]; }\n"
    )
    one = built(text)
    assert not one.error and "operator* of Real2" in one.translation.left_out[0].name
    called = text.replace("m::make_real2", "m::Real2")
    assert "operator* of Real2" in built(called).translation.left_out[0].name
    for other in (text, called):
        one = built(other.replace("a.y * b.y", "a.y * b.x"))
        assert not one.error and "enable_if" in one.translation.left_out[0].instead


def test_vector_operator_in_macro_is_removed(built):
    one = built(
        "#define COMPOUND(type, scalar, op) \\\n"
        "  inline __device__ type& operator op(type& a, const type& b) { a.x op b.x; a.y op b.y; return a; } \\\n"
        "  inline __device__ type& operator op(type& a, scalar b) { a.x op b; a.y op b; return a; }\n"
        "COMPOUND(float2, float, +=)\n"
        "__global__ void k(float2* x) { x[0] += x[1]; x[0] += 2.0f; }\n"
    )
    assert not one.error and [piece.name for piece in one.translation.left_out] == ["operator op of type"]


def test_error_about_removed_declaration_shows_its_reason_first(built):
    one = built(
        "constexpr int lanes = LANES;\n"
        "constexpr int warps = 1024 / lanes;\n"
        "__global__ void k(int* x) { x[0] = warps; }\n"
    )
    first = one.error.findings[0]
    assert first.line == 1
    assert 'flags = ["-DLANES=..."]' in first.advice


@pytest.mark.parametrize(("target", "lanes"), [("gfx1100", 32), ("gfx90a", 64)])
def test_variant_warp_size_macro_is_guessed(tmp_path, cache, built, target, lanes):
    source = 'extern "C" __global__ void k(const int*, int* x) { x[0] = MY_WAVEFRONT_SIZE; }\n'
    assert (
        program(tmp_path, source, target, cache).run("k", np.zeros(1, np.int32), np.zeros(1, np.int32), block=1)
        == lanes
    )
    (switch,) = built(source, target).switches
    assert switch.why.startswith("a guess") and switch.line == 1


def test_error_host_constructor_of_shared_variable_has_advice(built):
    source = "struct Body { float mass; Body() { mass = 0; } };\n"
    source += "__global__ void k(float* x) { __shared__ Body all[32]; all[threadIdx.x].mass = *x; *x = all[0].mass; }\n"
    (finding,) = built(source).error.findings
    assert finding.line == 2 and "its constructors are for the host" in finding.advice


def test_stub_nccl_names_are_declared(built):
    source = "#include <nccl.h>\n#include <cstdio>\n#include <cstring>\n"
    source += "#if NCCL_VERSION_CODE < NCCL_VERSION(2, 10, 0)\n#error old\n#endif\n"
    source = "enum By { NONE, NCCL };\n" + source
    source += "#ifdef OTHER\n#define cublasHandle_t other_t\n#endif\ncublasHandle_t handle = nullptr;\n"
    source += "#define NCCL_MINE 3\nncclComm_t comm;\nvoid host() { ncclUniqueId id; ncclGetUniqueId(&id); }\n"
    source += "__device__ float from_bits(unsigned x) { float y; std::memcpy(&y, &x, sizeof(y)); return y; }\n"
    source += "__global__ void clear(float* x) { std::memset(x, 0, 64); x[0] = from_bits(7); }\n"
    one = built(source + '__global__ void k(int* x) { std::printf("%d", x[0] + NCCL_MINE); }\n')
    assert not one.error and one.translation.stubs == ("rccl/rccl.h",) and not one.translation.left_out


def test_compat_unary_function_is_supplied(built):
    source = "#include <functional>\nstruct Half : std::unary_function<float, float> {\n"
    source += "  __host__ __device__ float operator()(float x) const { return x / 2; }\n};\n"
    assert has(built(source + 'extern "C" __global__ void k(float* x) { x[0] = Half()(x[0]); }\n'), "k")


def test_standard_library_throw_traps_on_device(tmp_path, cache):
    source = """#include <array>
#include <optional>
extern "C" __global__ void k(const int* i, float* out) {
    std::optional<float> last;
    if (*i) last = 3;
    *out = std::array<float, 2>{1, 2}.at(*i) + last.value();
}
"""
    run = program(tmp_path, source, "gfx1100", cache).run
    assert run("k", np.zeros(1, np.float32), np.int32([1]), block=1) == 5
    for outside in (0, 2):
        with pytest.raises(Trapped):
            run("k", np.zeros(1, np.float32), np.int32([outside]), block=1)


def test_gnu_extensions_of_nvcc_are_accepted(built):
    source = """#include <cstdio>
#define FORMAT "zu"
#define ONCE(x) (*(volatile typeof((x))*)&(x))
__device__ void noisy() throw(int);
struct Scale { static const float by = 2.5f; };
struct Sum { template <class T> __device__ T of(T x) { return x + 1; } };
extern "C" __global__ void k(int* x, size_t n) {
    int two[2] = {n, n + 1};
    register int y = two[threadIdx.x];
    printf("%"FORMAT, n);
    if (0 <= x[1] < n)
        x[0] = ONCE(x[1]) + y + Sum().template of(n) * Scale::by;
}
"""
    assert has(built(source), "k")


def test_stubs_ignore_macros_of_a_letter(built, wheels):
    macros = "".join(f"#define {letter} {place}\n" for place, letter in enumerate(string.ascii_uppercase))
    headers = (
        "thrust/sort.h",
        "thrust/random.h",
        "cub/cub.cuh",
        "glm/glm.hpp",
        "Eigen/Dense",
        "mma.h",
        "curand_kernel.h",
    )
    source = macros + "".join(f"#include <{header}>\n" for header in headers)
    assert has(built(source + 'extern "C" __global__ void k(int* x) { x[0] = N + E; }'), "k")


def test_stub_omits_handle_declared_by_source(built, wheels):
    one = built("""typedef struct curandGenerator_st* curandGenerator_t;
struct Numbers { curandGenerator_t* generator; };
#include <curand.h>
#include <curand_kernel.h>
void draw(Numbers numbers, float* x) { curandGenerateUniform(*numbers.generator, x, 4); }
__global__ void fill(int* x) { x[threadIdx.x] = 1; }
""")
    assert has(one, "fill") and not one.translation.left_out


def test_stub_logging_and_formatting_compile(built):
    one = built(
        """#include <fmt/format.h>
#include <glog/logging.h>
#include <map>
using namespace fmt::literals;
struct Layer {
    std::string name() const { return fmt::format("{x} of {}", 1, "x"_a = 2); }
    virtual void forward()
#ifdef FAST
    {}
#else
    { throw std::runtime_error{fmt::format("{} has no forward pass", name())}; }
#endif
    int size;
};
template <> struct fmt::formatter<Layer> : fmt::formatter<int> {};
extern "C" __global__ void k(int* x) { x[0] = sizeof(Layer); }
void launch(Layer* layer, int* x) {
    CHECK_NOTNULL(layer)->forward();
    CHECK_GT(layer->size, 0) << "of " << layer->name() << std::endl;
    if (x) LOG(INFO) << "a launch"; else LOG(FATAL) << "null";
    k<<<1, 1>>>(x);
}
"""
    )
    assert has(one, "k") and not one.translation.left_out
    assert one.translation.stubs == ("fmt/format.h", "glog/logging.h")


def test_stub_tensorflow_operations_compile(built):
    source = """#if GOOGLE_CUDA
#define EIGEN_USE_GPU
#include "gpu/cub/device/device_reduce.cuh"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/gpu_kernel_helper.h"
#include "third_party/eigen3/unsupported/Eigen/CXX11/Tensor"
namespace tensorflow {
using GPUDevice = Eigen::GpuDevice;
template <typename T> __global__ void Twice(const int size, const T* in, T* out, int64* sum) {
  GPU_1D_KERNEL_LOOP(i, size) { out[i] = T(2) * ldg(in + i); GpuAtomicAdd(sum, 1); GpuAtomicMax(out, in[i]); }
}
template <typename Device, typename T> struct TwiceFunctor;
template <typename T> struct TwiceFunctor<GPUDevice, T> {
  void operator()(const GPUDevice& d, typename TTypes<T>::ConstFlat in, typename TTypes<T>::Flat out, int64* sum) {
    GpuLaunchConfig config = GetGpuLaunchConfig(in.size(), d);
    TF_CHECK_OK(GpuLaunchKernel(Twice<T>, config.block_count, config.thread_per_block, 0, d.stream(),
                                int(in.size()), in.data(), out.data(), sum));
  }
};
template struct TwiceFunctor<GPUDevice, float>;
template struct TwiceFunctor<GPUDevice, int32>;
template <int N> __global__ void Fill(float* out) { out[threadIdx.x] = N; }
Status Filled(OpKernelContext* context, TensorFormat format, const Tensor& in) {
  Tensor out;
  if (format != FORMAT_NCHW) return errors::InvalidArgument("not ", ToString(format));
  TF_RETURN_IF_ERROR(context->allocate_temp(DataTypeToEnum<float>::value, TensorShape({in.dim_size(0)}), &out));
  const int N = 32;
  Fill<N><<<GetTensorDim(in, format, 'C'), N>>>(out.flat<float>().data());
  return Status();
}
}
#endif
"""
    one = built(source)
    assert has(one, "tensorflow::Twice<float>", "tensorflow::Twice<int>", "tensorflow::Fill<32>")
    assert not one.translation.left_out and not one.translation.empty_headers
    assert [each.flag for each in one.switches] == ["-DGOOGLE_CUDA"]


def test_stub_torch_7_numbers_compile(built):
    one = built(
        """#include "THCHalf.h"
#include "THCNumerics.cuh"
template <typename T, typename Acc> __global__ void norms(const T* x, T* out) {
  Acc sum = Acc(0);
  for (int i = 0; i < 4; ++i) sum += ScalarConvert<T, Acc>::to(THCNumerics<T>::abs(x[i]));
  out[0] = THCNumerics<T>::gt(x[0], T(1)) ? ScalarConvert<Acc, T>::to(THCNumerics<Acc>::sqrt(sum)) : T(0);
}
void launch(double* x) { norms<double, double><<<1, 1>>>(x, x); }
"""
    )
    assert has(one, "norms<double, double>")
    assert not one.translation.left_out and not one.translation.empty_headers


def test_class_with_the_name_of_a_class_of_hip_compiles(built):
    one = built(
        "class texture { public: float x; __device__ texture(float a) : x(a) {} };\n"
        "__global__ void k(float* x) { texture t(*x); *x = 2 * t.x; }\n"
        "__global__ void paint(texture* t, float* x) { *x = t->x; }\n"
    )
    assert not one.error and "_Z5paintP7texturePf" in one.entries, one.error
    assert [each.name for each in one.changes.needs] == ["texture"]


def test_redeclared_hip_names_are_removed(built):
    one = built(
        "#ifdef WITH_CUDA\n#include <cuda_runtime.h>\n#else\ntypedef void* cudaStream_t;\n#endif\n"
        "constexpr auto cudaSuccess = hipSuccess;\n"
        "typedef void* handle_t;\n"
        "__global__ void k(int* x) { x[0] = cudaSuccess; }\n"
        "void launch(int* x, cudaStream_t stream) { k<<<1, 1, 0, stream>>>(x); }\n"
    )
    assert not one.error
    assert [piece.name for piece in one.translation.left_out] == ["hipSuccess", "hipStream_t"]


@pytest.mark.parametrize(
    ("crashes", "level"), [("__OPTIMIZE__", "-O0"), pytest.param("__HIP__", None, marks=pytest.mark.thorough)]
)
def test_variant_clang_crash_lowers_optimization(built, crashes, level):
    kernel = "__global__ void k(int* x) { *x = 1; }\n"
    one = built(f"\n{kernel}#ifdef {crashes}\n#pragma clang __debug crash\n#endif\n")
    if level:
        assert has(one, "k") and one.switches[-1].flag == level
        assert one.switches[-1].why == "because clang itself crashes at -O1"
    else:
        (finding,) = one.error.findings
        assert finding.line == 2 and "clang itself crashes while it makes code of k (exit code" in finding.advice


def test_build_reports_compilations_up_to_limit(tmp_path, monkeypatch):
    cache = Cache(tmp_path / "cache")  # the second build must not be cached by an earlier run
    source = "#ifdef WITH_GPU\n__device__ int one() { return 1; }\n#endif\n"
    (tmp_path / "m.cu").write_text(source + "__global__ void k(int* x) { x[0] = one(); }\n")
    (tmp_path / "Makefile").write_text("nvcc -DWITH_GPU m.cu\n")
    told = []
    monkeypatch.setattr(compilation, "_MOST_COMPILATIONS", 1)
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache, progress=BuildCallbacks(retrying=told.append))
    assert (one.error.findings[0].name, told) == ("one", [])
    monkeypatch.undo()
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache, progress=BuildCallbacks(retrying=told.append))
    assert (one.error, told) == (None, ["m gfx1100, compilation 2"])
