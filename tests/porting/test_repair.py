"""Repair of code that does not compile: it removes host code and keeps device code and launched kernels."""

import numpy as np
import pytest
from execution import program
from kernels_built import has, names

from parity.build.modules import build
from parity.compilers.diagnostics import Diagnostic
from parity.compilers.targets import CUDA_TARGET
from parity.emulator.faults import FailedAssertion
from parity.model.code_object import MissingKernel
from parity.porting.host_code import HostCode
from parity.porting.repair import repair


def test_repair_device_function_keeps_error(built):
    one = built("__device__ float f(float x) { return nosuch(x); }\n__global__ void k(float* x) { x[0] = f(x[0]); }\n")
    (finding,) = one.error.findings
    assert (finding.name, finding.line) == ("nosuch", 1) and not one.translation.left_out


def test_repair_macro_that_defines_kernel_is_kept(built):
    one = built("#define K(name) __global__ void name(float* x) { x[0] = nosuch; }\nK(a)\nvoid host() { missing(); }\n")
    assert "use of undeclared identifier 'nosuch'" in str(one.error)
    assert all("K(a)" not in piece.name for piece in one.translation.left_out)


BOTH = """
#define ON_HOST __host__
#define ON_BOTH ON_HOST __device__
template <typename F>
struct Launch {
  F kernel;
  template <typename T>
  {} void operator()(T* x) const { kernel<<<1, 32>>>(x); }
};
template <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }
void host() { Launch<void (*)(double*)>{twice<double>}((double*)nullptr); }
"""


@pytest.mark.parametrize("words", ["ON_BOTH", "__host__ __device__", "__device__ __forceinline__ __host__"])
def test_repair_host_device_function_with_launch_becomes_host_only(built, words):
    one = built(BOTH.replace("{}", words, 1))
    assert has(one, "twice<double>")
    assert {piece.because for piece in one.translation.left_out} == {"device-side kernel call/launch is not supported"}
    assert {piece.instead for piece in one.translation.left_out} <= {"__host__", ""}


def test_repair_friend_declaration_qualifies_its_types(built):
    text = (
        "namespace inner {\ntemplate <class F> struct Call { F f; };\nstruct Plain {};\n"
        "template <class F> __global__ void kernel(Call<F> x, Plain, int* y);\n}\n"
        "class Item {\n  template <class F> friend __global__ void inner::kernel(Call<F> x, Plain, int*);\n"
        "  __device__ Item(int x) : x(x) {}\n  int x;\n};\n"
        "template <class F> __global__ void inner::kernel(Call<F> x, Plain, int* y) { Item item(3); *y = item.x; }\n"
        "template __global__ void inner::kernel(inner::Call<int>, inner::Plain, int*);\n"
    )
    one = built(text)
    assert not one.error and len(one.entries) == 1
    assert {piece.instead for piece in one.translation.left_out} == {"inner::"}
    assert "Elsewhere" in str(built(text.replace("Call<F> x, Plain, int*);", "Elsewhere<F> x, Plain, int*);")).error)


def test_repair_repeated_specialization_is_removed(built):
    one = built(
        "#include <thrust/tuple.h>\nnamespace std {\ntemplate <class... T>\nstruct tuple_size<thrust::tuple<T...>> {\n"
        "  static const int value = thrust::tuple_size<thrust::tuple<T...>>::value;\n};\n}\n"
        "__global__ void k(int* x) { *x = std::tuple_size<thrust::tuple<int, float>>::value; }\n"
    )
    assert has(one, "k") and "tuple_size" in one.translation.left_out[0].because


def test_repair_empty_constructor_of_shared_variable_becomes_host_device(built):
    text = "struct Item {\n  float x;\n  Item() {}\n  Item(double a) : x(a) {}\n};\n"
    kernel = "__global__ void k(float* x) {\n  __shared__ Item items[32];\n  items[1].x = 1;\n  *x = items[1].x;\n}\n"
    one = built(text + kernel)
    assert has(one, "k") and {piece.instead for piece in one.translation.left_out} == {"__host__ __device__ "}
    assert "no matching constructor" in str(built(text.replace("Item() {}", "Item() { x = 1; }") + kernel).error)
    assert "no matching constructor" in str(built(text + kernel.replace("__shared__ ", "")).error)  # as in nvcc


