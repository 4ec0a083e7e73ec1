"""Host code beside kernels: what of it does not compile is left out, device code never is, and launches stay."""

import numpy as np
import pytest
from execution import program

from parity.build import compilation
from parity.build.loaded_modules import MissingKernel
from parity.build.modules import build
from parity.build.settings import BuildCallbacks
from parity.compilers import clang
from parity.compilers.diagnostics import Diagnostic
from parity.emulator import FailedAssertion
from parity.emulator.faults import Trapped
from parity.platform.cache import Cache
from parity.porting.host_code import HostCode, LeftOut
from parity.porting.host_pieces import host_edits
from parity.porting.kernel_templates import parameters
from parity.porting.repair import repair


@pytest.fixture
def built(tmp_path):
    """Builds one module of these files for gfx1100."""

    def run(source, target="gfx1100", **files):
        folder = tmp_path / "kernels"
        folder.mkdir(exist_ok=True)
        (folder / "m.cu").write_text(source)
        for name, text in files.items():
            (folder / name.replace("_h", ".h")).write_text(text)
        (one,) = build(folder, targets=[target], cache=Cache(tmp_path / "cache"))
        return one

    return run


def names(one):
    assert not one.error, one.error
    return {name: kernel.name for name, kernel in one.code_object.kernels.items()}


def has(one, *kernels):
    assert not one.error, one.error
    return all(one.code_object.symbol(kernel) in one.code_object.kernels for kernel in kernels)


def left(text, line, column, error="unknown"):
    """What becomes of a text with an error at a place; None if it stays the user's."""
    host = repair(HostCode(), {"m.cu": text}, [Diagnostic(error, (("m.cu", line, column),))])
    return host and host.blanked("m.cu", text)


def test_repair_device_function_keeps_error(built):
    one = built("__device__ float f(float x) { return nosuch(x); }\n__global__ void k(float* x) { x[0] = f(x[0]); }\n")
    (finding,) = one.error.findings
    assert (finding.name, finding.line) == ("nosuch", 1) and not one.translation.left_out


def test_repair_macro_with_kernel_is_kept(built):
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
def test_repair_launch_in_function_of_both_sides_makes_it_host_only(built, words):
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


def test_repair_empty_constructor_of_shared_variable_is_for_both_sides(built):
    text = "struct Item {\n  float x;\n  Item() {}\n  Item(double a) : x(a) {}\n};\n"
    kernel = "__global__ void k(float* x) {\n  __shared__ Item items[32];\n  items[1].x = 1;\n  *x = items[1].x;\n}\n"
    one = built(text + kernel)
    assert has(one, "k") and {piece.instead for piece in one.translation.left_out} == {"__host__ __device__ "}
    assert "no matching constructor" in str(built(text.replace("Item() {}", "Item() { x = 1; }") + kernel).error)
    assert "no matching constructor" in str(built(text + kernel.replace("__shared__ ", "")).error)  # nor does nvcc


def test_compat_calling_conventions_are_empty(built):
    one = built("static void CUDART_CB done(void*) {}\n__global__ void CUDARTAPI k(float* x) { *x = 1; }\n")
    assert has(one, "k") and not one.translation.left_out


def test_repair_device_lambda_keeps_error():
    text = "void host() {\n  each([=] __device__(int i) {\n    bad(i);\n  });\n}\n"
    assert left(text, 3, 5) is None
    assert left(text, 2, 3).split() == ["void", "host()", "{", "{", "}", "}"]


def test_repair_constructor_after_device_macro_keeps_error():
    text = (
        "#define ON_GPU __host__ __device__\nstruct A {\n  int x, y;\n  ON_GPU explicit A(const Gone& gone)\n"
        "    : x(gone.x),\n      y{gone.y} {}\n};\n"
    )
    assert left(text, 5, 12) is None
    assert left(text.replace("ON_GPU explicit", "explicit"), 5, 12)


def test_repair_device_lambda_with_unknown_parameters_is_replaced():
    text = "void host() {\n  auto set = [=] __device__(int i,\n    gone::tuple t) {\n    x[i] = get(t);\n  };\n}\n"
    assert left(text, 3, 5).split() == [
        "void",
        "host()",
        "{",
        "auto",
        "set",
        "=",
        "::parity_stub::anything()",
        ";",
        "}",
    ]


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


