"""``parity init``: its options, its exit code, and declarations of kernels that are hard to declare."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from types import SimpleNamespace
from uuid import uuid4

import pytest

from parity.application import case_files
from parity.application.named_instances import has_many_instances
from parity.application.run import Prepared, Run
from parity.build.compilation import compile_source
from parity.build.result import Built
from parity.cli import init
from parity.cli.shared import init_builds
from parity.compare.verdict import Fact, Status, Verdict
from parity.compilers import zig
from parity.inference import instances
from parity.inference.kernel_time_limit import TimeLimit
from parity.inference.skeleton import Skeleton
from parity.porting import PortError
from parity.suite.options import EXAMPLES
from parity.suite.settings import Project


def _declared(tmp_path, module):
    """Return the parts of a case file, by kernel."""
    text = (tmp_path / "cases" / f"{module}.py").read_text().replace("# (anonymous namespace)::", "# ")
    return {part[2:].partition("(")[0].partition("<")[0]: part for part in text.replace("\n#   ", " ").split("\n\n")}


@pytest.fixture
def sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()

    def write(**texts):
        for name, text in texts.items():
            (tmp_path / "src" / f"{name}.cu").write_text(text)

    return write


HARD = """
#include <cuda_fp16.h>
#define N 64
template <class T> struct Twice { __device__ T operator()(T x) const { return 2 * x; } };
template <class F> __global__ void mapped(F f, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = f(x[i]);
}
template __global__ void mapped(Twice<float>, const float*, float*, int);
__global__ void product(const float* a, const float* b, float* c) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < N; k++) sum += a[i * N + k] * b[k * N + j];
    if (i < N && j < N) c[i * N + j] = sum;
}
__global__ void compact(int* ids, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = ids[i];
    if (at >= 0) y[i] = x[at];
    ids[i] = -1;
}
__global__ void strided(int n, float alpha, float* X, int INCX) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) X[i * INCX] = alpha;
}
__global__ void column_sums(const float* x, float* y, int rows, int cols) {
    float sum;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum = (c == threadIdx.x ? 0 : sum) + x[blockIdx.x * cols + c];
    if (threadIdx.x == 0 && blockIdx.x < rows) y[blockIdx.x] = sum;
}
__global__ void chunks(const float* x, float* y, int B, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < B * C) y[i] = x[i] + 1;
}
extern "C" __global__ void plain(const unsigned short* x, unsigned short* y, const half* h, half* g, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = x[i] + 1; g[i] = h[i]; }
}
struct Base { int n; };
struct Sized : Base { const float* x; float by; int ignored[40]; };
__global__ void inherited(Sized p, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) y[i] = p.x[i] * p.by + p.ignored[i % 40];
}
__global__ void marked(const float* x, const float* mark, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * N) y[i] = mark[i] != -7 ? mark[i] : x[i];
}
struct Record { float v[11]; };
__global__ void records(const Record* r, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = r[i].v[0] + r[i].v[10];
}
__global__ void subsets(const float* x, float* y, int n) {
    float sum = 0;
    for (long s = 0; s < 1l * n * n * n * n; s++) sum += x[s < n ? s : 0];
    if (threadIdx.x < n) y[threadIdx.x] = sum;
}
__global__ void copied(double* to, const float* from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void copied(float* to, const double* from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void planes(float* to, const float* from, long strd, int count, int a, int b, int size) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 192 * size; i += blockDim.x * gridDim.x)
        for (int p = 0; p < count; p++) to[p * strd + i % 96 * (a + 3) + b] = from[i % 96 * (a + 3) + b] + i;
}
__global__ void boxed(const float* x, float* y, int count, int step, int begin) {
    float own[6];
    for (int i = 0; i < count; i++) own[i] = x[i * (step + 3) + begin + threadIdx.x];
    for (int i = 0; i < count; i++) y[threadIdx.x] = own[(i + begin) % count] + y[threadIdx.x];
}
extern "C" __global__ void counted_f32(const float* x, const unsigned* count, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count[0]) y[i] = x[i];
}
__global__ void placed(int n, const int* begin, const int* ids, const int* owner, const int* first, int* at) {
    if (blockIdx.x >= n) return;
    for (int q = begin[blockIdx.x] + threadIdx.x; q < begin[blockIdx.x + 1]; q += blockDim.x) {
        int o = owner[min(ids[q], (int)blockIdx.x)], size = first[o + 1] - first[o];
        at[q] = o + (ids[q] - first[o]) * size;
    }
}
__global__ void looked_up(const double* table, const double* x, double* y, double low, double by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] >= low) y[i] = table[(int)((x[i] - low) * by)];
}
__constant__ int most;
__global__ void constant_count(const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < most) y[i] = x[i] + 1;
}
namespace {
template <class T, int BY> __global__ void uninstantiated(T* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= BY;
}
}
__global__ void distances(const int* q, const int* k, int* to, unsigned group, unsigned q_stride, unsigned k_stride,
                          unsigned to_stride, unsigned length, unsigned dim) {
    unsigned head = blockIdx.y, begin = blockIdx.x * blockDim.x, count = min(blockDim.x, length - begin);
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
        int sum = 0;
        for (unsigned j = 0; j < dim; j++)
            sum += __popc(q[head * q_stride + j] ^ k[head / group * k_stride + (begin + i) * dim + j]);
        to[head * to_stride + begin + i] = sum;
    }
}
__global__ void column_sum(const float* x, float* y) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < 700; i++) sum += x[i * 1024 + j];
    if (j < 1024) y[j] = sum;
}
__global__ void colors(const float* x, unsigned char* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (unsigned char)(255 * x[i]);
}
__constant__ float tint[3];
__global__ void tinted(const float* x, unsigned char* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (unsigned char)(255 * x[i] * tint[i % 3]);
}
__global__ void fluxes(int pitch, const float* x, const int* next, float* y) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < 3; j++) sum += x[i * 7 % 701 + j * (pitch + 3)] * (next[i] + 1);
    for (int j = 0; j < 3; j++) y[i + j * pitch] = sum + j;
}
struct Grid { float* to; float by; const float* from; int n; };
struct Hidden : Grid { const float* more; };
__global__ void in_memory(Grid* g) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < g->n) g->to[i] = g->by * g->from[i];
}
__global__ void inherited_in_memory(const Hidden* g, int first) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + first;
    if (i < g->n) g->to[i] = g->more[i] + g->by;
}
#define KINDS 2
struct Model { int n; double box, dt; int steps; double cut, mass, depth[KINDS * KINDS], sigma; };
__global__ void forces(Model m, const double* x, const int* kind, double* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m.n) return;
    double sum = 0;
    for (int j = 0; j < m.n; j++) sum += j == i ? 0 : m.depth[kind[i] * KINDS + kind[j]] * (x[i] - x[j]) * m.sigma;
    y[i] = sum;
}
__global__ void paired(int n, int volume, const int* pairs, const int* sizes, const int* ends, int* to, int* from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < volume; k++) {
        const int* mine = pairs + (k ? ends[k - 1] : 0) * 2;
        if (i >= sizes[k]) continue;
        to[k * n + mine[2 * i]] = i;
        from[k * n + mine[2 * i + 1]] = i;
    }
}
__global__ void sampled(int n, const int* x, const int* stride, int* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] % stride[0] == 0 ? x[i] / stride[1] : -1;
}
void host(const float* x, float* y, int B, int C) {
    dim3 block(min(C, 32));
    dim3 grid(B * C / block.x);
    chunks<<<grid, block>>>(x, y, B, C);
    product<<<dim3(4, 4), dim3(16, 16)>>>(x, x, y);
}
"""
TOLD = {
    "mapped": ("f:u8=0 x y n:i32",),
    "product": ('shapes="a: 4096; b: 4096; c: 4096"', 'block="16, 16"', 'grid="4, 4"', 'outputs={"c": "f32"}'),
    "compact": ('indices={"ids": "ids_range"}', 'updates={"ids": "i32"}'),
    "strided": ("INCX > 0",),
    "column_sums": ("cols > 0",),
    "inherited": ('structs={"p": "p_0:i32=numel p_8 p_16 ', 'inputs={"p_8": "f32"}'),
    "marked": ("x: 512; mark: 512; y: 512",),
    "records": ("r: 11*n; y: n",),
    "subsets": ("x: n; y: n", '"n": (1, 2,'),
    "chunks": ("B C",),
    "column_sum": ('grid="2"', "block=256", 'updates={"y": "f32"}'),
    "colors": ('data={"x": ("0.25..1",)}', "n:i32=numel"),
    "tinted": ('"x": ("0.25..1",)', '"tint": ("0.25..1",)'),
    "fluxes": ("pitch:i32=512",),
    "in_memory": ('structs={"*g": "to_ by from_ n:i32=numel"}', 'args="g"'),
    "inherited_in_memory": ('structs={"*g": "g_0 g_8 gap_2:u8[12]=0 g_24:i32', 'args="g first'),
    "distances": ("to_stride:u32=1", 'grid="1"'),
    "copied": ('kernel="copied(float*, double const*)"',),
    "planes": ('grid="1"', "block=32"),
    "boxed": ("count:i32=4",),
    "looked_up": ('"x": ("0.25..1",)', '"by": (0.5, 1.0)'),
    "forces": ('"kind": ("0..1",)', "depth_3 sigma", "n:i32=4"),
    "counted_f32": ('inputs={"x": "T", "count": "u32"}', 'indices={"count": "count_most+1"}'),
    "constant_count": ('data={"most": ("16..16",)}', 'symbols={"most": "most"}', "x: 16; y: 16; most: 1"),
    "uninstantiated": ('kernel="(anonymous namespace)::uninstantiated<float, 32>"', "n:i32=numel"),
    "placed": ('"begin": ("offsets",)', '"owner": ("0..3",)'),
    "paired": ('"pairs": ("0..1",)',),
    "sampled": ('data={"stride": ("1..3",)',),
    "plain": ('inputs={"x": "i16", "h": "f16"}', 'outputs={"y": "i16", "g": "f16"}'),
}


def test_init_declares_kernels_that_are_hard_to_declare(parity, tmp_path, sources, with_nvcc):
    sources(hard=HARD)
    made = parity("init", "--kernels", "src", "--limit", "1000")
    assert made.code == 0 and not made.err, made.err
    parts = _declared(tmp_path, "hard")
    for kernel, told in TOLD.items():
        text = next(part for name, part in parts.items() if name.split()[-1] == kernel)
        assert not [each for each in told if each not in text], text
        (where,) = [line for line in text.splitlines() if "where=" in line] or [""]
        conditions = where.partition('"')[2].partition('"')[0].split(" and ")
        assert len(conditions) == len({*conditions}), where
    result = parity("run", "--target", "gfx1100", "--examples", "30")
    assert result.code == 0 and "PASS  29 kernels," in result.out, result.out + result.err


MANY = """
template <class T, int N> __global__ void added(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + (T)N;
}
template <class T, int N> void each(const T* x, T* y, int n) {
    added<T, N><<<(n + 255) / 256, 256>>>(x, y, n);
    if constexpr (N > 0) each<T, N - 1>(x, y, n);
}
void host(const float* x, float* y, const double* v, double* w, int n) {
    each<float, 25>(x, y, n);
    each<double, 25>(v, w, n);
}
"""


@pytest.fixture
def compiled(monkeypatch):
    """The vendor and the number of chosen instances of each compilation, -1 for all."""
    found = list[tuple[str, int]]()

    def compiling(source, job, folder):
        found.append((job.target.vendor, -1 if source.chosen is None else len(source.chosen)))
        return compile_source(source, job, folder)

    monkeypatch.setattr("parity.build.variant_search.compile_source", compiling)
    return found


def test_init_compiles_all_instances_if_the_chosen_ones_do_not_compile(parity, sources, compiled, with_nvcc):
    late = "struct Late { int x; };\n"
    many = MANY.replace("(T)N", "N").replace("<double", "<Late").replace("double", "Late")
    kernel, each, host = many.partition("template <class T, int N> void each")
    kernel = kernel.replace("y[i] = x[i] + N", "(int&)y[i] = (int&)x[i] + N")
    source = f"// {uuid4()}\n#ifndef __HIP__\n{late}#endif\n{kernel}\n#ifdef __HIP__\n{late}#endif\n{each}{host}"
    sources(late=source)
    assert parity("init", "--kernels", "src", "--limit", "1").code in (0, 3)
    assert ("amd", 19) in compiled and ("amd", -1) in compiled, compiled


def test_init_compiles_some_of_many_instances(parity, tmp_path, sources, compiled, with_nvcc):
    sources(many=f"// {uuid4()}\n{MANY}")  # so that no result is cached
    assert parity("init", "--kernels", "src").code == 0
    assert compiled[:2] == [("cuda", 0), ("cuda", 1)], "the names, and how large an instance is"
    others = compiled[2:]
    assert sorted(others) == [("amd", 19), ("cuda", 19)], "a trial compiles nothing again"  # both at the same time
    text = (tmp_path / "cases" / "many.py").read_text()
    assert text.count("Op(\n") == 19 and "added: 33 more of its instances have no op" in text, text
    assert 'kernel="added<float, ' in text and 'kernel="added<double, ' in text
    compiled.clear()
    result = parity("run", "--target", "gfx1100", "--examples", "10")
    assert result.code == 0 and "PASS  19 kernels," in result.out, result.out + result.err
    assert sorted(compiled) == [("amd", 19), ("cuda", 19)], "a run compiles the instances with an op"
    assert len(Run.of(targets=["gfx1100"]).build().plan.suite().chosen["many"]) == 19, "workers compile no others"
    assert parity("init").code == 0
    assert (tmp_path / "cases" / "many.py").read_text().count("Op(\n") == 37


def test_init_compiles_fewer_of_many_large_instances(parity, tmp_path, sources, compiled, monkeypatch, with_nvcc):
    monkeypatch.setattr(instances, "_MOST_CODE", 100)
    sources(many=f"// {uuid4()}\n{MANY.replace('25', '3')}")
    assert parity("init", "--kernels", "src").code == 0
    assert sorted(compiled) == [("amd", 1), ("cuda", 0), ("cuda", 1)]
    assert (tmp_path / "cases" / "many.py").read_text().count("Op(\n") == 1


def test_many_templates_with_few_instances_are_not_many_instances():
    launches = [f"one{i}<{kind}><<<1, 1>>>(x);" for i in range(9) for kind in ("float", "double")]
    assert not has_many_instances("\n".join(launches))
    assert has_many_instances("\n".join([*launches, "one0<int><<<1, 1>>>(x);"]))


def test_init_compiles_some_of_many_launched_instances(parity, sources, compiled, monkeypatch, with_nvcc):
    monkeypatch.setattr(instances, "_MOST_CODE", 100)
    kernel, launches = MANY.partition("template <class T, int N> void each")[0], ""
    for i in range(9):
        launches += f"    added<float, {i}><<<(n + 255) / 256, 256>>>(x, y, n);\n"
    sources(named=f"// {uuid4()}\n{kernel}void host(const float* x, float* y, int n) {{\n{launches}}}\n")
    assert parity("init", "--kernels", "src").code == 0
    assert sorted(compiled) == [("amd", 1), ("cuda", 0), ("cuda", 1)]
    compiled.clear()
    assert parity("run", "--target", "gfx1030", "--examples", "5").code == 0
    assert sorted(compiled) == [("amd", 1), ("cuda", 1)], "a run compiles the instances with an op"


def test_run_compiles_instances_whose_types_hip_names_differently(parity, sources, compiled, monkeypatch, with_nvcc):
    monkeypatch.setattr(instances, "_MOST_CODE", 100)
    many = MANY.replace("float", "__nv_bfloat16").replace("double", "__nv_bfloat16").replace("25", "3")
    sources(many=f"// {uuid4()}\n#include <cuda_bf16.h>\n{many}")
    assert parity("init", "--kernels", "src").code == 0
    compiled.clear()
    assert parity("run", "--target", "gfx1100", "--examples", "5").code == 0
    assert {*compiled} == {("amd", 1), ("cuda", 1)}


def test_run_compiles_instances_that_do_nothing_for_amd_once(parity, sources, compiled, monkeypatch, with_nvcc):
    monkeypatch.setattr(instances, "_MOST_CODE", 100)
    many = MANY.replace("    if (i < n)", "#ifndef __HIP__\n    if (i < n)").replace("(T)N;", "(T)N;\n#endif")
    sources(many=f"// {uuid4()}\n{many.replace('25', '3')}")
    assert parity("init", "--kernels", "src").code == 0
    compiled.clear()
    result = parity("run", "--target", "gfx1100", "--examples", "5")
    assert result.code == 1 and {*compiled} == {("amd", 1), ("cuda", 1)}, result.out


def test_init_guesses_no_arguments_of_templates_that_an_including_source_has(parity, tmp_path, sources, monkeypatch):
    kernel = "template <class T> __global__ void halved(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x] / 2; }\n"
    launch = "void host(const double* x, double* y) { halved<double><<<1, 64>>>(x, y); }\n"
    sources(part=f"// {uuid4()}\n{ADD.format('adds')}{kernel}", whole=f'#include "part.cu"\n{launch}')
    compiled = list[tuple[str, tuple[str, ...]]]()

    def compiling(source, job, folder):
        compiled.append((source.module, source.kernels))
        compile_source(source, job, folder)

    monkeypatch.setattr("parity.build.variant_search.compile_source", compiling)
    assert parity("init", "--kernels", "src").code == 0
    assert {*compiled} == {("part", ()), ("whole", ())}
    assert "adds_op = Op(" in (tmp_path / "cases" / "part.py").read_text()
    assert "halved" in (tmp_path / "cases" / "whole.py").read_text()


def test_init_leaves_guessed_templates_out_that_do_not_compile(parity, tmp_path, sources, compiled, with_nvcc):
    wrong = "template <class T> __global__ void wrong(T* y) { y->missing(); }\n"
    sources(one=f"// {uuid4()}\n{ADD.format('adds')}{wrong}")
    assert parity("init", "--kernels", "src").code == 0
    assert "\nadds_op = Op(" in (tmp_path / "cases" / "one.py").read_text()
    assert [vendor for vendor, _ in compiled][-1] == "cuda", "a trial compiles nothing again"


def test_init_ends_compilers_that_take_too_long(parity, tmp_path, sources, monkeypatch, with_nvcc):
    sources(fast=f"// {uuid4()}\n{ADD.format('first')}", slow=f"// {uuid4()}\n{ADD.format('second')}")

    def compiling(source, job, folder):
        if source.module == "slow":
            zig.completed(["sleep", "3600"])
        compile_source(source, job, folder)

    monkeypatch.setattr("parity.build.variant_search.compile_source", compiling)
    monkeypatch.setattr(init_builds.InitBuilds, "_seconds", lambda self, path: 0.0 if path.stem == "slow" else math.inf)
    made = parity("init", "--kernels", "src")
    assert made.code == 0 and "slow has no case file: compiling it took more than 0 s; --limit" in made.err, made.err
    assert [each.name for each in (tmp_path / "cases").glob("*.py")] == ["fast.py"]


def test_init_builds_modules_that_slow_ones_kept_from_beginning(parity, tmp_path, sources, monkeypatch, with_nvcc):
    sources(fast=f"// {uuid4()}\n{ADD.format('first')}", slow=f"// {uuid4()}\n{ADD.format('second')}")
    ended = list[str]()

    def compiling(source, job, folder):
        if source.module == "slow" or not ended:
            try:
                zig.completed(["sleep", "3600"])
            finally:
                ended.append(source.module)
        compile_source(source, job, folder)

    monkeypatch.setattr("parity.build.variant_search.compile_source", compiling)
    monkeypatch.setattr(init_builds.InitBuilds, "_seconds", lambda self, path: 0.0)
    monkeypatch.setattr(
        init_builds.InitBuilds, "_left", lambda self, module: math.inf if module == "fast" and ended else 0.0
    )
    made = parity("init", "--kernels", "src")
    assert made.code == 0 and "slow has no case file: compiling it took more than 0 s; --limit" in made.err, made.err
    assert [each.name for each in (tmp_path / "cases").glob("*.py")] == ["fast.py"]


def test_run_compiles_all_instances_if_those_with_an_op_do_not_compile(parity, sources, monkeypatch, with_nvcc):
    sources(many=f"// {uuid4()}\n{MANY.replace('25', '2')}")
    assert parity("init", "--kernels", "src").code == 0

    def refusing(source, job, folder):
        if source.chosen is not None:
            raise PortError(source.module, job.target.name, "many.cu:1:1: error: refused")
        compile_source(source, job, folder)

    monkeypatch.setattr("parity.build.variant_search.compile_source", refusing)
    result = parity("run", "--target", "gfx1100", "--examples", "10")
    assert result.code == 0 and "PASS  6 kernels," in result.out, result.out + result.err


OVERLOADED = """
template <class T> __global__ void scaled(const T* x, const float* by, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * (T)by[0];
}
template <class T> __global__ void scaled(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * (T)3;
}
template __global__ void scaled<float>(const float*, const float*, float*, int);
template __global__ void scaled<float>(const float*, float*, int);
template __global__ void scaled<double>(const double*, const float*, double*, int);
"""


def test_init_names_overloaded_templates_with_their_arguments(parity, tmp_path, sources, with_nvcc):
    sources(overloaded=OVERLOADED)
    made = parity("init", "--kernels", "src")
    assert made.code == 0 and not made.err, made.err
    assert 'kernel="scaled<float>(float const*, float*, int)"' in (tmp_path / "cases" / "overloaded.py").read_text()
    result = parity("run", "--target", "gfx1100", "--examples", "10")
    assert result.code == 0 and "PASS  3 kernels," in result.out, result.out + result.err


TEMPLATES = """
#include <type_traits>
template <class T, class R> __global__ void bits(T* x, R* y) {
    using Bits = typename std::make_unsigned<T>::type;
    y[threadIdx.x] = (Bits)x[threadIdx.x];
}
template <class L, class T> __global__ void scanned(L* const low, T const* const in, const size_t* const count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < *count) low[i] = in[i] + 1;
}
template <class L, class T> void host(L* low, T const* in, const size_t* count) {
    scanned<<<dim3(2), dim3(64)>>>(low, in, count);
    bits<<<dim3(2), dim3(64)>>>(low, low);
}
"""


def test_init_declares_templates_next_to_one_that_does_not_compile_as_guessed(parity, tmp_path, sources, with_nvcc):
    sources(one=TEMPLATES)
    made = parity("init", "--kernels", "src")
    assert made.code == 0 and 'kernel="scanned<float, float>"' in _declared(tmp_path, "one")["scanned"], made.err
    assert "PASS  1 kernel," in parity("run", "--target", "gfx1100", "--examples", "2").out


ADD = """__global__ void {0}(const float* x, float* y, int n) {{
    if (threadIdx.x < n) y[threadIdx.x] += x[threadIdx.x];
}}
"""


def test_init_asks_about_random_numbers_that_differ(parity, tmp_path, sources, with_nvcc):
    (tmp_path / "src").joinpath("curand_mine.h").write_text(
        "__device__ inline float drawn(float seed, float by) { return seed * by; }\n"
    )
    kernel = "__global__ void {0}(float* x, int n) {{ if (threadIdx.x < n) x[threadIdx.x] = drawn({1}, 2.5f); }}\n"
    mine = '#ifdef __HIP_PLATFORM_AMD__\n#define SEED 3\n#else\n#define SEED 2\n#endif\n#include "curand_mine.h"\n'
    sources(random=mine + kernel.format("alike", "x[threadIdx.x]") + kernel.format("noise", "SEED * x[threadIdx.x]"))
    made = parity("init", "--kernels", "src")
    parts = _declared(tmp_path, "random")
    assert "To be completed" not in parts["alike"], made.err
    assert (
        "it draws numbers with cuRAND, and hipRAND's numbers differ, so say reference=; AMD's side fails in"
        in (parts["noise"])
    ), made.err


def test_init_new_folder_of_existing_kernels_is_made(parity, tmp_path, sources, with_nvcc):
    sources(one=ADD.format("first"))
    result = parity("init", "new/project", "--kernels", str(tmp_path / "src"))
    assert result.code == 0, result.out + result.err
    assert "first" in (tmp_path / "new/project/cases/one.py").read_text()


def test_init_only_named_kernels_adds_others_later(parity, tmp_path, sources, with_nvcc):
    sources(one=ADD.format("first") + ADD.format("second"), two=ADD.format("third"))
    assert parity("init", "--kernels", "src", "--only", "one.second").code == 0
    cases = tmp_path / "cases" / "one.py"
    text = cases.read_text()
    assert "one.second" in text and "one.first" not in text and not (tmp_path / "cases" / "two.py").exists()
    unknown = parity("init", "--only", "fourth")
    assert unknown.code == 2 and "--only fourth: no module and no kernel" in unknown.err, unknown.err
    part = parity("init", "--only", "tw")
    assert part.code == 2 and "has this name; did you mean two?" in part.err and "building" not in part.err, part.err
    assert "did you mean third" in parity("init", "--only", "thirt").err
    assert parity("init").code == 0
    assert cases.read_text().startswith(text.rstrip("\n")) and "one.first" in cases.read_text()
    assert (tmp_path / "cases" / "two.py").exists()
    assert parity("init").code == 2  # nothing is left
    assert "PASS  3 kernels" in parity("run", "--target", "gfx1100", "--examples", "2").out


def test_init_compiles_cuda_side_only_of_modules_that_compile_for_amd(parity, sources, monkeypatch, with_nvcc):
    sources(broken=ADD.format("adds").replace("+=", "+= lacks() *"), one=ADD.format("adds"))
    compiled, build = list[tuple[str, ...]](), init_builds.build

    def spy(kernels, modules, targets, **options):
        compiled.append((*targets, *modules))
        return build(kernels, modules, targets, **options)

    monkeypatch.setattr(init_builds, "build", spy)
    assert parity("init", "--kernels", "src").code == 0
    assert ("sm_90", "one") in compiled, compiled


def test_init_module_that_does_not_compile_is_no_unknown_name(parity, tmp_path, sources):
    sources(broken='#error "not here"\n' + ADD.format("adds"), other=ADD.format("more"))
    result = parity("init", "--kernels", "src", "--only", "broken")
    assert result.code == init.NOTHING_DECLARED and "broken does not compile" in result.err, result.err
    assert "no module" not in result.err and not (tmp_path / "cases" / "other.py").exists()


WILD = """__global__ void wild(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[(unsigned)x[i]];
}
"""


def test_init_time_limit_ends_trial_of_declarations(parity, tmp_path, sources, monkeypatch, with_nvcc):
    sources(wild=WILD)
    clock = itertools.count(step=1000)
    monkeypatch.setattr(case_files, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    made = parity("init", "--kernels", "src")  # a case of CUDA's side alone shows nothing
    assert made.code == init.NOTHING_DECLARED and "# wild_op = Op(" in (tmp_path / "cases" / "wild.py").read_text()


def test_init_time_limit_before_any_case_of_op_asks(parity, tmp_path, sources, monkeypatch, with_nvcc):
    sources(two=ADD.format("first") + ADD.format("second"))
    clock = itertools.count(step=1000)
    monkeypatch.setattr(case_files, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    made = parity("init", "--kernels", "src")
    assert made.code == init.NOTHING_DECLARED and made.err.count("two.") == 2, made.err
    text = (tmp_path / "cases" / "two.py").read_text()
    assert "# To be completed: its time limit of 60 s (--limit) ended before any" in text


def test_init_trial_has_the_time_that_compiling_left(parity, sources, monkeypatch, with_nvcc):
    sources(two=ADD.format("first") + ADD.format("second"))
    monkeypatch.setattr(init_builds.InitBuilds, "_charge", lambda self, *built: self.limit.compile("two", 1000))
    monkeypatch.setattr(init, "TimeLimit", partial(TimeLimit, clock=float))
    clock, execute, counts = itertools.count(step=10), Prepared.execute, list[int]()

    def counted(self, *args, **options):
        results = execute(self, *args, **options)
        counts.append(len(results.records))
        return results

    monkeypatch.setattr(case_files, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(Prepared, "execute", counted)
    parity("init", "--kernels", "src")
    assert counts[0] == 4, "a quarter of 60 s for each of two kernels"


def test_builds_of_a_module_share_its_time():
    texts = SimpleNamespace(whole=lambda path: ADD.format("first") + ADD.format("second"))
    builds = init_builds.InitBuilds(None, {"a/b": Path("b.cu")}, texts, None, TimeLimit(60))
    builds._times = {"a/b": builds._seconds(Path("b.cu"))}
    builds._charge([Built("a/b", "gfx1030", 5.0), Built("a/b", "sm_90", 10.0)], 30.0)
    assert builds._left("a/b") == 60 and builds.limit.left(("a_b", "first")) == 45


def test_op_whose_time_is_over_is_not_declared_again(tmp_path, monkeypatch):
    files = case_files.CaseFiles(Project(tmp_path, tmp_path), TimeLimit(0), None)
    monkeypatch.setattr(files, "_failed", lambda untried, shown: dict.fromkeys(untried, "it fails"))
    files.add(tmp_path / "one.py", PurePath("one.cu"), Skeleton("one.adds", "adds(x)"), try_it=True)
    files.try_declarations()
    assert files.asked == {"one.adds": "it fails; its time limit of 0 s (--limit) ended"}


def test_init_interrupted_in_trial_of_declarations_continues_later(parity, tmp_path, sources, monkeypatch, with_nvcc):
    sources(one=ADD.format("first"))
    execute, cases = Prepared.execute, tmp_path / "cases" / "one.py"

    def init_interrupted(**results):
        def interrupted(*args, **options):
            return replace(execute(*args, **options), stopped=KeyboardInterrupt(), **results)

        with monkeypatch.context() as patched:
            patched.setattr(Prepared, "execute", interrupted)
            assert parity("init", "--kernels", "src").code == 130

    init_interrupted(records=())
    assert not cases.exists(), "a declaration that nothing has executed may be wrong"
    init_interrupted()
    assert "first_op = Op(" in cases.read_text(), "what was tried before the interruption is kept"


def test_init_null_pointer_in_a_variable_is_no_access_before_a_buffer(parity, sources, with_nvcc):
    sources(
        filled="__device__ float* tables[2];\n__global__ void filled(float* y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = tables[i % 2][i];\n}\n"
    )
    made = parity("init", "--kernels", "src")
    assert made.code == init.NOTHING_DECLARED and "before a buffer" not in made.err, made.err


def test_init_declares_included_kernel_once(parity, tmp_path, sources, with_nvcc):
    sources(a=ADD.format("adds"), b='#include "a.cu"\n' + ADD.format("more"))
    assert parity("init", "--kernels", "src").code == 0
    assert "b.more" in (text := (tmp_path / "cases" / "b.py").read_text()) and "b.adds" not in text, text


def test_init_declares_kernel_of_a_header_with_the_first_module_that_has_it(parity, tmp_path, sources, with_nvcc):
    head = '#include "head.cuh"\n'
    sources(a=head + ADD.format("adds"), b=head + ADD.format("adds").replace("1", "2"), c=head)
    (tmp_path / "src" / "head.cuh").write_text(ADD.format("common"))
    assert parity("init", "--kernels", "src").code == 0
    texts = {each.name: each.read_text() for each in (tmp_path / "cases").glob("*.py")}
    assert "a.common" in texts["a.py"] and "b.adds" in texts["b.py"] and "common" not in texts["b.py"], texts
    run = parity("run", "--examples", "1")
    assert run.code == 0 and "without an op" not in run.out, run.out + run.err


def test_init_declares_kernels_of_another_part_once(parity, tmp_path, sources, with_nvcc):
    """The second file compiles only as a part of the whole, which is not a module that is declared."""
    real = ADD.format("more").replace("float", "REAL")
    sources(a=ADD.format("adds"), b=real, whole='#define REAL float\n#include "a.cu"\n#include "b.cu"\n')
    assert parity("init", "--kernels", "src", "--only", "a,b").code == 0
    assert "b.more" in (text := (tmp_path / "cases" / "b.py").read_text()) and "b.adds" not in text, text


def test_init_without_declared_kernel_exits_with_3_and_names_kernel_that_always_faults(parity, sources, with_nvcc):
    sources(
        srad="__global__ void srad(const float* J, float* c, int cols) {\n"
        "    int i = cols * blockIdx.x + threadIdx.x;\n    c[i] = J[i - cols - 1000000];\n}\n"
    )
    made = parity("init", "--kernels", "src")
    assert made.code == init.NOTHING_DECLARED == 3, made.out + made.err
    assert "srad.srad: every launch accesses memory before a buffer: out-of-bounds read of 4 bytes" in made.err, (
        made.err
    )
    assert "srad.cu:3" in made.err, made.err


def test_init_time_limit_ends_inference_of_a_kernel(parity, sources, with_nvcc):
    sources(one=ADD.format("adds"))
    made = parity("init", "--kernels", "src", "--limit", "1e-9")
    assert made.code == 3 and "0 of 1 ops are declared" in made.err, made.err


def test_init_reads_sources_in_other_encodings(parity, tmp_path, sources, with_nvcc):
    sources(one='#include "old.h"\n' + ADD.format("adds"))
    (tmp_path / "src" / "old.h").write_bytes(b"// Gr\xf6\xdfe\n")
    assert parity("init", "--kernels", "src").code == 0


def test_block_of_several_dims_names_its_form(parity, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parity("init")
    path = tmp_path / "cases" / "leaky_relu.py"
    path.write_text(path.read_text().replace("    args=", "    block=(64, 8),\n    args=", 1))
    assert 'block is (64, 8), not a text or a whole number; write block="64, 8"' in parity("list").err


def test_updated_tensor_may_hold_indices(parity, tmp_path, sources, with_nvcc):
    sources(
        taken="__global__ void taken(int* ids, const float* x, float* y, int n) {\n"
        "    int i = threadIdx.x;\n    if (i >= n) return;\n    y[i] = x[ids[i]];\n    ids[i] = -1;\n}\n"
    )
    assert parity("init", "--kernels", "src").code == 0
    text = (tmp_path / "cases" / "taken.py").read_text()
    assert 'indices={"ids": "ids_range"}' in text and 'updates={"ids": "i32"}' in text, text
    result = parity("run", "--target", "gfx1100", "--examples", "10")
    assert result.code == 0 and "PASS  1 kernel," in result.out, result.out + result.err


def test_build_names_texture_reference(parity, sources, with_nvcc):
    sources(
        cached="texture<float, 1, cudaReadModeElementType> t_features;\n"
        "__global__ void cached(float* y) { y[threadIdx.x] = tex1Dfetch(t_features, threadIdx.x); }\n"
    )
    built = parity("build", "--kernels", "src", "--target", "sm_90")
    told = 't_features" is undefined; CUDA 12 removed texture and surface references; use texture and surface objects'
    assert told in built.out + built.err, built.out + built.err


def test_build_names_kernels_of_one_side(parity, sources, with_nvcc):
    sources(
        sided="#include <torch/extension.h>\n#ifdef USE_ROCM\n" + ADD.format("for_amd") + "#else\n"
        "" + ADD.format("for_cuda") + "#endif\n" + ADD.format("shared")
    )
    built = parity("build", "--kernels", "src", "--target", "gfx1100,sm_90")
    said = built.out + built.err
    assert "it defines USE_ROCM for AMD as torch does" in said, said
    assert "sided: kernels that only AMD's side has: for_amd" in said, said
    assert "sided: kernels that only CUDA's side has: for_cuda" in said, said


NORMALIZED = """__global__ void normalized(float* y, const float* x, int rows, int cols) {
    extern __shared__ float part[];
    const float* row = x + blockIdx.x * cols;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) part[threadIdx.x] = row[i];
    __syncthreads();
    float first = part[0];  // a barrier is missing after this line
    for (int i = threadIdx.x; i < cols; i += blockDim.x) part[i / 32] = row[i] - first;
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[blockIdx.x * cols + i] = part[i / 32];
}
void host(float* x, int rows, int cols) { normalized<<<rows, 64, 64 * sizeof(float)>>>(x, x, rows, cols); }
"""
RARE = """__global__ void rare(const float* x, float* y, int n) {
    __shared__ float part[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (part[threadIdx.x] != part[threadIdx.x]) part[0] = 0;
    if (i < n) y[i] = part[0];
}
void host(float* x, int n) { rare<<<n / 64, 64>>>(x, x, n); }
"""


@pytest.mark.parametrize(("name", "source", "line"), [("normalized", NORMALIZED, 6), ("rare", RARE, 6)])
def test_init_kernel_with_race_is_a_finding(parity, tmp_path, sources, with_nvcc, name, source, line):
    sources(**{name: source})
    made = parity("init", "--kernels", "src")
    assert made.code == 0 and f"{name}.{name}: data race in" in made.err, made.out + made.err
    text = (tmp_path / "cases" / f"{name}.py").read_text()
    assert f"{name}.cu:{line}" in made.err and "\n# A mistake: data race in" in text and f"\n{name}_op = Op(" in text
    ran = parity("run", "--target", "gfx1100")
    assert ran.code == 1 and "data race" in ran.out, ran.out


SETTINGS = """struct Settings { long size; float scale; int shift; };
__global__ void scaled(const Settings* settings, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const Settings own = settings[i % 2];
    if (i < n) y[i] = i * own.scale + own.shift + (own.size > 3);
}
"""


def test_init_pointer_to_structure_is_aligned(parity, tmp_path, sources, with_nvcc):
    sources(settings=SETTINGS)
    assert parity("init", "--kernels", "src").code == 0
    assert 'strides="aligned"' in (tmp_path / "cases" / "settings.py").read_text()


def test_init_first_few_cases_need_not_write_every_output(parity, tmp_path, sources, monkeypatch, with_nvcc):
    sources(one=ADD.format("first"))
    execute, runs = Prepared.execute, list[int]()

    def unwritten(self, *args, **options):
        results = execute(self, *args, **options)
        runs.append(self.plan.examples)
        verdict = Verdict(Status.FAIL, "unwritten", facts=(Fact.NEITHER_SIDE,))
        records = [replace(each, verdict=verdict) for each in results.records]
        return replace(results, records=records) if len(runs) == 1 else results

    monkeypatch.setattr(Prepared, "execute", unwritten)
    assert parity("init", "--kernels", "src").code == 0
    assert "# first_op" not in (tmp_path / "cases" / "one.py").read_text() and runs[0] < runs[1] == EXAMPLES


def test_init_few_cases_that_show_too_little_decide_if_time_is_over(parity, tmp_path, sources, monkeypatch, with_nvcc):
    sources(one=ADD.format("first"))
    execute, runs = Prepared.execute, list[int]()

    def unwritten(self, *args, **options):
        results = execute(self, *args, **options)
        runs.append(len(results.records))
        verdict = Verdict(Status.FAIL, "unwritten", facts=(Fact.NEITHER_SIDE,))
        few = [replace(each, verdict=verdict) for each in results.records]
        return replace(results, records=few if len(runs) % 2 else [])

    monkeypatch.setattr(Prepared, "execute", unwritten)
    assert parity("init", "--kernels", "src").code == init.NOTHING_DECLARED
    assert "# To be completed: with what was guessed, the cases show" in (tmp_path / "cases" / "one.py").read_text()


def test_init_ops_without_results_of_amd_are_not_declared(parity, tmp_path, sources, monkeypatch, with_nvcc):
    sources(one=ADD.format("first"))
    execute = Prepared.execute

    def cuda_only(self, *args, **options):
        results = execute(self, *args, **options)
        return replace(results, records=[each for each in results.records if each.where.side == "cuda"])

    monkeypatch.setattr(Prepared, "execute", cuda_only)
    assert parity("init", "--kernels", "src").code == init.NOTHING_DECLARED
    assert "# To be completed: its time limit" in (tmp_path / "cases" / "one.py").read_text()


def test_init_tries_all_ops_of_a_module_at_once(parity, tmp_path, sources, monkeypatch, with_nvcc):
    sources(two=ADD.format("first") + ADD.format("second"))
    execute, runs = Prepared.execute, list[int]()

    def counted(self, *args, **options):
        runs.append(self.plan.examples)
        return execute(self, *args, **options)

    monkeypatch.setattr(Prepared, "execute", counted)
    monkeypatch.setattr(case_files, "_TRY_AFTER", 0)
    assert parity("init", "--kernels", "src").code == 0
    assert len(runs) == 2 and runs[-1] == EXAMPLES


SPREAD = """template <unsigned threads> __global__ void spread(const float* x, float* y, int rows) {
    __shared__ float part[threads];
    float sum = 0;
    for (int i = 0; i < rows; i++) {
        part[threadIdx.x] = x[i * threads + threadIdx.x];
        __syncthreads();
        sum += part[0] - part[threadIdx.x];  // a barrier is missing after this line
    }
    y[threadIdx.x] = sum;
}
void host(float* x, int n, int threads) {
    switch (threads) {
    case 64: spread<64><<<1, threads>>>(x, x, n); break;
    case 16: spread<16><<<1, threads>>>(x, x, n); break;
    case 4: spread<4><<<1, threads>>>(x, x, n); break;
    }
}
"""


def test_init_template_argument_may_be_few_threads(parity, tmp_path, sources, with_nvcc):
    sources(spread=SPREAD.replace("// a barrier is missing after this line", "\n        __syncthreads();"))
    assert parity("init", "--kernels", "src").code == 0
    text = (tmp_path / "cases" / "spread.py").read_text()
    assert all(f"block={count}," in text for count in (64, 16, 4)), text


def test_init_instances_of_template_share_finding(parity, tmp_path, sources, with_nvcc):
    sources(spread=SPREAD)
    made, text = parity("init", "--kernels", "src"), (tmp_path / "cases" / "spread.py").read_text()
    assert made.err.count("data race in") == 1 and "spread.spread_64: data race in" in made.err, made.err
    assert text.count("# A mistake: data race in") == 3 == text.count("\nspread_"), text


MAPS = """#include <cuda_fp16.h>
template <typename T> __global__ void gathered(int n, int c, const T* x, T* y, const int* map, bool back) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int pair = sizeof(T) == 4 ? 1 : 2, row = i / (c / pair), column = i % (c / pair);
    if (row >= n) return;
    int from = map[2 * row + back];
    if (from < 0) return;
    if (pair == 1) y[row * c + column] = x[from * c + column];
    else ((half2*)y)[(row * c + 2 * column) / 2] = ((const half2*)x)[(from * c + 2 * column) / 2];
}
__global__ void scattered(int n, int most, int c, const float* x, float* y, const int* map, bool back) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / c, column = i % c;
    if (row >= n) return;
    int to = map[2 * row + 1 - back];
    if (to < 0 || to >= most) return;
    y[to * c + column] += x[row * c + column];
}
void host(float* x, half* y, int n, int most, int c, int* map, bool back) {
    gathered<float><<<ceil((double)(n * c) / 256), 256>>>(n, c, x, x, map, back);
    gathered<half><<<ceil((double)(n * c) / 256), 256>>>(n, c, y, y, map, back);
    scattered<<<ceil((double)(n * c) / 256), 256>>>(n, most, c, x, x, map, back);
}
"""


def test_init_flags_wide_dtypes_and_written_positions(parity, tmp_path, sources, with_nvcc):
    sources(maps=MAPS)
    made, text = parity("init", "--kernels", "src"), (tmp_path / "cases" / "maps.py").read_text()
    assert made.code == 0 and "To be completed" not in text and 'strides="aligned"' in text, text


ACCESSORS = """#include <torch/extension.h>
__global__ void widened(const torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits> x,
                        torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits> y, int radius) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= x.size(1) || column >= x.size(2)) return;
    float sum = 0;
    for (int i = column - radius; i <= column + radius; i++)
        if (i >= 0 && i < x.size(2)) sum += x[blockIdx.z][row][i];
    y[blockIdx.z][row][column] = sum;
}
"""


def test_init_accessors_are_dense(parity, tmp_path, sources, with_nvcc):
    sources(wide=ACCESSORS)
    assert parity("init", "--kernels", "src").code == 0
    text = (tmp_path / "cases" / "wide.py").read_text()
    extents = re.search(r"x_size_1:i32=(\d+) x_size_2:i32=(\d+) x_stride_0:i32=(\d+) x_stride_1:i32=(\d+)", text)
    rows, columns, *strides = map(int, extents.groups()) if extents else (0, 0)
    assert strides == [rows * columns, columns] and 'outputs={"y_data": "f32"}' in text, text


INFOS = """#include <torch/extension.h>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <cassert>
using Offset = at::cuda::detail::IndexToOffset<int64_t, int, -1>;
__global__ void picked(const float* x, const at::cuda::detail::TensorInfo<int64_t, int> ids, float* y, size_t E,
                       size_t K, size_t N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / K;
    if (i >= E * K) return;
    y[i] = x[row / ids.sizes[ids.dims - 1] * N * K + ids.data[Offset::get(row, ids)] * K + i % K];
}
__global__ void marked(const at::cuda::detail::TensorInfo<int64_t, int> ids, int* y, size_t E, size_t N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, columns = ids.sizes[ids.dims - 1];
    if (i >= E) return;
    int64_t id = ids.data[Offset::get(i, ids)];
    if (i % columns) assert(ids.data[Offset::get(i - 1, ids)] <= id);
    atomicAdd(y + i / columns * N + id, 1);
}
__global__ void spread(const float* x, const at::cuda::detail::TensorInfo<int64_t, int> begin, float* y, size_t N,
                       size_t E) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, columns = begin.sizes[begin.dims - 1], row = i / (columns - 1);
    if (i >= N) return;
    int at = row % begin.sizes[0] * begin.strides[0] + i % (columns - 1) * begin.strides[1];
    for (int64_t k = begin.data[at]; k < begin.data[at + begin.strides[1]]; k++) y[row * E + k] = x[i];
}
void host(torch::Tensor x, torch::Tensor ids, torch::Tensor y) {
    auto E = ids.numel(), K = y.numel() / E, N = x.size(0);
    auto info = at::cuda::detail::getTensorInfo<int64_t, int>(ids);
    picked<<<(E * K + 255) / 256, 256>>>(x.data_ptr<float>(), info, y.data_ptr<float>(), E, K, N);
    marked<<<(E + 255) / 256, 256>>>(info, y.data_ptr<int>(), E, N);
    spread<<<(N + 255) / 256, 256>>>(x.data_ptr<float>(), info, y.data_ptr<float>(), N, E);
}
"""


def test_init_tensor_infos_are_matrices(parity, tmp_path, sources, with_nvcc):
    sources(infos=INFOS)
    made, text = parity("init", "--kernels", "src"), (tmp_path / "cases" / "infos.py").read_text()
    assert made.code == 0 and "To be completed" not in text, text
    one = "strides_1:i32[24]=1 dims:i32=2"
    assert f"data sizes_0:i32 sizes_1:i32 sizes_2:i32[23]=1 strides_0:i32=sizes_1 {one}" in text, text
    assert 'args="x ids y E:u64=sizes_0*sizes_1 K:u64 N:u64"' in text, text
    assert '"x: sizes_0 K N; data: sizes_0 sizes_1; y: sizes_0 sizes_1 K"' in text, text
    assert text.count('data={"data": ("offsets",)}') == 2 and 'indices={"data": "4+1"}' in text, text


RAYS = """#include <torch/extension.h>
__global__ void summed(const float* x, const torch::PackedTensorAccessor64<int64_t, 2, torch::RestrictPtrTraits> rays,
                       torch::PackedTensorAccessor64<float, 1, torch::RestrictPtrTraits> sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rays.size(0)) return;
    const int id = rays[i][0], start = rays[i][1], count = rays[i][2];
    float sum = 0;
    for (int j = 0; j < count; j++) sum += x[start + j];
    sums[id] = sum;
}
__global__ void scaled(const int* rays, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    rays += 3 * i;
    for (int j = 0; j < rays[2]; j++) x[rays[1] + j] *= 1 + rays[0];
}
"""


def test_init_rows_of_starts_and_lengths_are_segments(parity, tmp_path, sources, with_nvcc):
    sources(rays=RAYS)
    made, text = parity("init", "--kernels", "src"), (tmp_path / "cases" / "rays.py").read_text()
    assert made.code == 0 and '"rays: 3*n; x: nnz"' in text and 'data={"rays": ("segments",)}' in text, text
    assert '"x: nnz; rays_data: 3*rays_size_0; sums_data: rays_size_0"' in text and "size_1:i64=3" in text, text


WORLD = """struct World { int count; float step; double mass; float3 wind; };
struct Body { float3 at; float3 by; float weight; };
__constant__ World world;
__global__ void moved(Body* bodies, const float* drag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= world.count) return;
    bodies[i].at.x += (bodies[i].by.x + world.wind.y) * world.step;
    bodies[i].at.y += drag[i] * world.step * world.mass;
}
void host(Body* bodies, float* drag, int n) { moved<<<(n + 127) / 128, 128>>>(bodies, drag); }
"""


def test_init_constant_structure_of_several_types(parity, tmp_path, sources, with_nvcc):
    sources(world=WORLD)
    made, text = parity("init", "--kernels", "src"), (tmp_path / "cases" / "world.py").read_text()
    assert made.code == 0 and 'symbols={"world": "world"}' in text, text
    assert '"world": ("values.16.1065353216.0.1072693248.0.1065353216.0.0",)' in text and "drag: 16" in text, text


WINNERS = """__global__ void winners(int n, const int* owner, const int* bid, int* winner) {
    int j = threadIdx.x + blockIdx.y * blockDim.x, i = blockIdx.x * n + j;
    if (owner[i] == -1) winner[blockIdx.x * n + bid[i]] = j;
}
void host(int rows, int* x, int n) { winners<<<dim3(rows, n / 64), 64>>>(n, x, x, x); }
"""


def test_init_positions_behind_marks_are_distinct(parity, tmp_path, sources, with_nvcc):
    sources(winners=WINNERS)
    made, text = parity("init", "--kernels", "src"), (tmp_path / "cases" / "winners.py").read_text()
    assert made.code == 0 and '"owner": ("-1..2",), "bid": ("permutation",)' in text, text


def test_init_states_that_a_kernel_follows_pointers(parity, tmp_path, sources, with_nvcc):
    sources(
        cells="struct Cell { int* ids; int count; };\n"
        "__global__ void reset(Cell* cells, int most, int n) {\n"
        "    int id = threadIdx.x + blockDim.x * blockIdx.x;\n    if (id >= n) return;\n"
        "    cells[id].count = 1;\n    for (int i = 0; i < most; i++) cells[id].ids[i] = -1;\n}\n"
        "__global__ void sums(int*** planes, int* out, int n) {\n"
        "    int sum = 0;\n    for (int i = 0; i < n; i++) sum += planes[threadIdx.x][0][i];\n"
        "    out[threadIdx.x] = sum;\n}\n"
    )
    assert parity("init", "--kernels", "src").code == 3
    text = (tmp_path / "cases" / "cells.py").read_text()
    assert text.count("it follows pointers that it reads from memory") == 2, text


def test_number_of_copies_is_positive(parity, tmp_path, sources, with_nvcc):
    """With one copy, nvcc's code reads nothing; with none, the first copy is beyond the tensor on AMD's side."""
    sources(
        merge="__global__ void merge(float* x, unsigned n, unsigned copies) {\n"
        "    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) {\n"
        "        float sum = x[i];\n        for (unsigned c = 1; c < copies; ++c) sum += x[c * n + i];\n"
        "        x[i] = sum;\n    }\n}\n"
    )
    assert parity("init", "--kernels", "src").code == 0
    text = (tmp_path / "cases" / "merge.py").read_text()
    assert "copies > 0" in text, text
    result = parity("run", "--target", "gfx1100")
    assert result.code == 0 and "PASS  1 kernel," in result.out, result.out + result.err


def test_device_variables_that_a_kernel_only_reads_are_inputs(parity, tmp_path, sources, with_nvcc):
    sources(
        fill="__device__ unsigned active;\n__device__ float steps[2];\n"
        "__global__ void fill(const float* x, float* y) {\n"
        "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < active) y[i] = x[i] * steps[0] + steps[1];\n}\n"
        "void host(float* x, float* y, unsigned n, float* s) {\n"
        "    cudaMemcpyToSymbol(active, &n, sizeof n);\n    cudaMemcpyToSymbol(steps, s, 2 * sizeof *s);\n"
        "    fill<<<(n + 63) / 64, 64>>>(x, y);\n}\n"
    )
    assert parity("init", "--kernels", "src").code == 0
    text = (tmp_path / "cases" / "fill.py").read_text()
    assert 'symbols={"active": "active", "steps": "steps"}' in text, text
    result = parity("run", "--target", "gfx90a,gfx1100", "--examples", "5")
    assert result.code == 0 and "PASS  1 kernel," in result.out, result.out + result.err


def test_index_that_a_search_does_not_set_leads_to_small_numbers(parity, tmp_path, sources, with_nvcc):
    """AMD's code reads an unset register in the instance for 1 dim; for 7, both sides return an index."""
    sources(
        nearest="template <int D>\n__global__ void nearest(const double* x, const double* centers, "
        "unsigned char* best, int n, int k) {\n    extern __shared__ double held[];\n    if (threadIdx.x < k)\n"
        "        for (int d = 0; d < D; ++d) held[d * k + threadIdx.x] = centers[d * k + threadIdx.x];\n"
        "    __syncthreads();\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n"
        "    double least = 1.7976931348623157e308;\n    unsigned char at;\n"
        "    for (int j = 0; j < k; j++) {\n        double apart = 0;\n"
        "        for (int d = 0; d < D; ++d)\n"
        "            apart += (x[d * n + i] - held[d * k + j]) * (x[d * n + i] - held[d * k + j]);\n"
        "        if (apart < least) {\n            least = apart;\n            at = j;\n        }\n    }\n"
        "    if (D == 1 || best[i] != at) best[i] = at;\n}\n"
        "void host(const double* x, const double* c, unsigned char* best, int n, int k) {\n"
        "    nearest<1><<<(n + 255) / 256, 256, k * sizeof(double)>>>(x, c, best, n, k);\n"
        "    nearest<7><<<(n + 255) / 256, 256, 7 * k * sizeof(double)>>>(x, c, best, n, k);\n}\n"
    )
    assert parity("init", "--kernels", "src").code == 0, (tmp_path / "cases" / "nearest.py").read_text()
    result = parity("run", "--target", "gfx1100", "--examples", "10")
    assert result.code == 0, (tmp_path / "cases" / "nearest.py").read_text() + result.out


