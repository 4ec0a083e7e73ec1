"""Launches of host code: which blocks and shared memory they say."""

from __future__ import annotations

import pytest

from parity.toolchain.host_launches import HostTexts, host_launches

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
        ("void f() { k<<<n / 2, TWICE>>>(x, n); }", (256,), 0),
        ("void f() { const int block = WARP * 4; k<<<1, block, block * sizeof(float)>>>(x, n); }", (128,), 512),
        ("void f() { dim3 block(kTile, kTile); k<<<grid, block>>>(x, n); }", (16, 16, 1), 0),
        ("void f() { dim3 block; block.x = 8; block.y = THREADS / 8; k<<<g, block>>>(x, n); }", (8, 16, 1), 0),
        ("void f() { dim3 grid(n), block{kTile, 2}; k<<<grid, block>>>(x, n); }", (16, 2, 1), 0),
        ("void f() { ns::k<<<dim3(4), dim3(kTile, 4, 2), 0, stream>>>(x, n); }", (16, 4, 2), 0),
        ("void f(int threads) { k<<<1, threads, cols * 4>>>(x, n); }", ("threads",), None),
        ("void f() { k<<<1, std::min(n, 1024)>>>(x, n); }", (None,), 0),
        ("void f() { int b = 64; k<<<1, b>>>(x, n); b = 2; }", (64,), 0),
    ],
)
def test_blocks_are_followed_to_what_the_file_gives_them(code, block, shared):
    (launch,) = host_launches(HOST % code)["k"]
    assert launch.block == block
    assert launch.shared == shared


def test_a_template_argument_stays_a_name():
    text = HOST % "template <int N> void f() { t<float, N><<<4, N>>>(x); }  void g() { t<half, 64><<<4, 64>>>(x); }"
    general, special = host_launches(text)["t"]
    assert (general.template, general.block) == (("float", "N"), ("N",))
    assert (special.template, special.block) == (("half", "64"), (64,))


def test_launches_of_headers_and_of_other_files_are_found(tmp_path):
    files = {
        "k.cu": '#include "k.cuh"\n__global__ void far(float* x) {}\n__global__ void nowhere(float* x) {}\n',
        "k.cuh": "#define THREADS 96\n__global__ void near(float* x) {}\nvoid f() { near<<<1, THREADS>>>(x); }\n",
        "main.cpp": "#define THREADS 32\nvoid f() { far<<<1, THREADS>>>(x); near<<<1, 7>>>(x); other<<<1, 8>>>(x); }\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = HostTexts(tmp_path).launches(tmp_path / "k.cu")
    assert {name: [each.block for each in launches] for name, launches in found.items()} == {
        "near": [(96,)], "far": [(32,)],
    }  # fmt: skip


def test_of_files_alike_the_nearest_counts_and_the_place_is_said(tmp_path):
    for folder, threads in (("first", 64), ("second", 96)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.cu").write_text('#include "k.h"\n__global__ void k(float* x) {}\n')
        (tmp_path / folder / "k.h").write_text(f"#define THREADS {threads}\n")
        (tmp_path / folder / "run.cpp").write_text('#include "k.h"\nvoid f() {\n  k << <2,\n  THREADS >> > (x);\n}\n')
    (found,) = HostTexts(tmp_path).launches(tmp_path / "second" / "k.cu")["k"]
    assert (found.block, found.path, found.at) == ((96,), "second/run.cpp", 3)
    assert "".join(found.text.split()) == "k<<<2,THREADS>>>(x)"