def test_repair_class_with_device_function_keeps_error():
    text = "struct S {\n  nosuch a;\n  __device__ int f() { return 1; }\n};\n"
    assert left(text, 2, 3) is None


def test_repair_statement_keeps_its_launches():
    text = "template <typename T> void host(T* x) {\n  log(x);\n  k<T, 3><<<grid(x), 64>>>(x, size(x));\n}\n"
    assert "log" not in left(text, 2, 3) and "k<T, 3><<<" in left(text, 2, 3)
    assert "k<T, 3><<<1, 64>>>(x, size(x))" in " ".join(left(text, 3, 13).split()).replace("1 ,", "1,")
    host = HostCode()
    for _ in range(3):  # the argument, the statement, the function
        host = repair(host, {"m.cu": text}, [Diagnostic("unknown", (("m.cu", 3, 29),))])
        if "(void)&k<T, 3>;" in host.blanked("m.cu", text):
            break
    assert "(void)&k<T, 3>;" in host.blanked("m.cu", text)


def test_host_edits_unbalanced_macro_does_not_include_next_lines():
    """The tree may have it as one piece with braces of others."""
    text = "void g() { OPEN(x) { h();\nGEN(a);\nCLOSE }\nvoid f() { g(); }\n"
    (piece,) = host_edits(text, 2, 1, frozenset())
    assert text[piece.start : piece.end] == "GEN(a);"


def test_host_edits_comment_in_long_macro_does_not_hide_next_lines():
    lines = [
        "#define EACH(TYPE, NAME, ...)",
        "  [&] {",
        "    const auto& one = TYPE;",
        "    /* don't use TYPE again */",
        "    kind _st = ::detail::kind_of(one);",
        "    switch (_st) {",
        "      CASE(kind::Float, float, __VA_ARGS__)",
        "      default:",
        '        fail(#NAME, " is not there for \'", text(_st), "\'");',
        "    }",
    ]
    macro = "".join(f"{line:76} \\\n" for line in lines) + "  }()\n"
    text = macro + "void host(int n) {\n  EACH(n);\n  none(n);\n}\n"
    assert left(text, 14, 3).removeprefix(macro).split() == ["void", "host(int", "n)", "{", "EACH(n);", "{", "}", "}"]


def test_blanked_text_keeps_line_numbers():
    text = "int a;\nvoid host() {\n  first(\n    2);\n}\n__global__ void k() {}\n"
    blanked = left(text, 3, 3)
    assert blanked.count("\n") == text.count("\n") and blanked.splitlines()[-1] == "__global__ void k() {}"


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


def test_guess_template_without_instantiation_uses_float(built):
    source = (
        "namespace nn { namespace {\n"
        "template <typename T> __global__ void\n__launch_bounds__(256) scale(T* x) { *x *= T(2); }\n"
        "template <class T, int N, bool B = true> __global__ void fill(T* x) { x[N] = B; }\n"
        "template <class T, int N> __global__ void never(T* x) { x[N] = 1; }\n"
        "template <class T, class F> __global__ void map(T* x, F f) { f(x); }\n"
        "template <typename DType> void run(Tensor<DType> t) {\n"
        "  scale<<<1, 1>>>(t.dptr);\n  fill<DType, 3><<<1, 1>>>(t.dptr);\n"
        "  never<DType, N><<<1, 1>>>(t.dptr);\n  map<DType, Add<T>><<<1, 1>>>(t.dptr, Add<T>());\n}\n}}\n"
    )
    one = built(source)
    assert not one.error, one.error
    kernels = ("_ZN2nn12_GLOBAL__N_15scaleIfEEvPT_", "_ZN2nn12_GLOBAL__N_14fillIfLi3ELb1EEEvPT_")
    assert (one.entries, one.guessed) == (kernels, True)
    one = built(source + "template __global__ void nn::scale<double>(double*);\n")
    assert (len(one.entries), one.guessed) == (1, False)


