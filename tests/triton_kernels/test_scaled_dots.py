"""`tl.dot_scaled` on gfx950, compared with NumPy. Triton's layouts decide which lane has which scale."""

from __future__ import annotations

import importlib.util

import pytest

from parity.build.modules import build_suite
from parity.cli import main
from parity.suite.loading import load_suite

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")

KERNEL = """import triton
import triton.language as tl

@triton.jit
def scaled(a, sa, b, sb, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    half = tl.arange(0, K // 2)
    x = tl.load(a + m[:, None] * K + k)
    y = tl.load(b + half[:, None] * N + n)
    scale = tl.load(sa + m[:, None] * (K // 32) + s)
    other = tl.load(sb + n[:, None] * (K // 32) + s)
    tl.store(out + m[:, None] * N + n, tl.dot_scaled(x, scale, "e4m3", y, other, "e2m1"))
"""
CASES = """import ml_dtypes
import numpy as np

from parity.op import Op, triton
from parity.reference.expected import Expected

def power(scales):
    return np.repeat(2.0 ** (np.asarray(scales).astype(float) - 127), 32, axis=1)

def product(a, sa, b, sb):
    packed = np.asarray(b).astype(np.uint8)
    both = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1, packed.shape[1])
    x, y = np.asarray(a).astype(float) * power(sa), both.view(ml_dtypes.float4_e2m1fn).astype(float) * power(sb).T
    exact, size = x @ y, abs(x) @ abs(y)
    return Expected(exact.astype(np.float32), accepts=lambda got: abs(got - exact) <= size * 1e-6)

op = Op(
    "mx.scaled", triton("mx.py:scaled", M=128, N=128, K=256), ("f8_e4m3",), args="a sa b sb out", grid="1",
    inputs={"a": "T", "sa": "u8", "b": "u8", "sb": "u8"}, outputs={"out": "f32"}, reference=product,
    shapes="a: 128 256; sa: 128 8; b: 128 128; sb: 128 8; out: 128 128",
    data={"a": ("normal",), "sa": ("120..132",), "b": ("0..255",), "sb": ("120..132",)},
)
"""


def test_scaled_product_of_f8_and_f4_is_the_one_of_numpy(tmp_path, monkeypatch):
    for name, text in (("kernels", KERNEL), ("cases", CASES)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mx.py").write_text(text)
    (tmp_path / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--target", "gfx950", "--examples", "1", "-j", "1", "--output", "out"]) == 0
    suite = load_suite(tmp_path / "kernels", tmp_path / "cases")
    (built,) = build_suite(suite, ["mx"], ["gfx950"], jobs=1)
    assert "v_mfma_scale_f32_32x32x64_f8f6f4" in built.code_object.listing  # not a product of bf16
