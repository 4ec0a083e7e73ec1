"""A reproducer of a Triton kernel has its code, so it needs no Triton. Skipped where Triton is not installed."""

from __future__ import annotations

import importlib.util
import subprocess

import pytest
from test_runs import SOFTMAX, project

from parity.cli import main

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")


def test_folder_has_code_and_programs_that_need_only_a_driver(tmp_path, monkeypatch):
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(project(tmp_path / "project", SOFTMAX))
    folder = tmp_path / "reproducer"
    command = ["reproduce", "rows.op[f32](x=3x5~normal@0)", "--target", "sm_80,gfx942", "-o", str(folder), "--check"]
    assert main(command) == 0  # --check runs the HIP program on an emulated GPU
    for name in ("cuda/kernel.cubin", "cuda/kernel.ptx", "cuda/rows.py", "hip/kernel.hsaco", "hip/rows.py"):
        assert (folder / name).stat().st_size > 0
    assert "nvcc" not in (folder / "README.md").read_text()
    for side in ("cuda", "hip"):
        compiler = ["cc", "-std=gnu99", "-Wall", "-Werror", "-fsyntax-only", f"reproduce_{side}.c"]
        subprocess.run(compiler, cwd=folder, check=True)
