"""Runs of ops without a reference: CUDA's results judge AMD, and no case passes without them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from parity.engine.record_file import read_record
from parity.runners.recording_file import read_recording, write_recording
from parity.testing.checking import ParityCheck
from parity.testing.failure import ParityFailure

TARGET = ("--target", "gfx1100")
AMD = ("--runner", "emulated", *TARGET)
KERNELS = """
extern "C" __global__ void saxpy_f32(const float* x, const float* y, float* out, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
extern "C" __global__ void swap_u32(const unsigned* x, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] << 16 | x[i] >> 16;
}
extern "C" __global__ void sum_f32(const float* x, float* out, int columns) {
    __shared__ float part[64];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 64) sum += x[blockIdx.x * columns + i];
    part[threadIdx.x] = sum;
    for (int other = 32; other; other /= 2) {
        __syncthreads();
        if (threadIdx.x < other) part[threadIdx.x] += part[threadIdx.x + other];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
"""
CASES = """
from parity.op import Op

saxpy = Op("mine.saxpy", kernel="saxpy_{T}", types=("f32",), args="x y out a n:i32=numel",
           inputs={"x": "T", "y": "T"}, params={"a": "T"}, block=256, grid_stride=False)
swap = Op("mine.swap", kernel="swap_{T}", types=("u32",), args="x out n:i32=numel", inputs={"x": "T"}, block=256,
          grid_stride=False)
sum_ = Op("mine.sum", kernel="sum_{T}", types=("f32",), args="x out columns:i32", inputs={"x": "T"},
          shapes="x: rows columns; out: rows", choices={"rows": (1, 3), "columns": (1, 64, 65, 1000)}, grid="rows",
          block=64, grid_stride=False)
"""
FAULTS = (
    {
        "saxpy_f32": ("a * x[i] + y[i]", "1.0001f * a * x[i] + y[i]"),
        "swap_u32": ("x[i] >> 16", "x[i] >> 15"),
        "sum_f32": ("i < columns; i += 64", "i < columns - 1; i += 64"),
    },
    {"saxpy_f32": ("a * x[i] + y[i]", "a * y[i] + x[i]"), "sum_f32": ("int other = 32", "int other = 16")},
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Create a project without references and ``cuda.zip``, a simulated recording of a CUDA device."""
    from parity.cli import main

    folder = tmp_path_factory.mktemp("mine")
    (folder / "kernels").mkdir()
    (folder / "cases").mkdir()
    (folder / "kernels" / "mine.cu").write_text(KERNELS)
    (folder / "cases" / "mine.py").write_text(CASES)
    (folder / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["record", "-o", "emulated.zip", *AMD, "--examples", "8"]) == 0
    kept = read_recording(folder / "emulated.zip")
    head = {
        **kept.head,
        "runner": "cuda",
        "vendor": "cuda",
        "evidence": "hardware",
        "device": {"gpu": "NVIDIA Pretend"},
    }
    code = [replace(each, target="sm_90") for each in kept.code().values()]
    write_recording(folder / "cuda.zip", head, code, [replace(case, target="sm_90") for case in kept.cases])
    return folder


@pytest.fixture
def mine(project, tmp_path, monkeypatch, parity):
    """Copy the project and change to the copy."""
    folder = shutil.copytree(project, tmp_path / "mine")
    monkeypatch.chdir(folder)
    return folder


def beside(parity, *arguments):
    return parity("run", "-v", "--runner", "recorded=cuda.zip", *AMD, "--examples", "1", *arguments)


def test_cuda_oracle_equal_values_pass_and_matrix_names_oracle(mine, parity, tmp_path):
    result = beside(parity)
    assert result.code == 0, result.out + result.err
    for name, dtype in (("saxpy", "f32"), ("swap", "u32"), ("sum", "f32")):
        line = next(line for line in result.out.splitlines() if line.strip().startswith(f"{name} "))
        assert line.split()[1] == dtype and "baseline  8" in line and "against CUDA" in line, line
    assert "Only a reference can reveal a mistake" in result.out
    assert "22.5 times the change" in " ".join(result.out.split())
    record = read_record(tmp_path / "out" / "record.jsonl")
    statuses = {(case.target, str(case.verdict.status)) for case in record.records}
    assert statuses >= {("sm_90", "baseline"), ("gfx1100", "pass")}
    assert {case.verdict.by for case in record.records if case.verdict.passed} == {"sm_90 (recorded on NVIDIA Pretend)"}
    columns = json.loads((tmp_path / "out" / "matrix.json").read_text())["kernels"][0]["cells"]
    assert [(cell["state"], cell["run"], cell["baseline"]) for cell in columns] == [
        ("baseline", 0, 8),
        ("pass", 8, 0),
    ]


@pytest.mark.parametrize("faults", [FAULTS[0], pytest.param(FAULTS[1], marks=pytest.mark.thorough)])
def test_cuda_oracle_detects_port_faults(mine, parity, edit, faults):
    for old, new in faults.values():
        edit(mine / "kernels" / "mine.cu", old, new)
    result = beside(parity, *faults)
    assert result.code == 1
    for kernel in faults:
        assert f"FAIL  {kernel} on gfx1100 (emulated): value" in result.out
    assert result.out.count("judged by sm_90 (recorded on NVIDIA Pretend): the op has no reference") >= len(faults)
    assert "is wrong" not in result.out and "reference is suspect" not in result.out
    assert result.out.count("too far apart x") == len(faults)


def test_cuda_oracle_failure_names_possible_divergence(tmp_path, monkeypatch, parity, with_nvcc):
    (tmp_path / "k.cu").write_text(
        'extern "C" __global__ void whole(const float* x, long long* out, int n) {\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = x[i];\n}\n"
    )
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "k.py").write_text(
        'from parity.op import Op\nwhole = Op("k.whole", kernel="whole", types=("f32",), args="x out n:i32=n",\n'
        '           shapes="x: n; out: n", inputs={"x": "T"}, outputs={"out": "i64"}, grid="ceil(n/256)", block=256)\n'
    )
    (tmp_path / "pyproject.toml").write_text('[tool.parity]\nkernels = "."\ncases = "cases"\n')
    monkeypatch.chdir(tmp_path)
    result = parity("run", "-v", "k.whole[f32](x=99~special@0)", "--runner", "ptx", *AMD)
    assert result.code == 1 and "FAIL  whole on gfx1100 (emulated): value" in result.out
    assert "because   its code may meet D3: f32 to i64 and u64, of NaN and out of range: CUDA saturates" in result.out


