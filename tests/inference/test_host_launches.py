"""Blocks, shared memory and arguments of launches in host code."""

from __future__ import annotations

import pytest

from parity.compilers.compile_options import CompileOptions
from parity.inference.host_launches import HostTexts, fitting, host_launches
from parity.inference.launch_hints import of_instance

HOST = """
#include <vector>
#define THREADS 128  // of a block
#define TWICE (2 * THREADS)
enum { WARP = 32 };
constexpr int kTile{16};
__global__ void k(float* x, int n);
template <typename T, int N> __global__ void t(T* x);
%s
"""


@pytest.mark.parametrize(
    ("code", "block", "shared"),
    [
        ("void f() { k<<<n / 2, TWICE>>>(x, n); }", (256,), "0"),
        ("void f() { const int block = WARP * 4; k<<<1, block, block * sizeof(float)>>>(x, n); }", (128,), "512"),
        ("void f() { dim3 block(kTile, kTile); k<<<grid, block>>>(x, n); }", (16, 16, 1), "0"),
        ("void f() { dim3 block; block.x = 8; block.y = THREADS / 8; k<<<g, block>>>(x, n); }", (8, 16, 1), "0"),
        ("void f() { dim3 grid(n), block{kTile, 2}; k<<<grid, block>>>(x, n); }", (16, 2, 1), "0"),
        ("void f() { ns::k<<<dim3(4), dim3(kTile, 4, 2), 0, stream>>>(x, n); }", (16, 4, 2), "0"),
        ("void f(int threads) { k<<<1, threads, cols * 4>>>(x, n); }", ("threads",), "cols*4"),
        ("void f() { k<<<1, std::min(n, 1024)>>>(x, n); }", (None,), "0"),
        ("void f() { int const t{8}; dim3 const block{t, 4}; k<<<1, block>>>(x, n); }", (8, 4, 1), "0"),
        ("void f() { int b = 64; k<<<1, b>>>(x, n); b = 2; }", (64,), "0"),
        ("void f() { int b = 64; k<<<1, b>>>(x, n); } void g() { dim3 b(5, 5); h<<<1, b>>>(); }", (64,), "0"),
        ("void g() { int b = 64; h<<<1, b>>>(); } void f() { dim3 b(5, 5); k<<<1, b>>>(x, n); }", (5, 5, 1), "0"),
        ("void f() { int a = b + 1; int b = a + 1; k<<<1, a + b>>>(x, n); }", (None,), "0"),
        ("void f(int b) { int s = 4 * b; s += b * 8; k<<<1, 64, s>>>(x, n); s += 1; }", (64,), "b*4+b*8"),
    ],
)
def test_host_launches_resolve_blocks(code, block, shared):
    (launch,) = host_launches(HOST % code)["k"]
    assert launch.block == block
    assert launch.shared == shared


def test_host_launches_keep_template_argument_as_name():
    text = HOST % "template <int N> void f() { t<float, N><<<4, N>>>(x); }  void g() { t<half, 64><<<4, 64>>>(x); }"
    general, special = host_launches(text)["t"]
    assert (general.template, general.block) == (("float", "N"), ("N",))
    assert (special.template, special.block) == (("half", "64"), (64,))


