"""Replacements for libraries, macros and types that absent headers would have provided."""

from parity.build.modules import build

SOURCE = """
#include "other/common.h"

class OTHER_API Sums {
 public:
  OTHER_HOST_DEVICE static float twice(float x) OTHER_NOTHING { return 2 * x; }
};
OTHER_CONSTEXPR int threads = 64;
extern "C" __global__ void sum(const float* x, float* y) {
  using Reduce = cub::BlockReduce<float, threads>;
  __shared__ typename Reduce::TempStorage storage;
  const float all = Reduce(storage).Sum(Sums::twice(x[threadIdx.x]));
  if (threadIdx.x == 0) *y = all;
}
"""


def built(tmp_path, cache, text):
    (tmp_path / "sum.cu").write_text(text)
    return build(tmp_path, ["sum"], ["gfx1100"], cache=cache)[0]


def test_implied_lines_supply_library_and_macros(tmp_path, cache):
    one = built(tmp_path, cache, SOURCE.replace(" OTHER_NOTHING", ""))
    assert (one.error, one.entries) == (None, ("sum",))
    assert set(one.translation.implied) == {
        "#define OTHER_API",
        "#define OTHER_HOST_DEVICE __host__ __device__",
        "#define OTHER_CONSTEXPR constexpr",
        "#include <parity/hipcub.h>",
    }


def test_implied_lines_omit_unknown_macros_and_macros_of_source(tmp_path, cache):
    assert "OTHER_NOTHING" in str(built(tmp_path, cache, SOURCE).error)
    own = f"#ifdef OTHER\n#define OTHER_API x\n#endif\n{SOURCE.replace(' OTHER_NOTHING', '')}"
    assert "#define OTHER_API" not in built(tmp_path, cache, own).translation.implied


def test_implied_lines_without_absent_header_are_empty(tmp_path, cache):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "common.h").write_text("")
    one = built(tmp_path, cache, SOURCE)
    assert one.error and not one.translation.implied


def test_implied_lines_omit_members_of_supplied_classes(tmp_path, cache):
    text = (
        "#include <other/mesh.h>\n"
        "inline int cells(const other::Mesh& mesh) { return mesh.count(); }\n"
        "inline int edges(const other::Mesh::Edges::Table& table, int i) { return table(i); }\n"
        'extern "C" __global__ void sum(float* x) { x[0] = 1; }\n'
    )
    one = built(tmp_path, cache, text)
    assert (one.error, one.entries) == (None, ("sum",))
    assert "struct Mesh" in str(one.translation.implied) and "Table" not in str(one.translation.implied)


def test_implied_lines_define_types_of_opengl(tmp_path, cache):
    """HIP's header for OpenGL defines the first one, too."""
    one = built(
        tmp_path,
        cache,
        "#include <GL/glew.h>\n#include <cuda_gl_interop.h>\n"
        "class Shown { GLuint buffer; GLfloat size; virtual bool init(GLuint* programs, GLint count); };\n"
        'extern "C" __global__ void sum(float* x) { x[0] = 1; }\n',
    )
    assert (one.error, one.entries) == (None, ("sum",))


def test_implied_lines_define_incomplete_type(tmp_path, cache):
    one = built(
        tmp_path,
        cache,
        '#include "other/common.h"\n#include <memory>\nnamespace other { class Data; }\n'
        "struct Agent { std::unique_ptr<other::Data> data; };\n"
        "void host() { Agent agent; }\n"
        'extern "C" __global__ void sum(float* x) { x[0] = 1; }\n',
    )
    assert (one.error, one.entries) == (None, ("sum",))
    assert one.translation.implied == ("namespace other { class Data {}; }",)


def test_names_pasted_by_macro_are_mapped(tmp_path, cache):
    one = built(
        tmp_path,
        cache,
        "#define FAST(name) cuda##name\n#define RANDOM(name) cu##name\n#include <curand_kernel.h>\n"
        "using State = RANDOM(randState_t);\n"
        "FAST(Error_t) last() { return FAST(GetLastError)(); }\n"
        'extern "C" __global__ void sum(float* x) {\n'
        "  State state;\n  RANDOM(rand_init)(1, 2, 3, &state);\n  x[0] = RANDOM(rand_uniform)(&state);\n}\n",
    )
    assert (one.error, one.entries) == (None, ("sum",))
    names = {"curandState_t", "curand_init", "curand_uniform", "cudaError_t", "cudaGetLastError"}
    assert {each.name for each in one.changes.unmapped} == names and not one.translation.left_out
    assert "hiprand_init" in next(each.advice for each in one.changes.unmapped if each.name == "curand_init")


HEADS = """
#include "other/status.h"
#include "other/pointers.h"
using namespace other;
namespace own {
template <class T, class F> __global__ void map(T* x, F f) { *x = f(*x); }
struct Twice { __device__ float operator()(float x) const { return 2 * x; } };
template <class T> Status run(T* x, boost::shared_ptr<T> by) { map<T, Twice><<<1, 1>>>(x, Twice()); return SUCCESS; }
template Status run<float>(float*, boost::shared_ptr<float>);
other::Status all(float* x, const other::Options& options) {
  if (run(x, options.by) != SUCCESS) throw other::Error("no");
  map<int, Twice><<<1, 1>>>(nullptr, Twice());
}
}
"""


def test_implied_lines_define_types_in_host_code(tmp_path, cache):
    one = built(tmp_path, cache, HEADS)
    assert one.error is None, one.error
    assert set(one.entries) == {one.code_object.symbol(f"own::map<{kind}, own::Twice>") for kind in ("float", "int")}
    lines = [line.rpartition("\n")[2].partition(" : ")[0] for line in one.translation.implied]
    assert lines == [
        "namespace other { struct Status",
        "using ::other::Status;",
        "namespace boost { template <class...> struct shared_ptr",
        "namespace other { struct Options",
    ]


def test_implied_lines_omit_types_in_device_code(tmp_path, cache):
    one = built(
        tmp_path,
        cache,
        '#include "other/number.h"\n__device__ Number twice(Number x) { return x + x; }\n'
        'extern "C" __global__ void sum(float* x) { *x = twice(*x); }\n',
    )
    assert "Number" in str(one.error) and not one.error.translation.implied