def test_guess_template_without_launch_uses_default_number(built):
    source = (
        '#include "types.h"\n'
        "template <Number T, unsigned int N, bool B> __global__ void sum(T* x) { *x = B ? N : 0; }\n"
        "template <int N> __global__ void wide(float* x) { static_assert(N > 32); *x = N; }\n"
        "namespace bits { constexpr int few = 3; }\n"
        "template <int N, class T> __global__ void mask(T* x) { *x = N; }\n"
        "template <class T> void run(Tensor<T> x) { mask<bits::few, T><<<1, 1>>>(x.data); }\n"
    )
    one = built(
        source, types_h="#include <type_traits>\ntemplate <class T> concept Number = std::is_arithmetic_v<T>;\n"
    )
    assert set(names(one).values()) == {"_Z3sumIfLj32ELb1EEvPT_", "_Z4maskILi3EfEvPT0_"}, "what is refused is left out"
    assert one.guessed and "-std=c++20" in [each.flag for each in one.switches]


def test_guess_template_in_host_template_uses_its_arguments(built):
    source = (
        "template <class T, int N, bool B> __global__ void fill(T* x) { x[N] = B; }\n"
        "template <class T, int N> __global__ void scale(T* x) { x[N] *= N; }\n"
        "template <class T, int N, bool B> Array<T> run(Array<T> x) { fill<T, N, B><<<1, 1>>>(x.data); return x; }\n"
        "template <class T, bool B> Array<T> either(Array<T> x) { return B ? run<T, 3, B>(x) : run<T, 5, false>(x); }\n"
        "template <class T> Array<T> all(Array<T> x) { return either<T, true>(x); }\n"
        "template <class T, int N> struct Scaler { Array<T> x; void run() { scale<T, N><<<1, 1>>>(x.data); } };\n"
    )
    filled = {"_Z4fillIfLi3ELb1EEvPT_", "_Z4fillIfLi5ELb0EEvPT_"}
    assert {*built(source).entries} == {*filled, "_Z5scaleIfLi32EEvPT_"}
    named = "namespace in {\nconst int five = 5;\n" + source.replace("run<T, 5,", "run<T, five,") + "}\n"
    assert {*names(built(named)).values()} >= {f"_ZN2in{name[2:].replace('EEv', 'EEEv')}" for name in filled}
    used = source + "void both(Array<double> x) { Scaler<double, 2>{x}.run(); Scaler<float, 4>{x}.run(); }\n"
    assert {*built(used).entries} == {*filled, "_Z5scaleIdLi2EEvPT_", "_Z5scaleIfLi4EEvPT_"}


def test_guess_template_launched_with_local_constant_uses_its_value(built):
    source = (
        "template <class T, int N> __global__ void fill(T* x) { x[N] = N; }\n"
        "template <class T> Status run(T* x) {\n  const int size = 512;\n  fill<T, size><<<1, size>>>(x);\n}\n"
    )
    assert built(source).entries == ("_Z4fillIfLi512EEvPT_",)
    source = source.replace("Status", "int") + "void all() { table.push_back(Entry(Kind::DOUBLE, run<double>)); }\n"
    assert built('#include "kinds.h"\n' + source).entries == ("_Z4fillIdLi512EEvPT_",)


def test_guess_that_does_not_compile_is_dropped(built):
    one = built("template <class T> __global__ void k(typename T::type* x) { *x = T::value; }\n")
    assert (one.error, one.entries, one.guessed) == (None, (), False)


def test_repair_condition_on_static_member_of_this_is_constant(built):
    one = built(
        "template <class T> struct Base { static constexpr bool is_wide = sizeof(T) > 2; };\n"
        "template <class T> struct Slot : Base<T> {\n"
        "  __device__ T get(T x) const { if constexpr (sizeof(T) < 8 and this->is_wide) return x; else return -x; }\n"
        "};\n"
        'extern "C" __global__ void k(int* x) { *x = Slot<int>().get(*x); }\n'
    )
    assert (one.error, one.entries) == (None, ("k",))


def test_blanked_text_keeps_conditionals():
    text = "#if A\nint Plugin::run(int n)\n#else\nint Plugin::run(long n)\n#endif\n{ return n; }\n"
    host = HostCode((LeftOut("m.cu", 4, "run", "unknown", text.index("int Plugin::run(long"), len(text)),))
    assert host.blanked("m.cu", text).split("\n")[2:5] == ["#else", " " * 23, "#endif"]