def test_repair_failed_static_assertion_keeps_error(built):
    source = 'static_assert(other::is_resource<int>::value, "");\n__global__ void k(int* x) { x[0] = 1; }\n'
    assert has(built(source), "k")
    finding = built(source + "static_assert(sizeof(int) == 8);\n").error.findings[-1]
    assert finding.line == 3 and "static assertion failed" in finding.advice


def test_repair_undefined_kernel_declaration_is_removed(built):
    one = built(
        "#include <legion.h>\ntemplate <typename T> __global__ void scale(T* x, Legion::coord_t n);\n"
        'extern "C" __global__ void ones(float* x, Legion::coord_t n);\nextern "C" __global__ void k(float* x) {}\n'
    )
    assert set(names(one)) == {"k"} and len(one.translation.left_out) == 2
    one = built("#include <legion.h>\n__global__ void k(float* x, Legion::coord_t n) {}\n")
    assert "use of undeclared identifier 'Legion'" in str(one.error)


@pytest.mark.parametrize("namespace", ["{}", "namespace nv {{\n{}}}\n"])
def test_repair_function_with_conditional_head_is_removed(built, namespace):
    source = (
        "void Plugin::forward(const float* in)\n{\n  k<<<1, 1>>>(in);\n}\n"
        "#if NV_MAJOR >= 8\nint Plugin::enqueue(int n, void* const* out) NOEXCEPT\n"
        "#else  // NV_MAJOR < 8\nint Plugin::enqueue(int n, void** out)\n#endif  // NV_MAJOR\n"
        "{\n  forward((const float*)out[0]);\n  return n;\n}\n\nPlugin::Plugin()\n{\n  all.clear();\n}\n"
    )
    head = '#include <NvInfer.h>\nextern "C" __global__ void k(const float* x) {}\n'
    assert set(names(built(head + namespace.format(source)))) == {"k"}


def test_repair_condition_on_static_member_of_this_is_constant(built):
    one = built(
        "template <class T> struct Base { static constexpr bool is_wide = sizeof(T) > 2; };\n"
        "template <class T> struct Slot : Base<T> {\n"
        "  __device__ T get(T x) const { if constexpr (sizeof(T) < 8 and this->is_wide) return x; else return -x; }\n"
        "};\n"
        'extern "C" __global__ void k(int* x) { *x = Slot<int>().get(*x); }\n'
    )
    assert (one.error, one.entries) == (None, ("k",))


def test_repair_removed_launches_are_instantiated(built):
    one = built(
        "#include <nosuch/everything.h>\n#include <helper_math.h>\n"
        "__global__ void sizes(uint2* x, dim3 d) { x[0] = make_uint2((uint3)d); }\n"
        "template <typename T, int N> __global__ void k(T* x, int n) { x[0] = N + n; }\n"
        "nosuch::Result host(nosuch::Tensor x) {\n"
        "  auto n = x.size();\n"
        "  k<float, 4><<<1, 32>>>(x.data(), n);\n"
        "  return nosuch::done(x);\n"
        "}\n"
        "int main(int argc, char** argv) {\n"
        "  Parser parser(argc, argv);\n"
        "  srand(7); double t = ceil(3.5) + min(argc, 2);\n"
        "  k<double, 2><<<parser.grid, 32>>>((double*)nullptr, parser.n);\n"
        "}\n"
        "template <typename T> __global__ void fill(T* x, int n) { x[0] = n; }\n"
        "namespace n { const char* lengths(int); }\n"  # which clang takes what is not here for
        "template <typename T> void filled(T* x) { fill<<<1, 1>>>(x, n::length(2)); }\n"
        "template void filled(char*);\n"
    )
    assert has(one, "k<float, 4>", "k<double, 2>", "fill<char>", "sizes")
    assert one.translation.empty_headers == ("nosuch/everything.h",)