SIDES_DIFFER = """
#include <type_traits>
template <class T> using Four = std::conditional_t<sizeof(T) == 4, float4, double4>;
template <class T> __global__ void twice(Four<T>* x, typename std::conditional<sizeof(T) == 4, int, long>::type n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i].x *= 2;
}
template __global__ void twice<float>(float4*, int);
__global__ void leaf(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
__global__ void root(float* x, int n) { leaf<<<1, 1>>>(x, n); }
"""


def test_init_pairs_kernels_whose_symbols_differ_and_names_what_cuda_leaves_out(parity, sources, tmp_path, with_nvcc):
    sources(m=SIDES_DIFFER)
    parity("init", "--kernels", "src")
    declared = _declared(tmp_path, "m")
    assert "\ntwice_op = Op(" in declared["twice"], declared["twice"]
    assert "\nleaf_op = Op(" in declared["leaf"]
    assert "kernel launch from __device__" in declared["root"] and "# root_op" in declared["root"]


WINDOWS = """
__global__ void patches(const float* image, int width, const int* at, float* sums) {
    int x = at[2 * blockIdx.x] + threadIdx.x - 4, y = at[2 * blockIdx.x + 1] - 4;
    sums[blockIdx.x * blockDim.x + threadIdx.x] = image[y * width + x] + image[(y + 8) * width + x];
}
void host(const float* a, int w, const int* at, float* b, int n) { patches<<<n, 9>>>(a, w, at, b); }
"""


