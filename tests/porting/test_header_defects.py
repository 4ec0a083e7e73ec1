"""Defects of AMD's headers: executed functions show every row of the table, and sources that use them are reported."""

from __future__ import annotations

import os

import numpy as np
import pytest
from execution import program

from parity.compilers.header_folders import installed_headers
from parity.compilers.rocm import WHEELS, installed
from parity.compilers.targets import target
from parity.compilers.toolchain import ROCM, chosen
from parity.porting.header_defects import defects, known_defects

X = np.array([np.nan, 1, 2.5, -np.inf, 3, 70000, 2051, 6, 1.5 * 2.0**-70, 1.5 * 2.0**-78], np.float32)
INTEGERS = np.array([5, 3, 2**31 - 1, -(2**31), 2051, -2051], np.int32)

SOURCE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuComplex.h>
namespace {
#define FOUND(f)                                                                                                       \
    template <class T> __device__ auto found##f(T x, int) -> decltype(f(x), 0) { return 1; }                          \
    template <class T> __device__ int found##f(T, ...) { return 0; }
FOUND(__ldg) FOUND(__ldca) FOUND(__ldcg) FOUND(__ldcs)
}
__device__ int bits(__nv_bfloat16 x) { unsigned short b; __builtin_memcpy(&b, &x, 2); return b; }
__device__ unsigned bits(__nv_bfloat162 x) { unsigned b; __builtin_memcpy(&b, &x, 4); return b; }
extern "C" __global__ void shown(const float* x, const int* i, const double* d, long long* out) {
    const auto h = [=](int k) { return __float2half(x[k]); };
    const auto b = [=](int k) { return __float2bfloat16(x[k]); };
    const auto hh = [=](int k, int l) { return __halves2half2(h(k), h(l)); };
    const auto bb = [=](int k, int l) { return __halves2bfloat162(b(k), b(l)); };
    const auto raw = [=](unsigned short k) { return __nv_bfloat16(__nv_bfloat16_raw{k}); };
    const unsigned u2 = unsigned(i[2]) * 2;
%s
}
"""
# An expression for each row, and the result that CUDA documents.
SHOWN: dict[tuple[str, str], tuple[str, int]] = {
    ("operator <= >=", ""): ("(h(0) <= h(1)) + (h(0) >= h(1)) + (hh(0, 1) <= hh(1, 1))", 0),
    ("operator !=", ""): ("(hh(1, 4) != hh(1, 7)) + (bb(1, 4) != bb(1, 7))", 0),
    ("operator < > <= >=", ""): ("bb(1, 7) < bb(4, 4)", 0),
    ("__hne", ""): ("__hne(h(0), h(1)) + __hne(b(0), b(1))", 0),
    ("__hne2", ""): ("__low2float(__hne2(hh(0, 0), hh(1, 1))) + float(__hne2(bb(0, 0), bb(1, 1)).x)", 0),
    ("__hbne2", ""): ("__hbne2(hh(0, 0), hh(1, 1)) + __hbne2(bb(0, 0), bb(1, 1))", 0),
    **{(f"__hb{c}u2", "__half2"): (f"__hb{c}u2(hh(0, 0), hh(1, 1))", 1) for c in ("eq", "le", "ge", "lt", "gt")},
    ("__hbneu2", "__hip_bfloat162"): ("__hbneu2(bb(1, 4), bb(1, 7))", 0),
    ("hipCabsf", ""): ("isinf(cuCabsf(make_cuFloatComplex(x[5] * 1e30f, 0)))", 0),
    ("hipCabs", ""): ("isinf(cuCabs(make_cuDoubleComplex(x[5] * 1e300, 0)))", 0),
    ("hipCdivf", ""): ("cuCdivf(make_cuFloatComplex(x[5] * 3e30f, 0), make_cuFloatComplex(x[5] * 1e30f, 0)).x", 3),
    ("hipCdiv", ""): ("cuCdiv(make_cuDoubleComplex(x[5] * 3e300, 0), make_cuDoubleComplex(x[5] * 1e300, 0)).x", 3),
    ("__hisinf", ""): ("__hisinf(h(3)) + __hisinf(b(3))", -2),
    ("__hisnan2", "__half2"): ("__low2float(__hisnan2(hh(0, 1)))", 1),
    ("__hisnan2", "__hip_bfloat162"): ("float(__hisnan2(bb(0, 1)).y)", 0),
    ("__hgt2", "__hip_bfloat162"): ("float(__hgt2(bb(1, 1), bb(4, 4)).y)", 0),
    **{(f"__h{o}_sat", ""): (f"__hisnan(__h{o}_sat(h(0), h(1){', h(1)' * (o == 'fma')}))", 0)
       for o in ("add", "sub", "mul", "fma")},
    **{(f"__h{o}2_sat", ""): (f"__hisnan(__low2half(__h{o}2_sat(hh(0, 1), hh(1, 1){', hh(1, 1)' * (o == 'fma')})))", 0)
       for o in ("add", "sub", "mul", "fma")},
    **{(f"__half2{k}_{r}", ""): (f"__half2{k}_{r}(h(4) * h(2) {'+' if r == 'rn' else '-'} h(1) / h(2))", v)
       for k in ("int", "uint", "short", "ushort", "ll", "ull") for r, v in (("rn", 8), ("ru", 8)) },
    **{(f"__half2{k}_rd", ""): (f"__half2{k}_rd(-h(2))", -3) for k in ("int", "short", "ll")},
    **{(f"__{k}2half_{r}", ""): (f"__half2int_rz(__{k}2half_{r}(i[4] {'+ 2' if r == 'ru' else ''}))", v)
       for k in ("int", "uint", "short", "ushort", "ll", "ull") for r, v in (("rz", 2050), ("rd", 2050), ("ru", 2054))},
    ("__bfloat16_as_ushort", ""): ("__bfloat16_as_ushort(b(1))", 0x3F80),
    ("__bfloat16_as_short", ""): ("__bfloat16_as_short(b(1))", 0x3F80),
    ("__ushort_as_bfloat16", ""): ("bits(__ushort_as_bfloat16((unsigned short)i[0]))", 5),
    ("__short_as_bfloat16", ""): ("bits(__short_as_bfloat16((short)i[0]))", 5),
    ("HIPRT_INF_BF16", ""): ("bits(HIPRT_INF_BF16)", 0x7F80),
    ("HIPRT_NAN_BF16", ""): ("bits(HIPRT_NAN_BF16)", 0x7FFF),
    ("HIPRT_MAX_NORMAL_BF16", ""): ("bits(HIPRT_MAX_NORMAL_BF16)", 0x7F7F),
    ("HIPRT_MIN_DENORM_BF16", ""): ("bits(HIPRT_MIN_DENORM_BF16)", 1),
    ("HIPRT_NEG_ZERO_BF16", ""): ("bits(HIPRT_NEG_ZERO_BF16)", 0x8000),
    ("__low2bfloat16", ""): ("bits(__low2bfloat16(bb(1, 4)))", 0x3F80),
    ("__low2bfloat162", ""): ("bits(__low2bfloat162(bb(1, 4)))", 0x3F803F80),
    ("__double2bfloat16", ""): ("bits(__double2bfloat16(d[0]))", 0x3F81),
    **{(f"{kind}4", ""): (f"alignof({kind}4)", 16) for kind in ("double", "long", "ulong", "longlong", "ulonglong")},
    ("__hadd", ""): ("__hadd(i[0], i[1])", 4),
    ("__rhadd", ""): ("__rhadd(i[0], i[1])", 4),
    ("__uhadd", ""): ("__uhadd(u2, u2)", 2**32 - 2),
    ("__urhadd", ""): ("__urhadd(u2, u2)", 2**32 - 2),
    ("__saturatef", ""): ("isnan(__saturatef(x[0]))", 0),
    ("ilogbf", ""): ("ilogbf(x[0])", -(2**31)),
    ("ilogb", ""): ("ilogb(d[0] * x[0])", -(2**31)),
    ("__fmul_rn", ""): ("__fsub_rn(__fmul_rn(x[5] / x[4], x[2] / x[7]), x[5] / x[4] * (x[2] / x[7])) != 0", 0),
    ("__dmul_rn", ""): ("__dsub_rn(__dmul_rn(d[0] / 3, d[0] / 7), d[0] / 3 * (d[0] / 7)) != 0", 0),
    **{(f"__ld{k}", ""): (f"found__ld{k}(x, 0)", 1) for k in ("g", "ca", "cg", "cs")},
    ("__hip_fp8_e4m3", ""): ("__nv_fp8_e4m3(x[8]).__x", 0),
    ("__hip_fp8_e5m2", ""): ("__nv_fp8_e5m2(x[9]).__x", 0),
    ("__sad", ""): ("__sad(i[2] - 9, i[3] + 9, 7u)", 2**32 - 1 - 18 + 7),
}  # fmt: skip
# These functions are executed for all 65536 numbers.
INEXACT = {"hsin": np.sin, "hcos": np.cos}
PAIRS = ("h2sin", "h2cos")
TEXTURES = ("tex2Dgather",)  # executed in tests/emulator/test_image_instructions.py


def at_hand():
    """Return the paths of all versions of HIP that this machine has, as ``--rocm`` takes them."""
    rocm, headers = installed(), installed_headers()
    named = filter(None, os.environ.get(ROCM, "").split(","))
    return dict.fromkeys(
        (WHEELS, *([str(rocm.root)] if rocm else ()), *([str(headers.folder)] if headers else ()), *named)
    )


@pytest.fixture(params=at_hand())
def version(request, monkeypatch):
    """Compile with one of the versions, and return it."""
    monkeypatch.setenv(ROCM, request.param)
    numbers = chosen(target("gfx1030")).version
    if not numbers:
        pytest.skip("AMD's headers cannot be had here")
    return numbers


def key(row):
    return row.name, next((name for name in ("__half2", "__hip_bfloat162") if row.without and name in row.beside), "")


def test_every_known_defect_has_example():
    assert {key(row) for row in known_defects()} == {*SHOWN, *((name, "") for name in (*INEXACT, *PAIRS, *TEXTURES))}


def test_known_defect_occurs_in_its_versions_only(cache, tmp_path, version):
    lines = "\n".join(f"    out[{k}] = (long long)({text});" for k, (text, _) in enumerate(SHOWN.values()))
    code = program(tmp_path, SOURCE % lines, "gfx1030", cache)
    got = code.run("shown", np.zeros(len(SHOWN), np.int64), X, INTEGERS, np.array([1 + 2.0**-8 + 2.0**-40]), block=8)
    rows = {key(row): row for row in known_defects()}
    differs = {each for (each, (_, cuda)), value in zip(SHOWN.items(), got.tolist(), strict=True) if value != cuda}
    assert differs == {each for each in SHOWN if rows[each].is_in(version)}


def test_inexact_half_functions_differ_by_at_most_1_ulp(cache, tmp_path, version):
    kernels = "".join(
        f'extern "C" __global__ void of_{name}(const __half* x, __half* out) '
        f"{{ const int t = blockIdx.x * blockDim.x + threadIdx.x; out[t] = {name}(x[t]); }}\n"
        for name in INEXACT
    )
    code = program(tmp_path, "#include <cuda_fp16.h>\n" + kernels, "gfx1030", cache)
    x = np.arange(1 << 16, dtype=np.uint16)
    number = x.view(np.float16)
    for name, function in INEXACT.items():
        with np.errstate(all="ignore"):
            exact = function(number.astype(np.float64)).astype(np.float16)
        got = code.run(f"of_{name}", np.zeros(1 << 16, np.uint16), x).view(np.int16).astype(int)
        apart = abs(got - exact.view(np.int16))[np.isfinite(exact) & (exact != 0)]
        assert apart.max() == 1
        assert 0.05 < (apart > 0).mean() < 0.3, name


HALVES = """\
// a <= b of half
#include <cuda_fp16.h>
template <typename T> __device__ bool below(T a, T b) { return a <= b; }
OP(__half, le, x <= y)
__global__ void k(const __half* x, const float* y, bool* out, int n) {
    for (int i = 0; i <= n; ++i) out[i] = x[i] <= x[0];
    const half top = x[n];
    if (y[0] <= y[1] && n >= 3) out[0] = __hle(top, x[0]);
    out[1] = y[0] >= 1.0f || top < x[1];
    out[2] = x[2] >> 1 && __half2int_rn(top);
}
"""


def reported(text, version=(6, 2)):
    return [(finding.name, finding.line) for finding in defects({"k.cu": text}, version)]


def test_operator_defect_is_reported_if_operand_has_affected_type():
    assert reported(HALVES) == [("operator <= >=", 4), ("operator <= >=", 6), ("__half2int_rn", 10)]
    assert reported(HALVES.replace("__half", "float").replace("half", "float")) == []


def test_function_defect_is_reported_for_affected_versions_only():
    text = "__device__ int f(int a, int b) { return __hadd(a, b); } // __rhadd"
    assert reported(text) == [("__hadd", 1)]
    assert reported(text, (6, 2, 41134)) == [("__hadd", 1)]
    assert reported(text, (6, 3)) == reported(text, (5, 1)) == []
    assert reported("__half h; " + text) == []  # the half version of __hadd is correct


def test_function_hidden_by_half_overloads_is_reported_in_unnamed_namespace():
    text = "#include <hip/hip_fp16.h>\nnamespace { __device__ float f(const float* x) { return __ldg(x); } }\n"
    assert reported(text) == [("__ldg", 2)]
    assert reported(text.replace("namespace", "namespace a")) == reported(text.replace("fp16", "other")) == []


def test_defect_advice_names_effect_and_workaround():
    (finding,) = defects({"k.cu": "\n  x = __uhadd(a, b);"}, (6, 2))
    assert (finding.file, finding.line, finding.column) == ("k.cu", 2, 7)
    assert "overflows" in finding.advice
    assert "unsigned long long" in finding.advice


@pytest.mark.parametrize(
    "line",
    [
        "while (x <= end) x += 8;",  # pointers
        "bool b = x != nullptr;",
        "float2 f = cast<float2, __half2>(v);",
        "if (block.x <= 1024) return;",  # a name with two types
        "__device__ bool operator>=(const __half& l, const __half& r);",
        "bool c = pair.x <= 3 && n <= 2;",
    ],
)
def test_operator_on_other_types_is_not_reported(line):
    text = "void f(const __half* x, const __half* end, __half2 block, int n) {\n dim3 block(1);\n float2 pair;\n%s }\n"
    assert reported(text % line) == []
