"""Verdicts on kernels with instructions that AMD documents as approximate."""

from __future__ import annotations

import json

import pytest

KERNELS = """
#include <stdint.h>
#define EACH const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; if (i >= numel) return;
extern "C" __global__ void quick_f32(size_t numel, const float* x, float* out) {
    EACH out[i] = __builtin_amdgcn_rcpf(x[i]);
}
extern "C" __global__ void off_f32(size_t numel, const float* x, float* out) {
    EACH out[i] = __builtin_amdgcn_rcpf(x[i]) + (numel == 1);
}
extern "C" __global__ void root_f16(size_t numel, const _Float16* x, _Float16* out) {
    EACH out[i] = __builtin_elementwise_sqrt(__builtin_elementwise_abs(x[i]));
}
extern "C" __global__ void careful_f32(size_t numel, const float* x, float* out) { EACH out[i] = 1 / x[i]; }
"""
CASES = """
import numpy as np
from parity.op import Op
from parity.reference import Expected, recip

def op(name):
    return Op(f"kernels.{name}", kernel=f"{name}_f32", types=("f32",), args="numel x out", inputs={"x": "f32"},
              outputs={"out": "f32"}, shapes="x: n; out: n", data=("normal",), grid_stride=False, reference=recip)

def rounded(x):
    return Expected(np.sqrt(np.abs(x)))

root = Op("kernels.root", kernel="root_f16", types=("f16",), args="numel x out", inputs={"x": "f16"},
          outputs={"out": "f16"}, shapes="x: n; out: n", data=("unit",), grid_stride=False, reference=rounded)
quick, off, careful = map(op, ("quick", "off", "careful"))
"""


@pytest.fixture
def mine(tmp_path, parity, monkeypatch):
    """Change to a project with kernels that use approximate reciprocals."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "cases").mkdir()
    (tmp_path / "kernels" / "kernels.cu").write_text(KERNELS)
    (tmp_path / "cases" / "kernels.py").write_text(CASES)
    (tmp_path / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdicts(folder):
    lines = (folder / "out" / "record.jsonl").read_text().splitlines()
    return [(each["case"], each["verdict"], each["minimal"]) for each in map(json.loads, lines) if "case" in each]


def test_failure_from_drawn_results_is_labelled(parity, mine):
    result = parity("run", "-v", "kernels.quick", "--target", "gfx1100", "--examples", "8")
    assert result.code == 1
    assert "it passes if approximate instructions give the nearest numbers" in result.out
    found = verdicts(mine)
    failed = [verdict for _, verdict, _ in found if verdict["status"] == "fail"]
    assert {verdict["drawn"] for verdict in failed} <= {"what gfx1100 computes", DRAWN}
    assert all(verdict["drawn"] in verdict["detail"] and verdict["ulps"] == 1 for verdict in failed)
    smallest = next(minimal for _, _, minimal in found if minimal)
    assert smallest["verdict"]["drawn"]
    again = parity("run", "-v", smallest["case"], "--target", "gfx1100")
    assert again.code == 1 and smallest["verdict"]["drawn"] in again.out
    shown = parity("explain", smallest["case"]).out
    assert f"with {smallest['verdict']['drawn']}" in shown


DRAWN = "results drawn from all that AMD's manual allows"


def test_failure_without_drawn_results_does_not_mention_them(parity, mine):
    result = parity("run", "-v", "kernels.off[f32](x=1~normal@0)", "--target", "gfx1100")
    assert result.code == 1 and "nearest numbers" not in result.out
    assert [verdict["drawn"] for _, verdict, _ in verdicts(mine)] == [""]


def test_failure_from_drawn_results_is_not_attributed_to_wavefront_size(parity, mine):
    """AMD documents 1 ULP for square roots of f16 on gfx90a, and 0.51 ULP on gfx1030."""
    result = parity("run", "-v", "kernels.root", "--target", "gfx90a,gfx1030", "--examples", "8")
    assert result.code == 1 and "nearest numbers" in result.out
    assert "correct only at width" not in result.out


def test_approximate_division_passes_without_bound(parity, mine):
    result = parity("run", "-v", "kernels.careful", "--target", "gfx1100", "--examples", "30")
    assert result.code == 0 and "exact" in result.out, result.out