def test_repair_host_variable_named_like_c_function_is_removed(built):
    text = "#include <cstdlib>\nstruct Draw { Draw(float, float); };\n{} Draw random(0.0f, 1.0f);\n"
    kernel = "__global__ void k(float* x) { x[0] = 1; }\n"
    one = built(text.replace("{}", "static") + kernel)
    assert has(one, "k") and "random" in one.translation.left_out[0].name
    of_device = text.replace("{} Draw random(0.0f, 1.0f)", "__device__ float random")
    assert "different kind" in str(built(of_device + kernel).error)


def test_repair_finds_all_absent_headers_at_once(built):
    one = built('#include "one.h"\n#include <two/three.hpp>\n__global__ void k(int* x) { x[0] = 1; }\n')
    assert not one.error
    assert one.translation.empty_headers == ("one.h", "two/three.hpp")


def test_repair_host_enumeration_is_removed(built):
    one = built("enum Operation { N = 0, N = 1 };\n__global__ void k(int* x) { x[0] = 1; }\n")
    assert not one.error
    assert one.translation.left_out[0].name.startswith("enum Operation")


def test_repair_function_of_hip_is_removed(built):
    own = "__device__ inline void atomicMax(float* to, float value) { *to = value; }\n"
    one = built(own + "__global__ void k(float* x) { atomicMax(x, x[1]); }\n")
    assert not one.error
    assert "atomicMax" in one.translation.left_out[0].name
    assert "return type" in one.translation.left_out[0].because


def test_repair_extern_declaration_of_hip_is_removed(built):
    source = "extern __device__ __device_builtin__ void __threadfence(void);\nextern const dim3 blockDim;\n"
    one = built(source + "__global__ void k(const __grid_constant__ int n, int* x) { x[n] = blockDim.x; }\n")
    assert not one.error
    assert [piece.name for piece in one.translation.left_out] == ["extern const dim3 blockDim;"]
    assert {"__device_builtin__", "__grid_constant__"} <= {need.name for need in one.changes.needs}


def test_repair_function_defined_twice_keeps_error(built):
    twice = "__device__ int f(int x) { return x; }\n" * 2
    assert "redefinition of 'f'" in built(twice + "__global__ void k(int* x) { x[0] = f(1); }\n").error.log


def test_repair_error_directive_about_cuda_version_is_removed(built):
    version = "#if !defined(CUDART_VERSION)\n#error no CUDA\n#elif CUDART_VERSION < 9000\n#error old\n#endif\n"
    version += "#ifndef __CUDACC_EXTENDED_LAMBDA__\n#error no lambdas\n#endif\n"
    one = built(version + "__global__ void k(int* x) { x[0] = 1; }\n")
    assert not one.error
    assert {piece.name for piece in one.translation.left_out} == {"#error no CUDA", "#error no lambdas"}
    one = built("#ifndef TIMER\n#if CUDART_VERSION < 3\n#else\n#endif\n#error no timer\n#endif\n")
    assert "no timer" in str(one.error)


def test_repair_error_directive_without_absent_header_is_kept(built):
    source = "#ifndef TIMER\n#error no timer\n#endif\n__global__ void k(int* x) { x[0] = 1; }\n"
    assert "no timer" in built(source).error.log
    one = built('#include "config.h"\n' + source)
    assert not one.error
    assert one.translation.left_out[0].because == "no timer"


SIDES = """
struct Lock {{ {0}void take(int*);
{1}int tell(int) const; template <class T> {1}T half(T); }};
{0}int three(int*);
{1}int four(int*);
template <class T> {0}T five(T);
{2}void Lock::take(int* x) {{ *x = 1; }}
{3}int Lock::tell(int x) const {{ return x + threadIdx.x; }}
template <class T> {3}T Lock::half(T x) {{ return x / 2; }}
{2}int three(int* x) {{ return 3; }}
{4}int four(int* x) {{ return *x; }}
template <> {4}int five(int x) {{ return 5; }}
template <> {4}long five<long>(long x) {{ return 5; }}
__global__ void k(int* x) {{
  Lock lock;
  lock.take(x);
  *x = lock.half(lock.tell(4)) + three(x) + four(x) + five(5) + five(5l);
}}
"""