def test_init_positions_in_the_middle_of_windows_have_a_margin(parity, sources, tmp_path, with_nvcc):
    sources(m=WINDOWS)
    parity("init", "--kernels", "src")
    assert 'data={"at": ("8..11",)}' in _declared(tmp_path, "m")["patches"]
    assert "PASS  1 kernel," in parity("run", "--target", "gfx1100", "--examples", "2").out


LISTS = """
__global__ void neighbors(const float* x, const int* head, const int* list, float* sums, int cells, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = head[i % cells]; j >= 0; j = list[j])
        if (j != i) sum += x[j] - x[i];
    sums[i] = sum;
}
"""


def test_init_ends_lists_that_a_kernel_follows(parity, sources, tmp_path, with_nvcc):
    sources(m=LISTS)
    parity("init", "--kernels", "src")
    assert '"list": ("values.-1",)' in _declared(tmp_path, "m")["neighbors"]  # not head, behind which nothing is read
    assert "PASS  1 kernel," in parity("run", "--target", "gfx1100", "--examples", "2").out


def test_init_states_that_a_source_only_declares_kernels(parity, sources):
    sources(test="extern __global__ void k(int* x);\nint main() { k<<<1, 1>>>(nullptr); }\n")
    assert "test only declares kernels, which other files define" in parity("init", "--kernels", "src").err
