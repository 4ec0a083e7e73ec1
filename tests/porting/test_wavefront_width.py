"""Code for warps of 32 lanes that has wavefronts of 64: which places are reported, and that they are right."""

import numpy as np
import pytest
from execution import program

from parity.build.modules import build
from parity.porting.wavefront_width import for_64_lanes

HEAD = "#define LANES 32\nconstexpr int kBlock = 128;\n"


def reported(text):
    return [(each.name, each.line - 2) for each in for_64_lanes({"k.cu": HEAD + text})]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("using Sum = cub::WarpReduce<float>;\n__shared__ typename Sum::TempStorage s[kBlock / LANES];",
         [("WarpReduce", 1), ("s", 2)]),
        ("typedef hipcub::WarpScan<Of<int, 4>> Scan;\n__shared__ Scan::TempStorage s[kBlock >> 5];",
         [("WarpScan", 1), ("s", 2)]),
        ("__shared__ cub::WarpReduce<int>::TempStorage s[kBlock / 32];", [("WarpReduce", 1), ("s", 1)]),
        ("cub::WarpLoad<int, 4, cub::WARP_LOAD_DIRECT>(s).Load(x, y);", [("WarpLoad", 1)]),
        ("using cub::WarpReduce;\nusing Sum = WarpReduce<float>;\n__shared__ Sum::TempStorage s[kBlock / 32];",
         [("WarpReduce", 2), ("s", 3)]),
        ("using namespace cub;\nWarpScan<int>(s).InclusiveSum(x, y);", [("WarpScan", 2)]),
        ("namespace c = at::hipcub;\nc::WarpReduce<int>(s).Sum(x);", [("WarpReduce", 2)]),
        ("template <class T> using Sum = cub::WarpReduce<T>;\n__shared__ Sum<float>::TempStorage s[kBlock / 32];",
         [("WarpReduce", 1), ("s", 2)]),
        ("auto g = cg::coalesced_threads();", [("coalesced_threads", 1)]),
        ("constexpr int half = warpSize / 2;", [("warpSize", 1)]),
        ("static const int lanes = warpSize;", [("warpSize", 1)]),
        ("__shared__ float parts[kBlock / warpSize];", [("warpSize", 1)]),
        ("sum<float, warpSize>(x);", [("warpSize", 1)]),
        ("__shared__ float p[32];\nint lane = threadIdx.x % warpSize;\np[lane] = x;", [("p", 1)]),
        ("__shared__ float p[LANES];\np[__lane_id()] = x;", [("p", 1)]),
    ],
)  # fmt: skip
def test_width_of_wavefront_is_reported_with_line(text, names):
    assert reported(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "using Sum = cub::WarpReduce<float, 32>; __shared__ Sum::TempStorage s[kBlock / 32];",
        "cub::WarpReduce<Of<int, 4>, LANES>(s).Sum(x);",
        "auto tile = cg::tiled_partition<32>(block);",
        "mine::WarpReduce<float> r; WarpReduce(x);",
        "using cub::WarpScan; WarpReduce<float> r; mine::WarpScan<float> s;",
        "using cub::WarpReduce; template <> struct WarpReduce<Mine> {}; WarpReduce<float, 32>(s).Sum(x);",
        "// cub::WarpReduce<float>",
        "#if defined(__CUDACC__) && !defined(__HIPCC__)\ncub::WarpReduce<float>(s);\n#endif",
        "const int lane = threadIdx.x % warpSize; for (int i = warpSize / 2; i > 0; i /= 2) x += y[i / warpSize];",
        "return parts[threadIdx.x / warpSize];",
        "if (a < warpSize && b > c) f();",
        "constexpr int warpSize = 32; __shared__ float p[kBlock / warpSize];",
        "__shared__ float p[32]; int warp = threadIdx.x / warpSize; p[warp] = x;",
    ],
)
def test_code_for_either_width_is_not_reported(text):
    assert reported(text) == []


SUMS = """
#include <cub/cub.cuh>
template <class Sum> __device__ void sums(const float* x, float* out) {
    __shared__ typename Sum::TempStorage storage[4];
    const float sum = Sum(storage[threadIdx.x / 32]).Sum(x[threadIdx.x]);
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum;
}
extern "C" __global__ void wide(const float* x, float* out) { sums<cub::WarpReduce<float>>(x, out); }
extern "C" __global__ void narrow(const float* x, float* out) { sums<cub::WarpReduce<float, 32>>(x, out); }
"""


def test_reported_primitive_is_wrong_on_64_lanes_only(tmp_path, cache):
    x = np.ones(128, np.float32)
    for target, wrong in (("gfx1100", False), ("gfx90a", True)):
        code = program(tmp_path, SUMS, target, cache)
        got = {name: code.run(name, np.zeros(4, np.float32), x).tolist() for name in ("wide", "narrow")}
        assert got["narrow"] == [32.0] * 4
        assert (got["wide"] != [32.0] * 4) == wrong
        hazards = [(each.name, each.line) for each in code.built.changes.hazards]
        assert (("WarpReduce", 8) in hazards) == wrong and ("WarpReduce", 9) not in hazards


def test_primitive_imported_in_another_file_is_reported():
    files = {"common.h": "using namespace cub;", "k.cu": "WarpReduce<float>(s).Sum(x);"}
    assert [(each.file, each.name) for each in for_64_lanes(files)] == [("k.cu", "WarpReduce")]


def test_port_is_reported_as_well(tmp_path, cache):
    (tmp_path / "k.hip").write_text(
        "#include <hip/hip_runtime.h>\n"
        'extern "C" __global__ void k(int* x) { static const int n = warpSize; *x = n; }\n'
    )
    wide, narrow = build(tmp_path, ["k"], ["gfx90a", "gfx1100"], cache=cache)
    assert [each.line for each in wide.changes.hazards] == [2] and not narrow.changes.hazards