def test_repair_code_in_conditional_is_removed():
    text = "#ifndef A\n#define A\nvoid host() { missing(); }\n#endif\n"
    assert "missing" not in left(text, 3, 15)
    inside = "void host() {\n#if 1\n  missing();\n#endif\n  k<<<1, 1>>>();\n}\n"
    assert "missing" not in left(inside, 3, 3) and "k<<<1, 1>>>" in left(inside, 3, 3)
    device = "__global__ void k() {\n#if 1\n  missing();\n#endif\n}\n"
    assert left(device, 3, 3) is None


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


def test_variant_standard_header_replaces_implicit_includes(built):
    source = (
        "__global__ void k(float* x, uint16_t n) { *x = n < SHRT_MAX ? FLT_MAX : std::numeric_limits<float>::min(); }\n"
    )
    guessed = built(source)  # as a source has it that is compiled by others, whose headers bring more
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


def test_error_in_stub_is_placed_in_user_file(built):
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


def test_error_beyond_stub_names_library(built):
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


def test_stub_gives_way_to_project_header(built):
    one = built(
        '#include "helper_cuda.h"\n__global__ void k(int* x) { x[0] = MINE; }\n', helper_cuda_h="#define MINE 3\n"
    )
    assert not one.error and one.translation.stubs == ()


def test_symbol_finds_kernel_by_source_spelling(built):
    one = built(
        "template <int N, bool B, unsigned U> __global__ void k(float* x) { x[0] = N + B + U; }\n"
        "template __global__ void k<1024, true, 7u>(float*);\n"
        "template __global__ void k<-2, false, 1u>(float*);\n"
    )
    assert has(one, "k<1024, true, 7>", "k<1024,true,7u>", "k<-2, false, 1>")


def test_vector_operator_equal_to_hips_is_removed(built):
    own = "inline __host__ __device__ float2 operator*(float2 a, float2 b) { return make_float2(%s); }\n"
    kernel = "__global__ void k(float2* x) { x[0] = x[1] * x[2]; }\n"
    one = built(own % "a.x * b.x, a.y * b.y" + kernel)
    assert not one.error and "operator* of float2" in one.translation.left_out[0].name
    one = built(own % "a.x * b.x, a.y * b.x" + kernel)
    assert "ambiguous" in str(one.error) and not one.translation.left_out
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
    assert "ambiguous" in str(built(text.replace("a.y * b.y", "a.y * b.x")).error)
    called = text.replace("m::make_real2", "m::Real2")
    assert not built(called).error and "ambiguous" in str(built(called.replace("a.y * b.y", "a.y * b.x")).error)


def test_repair_host_variable_named_like_c_function_is_removed(built):
    text = "#include <cstdlib>\nstruct Draw { Draw(float, float); };\n{} Draw random(0.0f, 1.0f);\n"
    kernel = "__global__ void k(float* x) { x[0] = 1; }\n"
    one = built(text.replace("{}", "static") + kernel)
    assert has(one, "k") and "random" in one.translation.left_out[0].name
    of_device = text.replace("{} Draw random(0.0f, 1.0f)", "__device__ float random")
    assert "different kind" in str(built(of_device + kernel).error)


def test_vector_operator_in_macro_is_removed(built):
    one = built(
        "#define COMPOUND(type, scalar, op) \\\n"
        "  inline __device__ type& operator op(type& a, const type& b) { a.x op b.x; a.y op b.y; return a; } \\\n"
        "  inline __device__ type& operator op(type& a, scalar b) { a.x op b; a.y op b; return a; }\n"
        "COMPOUND(float2, float, +=)\n"
        "__global__ void k(float2* x) { x[0] += x[1]; x[0] += 2.0f; }\n"
    )
    assert not one.error and [piece.name for piece in one.translation.left_out] == ["operator op of type"]


def test_host_edits_device_word_after_macros_counts():
    text = "FILL(u8)\nFILL(u32)\n\n__device__ int broken = undeclared;\n"
    assert not host_edits(text, 4, 25, frozenset())
    assert host_edits(text.replace("__device__ ", ""), 4, 14, frozenset())


