"""``parity init --ci`` writes a workflow and .gitignore and does not overwrite files."""

from __future__ import annotations

import pytest
import yaml

from parity.cli import init
from parity.cli.init import CI


@pytest.mark.parametrize("name", CI)
def test_init_ci_workflow_runs_parity_and_keeps_results(parity, tmp_path, name):
    folder = tmp_path / "mine"
    result = parity("init", folder, "--ci", name)
    assert result.code == 0 and f"wrote {folder / CI[name]}" in result.out
    text = (folder / CI[name]).read_text()
    assert yaml.safe_load(text) and "parity run" in text and "parity-out/" in text
    assert (folder / ".gitignore").read_text() == "parity-out/\n__pycache__/\n"


def test_init_ci_adds_missing_files(parity, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / ".gitignore").write_text("build/\nparity-out/")
    assert parity("init", folder).code == 0
    assert (folder / ".gitignore").read_text() == "build/\nparity-out/\n__pycache__/\n"
    assert "this is a project" in parity("init", folder).err
    assert parity("init", folder, "--ci", "gitlab").out == f"wrote {folder / CI['gitlab']}\n"
    (folder / CI["gitlab"]).write_text("stages: []\n")
    again = parity("init", folder, "--ci", "gitlab")
    assert again.code == 2 and f"{folder / CI['gitlab']} exists already" in again.err
    assert (folder / CI["gitlab"]).read_text() == "stages: []\n"


def test_init_inside_project_warns(parity, tmp_path):
    assert "already" not in parity("init", tmp_path).err
    result = parity("init", tmp_path / "inner")
    assert result.code == 0 and f"{tmp_path} is a parity project already" in result.err
    assert f"run: parity init {tmp_path}" in result.err


@pytest.mark.parametrize("has_nvcc", [True, False])
def test_init_names_missing_nvcc_as_a_next_step(parity, tmp_path, monkeypatch, has_nvcc):
    monkeypatch.setattr(init, "has_nvcc", lambda: has_nvcc)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "idle.cu").write_text('extern "C" __global__ void idle(float* out) { out[0] = 1; }\n')
    monkeypatch.chdir(tmp_path)
    result = parity("init", "--kernels", "src")
    assert ("needs nvcc: python -m pip install" in result.out) is not has_nvcc, result.out + result.err