@pytest.mark.parametrize(
    "said",
    [
        ("__host__ __device__ ", "__device__ ", "", "", ""),  # only the declarations name a side
        ("", "", "__host__ __device__ ", "__device__ ", "__host__ __device__ "),  # only the definitions name a side
        ("__host__ __device__ ", "__device__ ", "", "", "__device__ "),
    ],
)
def test_repair_declaration_and_definition_get_same_side(built, said):
    """nvcc accepts a side on only one of them; clang requires the same side on both."""
    one = built(SIDES.format(*said))
    assert has(one, "k")
    assert all(piece.instead and piece.start == piece.end for piece in one.translation.left_out)


def test_repair_host_function_called_by_kernel_keeps_error(built):
    one = built("struct A { void f(int); };\nvoid A::f(int) {}\n__global__ void k(int* x) { A a; a.f(*x); }\n")
    assert one.error.findings[0].line == 3 and not one.translation.left_out


def test_repair_macro_call_on_its_own_line_is_removed(built):
    source = "#define INSTANTIATE(T) template void f<T>(const Missing<T>&);\n#define KERNEL(T) __global__ void k(T*);\n"
    one = built(
        source + "__global__ void own(int* x) { x[0] = 1; }\nKERNEL(int)\nINSTANTIATE (float)\nINSTANTIATE(int)\n"
    )
    assert not one.error
    assert [piece.name for piece in one.translation.left_out] == ["INSTANTIATE (float)", "INSTANTIATE(int)"]


BEYOND = """
__device__ void some(int n) { asm volatile("bar.sync 1, %0;" :: "r"(n)); }
template <class T> __global__ void some_wait(T* x) { some(64); x[0] = 1; }
__global__ void child(float* x) { x[0] *= 2; }
__global__ void parent(float* x) {
  child<<<1, 32>>>(x);
}
int main() { parent<<<1, 1>>>(nullptr); some_wait<float><<<1, 64>>>(nullptr); }
"""


def test_repair_unsupported_device_code_removes_its_callers(built):
    one = built(BEYOND)
    assert list(names(one).values()) == ["_Z5childPf", "_Z6parentPf"]
    gone = {piece.function: (piece.line, piece.because) for piece in one.translation.left_out if piece.function}
    assert gone["parent"] == (6, "a kernel cannot launch kernels on AMD GPUs")  # fails when executed
    assert gone["some"] == (2, "inline PTX (bar.sync) that is not translated; write it in C++ for AMD GPUs")
    assert gone["some_wait"] == (3, "uses some, which is left out")
    said = str(MissingKernel("some_wait", one.code_object))  # the verdict of a declared op contains this message
    assert said.startswith(f"{one.module} has no some_wait, which is left out: ")
    assert said.endswith(".cu:3: uses some, which is left out")
    assert "left out" not in str(MissingKernel("some_wai", one.code_object))