def test_error_about_removed_declaration_shows_its_reason_first(built):
    one = built(
        "constexpr int lanes = LANES;\n"
        "constexpr int warps = 1024 / lanes;\n"
        "__global__ void k(int* x) { x[0] = warps; }\n"
    )
    first = one.error.findings[0]
    assert first.line == 1
    assert 'flags = ["-DLANES=..."]' in first.advice


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
    assert {"__device_builtin__", "__grid_constant__"} <= {need.name for need in one.needs}


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
        ("__host__ __device__ ", "__device__ ", "", "", ""),  # by declarations
        ("", "", "__host__ __device__ ", "__device__ ", "__host__ __device__ "),  # by definitions
        ("__host__ __device__ ", "__device__ ", "", "", "__device__ "),
    ],
)
def test_repair_declaration_and_definition_get_same_side(built, said):
    """nvcc takes either; clang wants both to say the same."""
    one = built(SIDES.format(*said))
    assert has(one, "k")
    assert all(piece.instead and piece.start == piece.end for piece in one.translation.left_out)


def test_repair_host_function_called_by_kernel_keeps_error(built):
    one = built("struct A { void f(int); };\nvoid A::f(int) {}\n__global__ void k(int* x) { A a; a.f(*x); }\n")
    assert one.error.findings[0].line == 3 and not one.translation.left_out


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


def test_repair_macro_call_on_its_own_line_is_removed(built):
    source = "#define INSTANTIATE(T) template void f<T>(const Missing<T>&);\n#define KERNEL(T) __global__ void k(T*);\n"
    one = built(
        source + "__global__ void own(int* x) { x[0] = 1; }\nKERNEL(int)\nINSTANTIATE (float)\nINSTANTIATE(int)\n"
    )
    assert not one.error
    assert [piece.name for piece in one.translation.left_out] == ["INSTANTIATE (float)", "INSTANTIATE(int)"]


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
    assert gone["parent"] == (6, "a kernel cannot launch kernels on AMD GPUs")  # it fails there
    assert gone["some"] == (2, "inline PTX (bar.sync) that is not translated; write it in C++ for AMD GPUs")
    assert gone["some_wait"] == (3, "uses some, which is left out")
    said = str(MissingKernel("some_wait", one.code_object))  # of a declared op, in its verdict
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
    (finding,) = built(BEYOND.replace("x[0] *= 2", "x[0] = nosuch")).error.findings
    assert (finding.name, finding.line) == ("nosuch", 4)


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
    # Not the template of the same name, which would have compiled and computed something else.
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


def test_undefined_function_is_reported_before_code_generation(built, monkeypatch):
    monkeypatch.setattr(clang, "_generate", None)
    one = built(
        "__device__ int elsewhere(int);\n__global__ void k(int* x) {\n  int y = int(elsewhere(1));\n  *x = y;\n}\n"
    )
    (finding,) = one.error.findings
    assert not one.translation.left_out  # the variable is no declaration of it
    assert (finding.name, finding.line) == ("elsewhere(int)", 3)
    assert "#include the file that has it" in finding.advice


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
    own, far = tmp_path / "own", tmp_path / "far" / "gpu"
    for folder in (tmp_path / ".git", own, far):
        folder.mkdir(parents=True)
    (far / "box.cu").write_text('#include "../../shape.h"\nON_GPU int Box::hit(int x) const { return x + 2; }\n')
    (own / "m.cu").write_text(
        '#include "../shape.h"\n__global__ void k(int* x) { x[0] = (Ball() + 1) + Box().hit(2); }\n'
    )
    (one,) = build(own, ["m"], targets=["gfx1100"], cache=cache)
    assert not one.error, one.error
    assert {each.flag for each in one.switches} == {'#include "../ball.cu"', '#include "../far/gpu/box.cu"'}


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
    own = Cache(tmp_path / "cache")  # what is there already is not compiled
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=own, progress=BuildCallbacks(retrying=told.append))
    assert not one.error, one.error
    assert [each.flag for each in one.switches] == ['#include "ball.cu"']
    # As it is, without the header, without the host's function, with the file.
    assert told == [f"m gfx1100, compilation {number}" for number in (2, 3, 4)]


