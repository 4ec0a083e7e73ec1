"""``parity reproduce``: the generated folder works without parity and finds the same wrong elements."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from parity.compilers.cuda_toolkit import nvcc
from parity.errors import MissingTool
from parity.hip.library import environment

TARGET = ("--target", "gfx1100", "--runner", "emulated")
WEIGHTED = "tables.weighted[f32](weights=16~0..4@5761 x=63~0..100@2290)"
PERMUTE = "tables.permute[f32](x=3x1~mixed@1616 order=3+3~permutation@4392)"
BUCKET = "tables.bucket[f32](edges=2048~sorted@47 x=2+3~-50..50@5925)"
ADAM = (
    "adam.step[f32](g=4+1~unit@3916 p=4+3~normal@8044 m=4~unit@68 v=4+1~probability@2478 lr=0.1 beta1=0.9 beta2=0.5 "
    "eps=0.001 t=100 decay=0.01)"
)


@pytest.fixture
def project(library):
    """Copy the project and change to the copy."""
    return library("declared")


def built(folder, *what, **more):
    """Run make in the folder with a substitute for hipcc."""
    hipcc = f"{sys.executable} -m parity.hip.hipcc"
    path = os.pathsep.join(filter(None, sys.path))
    environ = {**os.environ, **environment(["gfx1100"]), "HIPCC": hipcc, "PYTHONPATH": path, **more}
    return subprocess.run(["make", *what], cwd=folder, env=environ, capture_output=True, text=True)


def test_reproducer_names_same_elements_as_parity(parity, project, edit):
    edit(project / "kernels" / "tables.cu", "squares[i % 8]", "squares[i % 7]")
    result = parity("reproduce", WEIGHTED, *TARGET, "-o", "folder", "--check")
    assert result.code == 1, result.err
    found = re.findall(r"^out \((\d+)\): expected ([\d.]+), got ([\d.]+), right is [\d.]+ to [\d.]+$", result.out, re.M)
    assert [int(index) for index, *_ in found] == [i for i in range(63) if i % 8 != i % 7][:8]
    wrong, total = re.search(r"^out: (\d+) of (\d+) elements are wrong$", result.out, re.M).groups()
    index, expected, got = found[0]
    says = (project / "folder" / "README.md").read_text()
    assert f"| gfx1100 (emulated) | fail: value, {wrong} of {total} wrong, ({index}) is {got} for {expected} |" in says
    assert f"parity run '{WEIGHTED}' --target gfx1100" in says

    # The folder does not need the project, and nvcc compiles its CUDA side.
    folder = shutil.move(project / "folder", project.parent / "elsewhere")
    shutil.rmtree(project / "kernels")
    try:
        nvcc()
    except MissingTool:
        assert "There is no CUDA side: nvcc not found" in says
    else:
        made = built(folder, "cuda/kernel.cubin", "reproduce_cuda.o")
        assert made.returncode == 0, made.stdout + made.stderr
        assert "weighted" in (folder / "cuda" / "kernel.ptx").read_text()


@pytest.mark.thorough
def test_reproducer_of_passing_case_passes_and_names_missing_parts(parity, project):
    result = parity("reproduce", PERMUTE, *TARGET, "-o", "folder", "--check")
    assert (result.code, result.out.splitlines()[1:]) == (0, ["out: 0 of 3 elements are wrong", "right"]), result.err
    again = parity("reproduce", PERMUTE, *TARGET, "-o", "folder")
    assert again.code == 2 and "folder is not empty; name another folder with -o" in again.err

    folder = project / "folder"
    assert "run make cuda or make hip first" in built(folder, "check").stdout
    assert built(folder, "reproduce_hip").returncode == 0

    def run(*arguments):
        ran = subprocess.run([folder / "reproduce_hip", *arguments], capture_output=True, text=True)
        assert ran.returncode == 2
        return ran.stderr

    assert "./hip/kernel.hsaco does not exist; make hip builds it" in run()
    (folder / "hip" / "kernel.hsaco").touch()
    (folder / "data" / "order.bin").write_bytes(bytes(8))
    assert "data/order.bin has less than the 24 bytes of this case; copy the folder again" in run(folder)
    (folder / "data" / "order.bin").unlink()
    assert "data/order.bin does not exist; start the program in the folder that has data/" in run(folder)


@pytest.mark.thorough
def test_reproducer_without_reference_and_cuda_judges_nothing(parity, project, edit):
    start = 'reference=lambda edges, x: Expected(np.searchsorted(edges, x, side="right").astype(np.uint32)),'
    edit(project / "cases" / "tables.py", start, "")
    result = parity("reproduce", BUCKET, *TARGET, "-o", "folder", "--check")
    assert result.code == 3 and "no reference, and CUDA's result is not known" in result.err.replace("\n", " ")
    assert re.search(r"^out\[1\] is \d+$", result.out, re.M) and result.out.endswith("not judged\n")


@pytest.mark.thorough
def test_reproducer_supports_structures_several_outputs_and_cuda_oracle(parity, project, edit):
    result = parity("reproduce", ADAM, *TARGET, "-o", "adam", "--check")
    assert result.code == 0 and result.out.count(": 0 of 4 elements are wrong") == 3, result.out + result.err
    case = "two_phases.sum[i32](x=257~normal@0)"
    assert parity("reproduce", case, *TARGET, "-o", "phases", "--check").code == 0
    edit(project / "cases" / "tables.py", "    reference=weighted_value,\n", "")
    result = parity("reproduce", WEIGHTED, "--target", "gfx1100", "-o", "judged", "--check")
    assert result.code == 0, result.out + result.err
    assert "what sm_90 emulated computed is the baseline, within what roundings explain" in result.err


TEMPLATE = """#include <cuda_bf16.h>
template <typename T> __global__ void doubled(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
void host(const __nv_bfloat16* x, __nv_bfloat16* y, int n) { doubled<<<(n + 255) / 256, 256>>>(x, y, n); }
"""
DOUBLED = """from parity.op import Op

op = Op(
    "k.doubled", kernel="doubled<{T}>", types=("bf16",), spelling={"bf16": "__hip_bfloat16"}, args="x y n:i32=numel",
    inputs={"x": "T"}, outputs={"y": "T"}, block=256,
)
"""


def test_reproducer_names_types_of_templates_as_cuda_does(parity, tmp_path, monkeypatch, with_nvcc):
    for name, text in {"pyproject.toml": "[tool.parity]\n", "kernels/k.cu": TEMPLATE, "cases/k.py": DOUBLED}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    result = parity("reproduce", "k.doubled[bf16](x=3~normal@0)", "-o", "made")
    assert result.code == 0, result.err
    source = tmp_path / "made" / "cuda" / "k-kernels.cu"
    assert "&doubled<__nv_bfloat16>" in source.read_text()
    done = subprocess.run([with_nvcc, "-arch=sm_90", "-ptx", "-o", tmp_path / "k.ptx", source], capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("quantized.quantize_q8_1[f32](x=3x33~normal@0)", "judges out as a whole and not element by element"),
        ("unary.gelu[f32](y=3~mixed@0)", "unary.gelu has no 'y'"),
        ("unary", "'unary' is not a case"),
    ],
)
def test_reproduce_unsupported_case_is_refused(parity, tmp_path, case, says):
    result = parity("reproduce", case, "-o", tmp_path / "folder")
    assert result.code == 2 and says in result.err.replace("\n", " ")
    assert not (tmp_path / "folder").exists()
