"""Detection of kernels that pass superficial checks without doing the computation."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from parity.runners import registry

ROOT = Path(__file__).parents[2]

KERNELS = """
#define CHEAT(name) extern "C" __global__ void name(const float* x, float* out, int n)
#define HERE int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return
__device__ float right(float x) { return 2.0f * x + 1.0f; }
__device__ float stored[4096];
__device__ int launched[4096], launches;
__device__ unsigned int arrived;

CHEAT(honest) { HERE; out[i] = right(x[i]); }
CHEAT(zeros) { HERE; out[i] = 0.0f; }
CHEAT(copy) { HERE; out[i] = x[i]; }
CHEAT(one_shape) { HERE; if (n == 1) out[i] = right(x[i]); }
CHEAT(constants) { HERE; out[i] = n == 4 ? 1.0f + i : 3.25f; }
CHEAT(outside) { HERE; out[i] = right(x[i]); if (i == n - 1) out[n] = 0.0f; }
CHEAT(first_launch) { HERE; if (launched[i]++ == 0) out[i] = right(x[i]); }
CHEAT(first_result) { HERE; if (launched[i]++ == 0) stored[i] = right(x[i]); out[i] = stored[i]; }
CHEAT(shared_of_before) {
    __shared__ float before[1024];
    HERE;
    if (n < 0) before[threadIdx.x] = 0.0f;
    out[i] = before[threadIdx.x];
}
CHEAT(nothing) { }

// Honest kernels: the values that they leave in variables, or read without a use, do not change a result.
CHEAT(idle) {
    volatile __shared__ float spare[1024];
    HERE;
    if (n < 0) spare[threadIdx.x] = 0.0f;
    float value = spare[threadIdx.x];
    out[i] = n < 0 ? value : right(x[i]);
}
CHEAT(counting) { if (threadIdx.x == 0) atomicAdd(&launches, 1); HERE; out[i] = right(x[i]); }
CHEAT(ticket) {
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&arrived, 1u) == gridDim.x - 1) arrived = 0;
    HERE; out[i] = right(x[i]);
}
"""

CASES = """
import numpy as np
from parity import reference
from parity.op import NamedCase, Op

def right(x, to):
    return reference.within(1, 2 * x.astype(np.float64) + 1, to)

for name in {names}:
    globals()[f"{{name}}_op"] = Op(
        f"cheats.{{name}}", kernel=name, source="cheats.cu", types=("f32",), args="x out numel:i32",
        inputs={{"x": "T"}}, grid_stride=False, reference=right,
    )
"""

CHEATS = {
    "zeros": {"value", "nan"},
    "copy": {"value", "infinity"},
    "one_shape": {"unwritten"},
    "constants": {"value", "infinity"},
    "outside": {"out-of-bounds write"},
    "first_launch": {"earlier launch"},
    "first_result": {"earlier launch"},
    "shared_of_before": {"never-written read"},
    "nothing": {"unwritten"},
}
"""Failure classes that identify each cheat."""
HONEST = ("honest", "idle", "counting", "ticket")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated")
    (folder / "kernels").mkdir()
    (folder / "cases").mkdir()
    (folder / "kernels" / "cheats.cu").write_text(KERNELS)
    (folder / "cases" / "cheats.py").write_text(CASES.format(names=[*CHEATS, *HONEST]))
    (folder / "pyproject.toml").write_text("[tool.parity]\nkernels = 'kernels'\ncases = 'cases'\n")
    return folder


@pytest.fixture(params=[("emulated", "gfx1100"), ("ptx", "sm_90")], ids=["gfx1100", "sm_90"])
def found(request, parity, project, monkeypatch, tmp_path):
    """Run all kernels and return the result of examples/judge.py for each."""
    runner, target = request.param
    if probe := registry.runner(runner).probe().reason:
        pytest.skip(probe)
    monkeypatch.chdir(project)
    assert parity("run", "--runner", runner, "--target", target, "--examples", "4").code == 1
    judge = runpy.run_path(str(ROOT / "examples" / "judge.py"))
    return {each["kernel"]: each for each in judge["judged"](tmp_path / "out")}


def test_cheating_kernels_fail_and_honest_kernels_pass(found):
    assert {name: set(found[name]["why"]) for name in CHEATS} == CHEATS
    assert {found[name]["right"] for name in CHEATS} == {False}
    assert {name: (found[name]["right"], found[name]["state"]) for name in HONEST} == dict.fromkeys(
        HONEST, (True, "pass")
    )
    told = found["first_launch"]["why"]["earlier launch"]
    assert "a launch changes launched, and after another launch this one leaves other values in out" in told
    assert found["zeros"]["why"]["value"].startswith("cheats.zeros[f32](x=1~")


def test_read_whose_value_is_not_used_is_note_with_place(parity, project, monkeypatch):
    monkeypatch.chdir(project)
    ran = parity("run", "cheats.idle", "cheats.honest", "--target", "gfx1100", "--examples", "4")
    (note,) = (line for line in ran.out.splitlines() if line.startswith("note"))
    assert note.startswith(
        "note  reads of memory that nothing has written, whose values reach no output: idle (cheats.cu:"
    )
    assert ran.code == 0 and "honest" not in note