def test_repair_definition_gets_side_macros_of_declaration(tmp_path, cache):
    (tmp_path / "m.cu").write_text(
        "#define ON_GPU __device__\n#define ON_CPU __host__\nstruct Ball { ON_GPU ON_CPU int hit(int) const; };\n"
        "int Ball::hit(int x) const { return x + 2; }\n"
        "__global__ void k(int* x) { x[0] = Ball().hit(2); }\n"
    )
    (one,) = build(tmp_path, ["m"], targets=["gfx1100"], cache=cache)
    assert not one.error, one.error
    assert [piece.instead for piece in one.translation.left_out] == ["ON_GPU ON_CPU "]


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


def test_compat_unary_function_exists(built):
    source = "#include <functional>\nstruct Half : std::unary_function<float, float> {\n"
    source += "  __host__ __device__ float operator()(float x) const { return x / 2; }\n};\n"
    assert has(built(source + 'extern "C" __global__ void k(float* x) { x[0] = Half()(x[0]); }\n'), "k")


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


def test_side_macro_defined_for_nvcc_counts(built):
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


def test_repair_dynamic_shared_memory_loses_length(built):
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
    x[0] = ONCE(x[1]) + y + Sum().template of(n) * Scale::by;
}
"""
    assert has(built(source), "k")


def test_stub_gives_way_to_handle_of_source(built):
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


def test_parameters_lists_names_by_kernel():
    text = """
template <typename T, int N> __global__ void __launch_bounds__(256) rows(const T* __restrict__ x, T (&y)[4], int) {}
namespace ops { extern "C" __global__ void plain(float *const out, unsigned n = 3) { int i = n; } }
__global__ void twice(int a); __global__ void twice(float b) {}
void host(int n) { rows<float, 4><<<1, 1>>>(0, 0, n); }
"""
    assert parameters(text) == {"rows": ("x", "y", ""), "plain": ("out", "n")}


BRANCHES = """struct Signature {
  void add(const Missing& a) {
    if (a.is_other()) {
#if OTHER == 1 && \\
    !NONE
      add(a.other());
    }
#else
    }
#endif
  }

  void add(const Unknown& a) {
    add(a.first);
  }
};
"""


@pytest.mark.parametrize(("line", "first", "lines"), [(2, 2, 10), (13, 13, 3)])
def test_host_edits_brace_closed_in_two_branches_ends_function(line, first, lines):
    *_, piece = host_edits(BRANCHES, line, 8, frozenset())
    assert (piece.line, BRANCHES[piece.start : piece.end].count("\n") + 1) == (first, lines)


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


MACROS_IN_CLASSES = """namespace a {
class One : public Missing {
 public:
  int f() const { return 1; }
  DECLARE_INFO(One, Missing)
};
class Other : public Missing {
  DECLARE_INFO(Other, Missing)
};
}
"""


@pytest.mark.parametrize(("line", "last"), [(2, 6), (5, 5), (7, 9), (8, 8)])
def test_host_edits_macro_at_end_of_class_is_balanced(line, last):
    *_, piece = host_edits(MACROS_IN_CLASSES, line, 8, frozenset())
    text = MACROS_IN_CLASSES[piece.start : piece.end]
    assert (piece.line, piece.line + text.count("\n")) == (line, last)
    assert text.count("{") == text.count("}")


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


def test_repair_statement_of_kernel_by_macro_keeps_error(built):
    (finding,) = built(BY_MACROS.replace("BODY", "").replace("STATEMENT", "nosuch(out[0]);")).error.findings
    assert (finding.name, finding.line) == ("nosuch", 16)


def test_repair_statement_of_maybe_device_function_is_kept(built):
    text = BY_MACROS.replace("BODY", "ON_GPU double twice(double x) { nosuch(x); return 2 * x; }")
    findings = built(text.replace("STATEMENT", "out[0] = twice(out[0]);")).error.findings
    assert "twice" in {finding.name for finding in findings}


def test_repair_own_atomic_gives_way_to_hips(tmp_path, cache):
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


def test_build_reports_compilations_up_to_limit(tmp_path, cache, monkeypatch):
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
