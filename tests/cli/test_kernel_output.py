"""Output of printf, device assertions, and launches that exceed the LDS limit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

KERNELS = """
#include <cassert>
#include <cstdio>
extern "C" __global__ void says(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    printf("thread %d has %s of %.1f\\n", i, "one", x[i] - x[i]);
    out[i] = x[i];
}
extern "C" __global__ void checks(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    assert(i < 5 && "only a few");
    out[i] = x[i];
}
extern "C" __global__ void large(const float* x, float* out, int n) {
    extern __shared__ float room[];
    __shared__ float more[4096];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    more[threadIdx.x] = x[i];
    __syncthreads();
    room[threadIdx.x] = more[threadIdx.x ^ 1];
    __syncthreads();
    out[i] = room[threadIdx.x ^ 1];
}
"""
CASES = """
import numpy as np
from parity import reference
from parity.op import Op

def same(x, to):
    return reference.within(0, x.astype(np.float64), to)

common = dict(types=("f32",), args="x out numel:i32", inputs={"x": "T"}, reference=same, grid_stride=False)
says = Op("talk.says", kernel="says", **common)
checks = Op("talk.checks", kernel="checks", **common)
large = Op("talk.large", kernel="large", grid="1", block=256, shared="60000", **common)
"""


@pytest.fixture
def project(parity, tmp_path, monkeypatch):
    for name, text in (
        ("kernels/talk.cu", KERNELS),
        ("cases/talk.py", CASES),
        ("pyproject.toml", '[tool.parity]\nkernels = "kernels"\ncases = "cases"\n'),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_printf_output_is_shown_with_case(parity, project):
    case = "talk.says[f32](x=3~normal@0)"
    assert parity("run", case, "--target", "gfx1100").code == 0
    lines = [json.loads(line) for line in (project / "out" / "record.jsonl").read_text().splitlines()]
    (printed,) = (line["printed"] for line in lines if "case" in line)
    assert printed == "".join(f"thread {i} has one of 0.0\n" for i in range(3))
    shown = parity("explain", case)
    assert f"printed on gfx1030 (emulated):\n{printed}" in shown.out
    source = Path("kernels/talk.cu")
    source.write_text(source.read_text().replace("out[i] = x[i];", "out[i] = x[i] + 1;", 1))
    failed = parity("run", case, "--target", "gfx1100")
    assert failed.code == 1
    assert "\n  printed   thread 0 has one of 0.0\n" in failed.out


def test_device_assertion_and_exceeded_lds_limit_have_failure_classes(parity, project):
    result = parity("run", "talk.checks", "talk.large", "--target", "gfx1100", "--examples", "4")
    assert result.code == 1
    line = 1 + (project / "kernels/talk.cu").read_text().splitlines().index('    assert(i < 5 && "only a few");')
    assert "FAIL  checks on gfx1100 (emulated): device assertion" in result.out
    assert f"assertion `i < 5 && \"only a few\"` failed in kernel 'checks' at talk.cu:{line}" in result.out
    assert re.search(r"x=(6|2x3)~\w+@\d+\)\n", result.out)  # the smallest case that fails
    assert "FAIL  large on gfx1100 (emulated): LDS limit" in result.out
    assert "kernel 'large' needs 76384 bytes of LDS (16384 static, 60000 dynamic)" in result.out
    assert "Traceback" not in result.out + result.err