@pytest.mark.thorough
def test_repair_launch_in_kernel_fails_when_executed(tmp_path, cache):
    source = """extern "C" __global__ void halve(const int* n, int* x) {
    x[threadIdx.x] = n[threadIdx.x] / 2;
    if (x[threadIdx.x] > 7) {
        cudaStream_t stream;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        halve<<<1, 64, 0, stream>>>(x, x);
        if (cudaDeviceSynchronize() != cudaSuccess) x[0] = -1;
    }
}
"""
    kernels = program(tmp_path, source, "gfx1100", cache)
    n = np.arange(64, dtype=np.int32) % 16
    assert kernels.run("halve", np.zeros(64, np.int32), n, block=64).tolist() == (n // 2).tolist()
    with pytest.raises(FailedAssertion, match="a kernel cannot call hipStreamCreateWithFlags on AMD GPUs"):
        kernels.run("halve", np.zeros(64, np.int32), n + 16, block=64)


def test_repair_unsupported_code_in_all_kernels_is_error(built):
    kernels, main = BEYOND.index("__global__ void child"), BEYOND.index("int main")
    one = built(BEYOND[:kernels] + BEYOND[main:].replace("parent<<<1, 1>>>(nullptr);", ""))
    first = one.error.findings[0]
    assert (first.name, first.line) == ("some", 2) and "inline PTX (bar.sync)" in first.advice


def test_repair_error_next_to_unsupported_code_is_kept(built):
    one = built(BEYOND.replace("x[0] *= 2", "x[0] = nosuch"))
    assert [(each.line, each.advice) for each in one.changes.faulty] == [(4, "use of undeclared identifier 'nosuch'")]


IN_PART = """
__device__ float scaled(float x) { return x * nosuch; }
__device__ int scaled(int x) { return x * 2; }
__global__ void good(int* x) { x[threadIdx.x] = scaled(x[threadIdx.x]); }
__global__ void faulty(float* x) { x[threadIdx.x] = scaled(x[threadIdx.x]); }
int main() { good<<<1, 32>>>(nullptr); faulty<<<1, 32>>>(nullptr); }
"""


@pytest.mark.parametrize("target", ["gfx1100", CUDA_TARGET])
def test_repair_leaves_out_kernels_with_errors_if_others_compile(built, with_nvcc, target):
    one = built(IN_PART, target=target)
    assert [*names(one).values()] == ["_Z4goodPi"]
    first, *others = one.changes.faulty
    assert (first.name, first.line) == ("scaled", 2) and "nosuch" in first.advice
    assert {each.name for each in others} == {"faulty"}  # which must not call the other overload instead
    assert built(IN_PART, target=target).cached


def test_repair_keeps_error_if_no_other_kernel_compiles(built):
    one = built(IN_PART.replace("scaled(int x) { return x", "scaled(int x) { return absent"))
    assert {each.name for each in one.error.findings} == {"nosuch", "absent"}


WITHOUT = """#include "elsewhere/tiles.h"
struct Shape { elsewhere::Tile tile; int n; };
template <class T> __device__ T of(T x) { return x + 1; }
__device__ float of(float x) { return elsewhere::load(x); }
__device__ int size(Shape shape) { return shape.n; }
__global__ void plain(double* x) { x[0] = of(x[0]); }
__global__ void overloaded(float* x) {
  x[0] = of(x[0]);
}
template <class T> __global__ void shaped(Shape shape, T* x) { x[0] = size(shape); }
template __global__ void shaped<int>(Shape, int*);
int main() { shaped<float><<<1, 1>>>(Shape(), nullptr); }
"""


def test_repair_device_code_with_absent_header_is_removed(built):
    one = built(WITHOUT)
    assert list(names(one).values()) == ["_Z5plainPd"] and one.translation.empty_headers == ("elsewhere/tiles.h",)
    gone = {piece.function: (piece.line, piece.because) for piece in one.translation.left_out if piece.function}
    assert gone["of"] == (4, "use of undeclared identifier 'elsewhere'")
    # The call must not fall back to the template of the same name, which compiles but computes another value.
    assert gone["overloaded"] == (8, "uses of, which is left out")
    assert set(gone) == {"of", "size", "overloaded", "shaped"}
    assert "has no overloaded, which is left out: " in str(MissingKernel("overloaded", one.code_object))


def test_repair_loop_of_macro_is_not_removed_from_kernel(built):
    one = built("""#include "elsewhere/tiles.h"
#define EACH(i, n) for (elsewhere::index i = threadIdx.x; i < (n); i += blockDim.x)
template <class T> __global__ void fill(T* x, int n) {
  EACH(i, n) {
    x[i] = i;
  }
}
template __global__ void fill<float>(float*, int);
__global__ void plain(double* x) { x[0] = 1; }
""")
    assert has(one, "plain") and len(names(one)) == 1
    assert {piece.function for piece in one.translation.left_out if piece.function} == {"fill"}


def test_repair_absent_header_of_all_kernels_is_error(built):
    one = built(WITHOUT.replace("__global__ void plain(double* x) { x[0] = of(x[0]); }", ""))
    assert one.error.findings[0].name == "elsewhere/tiles.h"


def test_repair_device_code_with_unmapped_name_is_removed(built):
    source = "__global__ void fine(float* x) { x[0] = 1; }\n"
    one = built(source + "__global__ void draw() { cudaGetParameterBuffer(4, 4); }\n")
    assert list(names(one).values()) == ["_Z4finePf"]
    assert {"draw"} == {piece.function for piece in one.translation.left_out if piece.function}


def test_repair_definition_gets_side_macros_of_declaration(tmp_path, cache):
    (tmp_path / "m.cu").write_text(
        "#define ON_GPU __device__\n#define ON_CPU __host__\nstruct Ball { ON_GPU ON_CPU int hit(int) const; };\n"
        "int Ball::hit(int x) const { return x + 2; }\n"
        "__global__ void k(int* x) { x[0] = Ball().hit(2); }\n"
    )
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache)
    assert not one.error, one.error
    assert [piece.instead for piece in one.translation.left_out] == ["ON_GPU ON_CPU "]


