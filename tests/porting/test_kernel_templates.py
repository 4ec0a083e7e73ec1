"""Kernels of a source, and guessed arguments of templates that the source does not instantiate."""

from kernels_built import has, names

from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers.targets import CUDA_TARGET
from parity.platform.cache import Cache
from parity.porting.kernel_templates import Instantiation, has_dependent, instantiations, parameters, with_chosen_bodies


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
    sums = {"_Z3sumIfLj32ELb0EEvPT_", "_Z3sumIfLj32ELb1EEvPT_"}
    assert {*one.entries} == {*sums, "_Z4maskILi3EfEvPT0_"}, "what is refused is left out"
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


def test_guess_template_launched_with_computed_constant_uses_its_value(built):
    source = (
        "#define WARP 32\ntemplate <class T, int N, int M> __global__ void fill(T* x) { x[N] = M; }\n"
        "template <class T, int Rows> Status run(T* x) {\n"
        "  constexpr int tile{16};\n  const int threads = (tile / 4 + 1) * WARP;\n"
        "  fill<T, threads, Rows * 2><<<1, threads>>>(x);\n}\n"
        "template <class T> Status all(T* x) { return run<T, 3>(x); }\n"
    )
    assert built(source).entries == ("_Z4fillIfLi160ELi6EEvPT_",)


def test_guess_that_does_not_compile_is_dropped(built):
    one = built("template <class T> __global__ void k(typename T::type* x) { *x = T::value; }\n")
    assert (one.error, one.entries, one.guessed) == (None, (), False)


def test_symbol_finds_kernel_by_source_spelling(built):
    one = built(
        "template <int N, bool B, unsigned U> __global__ void k(float* x) { x[0] = N + B + U; }\n"
        "template __global__ void k<1024, true, 7u>(float*);\n"
        "template __global__ void k<-2, false, 1u>(float*);\n"
    )
    assert has(one, "k<1024, true, 7>", "k<1024,true,7u>", "k<-2, false, 1>")


def test_parameters_lists_names_by_kernel():
    text = """
template <typename T, int N> __global__ void __launch_bounds__(256) rows(const T* __restrict__ x, T (&y)[4], int) {}
namespace ops { extern "C" __global__ void plain(float *const out, unsigned n = 3) { int i = n; } }
__global__ void twice(int a); __global__ void twice(float b) {}
void host(int n) { rows<float, 4><<<1, 1>>>(0, 0, n); }
"""
    assert parameters(text) == {"rows": ("x", "y", ""), "plain": ("out", "n")}


def test_chosen_instances_keep_their_bodies():
    source = (
        "template <class T, int N, class = void>\n__global__ void one(T* x) { if (N) { x[N] = 1; } }\n"
        "template <class... T> __global__ void all(T... x) {\n}\n__global__ void plain(int* x) { *x = 1; }\n"
    )
    odd = "template <int N> __global__ void odd(int* x) {%s x[0] += OPS(a < b >) c(0); }\n"
    opened = "\n#if A\nif (N) {\n#else\nif (!N) {\n#endif\n x[0] = 1; }"
    assert "if constexpr (false) {" in with_chosen_bodies(odd % "", []), "a body that the parser does not understand"
    assert with_chosen_bodies(odd % opened, []) == odd % opened, "the end of the body is uncertain"
    condition = "(__is_same(T, Pair<int, 2>) && (long long)(N) == (long long)(3))"
    assert with_chosen_bodies(source, ["ns::one<Pair<int, 2>, 3, void>", "all<int>"]) == (
        f"template <class T, int N, class = void>\n__global__ void one(T* x) {{ if constexpr ({condition}) {{"
        " if (N) { x[N] = 1; } }}\ntemplate <class... T> __global__ void all(T... x) { if constexpr ((true)) {\n}}\n"
        "__global__ void plain(int* x) { *x = 1; }\n"
    )


def test_arguments_of_other_code_may_be_many():
    kernel = "template <class T> __global__ void one(T* x) { *x = T(1); }\n"
    assert not has_dependent(kernel + "void host() { one<float><<<1, 1>>>(0); other<T>(); }")
    assert has_dependent(kernel + "template <class U> void host() { one<U><<<1, 1>>>(0); }")


def test_instances_with_failing_assertions_are_left_out_for_cuda(tmp_path, with_nvcc):
    source = (
        "template <unsigned N> __device__ void check() { static_assert(N > 32); }\n"
        "template <unsigned N, bool B> __global__ void deep(float* x) { check<N>(); *x = B; }\n"
        "template <int N> __global__ void wide(float* x) { static_assert(N > 32); *x = N; }\n"
    )
    (tmp_path / "m.cu").write_text(source)
    names = ("deep<32, true>", "deep<64, true>", "wide<8>", "wide<64>", "absent<1>")
    settings = BuildSettings(kernels={"m": names})
    (one,) = build(tmp_path, targets=[CUDA_TARGET], settings=settings, cache=Cache(tmp_path / "cache"))
    assert {*one.entries} == {"_Z4deepILj64ELb1EEvPf", "_Z4wideILi64EEvPf"}, one.error


def test_instances_with_names_of_hip_types_exist_for_cuda(tmp_path, with_nvcc):
    source = "#include <cuda_bf16.h>\ntemplate <class T> __global__ void one(T* x) { *x = T(1.f); }\n"
    (tmp_path / "m.cu").write_text(source)
    settings = BuildSettings(kernels={"m": ("one<__hip_bfloat16>",)})
    (one,) = build(tmp_path, targets=[CUDA_TARGET], settings=settings, cache=Cache(tmp_path / "cache"))
    assert one.entries == ("_Z3oneI13__nv_bfloat16EvPT_",), one.error


def test_types_of_arguments_choose_an_overload():
    code = instantiations([Instantiation((), "one<float>(float*, int)"), Instantiation(("n",), "two<3>")])
    assert "= (void*)(void (*)(float*, int))&one<float>;" in code
    assert "namespace n { static void* const parity_kernel_1 = (void*)&two<3>; }" in code
