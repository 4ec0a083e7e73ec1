"""What headers that are not here would have brought: libraries, and macros by their names."""

from parity.toolchain import build

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


def test_a_library_and_macros_that_come_with_a_header_that_is_not_here(tmp_path, cache):
    one = built(tmp_path, cache, SOURCE.replace(" OTHER_NOTHING", ""))
    assert (one.error, one.entries) == (None, ("sum",))
    assert set(one.translation.brought) == {
        "#define OTHER_API",
        "#define OTHER_HOST_DEVICE __host__ __device__",
        "#define OTHER_CONSTEXPR constexpr",
        "#include <parity/hipcub.h>",
    }


def test_names_that_say_nothing_and_names_of_the_projects_own_stay_errors(tmp_path, cache):
    assert "OTHER_NOTHING" in str(built(tmp_path, cache, SOURCE).error)
    own = f"#ifdef OTHER\n#define OTHER_API x\n#endif\n{SOURCE.replace(' OTHER_NOTHING', '')}"
    assert "#define OTHER_API" not in built(tmp_path, cache, own).translation.brought


def test_where_every_header_is_here_nothing_is_brought(tmp_path, cache):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "common.h").write_text("")
    one = built(tmp_path, cache, SOURCE)
    assert one.error and not one.translation.brought


def test_a_type_of_a_library_that_is_not_here_behind_a_pointer(tmp_path, cache):
    one = built(
        tmp_path,
        cache,
        '#include "other/common.h"\n#include <memory>\nnamespace other { class Data; }\n'
        "struct Agent { std::unique_ptr<other::Data> data; };\n"
        "void host() { Agent agent; }\n"
        'extern "C" __global__ void sum(float* x) { x[0] = 1; }\n',
    )
    assert (one.error, one.entries) == (None, ("sum",))
    assert one.translation.brought == ("namespace other { class Data {}; }",)


def test_names_of_cudas_that_macros_put_together(tmp_path, cache):
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
    assert {each.name for each in one.unmapped} == names and not one.translation.left_out
    assert "hiprand_init" in next(each.advice for each in one.unmapped if each.name == "curand_init")