def test_repair_typedef_of_cstdint_is_removed(built):
    source = "typedef unsigned long long uint64_t;\ntypedef unsigned int uint32_t;\n"
    source += 'extern "C" __global__ void k(uint64_t* x, uint32_t y) { x[0] += y; }\n'
    one = built(source)
    assert has(one, "k")
    assert [piece.line for piece in one.translation.left_out] == [1]


def test_repair_c_linkage_of_static_function_is_removed(built):
    source = 'extern "C" __device__ static inline int one(int x) { return x + 1; }\n'
    one = built(source + 'extern "C" __global__ void k(int* x) { x[0] = one(x[0]); }\n')
    assert has(one, "k")
    assert [(piece.line, piece.name) for piece in one.translation.left_out] == [(1, 'extern "C"')]


def test_repair_restrict_without_pointer_is_removed(built):
    source = "__global__ void add(const float3 __restrict__* x, float __restrict__ y, float* z) { *z = x->x + y; }\n"
    one = built(f'/* ü */\nextern "C" {source}')
    assert (one.error, one.entries) == (None, ("add",))
    assert [(piece.line, piece.name) for piece in one.translation.left_out] == [(2, "__restrict__")]


def test_repair_template_arguments_of_constructor_are_removed(built):
    source = "template <class T> struct S { T x; __device__ S(T y); };\n"
    source += "template <class T> __device__ S<T>::S<T>(T y) : x(y + 1) {}\n"
    one = built(source + 'extern "C" __global__ void k(int* x) { x[0] = S<int>(x[0]).x; }\n')
    assert has(one, "k")
    assert [(piece.line, piece.name) for piece in one.translation.left_out] == [(2, "<T>")]


def test_repair_side_macro_defined_only_for_nvcc_is_recognized(built):
    source = "#ifdef __CUDACC__\n#define HD __host__ __device__\n#else\n#define HD\n#endif\n"
    source += "struct S { HD float of(float x) const; };\nfloat S::of(float x) const { return x + 1; }\n"
    assert has(built(f"{source}__global__ void k(float* x) {{ x[0] = S().of(x[0]); }}\n"), "k")


def test_repair_constexpr_of_object_member_becomes_const(built):
    one = built(
        """struct Camera { static constexpr int scale = 8; };
struct Lens {
    const Camera& of;
    __device__ float angle(float x) const {
        constexpr float step = 1.f / of.scale;
        return x * step;
    }
};
__global__ void k(float* x, const Camera& camera) { x[0] = Lens{camera}.angle(x[0]); }
"""
    )
    assert has(one, "k")
    assert [(piece.line, piece.name) for piece in one.translation.left_out] == [(5, "constexpr")]


def test_repair_length_of_dynamic_shared_memory_is_removed(built):
    one = built(
        """extern __shared__ float all[32];
template <int N> __global__ void k(float* x) {
    extern __shared__ float rows[N * 2][4];
    rows[threadIdx.x][1] = x[0];
    __syncthreads();
    x[threadIdx.x] = rows[0][1] + all[threadIdx.x];
}
template __global__ void k<8>(float*);
"""
    )
    assert not one.error, one.error
    assert {k.lds_bytes for k in one.code_object.kernels.values()} == {0}
    assert [(piece.line, piece.name) for piece in one.translation.left_out] == [(1, "all[32]"), (3, "rows[N * 2]")]


def test_repair_braces_assigned_to_half2_get_type(built):
    one = built(
        """#include <cuda_fp16.h>
extern "C" __global__ void k(__half2* x) {
    __half2 sums[2];
    sums[1] = {};
    x[threadIdx.x] = __hadd2(sums[1], x[0]);
}
"""
    )
    assert has(one, "k")
    assert [(piece.line, piece.name) for piece in one.translation.left_out] == [(4, "{}")]


