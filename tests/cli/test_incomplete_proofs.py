"""Runs that pass every case and still do not prove that the kernels are right."""

from __future__ import annotations

import json

import pytest

TARGET = ("--target", "gfx1100")


@pytest.mark.parametrize("limit", ["choices={'n': (0,)}", "where='n == 0'"])
def test_run_with_only_empty_cases_compares_nothing(parity, mine, edit, limit):
    case_file = mine / "cases" / "leaky_relu.py"
    edit(case_file, 'alpha numel:i32",', f'alpha n:i32", shapes="x: n; out: n", {limit},')
    result = parity("run", *TARGET)
    assert result.code == 3 and "nothing was compared" in result.err
    assert " 0 passed" in result.out and " not judged" in result.out


UNDECLARED = """
template <class T> __global__ void scale(T* x, int n) { x[threadIdx.x] *= T(n); }
template __global__ void scale<float>(float*, int);
"""
WHOLE = """
#include <cuda_runtime.h>
extern "C" __global__ void alone(float* x) { *x = 1.0f; }
template <int N> __global__ void filled(float* x) { *x = N; }
"""


@pytest.fixture
def incomplete(mine):
    """Add a kernel without an op to the file of another kernel, and a file without a declaration."""
    with (mine / "kernels" / "leaky_relu.cu").open("a") as file:
        file.write(UNDECLARED)
    (mine / "kernels" / "whole.cu").write_text(WHOLE)
    (mine / "kernels" / "host.cu").write_text("int main() { return 0; }\n")


def test_run_names_kernels_without_op_and_strict_run_fails(parity, mine, incomplete):
    result = parity("run", *TARGET, "--examples", "1", "--output", "out")
    assert result.code == 0
    assert "leaky_relu.cu: scale<float>" in result.out and "whole.cu: alone filled" in result.out
    assert "3 without an op" in result.out
    assert "parity init" in result.out
    assert json.loads((mine / "out" / "matrix.json").read_text())["undeclared"] == {
        "leaky_relu.cu": ["scale<float>"],
        "whole.cu": ["alone", "filled"],
    }
    strict = parity("run", *TARGET, "--examples", "1", "--strict")
    assert strict.code == 1 and "leaky_relu.cu, whole.cu" in strict.err


def test_run_names_few_of_many_files_without_op(parity, mine):
    for number in range(9):
        text = f"__global__ void kernel{number}(float* x) {{ *x = 1.0f; }}\n"
        (mine / "kernels" / f"more{number}.cu").write_text(text)
    result = parity("run", *TARGET, "--examples", "1")
    assert "more5.cu: kernel5; and 3 more files" in " ".join(result.out.split()), result.out
    assert "9 without an op" in result.out and "more6" not in result.out


def test_run_of_selection_names_only_kernels_of_its_modules(parity, mine, incomplete):
    declared = "op = Op('whole.alone', kernel='alone', types=('f32',), args='x out', inputs={'x': 'T'})"
    (mine / "cases" / "whole.py").write_text(f"from parity.op import Op\n{declared}\n")
    selected = parity("run", "leaky_relu", *TARGET, "--examples", "1")
    assert "1 without an op" in selected.out and "whole.cu" not in selected.out, selected.out + selected.err


def test_strict_run_of_declared_kernels_passes(parity, mine):
    assert parity("run", *TARGET, "--examples", "1", "--strict").code == 0


@pytest.mark.parametrize(
    ("file", "text", "options", "code"),
    [
        ("unused.py", "", ("--target", "gfx1100,sm_90", "--runner", "emulated", "--runner", "cuda"), 3),
        ("known-issues.toml", "[[issue]]\n", TARGET, 2),
        ("cases/other.py", "1 / 0\n", TARGET, 2),
    ],
)
def test_word_of_result_follows_from_exit_code(parity, mine, monkeypatch, file, text, options, code):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "\nPASS  1 kernel," in parity("run", *TARGET, "--examples", "1").out
    (mine / file).write_text(text)
    result = parity("run", *options, "--examples", "1")
    assert result.code == code
    assert "\nINCOMPLETE  1 kernel," in result.out and "PASS  " not in result.out, result.out + result.err