def test_host_texts_find_launches_in_headers_and_other_files(tmp_path):
    files = {
        "k.cu": '#include "k.cuh"\n__global__ void far(float* x) {}\n__global__ void nowhere(float* x) {}\n',
        "k.cuh": "#define THREADS 96\n__global__ void __launch_bounds__(MAX(8, 9)) bound(float*);\n"
        "__global__ void near(float* x) {}\nvoid f() { near<<<1, THREADS>>>(x); }\n",
        "main.cpp": "#define THREADS 32\nvoid f() { far<<<1, THREADS>>>(x); near<<<1, 7>>>(x); other<<<1, 8>>>(x); }\n"
        "void g() { bound<<<1, 9>>>(x); }\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = HostTexts(tmp_path).launches(tmp_path / "k.cu")
    assert {name: [each.block for each in launches] for name, launches in found.items()} == {
        "near": [(96,)], "far": [(32,)], "bound": [(9,)],
    }  # fmt: skip
    assert HostTexts(tmp_path).launches(tmp_path / "k.cu", {}, ["near", "bound"]) == {
        name: found[name] for name in ("near", "bound")
    }


def test_host_texts_prefer_nearest_file(tmp_path):
    for folder, threads in (("first", 64), ("second", 96)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.cu").write_text('#include "k.h"\n__global__ void k(float* x) {}\n')
        (tmp_path / folder / "k.h").write_text(f"#define THREADS {threads}\n")
        (tmp_path / folder / "run.cpp").write_text('#include "k.h"\nvoid f() {\n  k << <2,\n  THREADS >> > (x);\n}\n')
    (found,) = HostTexts(tmp_path).launches(tmp_path / "second" / "k.cu")["k"]
    assert (found.block, found.path, found.at) == ((96,), "second/run.cpp", 3)
    assert "".join(found.text.split()) == "k<<<2,THREADS>>>(x)"


def test_host_texts_read_included_headers_outside_of_the_folder(tmp_path):
    files = {
        "src/k.cu": '#include "sizes.h"\n#include <own/run.cuh>\n__global__ void k(float* x) {}\n',
        "include/sizes.h": "#define THREADS 512\n",
        "headers/own/run.cuh": "__global__ void near(float*);\nvoid f() { k<<<1, THREADS>>>(x); near<<<1, 3>>>(x); }\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "LICENSE").touch()
    texts = HostTexts(tmp_path / "src", CompileOptions((tmp_path / "headers",)))
    found = texts.launches(tmp_path / "src" / "k.cu")
    assert {name: (one.block, one.path) for name, (one,) in found.items()} == {
        "k": ((512,), "../headers/own/run.cuh"), "near": ((3,), "../headers/own/run.cuh"),
    }  # fmt: skip


FORMULAS = """
#define CEIL_DIV(x, y) (((x) + (y) - 1) / (y))
#define TILE 32
#define WIDTH 512
static inline int parts(int a, int b) { return (a + b - 1) / b; }
static inline int div_up(int a, int b) { return device::div_up(a, b); }  // one of the same name
void f(int n, int m, int k, const View& view, int* dims) {
    size_t rows = 1024, columns = 64;
    int count = rows * columns, threads = 128, blocks = (n + threads - 1) / threads, left = n - k + 1;
    dim3 block(16, 16);
    dim3 grid((n + block.x - 1) / block.x, CEIL_DIV(m, block.y));
    const auto total = view.numel();
    %s
}
"""


@pytest.mark.parametrize(
    ("code", "grid", "arguments"),
    [
        ("k<<<dim3(m / TILE, n / TILE), TILE * TILE>>>(m, n, 1.f, x)", ("m//32", "n//32"), ("m", "n", "", "x")),
        (
            "k<<<(rows + threads - 1) / threads, threads>>>(x, columns, count)",
            ("ceil(rows/128)",),
            "x columns rows*columns",
        ),
        ("k<<<blocks, threads>>>(x, n)", ("ceil(n/128)",), "x n"),
        ("k<<<grid, block>>>(x, n, m, n * m)", ("ceil(n/16)", "ceil(m/16)", "1"), "x n m n*m"),
        ("k<<<parts(total, 256), 256>>>(x.data(), total)", ("ceil(total/256)",), "x_data total"),
        ("k<<<at::ceil_div<int>(n, 256), 256>>>(x, n)", ("ceil(n/256)",), "x n"),
        ("k<<<div_up(n, 256), 256>>>(x, n)", ("ceil(n/256)",), "x n"),
        ("k<<<ceil(n / 256.0), 256>>>(x, n)", ("ceil(n/256)",), "x n"),
        ("k<<<std::min((n - 1) / 256 + 1, 65535), 256>>>(x, n)", ("min(ceil(n/256),65535)",), "x n"),
        ("k<<<view.size(0), 256>>>(x, view.size(1), dims[0])", ("view_size_0",), "x view_size_1 dims_0"),
        ("k<<<(left + 7) / 8, 8>>>(x, n, k, left)", ("ceil((n-k+1)/8)",), "x n k n-k+1"),
        ("k<<<n >> 8, 256>>>(x, n)", ("n//256",), "x n"),
        ("k<<<n / TILE + (n % TILE != 0), TILE>>>(x, n)", ("ceil(n/32)",), "x n"),
        ("int b = n / threads + (n % threads == 0 ? 0 : 1); k<<<b, 2>>>(x, n)", ("ceil(n/128)",), "x n"),
        ("k<<<n / 256 + (n % 128 > 0), 256>>>(x, n)", ("",), "x n"),
        ("k<<<n / C10_WARP_SIZE, at::cuda::warp_size()>>>(x, n)", ("n//warpSize",), "x n"),
        ("k<<<WIDTH / 256, 256>>>(x, WIDTH, 3)", ("WIDTH//256",), ("x", "WIDTH", "")),
        ("k<<<n > 5 ? n : 5, 256>>>(x, n)", ("",), "x n"),
        ("k<<<cuda_gridsize(count), 256>>>(x, columns, count)", ("ceil(rows*columns/256)",), "x columns rows*columns"),
        ("k<<<GET_BLOCKS(n * m), dim3(8, 8)>>>(x, n, m)", ("ceil(n*m/64)",), "x n m"),
        ("k<<<1, TILE>>>(x, columns, count)", ("1",), "x columns rows*columns"),
        ("assert(m * TILE == k && n > 1); k<<<n * m, TILE>>>(x, n, k, m)", ("n*m",), "x n m*32 m"),
    ],
)
def test_host_launches_have_formulas_of_arguments(code, grid, arguments):
    (launch,) = host_launches(FORMULAS % f"{code};")["k"]
    assert launch.grid == grid
    assert launch.arguments == (tuple(arguments.split()) if isinstance(arguments, str) else arguments)


@pytest.mark.parametrize(
    ("code", "block"),
    [
        ("int t = div_up(n, 4 * C10_WARP_SIZE) * C10_WARP_SIZE; k<<<m, dim3(t)>>>(x, n)", ("warpSize",)),
        ("k<<<m, up(n) * at::cuda::warp_size()>>>(x, n)", ("warpSize",)),
        ("k<<<m, C10_WARP_SIZE / up(n)>>>(x, n)", (None,)),
        ("k<<<m, 4 * up(n)>>>(x, n)", (None,)),
    ],
)
def test_host_block_of_whole_warps_is_one_warp(code, block):
    (launch,) = host_launches(FORMULAS % f"{code};")["k"]
    assert launch.block == block


def test_host_texts_know_macros_of_compiler_options(tmp_path):
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float* x, int n, int m) {}\n"
        "void f(float* x, int n, int m) { assert(n * SIZE == m); k<<<n, dim3(SIZE)>>>(x, n, m); }\n"
    )
    (found,) = HostTexts(tmp_path).launches(tmp_path / "k.cu", {"SIZE": "64"})["k"]
    assert (found.block, found.arguments) == ((64,), ("x", "n", "n*64"))


def test_host_launches_have_formulas_of_threads_and_fixed_arguments():
    (launch,) = host_launches(FORMULAS % "const int q = 7; k<<<n, dim3(2 * k, 1), 4 * k>>>(x, n, k, q, WIDTH / 2, 5);")[
        "k"
    ]
    assert (launch.threads, launch.shared) == (("k*2", "1"), "k*4")
    assert launch.constants == {3: 7, 4: 256, 5: 5}


BRANCHES = """
void f(int n, int m) {
    dim3 block, grid;  // 块的大小和网格的大小取决于行的长度
    if (m > 4) {
        grid = dim3(n / 64);
        block = dim3(64, 1, 1);
    } else {
        grid = dim3(n / 8);
        block = dim3(8, 8);
    }
    %sk<<<grid, block>>>(x, n);
}
void g(int n) { dim3 block(5), grid(n / 5); h<<<grid, block>>>(x, n); }
"""


def test_host_launches_have_the_block_of_each_branch_that_assigns_it():
    several = host_launches(BRANCHES % "")["k"]
    assert [(each.block, each.grid[0]) for each in several] == [((8, 8, 1), "n//8"), ((64, 1, 1), "n//64")]
    assert fitting(several, "x") == [several[1]] and fitting(several, "xy") == [*several]
    (last,) = host_launches(BRANCHES % "block = dim3(2);\n")["k"]
    assert last.block == (2, 1, 1)


TILES = """
template <int BM, int BN, int TM, int TN> void launch(float* a, float* b, int m) {
    dim3 block(BN / TN, BM / TM), grid((m + BN - 1) / BN, (m + BM - 1) / BM);
    tile<BM, BN, TM, TN><<<grid, block, BM * sizeof(float)>>>(a, b, m);
}
void other(float* a, float* b, int m) { tile<8, 8, 4, 4><<<1, 7>>>(a, b, m); }
"""


def test_launches_of_an_instance_have_arguments_that_contain_commas():
    launches = host_launches("template <int N> void f(float* x) { k<Pair<int, 4>, N><<<1, N>>>(x); }")["k"]
    assert [each.threads for each in of_instance(launches, "k<Pair<int, 4>, 64>")] == [("64",)]


def test_launches_of_an_instance_have_its_template_arguments():
    (one,) = of_instance(host_launches(TILES)["tile"], "tile<128, 64, 8, 4>")
    assert (one.block, one.grid, one.shared) == ((16, 16, 1), ("ceil(m/64)", "ceil(m/128)", "1"), "128*4")
    assert [each.block for each in of_instance(host_launches(TILES)["tile"], "tile<8, 8, 4, 4>")] == [(2, 2, 1), (7,)]


def test_definitions_in_comments_do_not_count():
    (launch,) = host_launches("""
const int TILE = 16, ROWS = 8;
void host(float* x) {
  // const int TILE = 32;
  /*
  const int ROWS = 4;
  */
  dim3 block(TILE, ROWS);
  k<<<4, block>>>(x);
}
""")["k"]
    assert launch.block == (16, 8, 1)