def test_repair_vector_is_filled_with_zeros(tmp_path, cache):
    text = """struct Box { uint3 low; int n; };
__device__ float4 last(float x) { return {x, 2.f}; }
extern "C" __global__ void k(const float* x, float* y) {
  Box box = {{7u, 8u}, 9};
  float4 f = last(x[0]);
  y[0] = box.low.x + 10 * box.low.y + 100 * box.low.z + 1000 * box.n + f.x + f.y + f.z + f.w;
}
"""
    kernels = program(tmp_path, text, "gfx1100", cache)
    assert kernels.run("k", np.zeros(1, np.float32), np.full(1, 3, np.float32), block=1).tolist() == [9092.0]


BY_MACROS = """#ifdef __CUDACC__
#define GLOBAL __global__
#define ON_GPU __device__
#else
#define GLOBAL
#define ON_GPU
#endif
#define NAMED(name) name##_gpu
namespace { BODY }
template <int N> GLOBAL void NAMED(lowest)(const double* x, double* out
#ifndef __CUDACC__
                                           , int thread
#endif
) {
  for (int i = threadIdx.x; i < N; i += blockDim.x)
    STATEMENT
}
void launch(double* x) { NAMED(lowest)<8><<<1, 32>>>(x, x); }
"""


def test_repair_statement_of_kernel_declared_by_macro_keeps_error(built):
    (finding,) = built(BY_MACROS.replace("BODY", "").replace("STATEMENT", "nosuch(out[0]);")).error.findings
    assert (finding.name, finding.line) == ("nosuch", 16)


def test_repair_statement_of_function_with_side_macro_is_kept(built):
    text = BY_MACROS.replace("BODY", "ON_GPU double twice(double x) { nosuch(x); return 2 * x; }")
    findings = built(text.replace("STATEMENT", "out[0] = twice(out[0]);")).error.findings
    assert "twice" in {finding.name for finding in findings}


def test_repair_atomic_of_source_is_replaced_by_hip_atomic(tmp_path, cache):
    own = "__device__ double atomicMin(double* at, double x) { return *at = x < *at ? x : *at; }"
    text = BY_MACROS.replace("BODY", own).replace("STATEMENT", "{ atomicMin(out, x[i]); }")
    kernels = program(tmp_path, text, "gfx1100", cache)
    (kernel,) = kernels.built.code_object.kernels
    assert kernels.run(kernel, np.full(1, 3.0), np.arange(8.0) - 2, block=8).tolist() == [-2.0]


def test_repair_removed_class_keeps_its_name(built):
    one = built("""struct Base { __device__ virtual ~Base() {} };
struct Owner { ~Owner() {} };
struct Held final : public Base { Owner owner; };
template <class T> class Several : public Base { Owner owners[2]; T last = T().last(); int n = nosuch; };
struct Own {};
template <bool b, class T, class F> struct choose { using type = T; };
using Chosen = choose<true, choose<true, Own, Held>::type, Several<int>>::type;
__global__ void fill(int* x) { Chosen own; x[threadIdx.x] = sizeof(own); }
""")
    assert [piece.line for piece in one.translation.left_out] == [3, 4]


MISREAD = """#define Point DirectX::XMFLOAT4
__global__ void bad(Point* p, int n, short* r) { p[n].x = r[n]; }
__global__ void good(float* x, int n) {
  for (int i = 0; i < n; ++i) { x[i] *= 2; }
}
"""


@pytest.mark.parametrize(
    ("second", "left_out"),
    [("this declaration has no storage class or type specifier", ["bad"]), ('"good" is undefined', ["bad", "good"])],
)
def test_repair_leaves_out_one_kernel_if_nvcc_misreads_what_follows(second, left_out):
    """After an error in the head of a kernel, nvcc may read the statements of later kernels as declarations."""
    texts = {"k.cu": MISREAD}
    errors = [
        Diagnostic('name followed by "::" must be a class or namespace name', (("k.cu", 2, 1),)),
        Diagnostic(second, (("k.cu", 4, 3),)),
    ]
    found = repair(HostCode(empty_headers=("windows.h",)), texts, errors, lacks=lambda name: False)
    assert [piece.function for piece in found.left_out] == left_out
