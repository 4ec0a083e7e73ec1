"""Third-party code: a PyTorch extension, a compatibility header, a sample program, cooperative groups."""

from __future__ import annotations

import pytest

TARGET = ("--target", "gfx1100", "--examples", "4")


@pytest.mark.parametrize("name", ["torch_extension", "compat_header", "sample_program", "groups"])
def test_foreign_library_passes_unchanged(parity, library, name):
    library(name)
    result = parity("run", *TARGET)
    assert result.code == 0, result.out + result.err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "file", "old", "new", "kernel"),
    [
        ("torch_extension", "csrc/scaled.cu", "* static_cast<wide_t>(w[column])", "", "ext::scaled<c10::Half>"),
        ("torch_extension", "csrc/scaled.cu", "static_cast<scalar_t>(x[i])", "x[i] * 0.9921875f", "ext::rounded"),
        ("compat_header", "src/gpu.h", "value, lanes, 32)", "value, lanes, 16)", "sums"),
        ("sample_program", "program/blend.cu", "+ c[i];", "+ c[0];", "blend<float4, 4>"),
        ("groups", "kernels/groups.cu", "group.size() / 2", "group.size() / 4", "row_sums"),
        ("groups", "kernels/groups.cu", "count - 1 - t;", "count - 2 - t;", "reversed"),
        ("groups", "kernels/groups.cu", "x[i] * FACTOR", "x[i] + FACTOR", "scaling::scaled<int, 3>"),
    ],
)
def test_fault_in_foreign_library_is_detected(parity, library, name, file, old, new, kernel, edit):
    edit(library(name) / file, old, new)
    result = parity("run", *TARGET)
    failures = result.out.partition("\n\nparity 0")[0]
    assert result.code == 1 and failures.startswith("FAIL  ") and kernel in failures, result.out + result.err


def test_build_lists_stubs_and_omitted_code(parity, library):
    library("torch_extension")
    result = parity("build", "--target", "gfx1100")
    assert result.code == 0
    (line,) = (line for line in result.out.splitlines() if line.startswith("headers replaced by stubs"))
    assert "torch/extension.h" in line and "ATen/cuda/CUDAContext.h" in line
    assert "left out: profile(out).no_such_member();" in result.out


def test_build_prints_error_once_with_location_and_targets(parity, library):
    folder = library("compat_header")
    path = folder / "src" / "sums.cu"
    path.write_text(path.read_text().replace("x[row * 32", "nosuch[row * 32"))
    result = parity("build", "--target", "gfx1100,gfx90a")
    assert result.code == 1
    (line,) = (line for line in result.out.splitlines() if "nosuch" in line)
    assert line.startswith("src/sums.cu:13:") and line.endswith("(error)")
    assert "does not compile for gfx1100, gfx90a: 1 error" in result.err