@pytest.mark.thorough
def test_cuda_oracle_accepts_flushed_exponentials(tmp_path, monkeypatch, parity, with_nvcc):
    """v_exp_f32 flushes results below 2^-126 to 0, and so do softmax outputs."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "cases").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    (tmp_path / "kernels" / "small.cu").write_text(
        'extern "C" __global__ void small(const float* x, float* y, int n) {\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = __expf(x[i]) / 3;\n}\n"
    )
    (tmp_path / "cases" / "small.py").write_text(
        "from parity.op import Op\nsmall = Op('small.small', kernel='small', types=('f32',), args='x y n:i32=numel',"
        " inputs={'x': 'T'}, outputs={'y': 'T'}, data={'x': ('-100..-80',)}, grid_stride=False)\n"
    )
    monkeypatch.chdir(tmp_path)
    result = parity("run", "-v", "--target", "gfx1100", "--examples", "12")
    assert result.code == 0 and "pass  12/12" in result.out, result.out


def test_run_without_reference_and_cuda_checks_only_memory(mine, parity, edit):
    edit(mine / "kernels" / "mine.cu", "        __syncthreads();\n", "")
    result = parity("run", "-v", *AMD, "--examples", "3", "mine.saxpy", "mine.sum[f32](x=1x65~small@0)")
    assert result.code == 1
    assert "FAIL  sum_f32 on gfx1100 (emulated): data race" in result.out
    assert "NOT JUDGED" in result.out and "only memory checked x3" in result.out
    assert result.err.count("not judged: ") == 1 and "values were not" in result.err
    alone = parity("run", "-v", *AMD, "--examples", "3", "mine.saxpy")
    assert alone.code == 3 and "0 passed" in alone.out


def test_run_without_reference_and_amd_target_is_not_a_pass(mine, parity):
    result = parity("run", "-v", "--runner", "recorded=cuda.zip")
    assert result.code == 3 and "NOT JUDGED" in result.out and "baseline" not in result.out


@pytest.mark.thorough
def test_cuda_oracle_accepts_different_rounding(mine, parity, edit):
    apart = "{\n#pragma clang fp contract(off)\n        out[i] = a * x[i] + y[i];\n    }"
    edit(mine / "kernels" / "mine.cu", "out[i] = a * x[i] + y[i];", apart)
    edit(mine / "kernels" / "mine.cu", "int other = 32; other; other /= 2", "int other = 1; other < 64; other *= 2")
    edit(mine / "kernels" / "mine.cu", "if (threadIdx.x < other)", "if (threadIdx.x % (2 * other) == 0)")
    result = beside(parity, "saxpy_f32", "sum_f32")
    assert result.code == 0, result.out
    assert "within bounds" in result.out.splitlines()[-2], result.out


SHAM = '''
from parity.runners.emulated import EmulatedRunner


class Sham(EmulatedRunner):
    """Said to be a CUDA device: it executes what is built for gfx1030."""
    name, vendor = "sham", "cuda"
    def targets(self): return ("gfx1030",)
'''


@pytest.fixture
def sham(installed):
    """Install the runner ``sham``."""
    installed("sham", SHAM, sham="Sham")


def test_cuda_oracle_failure_is_minimized_and_every_cuda_column_is_taken_as_right(mine, parity, edit, sham):
    right = "    if (i < n) out[i] = a * x[i] + y[i];\n"
    wrong = right.replace("a *", "(n > 2 ? 1.01f : 1.0f) * a *")
    edit(mine / "kernels" / "mine.cu", right, f"#if defined(__gfx1100__)\n{wrong}#else\n{right}#endif\n")
    runners = ["--runner", "recorded=cuda.zip", "--runner", "sham", "--runner", "emulated"]
    targets = ["--target", "gfx1030", "--target", "gfx1100"]
    found = json.loads(parity("run", *runners, *targets, "saxpy_f32", "--examples", "8", "--json").out)
    states = {(cell["runner"], cell["target"]): cell["state"] for cell in found["kernels"][0]["cells"]}
    assert states == {
        ("recorded", "sm_90"): "baseline",
        ("sham", "gfx1030"): "baseline",
        ("emulated", "gfx1030"): "pass",
        ("emulated", "gfx1100"): "fail",
    }
    (failure,) = found["failures"]
    assert "x=3~" in failure["minimal"]["case"]
    assert failure["minimal"]["against"]["conclusion"] == "further apart than roundings allow"


def test_bench_without_reference_reports_values_not_compared(mine, parity):
    result = parity("bench", "swap_u32", "--runner", "emulated", *TARGET)
    assert result.code == 0 and "values not compared" in result.out + result.err


def test_show_without_reference_explains_case(mine, parity):
    result = parity("explain", "mine.swap[u32](x=2~small@0)")
    assert result.code == 0 and "the op has no reference" in result.out


def test_record_without_reference_draws_small_integers(mine):
    kept = read_recording(mine / "cuda.zip")
    texts = [case.case for case in kept.cases if case.kernel == "saxpy_f32"]
    assert any(text.count("~small") == 2 for text in texts), texts


def test_pytest_plugin_skips_cuda_oracle_column_and_judges_others(mine, parity, edit, capfd):
    edit(mine / "kernels" / "mine.cu", "x[i] >> 16", "x[i] >> 15")
    options = ["--parity-runner", "recorded=cuda.zip", "--parity-runner", "emulated", "--parity-target", "gfx1100"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", "--parity", *options]
    done = subprocess.run([*command, "--parity-examples", "1"], capture_output=True, text=True, cwd=mine)
    assert done.returncode == 1 and "2 passed, 3 skipped" in done.stdout and "1 failed" in done.stdout, done.stdout
    assert "baseline: the op has no reference" in done.stdout


def test_parity_check_without_reference_needs_both_sides(mine):
    both = {"op": "mine.swap", "runner": ["recorded=cuda.zip", "emulated"], "target": "gfx1100", "examples": 1}
    records = ParityCheck()(**both)
    assert {str(record.verdict.status) for record in records} == {"baseline", "pass"}
    with pytest.raises(ParityFailure, match="the op has no reference"):
        ParityCheck()(**{**both, "runner": "emulated"})


@pytest.mark.usefixtures("with_nvcc")
def test_run_without_reference_and_gpu_uses_emulated_cuda_oracle(mine, parity):
    """The run emulates the CUDA side by default and detects faults of the port."""
    result = parity("run", "-v", *TARGET, "--examples", "4")
    assert result.code == 0, result.out + result.err
    assert "sm_90 emulated" in result.out
    assert "against CUDA" in result.out
    (mine / "hip").mkdir()
    for faults in FAULTS:
        text = KERNELS
        for before, after in faults.values():
            assert before in text
            text = text.replace(before, after)
        (mine / "hip" / "mine.hip").write_text("#include <hip/hip_runtime.h>\n" + text)
        result = parity("run", "-v", *TARGET, "--examples", "4", "--hip", "hip")
        assert result.code == 1, result.out + result.err
        for kernel in faults:
            assert f"{kernel} " in result.out or f"{kernel}:" in result.out, (kernel, result.out)


PARTIAL = """
extern "C" __global__ void down_f32(const float* x, float* out, int n) {
    float sum = x[threadIdx.x];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) out[0] = sum;
}
extern "C" __global__ void first_f32(const float* x, float* out, int n) {
    float other = __shfl_down_sync(0xffffffffu, x[threadIdx.x], 1);
    if (threadIdx.x == 0) out[0] = n > 1 ? other : 0;
}
"""


@pytest.mark.thorough
def test_cuda_oracle_with_undefined_value_fails_and_does_not_judge(tmp_path, monkeypatch, parity):
    """Both kernels read values of missing threads in a partial warp, but only the first one uses them."""
    (tmp_path / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "part.cu").write_text(PARTIAL)
    (tmp_path / "cases").mkdir()
    call = 'args="x out n:i32", shapes="x: n; out: 1", choices={"n": (20,)}, inputs={"x": "T"}, block="n", grid="1"'
    (tmp_path / "cases" / "part.py").write_text(
        "from parity.op import Op\n"
        + "".join(
            f'{name} = Op("part.{name}", kernel="{name}_{{T}}", types=("f32",), {call}, grid_stride=False)\n'
            for name in ("down", "first")
        )
    )
    monkeypatch.chdir(tmp_path)
    result = parity("run", "-v", "--runner", "ptx", "--runner", "emulated", *TARGET, "--examples", "2")
    assert "FAIL  down_f32 on sm_90 (emulated): undefined value" in result.out, result.out + result.err
    assert "the result in out depends on an undefined value" in result.out and "shfl.sync.down" in result.out
    assert "down_f32 on gfx1100" not in result.out and "not judged: " in result.err, result.out + result.err
    assert re.search(r"first +f32 .*pass +2/2", result.out), result.out
