"""``--hipify``: the literal and the helpful translation."""

from __future__ import annotations

from pathlib import Path

import pytest

KERNELS = """
#ifndef LANE  // the project's flags define it for every port
#error "LANE is not defined"
#endif
#ifdef __HIPCC__  // HIP's functions only accept 64-bit masks
__device__ inline float __shfl_sync(unsigned, float v, int lane) { return __shfl(v, lane, warpSize); }
#endif
#if __CUDA_ARCH__ >= 800
#include <cuda/pipeline>
#endif
extern "C" __global__ void first(const float* x, float* out) {
    out[threadIdx.x] = __shfl_sync(0xffffffffu, x[threadIdx.x], LANE);
}
"""
CASES = """
import numpy as np
from parity.op import Op
from parity.reference import Expected

def firsts(x):
    return Expected(x[np.arange(x.size) // 32 * 32])

first = Op("port.first", kernel="first", types=("f32",), args="x out", inputs={"x": "f32"}, outputs={"out": "f32"},
           shapes="x: n; out: n", grid_stride=False, grid=1, block="n", reference=firsts)
"""
CASE = ("port.first[f32](x=64~normal@0)", "--target", "gfx90a")


@pytest.fixture
def port(tmp_path, monkeypatch):
    for name, text in (("kernels/port.cu", KERNELS), ("cases/port.py", CASES)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    (tmp_path / "pyproject.toml").write_text('[tool.parity]\nflags = ["-DLANE=0"]\n')
    monkeypatch.chdir(tmp_path)


def test_hipify_default_tests_literal_port(parity, port):
    result = parity("run", "-v", *CASE)
    assert result.code == 1
    assert "the port passes with --hipify helpful, which reads port.cu:12 as: " in result.out
    assert "out[threadIdx.x] = __shfl(x[threadIdx.x], LANE, 32);" in result.out
    assert "--hipify" not in result.out.partition("again ")[2].partition("\n")[0]


def test_hipify_helpful_is_named_in_matrix(parity, port, monkeypatch):
    monkeypatch.setenv("PARITY_HIPIFY", "literal")  # --hipify overrides it; monkeypatch restores it
    assert parity("run", "-v", *CASE, "--hipify", "helpful").code == 0
    Path("kernels/port.cu").write_text(KERNELS.replace("], LANE)", "] + 1, LANE)"))
    result = parity("run", "-v", *CASE, "--hipify", "helpful")
    assert result.code == 1
    assert "--hipify helpful" in result.out.partition("again ")[2].partition("\n")[0]
    assert "the port passes" not in result.out


def test_build_lists_compiled_branches(parity, port):
    result = parity("build", "--target", "gfx90a")
    assert result.code == 0
    assert (
        "port.cu:8: #if __CUDA_ARCH__ >= 800: __CUDA_ARCH__ is not defined for AMD, so line 9 is left out" in result.out
    )
    assert "could not be mapped" not in result.out


def test_hipify_unknown_translator_is_explained(parity, port):
    assert "invalid choice: 'litteral'" in parity("build", "--hipify", "litteral").err
